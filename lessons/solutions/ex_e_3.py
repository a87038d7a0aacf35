"""E.3  The topological order  ●●○○  30 min

A tape runs backwards: when it comes to a value, the gradient of that value has to be
whole, the sum over all that used it. So every value has to come after everything that
was computed from it. Such an order exists for every graph without circles.

A graph here is a dict: the name of each value, and what it was computed from, as pairs
of a name and a slope, the derivative of the one in the other. Leaves have no pairs; x x
has two.

    b = a + 2 x,  y = b x    at x = 3, a = 1        (so b = 7, dy/db = 3, dy/dx = 7)
    {"y": [("b", 3.0), ("x", 7.0)], "b": [("a", 1.0), ("x", 2.0)], "a": [], "x": []}

    dy/dx = sum over the users u of x of  dy/du  times  du/dx  =  7 + 3 * 2  =  13
"""


def order(graph, root):
    """The names that root was computed from, root first, each before its inputs.

    ->  list of names, each of them once, and no others

    A graph may be deep, with 20 000 values one after the other, as in a long sentence;
    and there may be more paths through it than could ever be walked.
    """
    # BEGIN SOLUTION
    finished, seen, stack = [], set(), [(root, False)]
    while stack:
        name, below_is_done = stack.pop()
        if below_is_done:
            finished.append(name)
        elif name not in seen:
            seen.add(name)
            stack.append((name, True))  # comes up again when its inputs are finished
            stack.extend((x, False) for x, _ in graph[name])
    return finished[::-1]
    # END SOLUTION


def backward(graph, root):
    """d root / d value for every value that root was computed from, and root itself.

    ->  dict of numbers
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

HINTS = {
    "": [
        "When may a value be written down, if all it was computed from has to come "
        "later in the list? Think of the list from its end.",
        "Go down from root, depth first, and write a value into a list when all its "
        "inputs are in it: inputs come before what uses them. Turned around, that is "
        "the order. A set says which values were met already.",
        "Without recursion: a stack of pairs (name, are its inputs done?). Take one "
        "off. If done, append the name. If it was not met before, push it again as "
        "done, and its inputs above it. For the gradients: all are 0 and that of root "
        "1; in this order, add to each input its slope times the gradient of the user.",
    ],
    "too-early": [
        "The value that is named stands before something that was computed from it. "
        "What if a value is an input of root, and of another input of root?",
        "When you first meet a value, not all of its users have been met. Write it "
        "down later: when you leave it, not when you come to it.",
    ],
    "reversed": ["What does the backward begin with, root or the leaves?"],
    "repeats": ["A value with two users is met twice. Who remembers?"],
    "unreachable": ["Not everything in the dict has to do with root."],
    "incomplete": ["Something that root was computed from is missing in the list."],
    "recursion": [
        "Python calls functions inside functions about a thousand deep. A list that is "
        "used as a stack has no such limit."
    ],
    "overwrites": [
        "A value with two users receives two gradients. What becomes of them?"
    ],
    "counted-again": [
        "A gradient was handed on before it was whole, or more than once."
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
