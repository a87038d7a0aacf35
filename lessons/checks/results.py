"""Compare the results of functions that return several, and name the wrong one."""

import contextlib

import numpy as np

from lessons.course.outcome import CheckFailed


@contextlib.contextmanager
def result(name):
    """Name the result that is compared inside, if the comparison fails."""
    try:
        yield
    except CheckFailed as failure:
        lines = f"{name}, in the result of", *failure.unfolded
        named = CheckFailed(failure.tag, *lines)
        named.place = failure.place
        raise named from failure.__cause__


def several(my, found, names):
    """Return the results of a call as a list, if there are as many as names."""
    rows = isinstance(found, np.ndarray) and found.shape[:1] == (len(names),)
    is_several = rows or isinstance(found, (tuple, list))
    count = len(found) if is_several else 1
    my.holds(
        count == len(names) and is_several,
        "results",
        f"expected {len(names)} results: {', '.join(names)}",
        f"found {'nothing' if found is None else count}",
    )
    return list(found)


def shape_all(my, found, shapes, axes=None):
    """Fail unless each result has its shape; shapes and axes are by name."""
    found = several(my, found, shapes)
    if all(isinstance(each, np.ndarray) for each in found):
        here, right = [x.shape for x in found], list(map(tuple, shapes.values()))
        my.holds(
            here == right or sorted(here) != sorted(right),
            "swapped",
            f"expected shapes {', '.join(f'{n} {s}' for n, s in zip(shapes, right))}",
            f"found {', '.join(map(str, here))}: the same results in another order",
        )
    for (name, shape), each in zip(shapes.items(), found):
        with result(name):
            my.shape(each, shape, (axes or {}).get(name))


def equal_all(my, found, want, axes=None, variants=None, **options):
    """Fail unless each result is right; want, axes and variants are by name."""
    found = several(my, found, want)
    wrong = [n for n, each in zip(want, found) if not same(each, want[n])]
    for (name, right), each in zip(want.items(), found):
        known = list((variants or {}).get(name, ()))
        for other, array in want.items():
            if other != name and other in wrong and not same(array, right):
                known.append(("swapped", f"{other}, in the place of {name}", array))
        with result(name):
            my.equal(each, right, (axes or {}).get(name), known, **options)


def same(a, b, rtol=1e-5):
    """Return whether two arrays have one shape and nearly the same numbers."""
    try:
        a, b = np.asarray(a, float), np.asarray(b, float)
    except (TypeError, ValueError):  # no array of numbers
        return False
    return a.shape == b.shape and np.allclose(a, b, rtol, equal_nan=True)
