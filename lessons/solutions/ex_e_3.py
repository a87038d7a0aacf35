"""E.3  The topological order of a graph  ●●○○  30 min

The backward of a graph visits a value only when the gradient of this value is complete:
the sum over everything that was computed from it. So every value comes after its users,
the values that were computed from it. Every graph without a cycle has such an order.

Here a graph is a dictionary. Its keys are the names of values. Its items are lists of
pairs (input, slope): the inputs of the value and its derivative with respect to each.
Leaves have no pairs; x x has two.

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

HINTS = {
    "order": ["A value may be written only after all its users: when is that certain?"],
    "backward": ["A value with several users receives a sum: where does it begin?"],
    "": [
        "All inputs of a value come later in the list. When can you write a value, "
        "if you fill the list from its end?",
        "Go down from root, depth first, and append a value to a list after all its "
        "inputs. In this list inputs come before their users; reverse it at the end. "
        "Keep the visited names in a set.",
        "Without recursion: use a stack of pairs (name, are its inputs done?). Take "
        "one pair. If it is done, append the name. If the name is new, push it again "
        "as done, and push its inputs above it. For the gradients: start with 0 for "
        "all names and 1 for root; in this order, add to each input its slope times "
        "the gradient of the user.",
    ],
    "too-early": [
        "The named value stands before one of its users. Take a value that is an "
        "input of root and of another input of root: when is it added?",
        "When you first reach a value, you have not reached all of its users. Append "
        "it when you leave it.",
    ],
    "reversed": ["Does the backward begin with root or with the leaves?"],
    "repeats": [
        "The search reaches a value with two users twice. Remember the visited names.",
    ],
    "timeout": [
        "Every loop may end and still take too long: a graph of 50 layers has 2^50 "
        "paths. Visit each value once, not each path.",
    ],
    "unreachable": ["root does not depend on every name in the dictionary."],
    "incomplete": ["The list does not contain every value that root depends on."],
    "recursion": [
        "Python allows about a thousand nested calls. A list that is used as a stack "
        "has no such limit.",
    ],
    "overwrites": [
        "A value with two users receives two gradients. What happens to the first?",
    ],
    "counted-again": [
        "A gradient was passed on before it was complete, or more than once.",
    ],
}

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
