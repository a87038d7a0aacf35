"""Wrong backwards of any operation, made from its right one.

A mutation changes what a backward returns, or what it is given. Each is a mistake that
people make: a forgotten sign, a mean for a sum, an upstream gradient that is ignored.
``mutants`` yields those that change the gradients of one call. In all of them, d is the
gradient of one input, and g is a list with the gradient of each output.
"""

import numpy as np

from minigrad import lift
from minigrad.broadcasting import unbroadcast

from .harness import cotangents
from .spec import as_tuple, is_input

# Change the gradient of one input: d -> wrong gradient, of the same shape


def negated(d):
    return -d


def doubled(d):
    return 2 * d


def dropped(d):
    return np.zeros_like(d)


def averaged(d):
    """A mean where a sum belongs, over the first axis."""
    return d / len(d) if d.ndim else d


def transposed(d):
    """Right for symmetric matrices alone."""
    square = d.ndim > 1 and d.shape[-1] == d.shape[-2]
    return d.swapaxes(-1, -2).copy() if square else d


def reversed_rows(d):
    """The rows of a batch in another order."""
    return d[::-1].copy() if d.ndim else d


def first_row(d):
    """The gradient of the first row, for all rows."""
    return np.broadcast_to(d[:1], d.shape).copy() if d.ndim else d


def one_entry(d):
    """Wrong in the last entry, by a thousandth of the largest."""
    d = d.copy()
    if d.size:
        d[(-1,) * d.ndim] += 1e-3 * np.abs(d).max()
    return d


def in_float16(d):
    """Rounded on the way."""
    return d.astype(np.float16).astype(d.dtype)


# Change all gradients: (the right backward, g) -> wrong gradients


def ignores_g(back, g):
    """The gradients of the sum of the outputs, whatever g is."""
    return back([np.ones_like(each) for each in g])


def rectified(back, g):
    """Right where g is positive."""
    return back([np.abs(each) for each in g])


def first_output_alone(back, g):
    """What arrives from the other outputs is lost."""
    return back([g[0], *(np.zeros_like(each) for each in g[1:])])


def last_output_alone(back, g):
    return back([*(np.zeros_like(each) for each in g[:-1]), g[-1]])


def exchanged(back, g):
    """The gradients of two inputs of one shape, the other way round."""
    found = back(g)
    for j, d in enumerate(found):
        for i in range(j):
            if d is not None and found[i] is not None and found[i].shape == d.shape:
                found[i], found[j] = d, found[i]
                return found
    return found


OF_ONE = [
    negated, doubled, dropped, averaged, transposed, reversed_rows, first_row, one_entry,
    in_float16,
]  # fmt: skip
OF_ALL = [ignores_g, rectified, first_output_alone, last_output_alone, exchanged]


# Change each call but the first: the right backward -> a wrong one


def stale(back):
    """The gradients of the first g, for every later one."""
    kept = []

    def backward(g):
        kept.append(kept[0] if kept else back(g))
        return [None if d is None else d.copy() for d in kept[0]]

    return backward


def accumulating(back):
    """Each call adds its gradients to those of the calls before."""
    kept = []

    def backward(g):
        kept.append(back(g))
        return [None if d[0] is None else sum(d) for d in zip(*kept)]

    return backward


OF_CALLS = [stale, accumulating]


def mutants(case, right):
    """Yield (name, operation) for each mutation that changes the gradients of a case.

    right   the operation as a function of arrays: outputs and backward
    """
    outputs, backward = case.run(right)
    g = cotangents(as_tuple(outputs))
    expected = _listed(backward, isinstance(outputs, tuple))(g)
    inputs = [i for i, a in enumerate(case.positions()) if is_input(a)]
    wrong = {m.__name__: _of_all(m) for m in OF_ALL}
    wrong |= {f"{m.__name__}-{i}": _of_one(m, i) for m in OF_ONE for i in inputs}
    shapes = {i: a.shape for i, a in enumerate(case.positions()) if i in inputs}
    for name, mutation in wrong.items():
        found = mutation(_listed(backward, isinstance(outputs, tuple)))(g)
        pairs = ((unbroadcast(d[i], shapes[i]) for d in (found, expected)) for i in inputs)
        if any(not np.allclose(x, y, 1e-9, 1e-12) for x, y in pairs):
            yield name, _mutant(right, mutation)
    if any(d is not None and d.any() for d in expected):
        for mutation in OF_CALLS:
            yield mutation.__name__, _mutant(right, mutation)


def _of_all(mutation):
    return lambda back: lambda g: mutation(back, g)


def _of_one(mutation, i):
    def change(back):
        def backward(g):
            found = back(g)
            found[i] = mutation(np.asarray(found[i]))
            return found

        return backward

    return change


def _listed(backward, several):
    """``backward`` as a function from a list of g to a list of gradients."""

    def listed(g):
        with np.errstate(all="ignore"):  # as in the backward pass of the engine
            found = backward(list(g) if several else g[0])
        return list(found) if isinstance(found, (tuple, list)) else [found]

    return listed


def _mutant(right, mutation):
    """The operation with its own forward, and its backward after a mutation."""

    def mutant(*args, **options):
        outputs, backward = right(*args, **options)
        several = isinstance(outputs, tuple)
        changed = mutation(_listed(backward, several))
        return outputs, lambda g: tuple(changed(g if several else [g]))

    mutant.__name__ = right.__name__
    return lift(mutant)
