"""Name mistakes by identities: the sums of the right numbers, for example.

Each function here has the arguments (found, expected), two arrays of one result, and
returns (tag, sentence) if its identity holds. ``identity`` returns the first that holds
for all wrong results of a function. Three are facts of one result, and no identities:
NaN, a small number that was added, and one block of wrong entries.
"""

import contextlib
import functools
import itertools
import math
import re

import numpy as np

from minigrad.checking.diagnosis import Case
from minigrad.checking.hypotheses import (
    fits_float32, missing, multiple, nan, one_block, scaled, transposed, unbroadcast,
)  # fmt: skip

EXACT = 1e-9  # of the largest entry
COARSE = 1e-5  # below it the first digits are right, and others are lost
SINGLE = 1e-6  # a larger error is not that of a float32
SHORT = re.compile(  # a type of few digits, named by NumPy or in quotes
    r"np\.(float32|float16|single|half)\b|[\"'][<=]?(float32|float16|f4|f2)[\"']"
)


def identity(pairs, back, text):
    """Return (tag, sentence) of the first identity that holds for all pairs, or None.

    pairs   [(found, expected)], the wrong results; the sentence is about the first
    back    whether they are gradients
    text    of the answer
    """
    if any(a.dtype.kind not in "biuf" for pair in pairs for a in pair):
        return None  # text
    if pairs[0][1].dtype == bool:
        are_opposite = all(np.array_equal(got, ~want) for got, want in pairs)
        is_mixed = any(want.any() and not want.all() for _, want in pairs)
        words = "yours equals not expected: True and False exchanged"
        return ("complement", words) if are_opposite and is_mixed else None
    pairs = [(np.asarray(got, float), np.asarray(want, float)) for got, want in pairs]
    if not np.isfinite(pairs[0][1]).all():
        return None
    # two facts of one result: it is not finite, or off by one small number
    for holds in of_engine(nan), epsilon:
        found = throughout(holds, pairs[:1]) if pairs[0][1].ndim else None
        if found and found[0] in ("nan", "epsilon"):
            return found
    if not all(np.isfinite(want).all() for _, want in pairs):
        return None
    identities = OF_VALUES
    if equal(*pairs[0], COARSE):
        pairs = [pair for pair in pairs if equal(*pair, COARSE)]
        digits = functools.partial(float32, text=text)
        identities = digits, differences if back else nearly
    elif len(np.unique(np.concatenate([want.reshape(-1) for _, want in pairs]))) < 3:
        return None  # an identity of so few numbers may hold by chance
    if pairs[0][1].size > 2:  # of one number or two, nearly every identity is true
        pairs = [pair for pair in pairs if pair[1].size > 2]
    with np.errstate(all="ignore"):
        for holds in identities:
            if found := throughout(holds, pairs):
                return found
    return throughout(of_engine(one_block), pairs[:1])  # where it is wrong


def throughout(holds, pairs):
    """Return what an identity says of the first pair if it holds for all, or None."""
    found = []
    with contextlib.suppress(Exception):  # of shapes that do not fit
        for got, want in pairs:
            found.append(holds(got, want))
            if not found[-1]:
                return None
        kinds = {tag.partition(":")[0] for tag, _ in found}  # scale, of scale:1/3
        return found[0] if len(kinds) == 1 else None


def equal(a, b, close=EXACT):
    """Return whether two arrays are finite and agree to ``close`` of the largest."""
    if np.shape(a) != np.shape(b) or not np.size(a):
        return False
    size = np.abs(b).max()
    return bool(size < np.inf and np.abs(a - b).max() <= close * size)


def of_engine(hypothesis):
    """Return an identity of the engine, which calls what is expected numeric."""

    def holds(got, want):
        if found := hypothesis(Case(yours=got, numeric=want)):
            return found[0], found[1].replace("numeric", "expected")

    return holds


def epsilon(got, want):
    """Test for a small number that was added to each entry, or to each divisor."""
    if want.size < 3:
        return None
    if found := added(got, want):
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


def float32(got, want, text):
    off, how = np.abs(got - want).max() / np.abs(want).max(), nearly(got, want)[1]
    if fits_float32(got) and not fits_float32(want):
        return "float32", f"{how}: every entry of yours is a float32 number"
    for number, line in enumerate(text.splitlines() if EXACT < off < SINGLE else (), 1):
        if SHORT.search(line):
            where = f"line {number}:  {line.strip()}"
            return "float32", f"{how}, as with float32; {where}"


def differences(got, want):
    how = nearly(got, want)[1]
    return "differences", f"{how}, as a difference quotient of the forward does"


def nearly(got, want):
    off = np.abs(got - want).max() / np.abs(want).max()
    how = f"yours differs from expected by {off:.1g} of the largest entry at most"
    return "nearly", how


def added(got, want):
    """Test for one number in every entry, or expected plus one number."""
    size, gap = np.abs(want).max(), got - want
    if want.size < 3:
        return None
    n = want.shape[-1]
    if n > 2 and equal(got, np.full(want.shape, 1 / n)):
        return "uniform", f"yours is 1/{n} in every entry"
    more, noise = gap.mean(), 1e-14 * size
    is_small = abs(more) < 1e-3 * size
    # ln(p + eps) is ln p + eps / p, and smaller terms
    near = max(noise, 1e-3 * abs(more)) if is_small else EXACT * size
    if abs(more) > 30 * noise and np.abs(gap - more).max() < near:
        tag = "epsilon" if is_small else "added"
        signed = f"{'-' if more < 0 else '+'} {abs(more):.3g}"
        return tag, f"yours = expected {signed} in every entry"


def sums(got, want):
    """Test for the sum or mean of what is expected, over some axes."""
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


def _axes(shape):
    """Yield (axes, in words) of all choices of axes with two entries or more."""
    for n in range(1, len(shape) + 1):
        for axes in itertools.combinations(range(len(shape)), n):
            if math.prod(shape[a] for a in axes) > 1:
                words = f"ax{'e' if n > 1 else 'i'}s {', '.join(map(str, axes))}"
                yield axes, "everything" if n == len(shape) else words


def other_functions(got, want):
    """Test for a function of what is expected, such as its square."""
    for tag, text, f in OTHER_FUNCTIONS:
        array = f(want)
        if np.isfinite(array).all() and equal(got, array) and not equal(array, want):
            return tag, f"yours equals {text}"


def _softmax(x):
    z = np.exp(x - x.max(-1, keepdims=True))
    return z / z.sum(-1, keepdims=True)


OTHER_FUNCTIONS = (
    ("reciprocal", "1 / expected", lambda w: 1 / w),
    ("one-minus", "1 - expected", lambda w: 1 - w),
    ("square", "the square of expected", lambda w: w * w),
    ("root", "the square root of expected", np.sqrt),
    ("exponential", "exp(expected)", np.exp),
    ("logarithm", "ln(expected)", np.log),
    ("absolute", "|expected|", np.abs),
    ("softmax-taken", "softmax(expected)", lambda w: _softmax(np.atleast_1d(w))),
)


def permuted(got, want):
    if got.size == want.size > 3 and equal(np.sort(got, None), np.sort(want, None)):
        return "permuted", "yours has all expected numbers, in other places"


OF_VALUES = (
    *map(of_engine, (missing, unbroadcast, transposed, scaled, multiple)),
    added,
    sums,
    other_functions,
    permuted,
)
