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

from lessons import NotWritten


def order(graph, root):
    """Return the names that root was computed from, root first, each before its inputs.

    ->  list of names, each once, without names that root does not depend on

    A graph may be deep: 20 000 values in a chain, as for a long sentence. The number of
    paths through it may be too large to follow each one.
    """
    raise NotWritten("E.3 order")


def backward(graph, root):
    """Return d root / d value for root and every value that root was computed from.

    ->  dictionary of numbers
    """
    raise NotWritten("E.3 backward")
