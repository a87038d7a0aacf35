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
    finished, seen, stack = [], set(), [(root, False)]  #? Which names of the graph can be reached from root?
    while stack:
        name, below_is_done = stack.pop()
        if below_is_done:
            finished.append(name)
        elif name not in seen:  #? A value with two users is reached twice. How often may the list contain it?
            seen.add(name)
            stack.append((name, True))  # is taken again after its inputs  #? When you first reach a value, you have not reached all of its users. When is it certain?
            stack.extend((x, False) for x, _ in graph[name])
    return finished[::-1]  #? Does the backward begin with root or with the leaves?


def backward(graph, root):
    """Return d root / d value for root and every value that root was computed from.

    ->  dictionary of numbers
    """
    names = order(graph, root)  #? Each value may be used when its own gradient is complete.
    #! names = sorted(order(graph, root))  | sums in the order of the alphabet, not all complete when they are passed on
    #! names = order(graph, root)[::-1]  | sums from the leaves to root, not complete when they are passed on
    #! names = [name for name in graph if name in order(graph, root)]  | sums in the order of the dictionary, not all complete when they are passed on
    found = dict.fromkeys(names, 0.0)  #? Which value alone has a gradient before any is added, and which values have one at all?
    found[root] = 1.0  #? What is d root / d root?
    #! found[root] = 0.0  | 0 everywhere
    for name in names:
        for x, slope in graph[name]:  #? How often does y = x x use x? A dict keeps one slope for each input.
            #! for x, slope in dict(graph[name]).items():  | the sum with one term for each user, which may use it twice
            found[x] += found[name] * slope  #? A value with two users receives two gradients; each is the user's own, times the slope.
            #! found[x] += int(found[name] * slope)  | the sum of integers, without what follows the point
            #! found[x] += found[name] * slope / sum(u == x for n in names for u, _ in graph[n])  | the mean over the users
    return found


# ---- THE CHECK: each call my.f(…) is compared with the function f above

import numpy as np

from lessons.course.measure import ends

EXAMPLE = {"y": [("b", 3.0), ("x", 7.0)], "b": [("a", 1.0), ("x", 2.0)]}
EXAMPLE |= {"a": [], "x": []}
MOST = 200_000  # lines that an answer may run for 51 values


def ladder(n):
    """Return a graph with 2^n paths: y0 uses y1 twice, y1 uses y2 twice, …"""
    rungs = {f"y{k}": [(f"y{k + 1}", 0.5), (f"y{k + 1}", 0.25)] for k in range(n)}
    return rungs | {f"y{n}": []}


def random_graph(rng, n):
    """Return a graph whose values use up to three later ones, in random order."""
    names = [f"v{k}" for k in rng.permutation(n)]
    graph = {}
    for i in range(n):
        later = rng.integers(i + 1, n, rng.integers(0, 4)) if i < n - 1 else []
        graph[names[i]] = [(names[j], float(rng.normal())) for j in later]
    return {names[i]: graph[names[i]] for i in rng.permutation(n)}, names


def is_order(my, graph, root):
    """Fail unless the learner's order of this graph is one of its orders."""
    found = my.only.order(graph, root)
    is_list = isinstance(found, (list, tuple, np.ndarray))
    my.holds("order", is_list, "a list of names", type(found).__name__, "type")
    found, wanted = list(found), {*order(graph, root)}
    strange = ", ".join(map(str, [n for n in found if n not in wanted][:3]))
    expected = f"only values that {root} was computed from"
    my.holds("order", not strange, expected, f"{strange} as well", "unreachable")
    missing = ", ".join(sorted(wanted - {*found})[:3])
    expected = f"all {len(wanted)} values that {root} depends on"
    my.holds("order", not missing, expected, f"a list without {missing}", "incomplete")
    expected, count = f"each of {len(wanted)} values once", f"{len(found)} names"
    my.holds("order", len(found) == len(wanted), expected, count, "repeats")
    place = {name: k for k, name in enumerate(found)}
    links = [(n, x) for n in found for x, _ in graph[n]]
    early = [(n, x) for n, x in links if place[x] < place[n]]
    tag = "reversed" if len(early) == len(links) else "too-early"
    for n, x in early:
        expected = f"{n} before {x}, because {n} was computed from {x}"
        places = f"{x} at index {place[x]}, {n} at {place[n]}"
        my.holds("order", False, expected, places, tag)


def orders_and_gradients(my, rng):
    """the example, 13 = 7 + 3 times 2, y = x x, and random graphs"""
    graphs = [(EXAMPLE, "y"), ({"y": [("x", 3.0), ("x", 3.0)], "x": []}, "y")]
    for n in (5, 11, 17, 30):
        graph, names = random_graph(rng, n)
        graphs += [(graph, names[0]), (graph, names[2])]
    for graph, root in graphs:
        is_order(my, graph, root)
        my.near(1e-9).backward(graph, root)


def long_ones(my, rng):
    """2^50 paths, a chain of 20 000, and a leaf"""
    leaf, many = {"x": [], "y": []}, ladder(50)
    is_order(my, leaf, "x")
    my.backward(leaf, "x")
    texts = "expected one visit of each of 51 values", f"found more than {MOST} lines run"
    with ends(my, "paths", *texts, lines=MOST):
        is_order(my, many, "y0")
        my.near(1e-9).backward(many, "y0")
    links = {f"y{k}": [(f"y{k + 1}", 1.0)] for k in range(20_000)}
    is_order(my, links | {"y20000": []}, "y0")


HINTS = """
too-early  Append a value when you leave it, not when you first reach it.
paths  A graph of 50 layers has 2^50 paths. Visit each value once, not each path.
recursion  Python allows about a thousand nested calls. A list that is used as a stack
   has no such limit.
1  All inputs of a value come later in the list. When can you write a value, if you fill
   the list from its end?
2  Go down from root, depth first, and append a value to a list after all its inputs. In
   this list inputs come before their users; reverse it at the end. Keep the visited
   names in a set.
3  Without recursion: use a stack of pairs (name, are its inputs done?). Take one pair:
   if it is done, append the name; if the name is new, push it again as done, and its
   inputs above it.
"""
WHY = """Every value comes after all its users, so its gradient is complete when the
walk arrives, and each value is visited once. Following each path would repeat the work
once for each path, and the number of paths can double with every value."""
