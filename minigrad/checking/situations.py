"""Run a backward in every situation in which it must be right.

A backward maps the cotangents c of the outputs to J^T c, where J = dy/dx. This must be
true for every c: also if an output is not used, if all entries of c are equal, if c or
an input is not contiguous in memory, if a tensor is used several times, if some inputs
need no gradient, in training, in float32.
``minigrad.checking.comparison`` compares the gradients of each situation with finite
differences.
"""

import contextlib
import functools
from typing import NamedTuple

import numpy as np

from ..recording import no_grad
from .numeric import STEP, entry_scale, finite, flat

SINGLE = np.finfo(np.float32).eps


class Situation(NamedTuple):
    """The gradients of one backward.

    tag, sentence   the mistake, if they are wrong; {} stands for the input's name
    cotangents      one array for each output
    gradients       {i: gradient of leaf i, or None}
    slack           {i: an absolute error that is allowed because of rounding}
    """

    tag: str
    sentence: str
    cotangents: list
    gradients: dict
    slack: dict


def situations(run, rng):
    """Yield each ``Situation``; the first is the usual one, from ``run``."""
    c, outputs = run.cotangents, run.outputs
    rounding = dict.fromkeys(range(len(run.points)), 0.0)
    if {"accumulates", "stateful"} & {f.tag for f in run.findings}:
        yield Situation("", "", c, dict(enumerate(run.gradients)), rounding)
        return
    rounding = _rounding(run, rng)
    yield Situation("", "", c, dict(enumerate(run.gradients)), rounding)

    def situation(tag, sentence, cotangents, outputs, given=None, copy=np.array):
        given = cotangents if given is None else given
        try:
            gradients = run.gradients_of(outputs, given, copy=copy)
        except Exception as error:
            sentence += f": {type(error).__name__}: {error}"
            gradients = [np.full(p.shape, np.nan) for p in run.points]
        leaves = enumerate(run.leaves)
        gradients = {i: gradients[i] for i, leaf in leaves if leaf.requires_grad}
        slack = {
            i: rounding[i] * min(4, _size(d) / (_size(run.gradients[i]) or 1))
            for i, d in gradients.items()
        }
        return Situation(tag, sentence, cotangents, gradients, slack)

    second = run.outputs_now()
    other = [4 * np.asarray(rng.normal(size=y.shape)) for y in run.y]
    zero = [0 * each for each in c]
    yield situation("not-linear", "for a cotangent of 0, d_{} is not 0", zero, outputs)
    yield situation("not-linear", "d_{} is not linear in the cotangent", other, outputs)
    yield situation(
        "overwrites",
        "d_{} of several uses is not the sum of theirs",
        [2 * a + b for a, b in zip(c, other)],
        outputs + second + outputs,
        given=c + other + c,
    )
    ones = "of ones, such as that of sum()", [np.ones(()) for _ in c]
    rows = "with equal rows", [a[:1] if a.ndim else a for a in other]
    for what, equal in (ones, rows):
        equal = [np.broadcast_to(e, a.shape) for e, a in zip(equal, c)]  # stride 0
        rest = [a - e for e, a in zip(equal, c)]
        sentence = f"d_{{}} is wrong for a cotangent {what}"
        both = outputs + second, equal + rest, np.asarray
        found = situation("equal-entries", sentence, c, *both)
        for i, d in found.gradients.items():  # parts of the two uses cancel
            found.slack[i] += 1e-6 * _size(d)
        yield found
    sentence = "d_{} is wrong for a cotangent that is not contiguous in memory"
    yield situation("non-contiguous", sentence, c, outputs, copy=_with_gaps)
    in_columns = functools.partial(np.array, order="F")
    for what, layout in ("in Fortran order", in_columns), ("with gaps", _with_gaps):
        with run.with_data(run.points, layout), contextlib.suppress(Exception):
            sentence = f"d_{{}} is wrong for inputs {what} in memory"
            yield situation("layout", sentence, c, run.outputs_now())
    for tag, sentence, used in _parts(run, rng):
        part = [np.where(u, a, 0) for u, a in zip(used, c)]
        numbers = [k for k, u in enumerate(used) if u.any()]
        used_outputs = [outputs[k] for k in numbers]
        if any(t.requires_grad for t in used_outputs):
            given = [part[k] for k in numbers]
            yield situation(tag, sentence, part, used_outputs, given)
    for numbers, sentence in _choices_of_leaves(run.names):
        with _only_these_require_grad(run, numbers):
            fresh = run.outputs_now()
            if any(t.requires_grad for t in fresh):
                yield situation("needs", sentence, c, fresh)
    if run.training:
        with run.training():
            fresh = run.outputs_now()
            if all(np.array_equal(t._data, y) for t, y in zip(fresh, run.y)):
                yield situation("training", "d_{} is wrong in training mode", c, fresh)
    yield from _in_float32(run, rng)


def _rounding(run, rng):
    """Return {i: 100 times the change of d_i if the last digits of c change}."""
    moves = dict.fromkeys(range(len(run.gradients)), 0.0)
    for _ in range(4):
        near = [c * (1 + 2.0**-45 * rng.normal(size=c.shape)) for c in run.cotangents]
        for i, d in enumerate(run.gradients_of(run.outputs, near)):
            moves[i] = max(moves[i], 100 * _distance(d, run.gradients[i]))
    return moves


def _with_gaps(a):
    """Return an array equal to ``a`` that is not contiguous.

    Its memory has gaps, negative strides and reversed axes.
    """
    base = np.full([2 * n for n in a.shape[::-1]], np.nan, a.dtype)
    view = base.T[(slice(None, None, -2),) * a.ndim + (...,)]
    view[...] = a
    return view


def _parts(run, rng):
    """Yield (tag, sentence, masks of the outputs) for the parts of the outputs.

    A part is one of several outputs, or the entries whose changes are of similar size,
    up to a factor of 10^4: errors in small entries could not be measured beside large
    ones.
    """
    several = [k for k, y in enumerate(run.y) if y.size] if len(run.y) > 1 else []
    for k in several:
        used = [np.full(y.shape, j == k) for j, y in enumerate(run.y)]
        yield "unused-output", f"d_{{}} is wrong if output {k} alone is used", used
    moved = [p + STEP * entry_scale(p) * rng.normal(size=p.shape) for p in run.points]
    with run.with_data(moved), np.errstate(all="ignore"), no_grad():
        try:
            change = [np.abs(t._data - y) for t, y in zip(run.outputs_now(), run.y)]
        except Exception:
            return
        logs = [np.where(d > 0, np.log10(d), np.nan) for d in change]
        largest = np.max(finite(flat(logs)), initial=-np.inf, where=flat(change) > 0)
        levels = [np.floor((largest - log) / 4).clip(0, 3) for log in logs]
    all_levels = np.unique(flat(levels))
    all_levels = all_levels[np.isfinite(all_levels)]
    sentence = "d_{} is wrong for small outputs, if other outputs are much larger"
    for level in all_levels if len(all_levels) > 1 else ():
        yield "small-outputs", sentence, [each == level for each in levels]


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


def _in_float32(run, rng):
    """Yield the situation of float32 inputs, unless float32 is too coarse for them.

    The allowed error has three parts: the gradient times 0.001 + 1000 e, with the
    relative error e of the outputs; 100 times the change of the gradient if the last
    digits of the inputs change; and 1000 eps |c y| / |x|, because in a sum of large
    terms that cancel, the rounding error is relative to the terms.
    """
    sizes = np.abs(flat(run.points))
    if not ((sizes == 0) | (sizes > 1e-12) & (sizes < 1e12)).all():
        return  # the squares and cubes of such numbers are 0 or infinite
    runs = []
    for shift in (0, 1e-6, 1e-6):
        near = [p * (1 + shift * rng.normal(size=p.shape)) for p in run.points]
        runs.append(_run_in_float32(run, near))
    if None in runs:
        return
    (ys, gradients), *others = runs
    error = max(
        _distance(y, exact) / (_size(exact) or np.finfo(np.float64).tiny)
        for y, exact in zip(ys, run.y)
    )
    size = np.linalg.norm(flat([finite(c * y) for c, y in zip(run.cotangents, ys)]))
    slack = {}
    for i, (point, d) in enumerate(zip(run.points, gradients)):
        moves = max(_distance(d, other[1][i]) for other in others)
        slack[i] = (1e-3 + 1e3 * error) * _size(run.gradients[i]) + 100 * moves
        slack[i] += 1e3 * SINGLE * size / (np.abs(point).mean() if point.any() else 1)
    sentence = "d_{} is wrong if the inputs are float32"
    gradients = dict(enumerate(gradients))
    yield Situation("float32", sentence, run.cotangents, gradients, slack)


def _run_in_float32(run, points):
    """Return (outputs, gradients) for float32 inputs; None if the outputs differ."""
    points = [p.astype(np.float32) for p in points]
    with run.with_data(points), np.errstate(all="ignore"):
        try:
            outputs = run.outputs_now()
            ys = [t._data for t in outputs]
            if any((np.isfinite(a) != np.isfinite(b)).any() for a, b in zip(ys, run.y)):
                return None
            given = [c.astype(y.dtype) for c, y in zip(run.cotangents, ys)]
            return ys, run.gradients_of(outputs, given)
        except Exception:  # the function combines the inputs with float64 constants
            return None


def _distance(a, b):
    """Return the largest difference of two arrays, 0 if one is None."""
    if a is None or b is None:
        return 0.0
    return _size(finite(a).astype(np.float64) - finite(b))


def _size(a):
    """Return the largest finite |entry|."""
    return 0.0 if a is None else float(np.abs(finite(a)).max(initial=0))
