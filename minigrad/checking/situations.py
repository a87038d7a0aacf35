"""Run a backward in every situation in which it must be right.

A backward maps the cotangents c of the outputs to J^T c, where J = dy/dx. This must be
true for every c: also if an output is not used, if all entries of c are equal, if c or
an input is not contiguous in memory, if a tensor is used several times, if some inputs
need no gradient, in training, in float32.

In each situation the function may be called several times, and each call may be used
with another cotangent. They add up to c. So the gradients add up to J^T c, because J^T
is linear, and ``minigrad.checking.comparison`` compares all of them with the same
finite differences.
"""

import contextlib
import functools
from typing import NamedTuple

import numpy as np

from .numeric import finite, flat

SINGLE = np.finfo(np.float32).eps
TINY = np.finfo(np.float64).tiny


class Situation(NamedTuple):
    """The gradients of one backward, whose cotangents add up to those of the run.

    tag, sentence   the mistake, if they are wrong; {} stands for the input's name
    gradients       {i: gradient of leaf i, or None}
    slack           {i: an absolute error that is allowed}, for float32
    """

    tag: str
    sentence: str
    gradients: dict
    slack: dict = {}


def situations(run, rng):
    """Yield each ``Situation``; the first is the usual one, from ``run``."""
    c, outputs = run.cotangents, run.outputs
    yield Situation("", "", dict(enumerate(run.gradients)))
    if {"accumulates", "stateful"} & {f.tag for f in run.findings}:
        return

    def situation(tag, sentence, outputs, cotangents, copy=np.array):
        try:
            gradients = run.gradients_of(outputs, cotangents, copy=copy)
        except Exception as error:
            sentence += f": {type(error).__name__}: {error}"
            gradients = [np.full(p.shape, np.nan) for p in run.points]
        leaves = enumerate(run.leaves)
        gradients = {i: gradients[i] for i, leaf in leaves if leaf.requires_grad}
        return Situation(tag, sentence, gradients)

    second = run.outputs_now()
    both = outputs + second
    half, quarter = [a / 2 for a in c], [a / 4 for a in c]
    sentence = "d_{} of several uses is not the sum of theirs"
    yield situation("overwrites", sentence, both + outputs, quarter + half + quarter)
    zero = [0 * a for a in c]
    sentence = "for a cotangent of 0, d_{} is not 0"
    yield situation("not-linear", sentence, both, zero + c)
    other = [4 * np.asarray(rng.normal(size=y.shape)) for y in run.y]
    rest = [a - b for a, b in zip(c, other)]
    sentence = "d_{} is not linear in the cotangent"
    yield situation("not-linear", sentence, both, other + rest)
    ones = "of ones, such as that of sum()", [np.ones(()) for _ in c]
    rows = "with equal rows", [a[:1] if a.ndim else a for a in other]
    for what, equal in (ones, rows):
        equal = [np.broadcast_to(e, a.shape) for e, a in zip(equal, c)]  # stride 0
        rest = [a - e for e, a in zip(equal, c)]
        sentence = f"d_{{}} is wrong for a cotangent {what}"
        yield situation("equal-entries", sentence, both, equal + rest, np.asarray)
    sentence = "d_{} is wrong for a cotangent that is not contiguous in memory"
    yield situation("non-contiguous", sentence, outputs, c, _with_gaps)
    in_columns = functools.partial(np.array, order="F")
    for what, layout in ("in Fortran order", in_columns), ("with gaps", _with_gaps):
        with run.with_data(run.points, layout), contextlib.suppress(Exception):
            sentence = f"d_{{}} is wrong for inputs {what} in memory"
            yield situation("layout", sentence, run.outputs_now(), c)
    if len(outputs) > 1:
        alone = [run.outputs_now()[k] for k in range(len(c))]  # each of another call
        sentence = "d_{} is wrong if one output alone is used"
        yield situation("unused-output", sentence, alone, c)
    for numbers, sentence in _choices_of_leaves(run.names):
        with _only_these_require_grad(run, numbers):
            fresh = run.outputs_now()
            if any(t.requires_grad for t in fresh):
                yield situation("needs", sentence, fresh, c)
    if run.training:
        with run.training():
            fresh = run.outputs_now()
            if all(np.array_equal(t._data, y) for t, y in zip(fresh, run.y)):
                yield situation("training", "d_{} is wrong in training mode", fresh, c)
    yield from _in_float32(run)


def _with_gaps(a):
    """Return an array equal to ``a`` that is not contiguous.

    Its memory has gaps, negative strides and reversed axes.
    """
    base = np.full([2 * n for n in a.shape[::-1]], np.nan, a.dtype)
    view = base.T[(slice(None, None, -2),) * a.ndim + (...,)]
    view[...] = a
    return view


def _choices_of_leaves(names):
    """Yield (numbers of leaves, sentence), for each leaf: it alone; all except it."""
    n = len(names)
    for i in range(n) if n > 1 else ():
        yield [i], "d_{} is wrong if no other input needs a gradient"
        if n > 2:
            sentence = f"d_{{}} is wrong if {names[i]} needs no gradient"
            yield [j for j in range(n) if j != i], sentence


@contextlib.contextmanager
def _only_these_require_grad(run, numbers):
    """Let only the leaves with these numbers require a gradient."""
    for i, leaf in enumerate(run.leaves):
        leaf.requires_grad = i in numbers
    try:
        yield
    finally:
        for leaf in run.leaves:
            leaf.requires_grad = True


def _in_float32(run):
    """Yield the situation of float32 inputs, unless float32 is too coarse for them.

    The allowed error has two parts: the gradient times 0.001 + 1000 e, with the
    relative error e of the outputs; and 1000 eps |c y| / |x|, because in a sum of large
    terms that cancel, the rounding error is relative to the terms.
    """
    sizes = np.abs(flat(run.points))
    if not ((sizes == 0) | (sizes > 1e-12) & (sizes < 1e12)).all():
        return  # the squares and cubes of such numbers are 0 or infinite
    points = [p.astype(np.float32) for p in run.points]
    with run.with_data(points), np.errstate(all="ignore"):
        try:
            outputs = run.outputs_now()
            ys = [t._data for t in outputs]
            given = [c.astype(y.dtype) for c, y in zip(run.cotangents, ys)]
            gradients = run.gradients_of(outputs, given)
        except Exception:  # the function combines the inputs with float64 constants
            return
    if any((np.isfinite(a) != np.isfinite(b)).any() for a, b in zip(ys, run.y)):
        return
    error = max(
        _largest(finite(y) - finite(exact)) / (_largest(exact) or TINY)
        for y, exact in zip(ys, run.y)
    )
    size = np.linalg.norm(flat([finite(c * y) for c, y in zip(run.cotangents, ys)]))
    slack = {}
    for i, point in enumerate(run.points):
        slack[i] = (1e-3 + 1e3 * error) * _largest(run.gradients[i])
        slack[i] += 1e3 * SINGLE * size / (np.abs(point).mean() if point.any() else 1)
    sentence = "d_{} is wrong if the inputs are float32"
    gradients = dict(enumerate(gradients))
    yield Situation("float32", sentence, gradients, slack)


def _largest(a):
    """Return the largest finite |entry|; 0 if there is none."""
    return 0.0 if a is None else float(np.abs(finite(a)).max(initial=0))
