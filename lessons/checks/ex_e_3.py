"""Check an answer to E.3."""

import numpy as np

from lessons.checks.own_work import own_work  # noqa: F401
from lessons.classroom.steps import edges, laws, numbers, shape, values

DIAMOND = {
    "y": [("b", 3.0), ("x", 7.0)],
    "b": [("a", 1.0), ("x", 2.0)],
    "a": [],
    "x": [],
}


class Graph(dict):
    """A graph that reports print as its title."""

    def __init__(self, title, pairs):
        super().__init__(pairs)
        self.title = title

    def __repr__(self):
        return self.title


def ladder(n):
    """Return a graph with 2^n paths: y0 uses y1 twice, y1 uses y2 twice, …"""
    rungs = {f"y{k}": [(f"y{k + 1}", 0.5), (f"y{k + 1}", 0.25)] for k in range(n)}
    return Graph(f"a ladder of {n}", rungs | {f"y{n}": []})


def chain(n):
    links = {f"y{k}": [(f"y{k + 1}", 1.0)] for k in range(n)}
    return Graph(f"a chain of {n}", links | {f"y{n}": []})


def random_graph(rng, n):
    """Return a graph whose values use up to three later ones, in random order."""
    names = [f"v{k}" for k in rng.permutation(n)]
    graph = {}
    for i in range(n):
        later = rng.integers(i + 1, n, rng.integers(0, 4)) if i < n - 1 else []
        graph[names[i]] = [(names[j], float(rng.normal())) for j in later]
    shuffled = [names[i] for i in rng.permutation(n)]
    return Graph(f"{n} values", {name: graph[name] for name in shuffled}), names


def below(graph, root):
    """Return root and all names that it was computed from."""
    met, waiting = {root}, [root]
    while waiting:
        new = {x for x, _ in graph[waiting.pop()]} - met
        met |= new
        waiting.extend(new)
    return met


def check_order(my, graph, root):
    """Fail unless the learner's order of this graph is a topological order."""
    found = my.order(graph, root)
    my.holds(
        isinstance(found, (list, tuple, np.ndarray)),
        "type",
        "expected a list of names",
        f"found {type(found).__name__}",
    )
    found = list(found)
    wanted = below(graph, root)
    strange = [n for n in found if n not in wanted]
    missing = sorted(wanted - set(found))
    twice = (
        sorted({n for n in wanted if found.count(n) > 1}) if len(found) < 999 else []
    )
    my.holds(
        not strange,
        "unreachable",
        f"expected only values that {root} was computed from",
        f"found {', '.join(map(str, strange[:3]))} as well",
    )
    my.holds(
        not missing,
        "incomplete",
        f"expected all {len(wanted)} values that {root} depends on",
        f"found a list without {', '.join(missing[:3])}",
    )
    my.holds(
        not twice and len(found) == len(wanted),
        "repeats",
        f"expected each of {len(wanted)} values once",
        f"found {len(found)} names"
        + "".join(f", {n} more than once" for n in twice[:1]),
    )
    place = {name: k for k, name in enumerate(found)}
    early = [(n, x) for n in found for x, _ in graph[n] if place[x] < place[n]]
    if early:
        user, x = early[0]
        wrong_way = all(place[x] < place[n] for n in found for x, _ in graph[n])
        my.holds(
            False,
            "reversed" if wrong_way else "too-early",
            f"expected {user} before {x}, because {user} was computed from {x}",
            f"found {x} at index {place[x]}, {user} at index {place[user]}"
            + (", and the same for every pair" if wrong_way else ""),
        )


def by_forward(graph, root, names):
    """Return d root / d value, computed upwards from each value."""
    found = {}
    for value in below(graph, root):
        moved = {value: 1.0}
        for name in reversed(names):  # inputs first
            if name != value:
                moved[name] = sum(moved[x] * s for x, s in graph[name] if x in moved)
        found[value] = moved[root]
    return found


def compare(my, graph, root, want):
    """Fail unless the gradients of root in this graph are these."""
    found = my.backward(graph, root)
    is_dict = isinstance(found, dict)
    strange = sorted(set(found) - set(want), key=str) if is_dict else []
    if strange and set(want) <= set(found):
        text = f"expected only {root} and the values it was computed from"
        more = f"found {', '.join(map(str, strange[:3]))} as well"
        my.holds(False, "unreachable", text, more)
    my.holds(
        is_dict and set(found) == set(want),
        "incomplete",
        f"expected a dict with a number for each of {', '.join(sorted(want)[:6])}",
        f"found {sorted(found) if is_dict else type(found).__name__}",
    )
    size = max(map(abs, want.values()))
    off = [n for n in want if not abs(found[n] - want[n]) <= 1e-9 * size]
    if off:
        names = sorted(off)
        tag, sentence = diagnose(graph, root, found, want)
        my.holds(
            False,
            tag,
            f"expected d {root} / d {names[0]} = {want[names[0]]:.6g}",
            f"found    {found[names[0]]:.6g}",
            f"{len(off)} of {len(want)} differ: {', '.join(names[:6])}",
            *sentence,
        )


def diagnose(graph, root, found, want):
    """Return (tag, [sentence]) of the known mistake that equals wrong gradients."""

    users = {x: [] for x in want}
    for name in want:
        for x, slope in graph[name]:
            users[x].append((name, slope))
    if not any(found.values()):
        return "zero", ["yours is 0 everywhere"]
    if not any(found[x] for x in want if x != root):
        return "zero", [f"yours is 0 everywhere but for {root}"]
    rules = [
        ("ignores-upstream", "the sum of the slopes", lambda u: sum(s for _, s in u)),
        ("no-slope", "the sum of the users' gradients, without slopes",
         lambda u: sum(found[n] for n, _ in u)),
        ("plus", "the sum of the users' gradients + slopes, not times",
         lambda u: sum(found[n] + s for n, s in u)),
        ("divided", "the sum of the users' gradients / slopes, not times",
         lambda u: sum(found[n] / s for n, s in u)),
        ("starts-with-1", "1 + the sum of the users' gradients times slopes",
         lambda u: 1 + sum(found[n] * s for n, s in u)),
        ("not-float", "the sum of integers, without what follows the point",
         lambda u: sum(int(found[n] * s) for n, s in u)),
        ("mean", "the mean over the users",
         lambda u: sum(found[n] * s for n, s in u) / len(u)),
        ("one-use", "the sum with one term for each user, which may use it twice",
         lambda u: sum(found[n] * s for n, s in dict(u).items())),
    ]  # fmt: skip
    for tag, text, rule in rules:
        if all(abs(found[x] - rule(users[x])) < 1e-9 for x in want if x != root):
            return tag, [f"yours equals {text}"]  # root has no users
    several = [x for x in want if len(users[x]) > 1]
    if several and all(
        any(abs(found[x] - found[u] * s) < 1e-9 for u, s in users[x])
        for x in want
        if x != root
    ):
        return "overwrites", ["yours is the term of one user where there are several"]
    if abs(found[root] - want[root]) < 1e-9:
        broken = [
            x
            for x in want
            if x != root
            and abs(found[x] - sum(found[u] * s for u, s in users[x])) > 1e-9
        ]
        # a value that only root uses is right in any order
        if broken and not [x for x in broken if {n for n, _ in users[x]} == {root}]:
            text = (
                f"your gradient of {min(broken)} is not the sum, over the users of "
                f"{min(broken)}, of slope times your gradient of the user"
            )
            return "counted-again", [text]
    return "unknown", []


@shape("y = b x with b = a + 2 x")
def small_ones(my, rng):
    check_order(my, Graph("y, b, a, x", DIAMOND), "y")
    check_order(my, Graph("y, x twice", {"y": [("x", 3.0), ("x", 3.0)], "x": []}), "y")


@numbers("the example, 13 = 7 + 3 times 2")
def the_example(my, rng):
    want = {"y": 1.0, "b": 3.0, "a": 3.0, "x": 13.0}
    compare(my, Graph("y, b, a, x", DIAMOND), "y", want)


@values("random graphs, with names in random order")
def random_ones(my, rng):
    for n in (5, 11, 17, 30):
        graph, names = random_graph(rng, n)
        for root in (names[0], names[2]):
            check_order(my, graph, root)
            compare(my, graph, root, by_forward(graph, root, names))


@laws("x x: both uses of x count")
def both_uses(my, rng):
    square = Graph("y = x x", {"y": [("x", 3.0), ("x", 3.0)], "x": []})
    compare(my, square, "y", {"y": 1.0, "x": 6.0})


@edges("2^50 paths, a chain of 20 000, and a leaf")
def long_ones(my, rng):
    leaf = Graph("a leaf, and another", {"x": [], "y": []})
    check_order(my, leaf, "x")
    compare(my, leaf, "x", {"x": 1.0})
    many = ladder(50)
    check_order(my, many, "y0")
    compare(my, many, "y0", {f"y{k}": 0.75**k for k in range(51)})
    check_order(my, chain(20_000), "y0")


HINTS = {
    "no-slope": ["The chain rule has two factors for each user. Which is missing?"],
    "plus": ["A small change passes two steps: are their slopes multiplied, or added?"],
    "divided": ["By how much does y change if x does: slope times as much, or else?"],
    "starts-with-1": ["Which value alone has the gradient 1, before any is added?"],
    "not-float": ["Gradients are numbers with a fraction."],
    "one-use": ["A dict keeps one slope for each user. How often does y = x x use x?"],
    "order": ["A value may be written only after all its users: when is that certain?"],
    "backward": [
        "A value with several users receives a sum. With which number does it begin?",
    ],
    "": [
        "All inputs of a value come later in the list. When can you write a value, "
        "if you fill the list from its end?",
        "Go down from root, depth first, and append a value to a list after all its "
        "inputs. In this list inputs come before their users; reverse it at the end. "
        "Keep the visited names in a set.",
        "Without recursion: use a stack of pairs (name, are its inputs done?). Take "
        "one pair. If it is done, append the name. If the name is new, push it again "
        "as done, and push its inputs above it. For the gradients: start with 0 for "
        "all names in order(graph, root) and 1 for root; in this order, add to each "
        "input its slope times the gradient of the user.",
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
    "unreachable": [
        "root does not depend on every name in the graph. Use those in order(graph, "
        "root).",
    ],
    "incomplete": ["A value that root depends on is missing."],
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
