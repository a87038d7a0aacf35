"""Tests for the usual mistakes in hand-written backwards.

Each function tests one hypothesis. It takes a ``diagnosis.Case`` and returns (tag,
sentence) if its identity is true up to 1e-6, otherwise None. The sentence states what
was measured, not what to change. ``BANK`` lists the functions in order.
"""

import itertools
import math

import numpy as np

CLOSE = 1e-6  # relative to the largest entry


def same(a, b):
    """Return whether two arrays are finite and equal to 1e-6 of the largest entry."""
    if a is None or b is None or a.shape != b.shape or not a.size:
        return False
    size = max(np.abs(a).max(), np.abs(b).max())  # CLOSE * inf would accept all
    return bool(size < np.inf and np.abs(a - b).max() <= CLOSE * size)


def fits_float32(a):
    """Return whether all entries are float32 numbers, which have 24 bits.

    Float64 numbers may have so few bits by chance. So some entry must need more than 12
    bits. And the entries must not be multiples of one power of two, as in float64 those
    of (x + 1e8) - 1e8 are.
    """
    if a is None or a.size < 3 or not np.isfinite(a).all():
        return False
    mantissa, exponent = np.frexp(a)
    in24, in12 = (np.ldexp(mantissa, bits) % 1 == 0 for bits in (24, 12))
    is_multiple = np.ldexp(a, 24 - int(exponent[a != 0].max(initial=-1100))) % 1 == 0
    return bool(in24.all() and not in12.all() and not is_multiple.all())


def missing(case):
    """Test for a gradient that is None, or 0 everywhere."""
    if case.yours is None:
        return "none", "yours is None: no gradient arrives; numeric is not 0"
    most = np.abs(case.yours).max(initial=0)
    if most <= 1e-12 * np.abs(case.numeric).max(initial=0):
        rounding = ", up to rounding" if most else ""
        return "zero", f"yours is 0 everywhere{rounding}; numeric is not"


def nan(case):
    """Test for NaN and infinity."""
    bad = ~np.isfinite(case.yours)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        return "nan", (
            f"yours is {case.yours[first]} at {list(first)}, and not finite in "
            f"{bad.sum()} of {bad.size} entries"
        )


def unbroadcast(case):
    """Test for the gradient of a repeated input that is not summed, or only in part."""
    A, G = case.yours, case.numeric
    if A.shape != G.shape:
        for axes in _choices(range(A.ndim)):
            total = A.sum(axes)
            if total.size == G.size and same(total.reshape(G.shape), G):
                return "unbroadcast", (
                    f"yours has shape {A.shape}; summed over axes {list(axes)} it "
                    "equals numeric"
                )
        return None
    terms = case.terms() if case.y is not None else None
    if terms is None:
        return None
    terms = terms.reshape(case.y.shape + A.shape)
    for axis, n in enumerate(case.y.shape):
        parts = np.moveaxis(terms, axis, 0).reshape(n, -1, *A.shape).sum(1)
        if not ((parts != 0).sum(0) > 1).any():
            continue  # nothing is summed over this axis
        for j, part in enumerate(parts):
            if same(A, part):
                return "unbroadcast", (
                    f"yours equals the j = {j} term alone of a sum over "
                    f"j = 0..{n - 1}, axis {axis} of the output"
                )


def transposed(case):
    """Test for exchanged axes."""
    A, G = case.yours, case.numeric
    for permuted, what in (
        (G.swapaxes(-1, -2) if G.ndim > 1 else G, "its last two axes swapped"),
        (G.T, "its axes reversed"),
    ):
        if A.ndim > 1 and same(A, permuted):
            return "transpose", f"yours equals numeric with {what}"
        if A.ndim > 1 and A.shape == permuted.shape != G.shape:
            return "transpose", f"yours has the shape of numeric with {what}"


def scaled(case):
    """Test for a factor that has a name, such as 1/n."""
    k = _ratio(case)
    for name, value in _factors(case) if k is not None else ():
        if abs(k - value) <= CLOSE * abs(value):
            return f"scale:{name}", f"yours = {name} x numeric"


def multiple(case):
    """Test for a common factor of three entries or more: fewer may agree by chance."""
    k, size = _ratio(case), np.abs(case.numeric)
    if k is not None and (size > 1e-3 * size.max()).sum() >= 3:
        return f"scale:{k:.6g}", f"yours = {k:.6g} x numeric, in every entry"


def ignores_upstream(case):
    """Test for a backward that does not use the cotangent."""
    if _has_vjp(case) and same(case.yours, case.vjp(_other(case.cotangent))):
        return "ignores-upstream", "yours is the same for two different cotangents"


def not_linear(case):
    """Test for a backward that is not linear in the cotangent."""
    if not _has_vjp(case):
        return None
    other = _other(case.cotangent)
    other_gradient, sum_gradient = case.vjp(other), case.vjp(case.cotangent + other)
    if other_gradient is None or sum_gradient is None:
        return None
    gap = np.abs(sum_gradient - case.yours - other_gradient).max(initial=0)
    is_rounding = gap <= CLOSE * np.abs(case.numeric).max(initial=0)
    if not is_rounding and not same(sum_gradient, case.yours + other_gradient):
        return "not-linear", (
            "yours for the cotangent c1 + c2 is not the sum of those for c1 and for c2"
        )


def diagonal(case):
    """Test for the diagonal of the Jacobian in the place of the whole Jacobian."""
    if case.cotangent is None or case.cotangent.shape != case.yours.shape:
        return None
    J = case.jacobian()
    if J is not None:
        own = J.diagonal().reshape(case.yours.shape) * case.cotangent
        if own.any() and same(case.yours, own):
            return "softmax-diagonal", (
                "yours equals diag(J) * c, the diagonal of the Jacobian J = dy/dx alone"
            )


def of_softmax(case):
    """Test mistakes for outputs that sum to one: G_k = y_k (c_k - sum_i y_i c_i)."""
    y, c = case.y, case.cotangent
    if y is None or c is None or y.shape != case.yours.shape or (y < 0).any():
        return None
    summed = [a for a, n in enumerate(y.shape) if n > 1 and _is_one(y.sum(a))]
    if summed and same(case.yours, y * c):
        return "softmax-nocentre", (
            f"yours equals y * c, without - y * sum(y * c) over axis {summed[-1]}"
        )
    for axis in set(range(y.ndim)) - set(summed) if summed else ():
        if same(case.yours, y * (c - (y * c).sum(axis, keepdims=True))):
            return "wrong-axis", (
                f"yours equals y * (c - sum(y * c)) summed over axis {axis}; y sums to "
                f"one over axis {summed[-1]}"
            )


def other_transposed(case):
    """Test for another input that is transposed; no shape tells where it is square."""
    for name, gradient in case.transposed.items():
        if same(case.yours, gradient()):
            return "transpose", (
                f"yours equals the numeric gradient with {name} transposed"
            )


def overwrites(case):
    """Test for entries that hold one term c_k J_ki of the sum; J is the Jacobian."""
    terms = case.terms() if case.yours.shape == case.numeric.shape else None
    if terms is None:
        return None
    wrong = case.wrong().reshape(-1)
    terms, A = terms[:, wrong], case.yours.reshape(-1)[wrong]
    scale = np.abs(case.numeric).max()
    present = np.abs(terms) > CLOSE * scale
    alone = present & (np.abs(terms - A) <= 1e-7 * scale)
    several = present.sum(0)
    # among many terms, one may be equal by chance
    if wrong.any() and alone.any(0).all() and 2 <= several.min() <= several.max() <= 64:
        return "overwrites", (
            f"in {wrong.sum()} entries yours is one term alone of the sum over the "
            f"outputs, of up to {several.max()} terms; elsewhere it is the whole sum"
        )


def mask_leak(case):
    """Test for a gradient that is wrong only where it should be 0."""
    if case.yours.shape != case.numeric.shape:
        return None
    masked = case.numeric == 0
    leak = masked & case.wrong()
    if leak.any() and not (case.wrong() & ~masked).any():
        return "mask-leak", (
            f"yours is not 0 in {leak.sum()} of the {masked.sum()} entries where "
            "numeric is 0; elsewhere it is right"
        )


def stale(case):
    """Test for the gradient at the inputs of an earlier call."""
    if case.earlier is not None and same(case.yours, case.earlier()):
        return "stale-cache", (
            "yours equals the numeric gradient at the inputs of an earlier call"
        )


def one_block(case):
    """Test for errors at one index of an axis alone."""
    if case.yours.shape != case.numeric.shape:
        return None
    wrong = case.wrong()
    if wrong.sum() == 1 < sum(n > 1 for n in wrong.shape):
        return None  # one entry is in some row and in some column
    for axis, n in enumerate(wrong.shape):
        hit = np.flatnonzero(wrong.any(tuple(set(range(wrong.ndim)) - {axis})))
        if len(hit) == 1 < n:
            which = {0: "first", n - 1: "last"}.get(int(hit[0]), int(hit[0]))
            return f"block:{which} of axis {axis}", (
                f"all wrong entries are at index {hit[0]} of axis {axis} (0 to {n - 1})"
            )


def single_precision(case):
    """Test for a gradient or an output that was rounded to float32."""
    for what, array in (("yours", case.yours), ("the output", case.y)):
        if fits_float32(array) and not fits_float32(case.x):
            return "float32", f"every entry of {what} is a float32 number"


BANK = (
    missing,
    nan,
    unbroadcast,
    transposed,
    scaled,
    ignores_upstream,
    not_linear,
    diagonal,
    of_softmax,
    other_transposed,
    overwrites,
    mask_leak,
    stale,
    multiple,
    one_block,
    single_precision,
)


def _ratio(case):
    """Return k with A = k G, or None; also None if k is near 1."""
    A, G = case.yours, case.numeric
    if A.shape == G.shape and G.any():
        unit = G / np.abs(G).max()  # the square of G may underflow
        k = (A * unit).sum() / (G * unit).sum()
        return k if abs(k - 1) > CLOSE and same(A, k * G) else None


def _factors(case):
    """Yield (name, k) for each factor that is often forgotten or applied twice."""
    yield from (("-1", -1), ("2", 2), ("1/2", 1 / 2), ("-2", -2), ("-1/2", -1 / 2))
    arrays = [a for a in (case.x, case.y, case.numeric) if a is not None]
    lengths = {math.prod(axes) for a in arrays for axes in _choices(a.shape)}
    for n in sorted(lengths - {0, 1, 2}):
        for label, value in (("", n), ("1/", 1 / n)):
            yield f"{label}{n}", value
            yield f"-{label}{n}", -value
            yield f"{label}sqrt({n})", value**0.5
            yield f"-{label}sqrt({n})", -(value**0.5)


def _choices(axes):
    """Return all choices of one or more axes."""
    return itertools.chain.from_iterable(
        itertools.combinations(axes, n) for n in range(1, len(axes) + 1)
    )


def _is_one(sums):
    return np.abs(sums - 1).max(initial=0) < 1e-9


def _has_vjp(case):
    """Return whether the gradient can be computed for another cotangent."""
    return case.vjp is not None and case.yours.shape == case.numeric.shape


def _other(cotangent):
    return np.random.default_rng(1).normal(size=cotangent.shape)
