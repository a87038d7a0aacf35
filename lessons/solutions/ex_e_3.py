"""E.3  The topological order of a graph  ●●○○  30 min

The backward of a graph visits a value only when the gradient of this value is complete:
the sum over everything that was computed from it. So every value comes after its users,
the values that were computed from it. Every graph without a cycle has such an order.

Here a graph is a dictionary. Its keys are the names of values. For each name it stores
a list of pairs (input, slope): the inputs of the value and its derivative with respect
to each. A leaf has an empty list. The product x x uses x twice and has two pairs.

    b = a + 2 x,  y = b x    at x = 3, a = 1        (so b = 7, dy/db = 3, dy/dx = 7)
    {"y": [("b", 3.0), ("x", 7.0)], "b": [("a", 1.0), ("x", 2.0)], "a": [], "x": []}

    dy/dx = sum over the users u of x of  dy/du  times  du/dx  =  7 + 3 * 2  =  13
"""


def order(graph, root):
    """Return the names that root was computed from, root first, each before its inputs.

    ->  list of names, each once, without names that root does not depend on

    A graph may be deep: 20 000 values in a chain, as for a long sentence. The number of
    paths through it may be too large to follow each one.
    """
    # BEGIN SOLUTION
    finished, seen, stack = [], set(), [(root, False)]
    while stack:
        name, below_is_done = stack.pop()
        if below_is_done:
            finished.append(name)
        elif name not in seen:
            seen.add(name)
            stack.append((name, True))  # is taken again after its inputs
            stack.extend((x, False) for x, _ in graph[name])
    return finished[::-1]
    # END SOLUTION


def backward(graph, root):
    """Return d root / d value for root and every value that root was computed from.

    ->  dictionary of numbers
    """
    # BEGIN SOLUTION
    names = order(graph, root)
    found = dict.fromkeys(names, 0.0)
    found[root] = 1.0
    for name in names:
        for x, slope in graph[name]:
            found[x] += found[name] * slope
    return found
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "Every value comes after all its users, so its gradient is complete when the walk "
    "arrives, and each value is visited once. Following each path would repeat the "
    "work once for each path, and the number of paths can double with every value."
)

MUTANTS = [
    (
        "            stack.append((name, True))",
        "            finished.insert(0, name)",
        "too-early",
    ),
    ("return finished[::-1]", "return finished", "reversed"),
    ("elif name not in seen:", "elif len(finished) < 1000:", "repeats"),
    ("return finished[::-1]", "return finished[:0:-1]", "incomplete"),
    (
        "    finished, seen, stack = [], set(), [(root, False)]",
        "    finished, seen, stack = [], set(), [(n, False) for n in (root, *graph)]",
        "unreachable",
    ),
    (
        "    finished, seen, stack = [], set(), [(root, False)]",
        "    return _deep(graph, root, [], set())[::-1]\n\n\n"
        "def _deep(graph, name, done, met):\n"
        "    met.add(name)\n"
        "    for x, _ in graph[name]:\n"
        "        if x not in met:\n"
        "            _deep(graph, x, done, met)\n"
        "    return done + [name] if done.append(name) else done\n\n\n"
        "def _unused(graph, root):\n"
        "    finished, seen, stack = [], set(), [(root, False)]",
        "recursion",
    ),
    (
        "            stack.extend(",
        "            graph[name].reverse()\n            stack.extend(",
        "mutates-input",
    ),
    ("found[x] += found[name] * slope", "found[x] = found[name] * slope", "overwrites"),
    ("found[x] += found[name] * slope", "found[x] += slope", "ignores-upstream"),
    ("found[root] = 1.0", "found[root] = 0.0", "zero"),
    ("    for name in names:", "    for name in sorted(names):", "counted-again"),
]
