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

from lessons import NotWritten


def order(graph, root):
    """The names that root was computed from, root first, each before its inputs.

    ->  list of names, each of them once, and no others

    A graph may be deep, with 20 000 values one after the other, as in a long sentence;
    and there may be more paths through it than could ever be walked.
    """
    raise NotWritten("E.3 order")


def backward(graph, root):
    """d root / d value for every value that root was computed from, and root itself.

    ->  dict of numbers
    """
    raise NotWritten("E.3 backward")
