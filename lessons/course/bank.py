"""Name mistakes by identities: the sums of the right numbers, for example.

``identity`` returns the first that holds. With few numbers, or round ones, an identity
may hold by chance: it counts only where ``is_evidence`` is true.
"""

import contextlib
import itertools
import math
import re

import numpy as np

from minigrad.checking.diagnosis import Case
from minigrad.checking.hypotheses import (
    BANK, fits_float32, mask_leak, multiple, one_block,
)  # fmt: skip

EXACT = 1e-9  # of the largest entry
COARSE = 1e-5  # below it the first digits are right, and others are lost
SINGLE = 1e-6  # a larger error is not that of a float32
ROUND = 5040  # a number is round if this many times it is an integer
SHORT = re.compile(  # a type of few digits, named by NumPy or in quotes
    r"np\.(float32|float16|single|half)\b|[\"'][<=]?(float32|float16|f4|f2)[\"']"
)
OTHER_FUNCTIONS = (
    ("reciprocal", "1 / expected", lambda w: 1 / w),
    ("one-minus", "1 - expected", lambda w: 1 - w),
    ("square", "the square of expected", lambda w: w * w),
    ("root", "the square root of expected", np.sqrt),
    ("exponential", "exp(expected)", np.exp),
    ("logarithm", "ln(expected)", np.log),
    ("absolute", "|expected|", np.abs),
    ("softmax-taken", "softmax(expected)", lambda w: _softmax(np.atleast_1d(w), -1)),
)


def identity(failure, my):
    """Return (tag, sentence) of an identity that holds for a wrong array, or None."""
    if failure.arrays is None or my.last.result is None:
        return None
    got, want = failure.arrays
    if want.dtype == bool:
        is_opposite = want.any() and not want.all() and np.array_equal(got, ~want)
        words = "yours equals not expected: True and False exchanged"
        return ("complement", words) if is_opposite else None
    got, want = np.asarray(got, float), np.asarray(want, float)
    if not want.size or not np.isfinite(want).all() or not want.any():
        return None
    if equal(got, want, COARSE):
        return of_digits(got, want, failure.back, my.text)
    if not is_evidence(want, my.last.args):
        return None
    case = Case(yours=got, numeric=want)
    if failure.back and len(my.last.gs) == 1:
        case.cotangent = my.last.gs[0]
    few = (multiple, one_block) if want.size < 3 else ()  # they need three entries
    for hypothesis in BANK:
        with contextlib.suppress(Exception):
            if hypothesis not in (mask_leak, *few) and (found := hypothesis(case)):
                return found[0], found[1].replace("numeric", "expected")
    return of_values(got, want) if np.isfinite(got).all() else None


def equal(a, b, close=EXACT):
    """Return whether two arrays are finite and agree to ``close`` of the largest."""
    if np.shape(a) != np.shape(b) or not np.size(a):
        return False
    size = np.abs(b).max()
    return bool(size < np.inf and np.abs(a - b).max() <= close * size)


def is_evidence(want, arguments):
    """Return whether an identity of ``want`` is evidence: enough numbers are not round.

    One or two numbers are evidence if they come from data that is not round.
    """
    if want.size > 2:
        return _irregular(want) > 2
    arrays = [a for a in arguments if isinstance(a, np.ndarray) and a.dtype.kind == "f"]
    is_of_data = any(_irregular(a) > 4 for a in arrays)
    return _irregular(want) == want.size and is_of_data


def of_values(got, want):
    """Return (tag, sentence) for wrong numbers, or None."""
    if got.shape != want.shape:
        return _of_sums(got, want)
    found = _of_constant(got, want) or _of_other_functions(got, want)
    found = found or _of_sums(got, want)
    if not found and want.size > 3 and equal(np.sort(got, None), np.sort(want, None)):
        return "permuted", "yours has all expected numbers, in other places"
    return found


def of_digits(got, want, back, text):
    """Return (tag, sentence) for numbers of which the first digits are right.

    back  whether they are gradients; text  of the answer
    """
    off = np.abs(got - want).max() / np.abs(want).max()
    how = f"yours differs from expected by {off:.1g} of the largest entry at most"
    if found := _of_epsilon(got, want):
        return found
    if EXACT < off < SINGLE:
        if fits_float32(got) and not fits_float32(want):
            return "float32", f"{how}: every entry of yours is a float32 number"
        for number, line in enumerate(text.splitlines(), 1):
            if SHORT.search(line):
                where = f"line {number}:  {line.strip()}"
                return "float32", f"{how}, as with float32; {where}"
    if back:
        return "differences", f"{how}, as a difference quotient of the forward does"
    return "nearly", how


def _of_epsilon(got, want):
    """Return (tag, sentence) if a small number was added to each entry or divisor."""
    if want.size < 3:
        return None
    if found := _of_constant(got, want):
        return found
    for axis in range(want.ndim):
        sums, lost = want.sum(axis), 1 - got.sum(axis)
        is_one = np.abs(sums - 1).max() < 1e-12 and want.shape[axis] > 1
        is_less = (lost > 3e-13 * np.abs(want).max()).all()
        if is_one and is_less and equal(got / got.sum(axis, keepdims=True), want):
            least, most = lost.min(), lost.max()
            what = f"{least:.1g}" + (f" to {most:.1g}" if most > 2 * least else "")
            return "epsilon", (
                f"yours sums over axis {axis} to 1 - {what}, expected to 1: what "
                "is added to the divisor?"
            )


def _irregular(a):
    """Return how many different entries are not round."""
    a = a[np.isfinite(a)] * ROUND
    return len(np.unique(np.abs(a[np.abs(a - np.round(a)) > 1e-6])))


def _signed(x):
    return f"{'-' if x < 0 else '+'} {abs(x):.3g}"


def _axes(shape):
    """Yield (axes, in words) of all choices of axes with two entries or more."""
    for n in range(1, len(shape) + 1):
        for axes in itertools.combinations(range(len(shape)), n):
            if math.prod(shape[a] for a in axes) > 1:
                words = f"ax{'e' if n > 1 else 'i'}s {', '.join(map(str, axes))}"
                yield axes, "everything" if n == len(shape) else words


def _of_constant(got, want):
    """Return (tag, sentence) if yours is one number, or expected plus one number."""
    size, gap = np.abs(want).max(), got - want
    if want.size < 3 or not size:
        return None
    n = want.shape[-1]
    if n > 2 and equal(got, np.full(want.shape, 1 / n)):
        return "uniform", f"yours is 1/{n} in every entry"
    added, noise = gap.mean(), 1e-14 * size
    is_small = abs(added) < 1e-3 * size
    # ln(p + eps) is ln p + eps / p, and smaller terms
    near = max(noise, 1e-3 * abs(added)) if is_small else EXACT * size
    if abs(added) > 30 * noise and np.abs(gap - added).max() < near:
        tag = "epsilon" if is_small else "added"
        return tag, f"yours = expected {_signed(added)} in every entry"


def _softmax(x, axis):
    z = np.exp(x - x.max(axis, keepdims=True))
    return z / z.sum(axis, keepdims=True)


def _of_other_functions(got, want):
    with np.errstate(all="ignore"):
        for tag, text, f in OTHER_FUNCTIONS:
            array = f(want)
            if np.isfinite(array).all() and not equal(array, want):
                if equal(got, array):
                    return tag, f"yours equals {text}"


def _of_sums(got, want):
    for axes, over in _axes(want.shape):
        for what, f in (("sum", np.sum), ("mean", np.mean)):
            for keep in (False, True):
                value = f(want, axes, keepdims=keep)
                if got.shape == want.shape and keep:
                    value = np.broadcast_to(value, want.shape)
                if equal(got, value):
                    tag = "everything" if over == "everything" else "axis"
                    return f"{what}-over-{tag}", (
                        f"yours equals the {what} of expected over {over}"
                    )
