"""Name mistakes by identities: the right numbers in another order, for example.

Each function returns (tag, sentence) if an identity holds, else None. An identity of
few or round numbers may hold by chance: it counts only where ``is_evidence`` is true.
"""

import ast
import itertools
import math

import numpy as np

EXACT = 1e-9  # of the largest entry
SINGLE = 1e-6  # a larger error is not that of a float32
SHORT = {"float32", "float16", "single", "half", "f4", "f2"}  # types of few digits
ROUND = 5040  # a number is round if this many times it is an integer
LOGARITHMS = {
    "/ ln 2": (2, 1 / math.log(2)),
    "x ln 2": (2, math.log(2)),
    "/ ln 10": (10, 1 / math.log(10)),
    "x ln 10": (10, math.log(10)),
}
ELEMENTWISE = (
    ("reciprocal", "1 / expected", lambda w: 1 / w),
    ("one-minus", "1 - expected", lambda w: 1 - w),
    ("square", "the square of expected", lambda w: w * w),
    ("root", "the square root of expected", np.sqrt),
    ("exponential", "exp(expected)", np.exp),
    ("logarithm", "ln(expected)", np.log),
    ("absolute", "|expected|", np.abs),
)


def equal(a, b, close=EXACT):
    """Return whether two arrays are finite and agree to ``close`` of the largest."""
    if np.shape(a) != np.shape(b) or not np.size(a):
        return False
    size = np.abs(b).max()
    return bool(size < np.inf and np.abs(a - b).max() <= close * size)


def is_evidence(want, arguments):
    """Return whether an identity of ``want`` is no chance: its numbers are not round.

    One or two numbers are evidence if they come from data that is not round.
    """
    if want.size > 2:
        return _irregular(want) > 2
    data = [a for a in arguments.values() if a.dtype.kind == "f"]
    return _irregular(want) == want.size and any(_irregular(a) > 4 for a in data)


def of_values(got, want, arguments, widths=()):
    """Return (tag, sentence) for wrong numbers, or None.

    arguments  {name: array} of the call
    """
    if not (np.isfinite(got).all() and np.isfinite(want).all() and want.size):
        return None
    if not is_evidence(want, arguments):
        return None
    sizes = {n for a in arguments.values() for n in a.shape} | {*want.shape, *widths}
    if got.shape != want.shape:
        return _of_sums(got, want) or _of_arguments(got, arguments)
    return (
        _of_logarithm(got, want, sizes)
        or _of_constant(got, want)
        or _of_sums_to_one(got, want)
        or _of_softmax(got, want, arguments)
        or _of_scaled_softmax(got, want, arguments)
        or _of_other_axis(got, want)
        or _of_arguments(got, arguments, want)
        or _of_elements(got, want)
        or _of_order(got, want)
        or _of_sums(got, want)
        or of_causal_zeros(got, want)
        or _of_permutation(got, want)
        or _of_zeros(got, want)
    )


def of_masks(got, want):
    """Return (tag, sentence) for a wrong mask, or None."""
    if got.shape != want.shape or want.ndim < 2 or min(want.shape[-2:]) < 3:
        return None
    if found := _of_causal(got, want):
        return found
    if np.array_equal(got, want[..., ::-1]):
        return "reversed", "yours equals expected with its last axis reversed"
    return _of_windows(got, want)


def of_causal_zeros(got, want):
    """Return (tag, sentence) if the zeros of weights are those of another mask."""
    if want.ndim < 2 or min(want.shape[-2:]) < 3 or got.shape != want.shape:
        return None
    return _of_causal(got != 0, want != 0)


def of_nearly(got, want, text):
    """Return (tag, sentence) for numbers that are wrong after the sixth digit.

    text  of the answer, where a float32 is looked for
    """
    gap, size = got - want, np.abs(want).max()
    off = np.abs(gap).max() / size
    how = f"yours differs from expected by {off:.1g} of the largest entry at most"
    found = _of_epsilon(got, want, gap, size)
    if found or not EXACT < off < SINGLE:
        return found or ("nearly", how)
    if _is_single(got) and not _is_single(want):
        return "float32", f"{how}: every entry of yours is a float32 number"
    if line := _line_with_float32(text):
        return "float32", f"{how}, as with float32; {line}"
    return "nearly", how


def _of_epsilon(got, want, gap, size):
    """Return (tag, sentence) if a small number was added to each entry or divisor."""
    noise = 1e-14 * size
    if want.size > 2:
        if found := _of_constant(got, want):
            return found
        for axis in range(want.ndim):
            sums, total = want.sum(axis), got.sum(axis)
            is_one = np.abs(sums - 1).max() < 1e-12 and want.shape[axis] > 1
            lost = 1 - total
            if is_one and (lost > 30 * noise).all() and _is_multiple(got, want, axis):
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


def _axes(ndim):
    """Return all choices of one or more axes."""
    counts = range(1, ndim + 1)
    return [a for n in counts for a in itertools.combinations(range(ndim), n)]


def _of_logarithm(got, want, sizes):
    for text, (base, factor) in LOGARITHMS.items():
        if base not in sizes and equal(got, factor * want):
            return "log-base", f"yours = expected {text}: the base of a logarithm"
    for n in sorted(sizes - {0, 1, 2, 10}):
        if equal(got, want / math.log(n)):
            return f"scale:1/ln({n})", f"yours = expected / ln {n}"


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


def _is_multiple(got, want, axis):
    """Return whether each row of ``got`` is a multiple of that of ``want``."""
    norm = (want * want).sum(axis, keepdims=True)
    if not norm.all():
        return False
    k = (got * want).sum(axis, keepdims=True) / norm
    return bool(np.abs(got - k * want).max() <= EXACT * np.abs(got).max(initial=1e-300))


def _is_one(sums):
    return bool(np.abs(sums - 1).max() < EXACT)


def _of_sums_to_one(got, want):
    for axis, n in enumerate(want.shape):
        if n < 3 or not _is_multiple(got, want, axis):
            continue
        yours, right = _is_one(got.sum(axis)), _is_one(want.sum(axis))
        if yours and not right:
            return "renormalised", (
                f"yours equals expected divided by its sum over axis {axis}; expected "
                "does not sum to 1"
            )
        if right and want.size > n and _is_one(got.sum()):
            return "sum-over-everything", (
                f"yours sums to 1 over all entries, expected over axis {axis}"
            )
        k = (got.sum(axis) / want.sum(axis)) if right else None
        if right and k.size == 1 and k > 0:
            return "not-normalised", f"yours sums to {float(k):.6g}, expected to 1"
        if right and k.size > 1 and np.ptp(k) > 1e-3 * np.abs(k).max():
            return "not-normalised", (
                f"each row of yours is a multiple of expected; over axis {axis}, "
                "expected sums to 1"
            )


def _of_softmax(got, want, arguments):
    for name, x in arguments.items():
        if x.dtype.kind != "f" or x.shape != want.shape or not np.isfinite(x).all():
            continue
        for axes in _axes(x.ndim):
            for sign, text in ((1, name), (-1, f"-{name}")):
                over = "all axes" if len(axes) == x.ndim > 1 else f"axis {axes[-1]}"
                if len(axes) in (1, x.ndim) and equal(got, _softmax(sign * x, axes)):
                    if sign < 0:
                        return "sign", f"yours equals the softmax of {text} over {over}"
                    tag = "wrong-axis" if _is_softmax(want, x) else "plain-softmax"
                    return tag, f"yours equals the softmax of {text} over {over}"
    if want.ndim and want.shape[-1] > 2 and equal(got, _softmax(want, -1)):
        return "softmax-taken", "yours equals the softmax of expected"


def _of_scaled_softmax(got, want, arguments):
    for name, x in arguments.items():
        if x.dtype.kind != "f" or x.shape != want.shape:
            continue
        for axis in range(x.ndim):
            k, right = (_factor_of_scores(p, x, axis) for p in (got, want))
            if k and right:
                return "scaled-scores", (
                    f"yours equals the softmax of {k:.6g} {name} over axis {axis}; "
                    f"expected that of {right:.6g} {name}"
                )


def _factor_of_scores(p, x, axis):
    """Return k if p is the softmax of k x over this axis, else None."""
    if x.shape[axis] < 3 or not np.isfinite(x).all() or p.min() <= 0:
        return None
    z, logs = (a - a.mean(axis, keepdims=True) for a in (x, np.log(p)))
    k = (logs * z).sum() / ((z * z).sum() or 1)
    exps = np.exp(k * z)
    return k if equal(p, exps / exps.sum(axis, keepdims=True)) else None


def _of_other_axis(got, want):
    """Return (tag, sentence) if the weights sum to 1 over a wrong axis."""
    for axis, other in itertools.permutations(range(want.ndim), 2):
        large = min(want.shape[axis], want.shape[other]) > 2
        if large and _is_one(want.sum(axis)) and not _is_one(got.sum(axis)):
            sums = got.sum(other)
            if _is_one(sums[want.any(other)]) and not _is_one(want.sum(other)):
                return "wrong-axis", (
                    f"yours sums to 1 over axis {other}, expected over axis {axis}"
                )


def _softmax(x, axis):
    z = np.exp(x - x.max(axis, keepdims=True))
    return z / z.sum(axis, keepdims=True)


def _is_softmax(want, x):
    """Return whether ``want`` is the softmax of x over some axis."""
    for axis in range(x.ndim):
        if equal(want, _softmax(x, axis)):
            return True
    return False


def _of_arguments(got, arguments, want=None):
    for name, x in arguments.items():
        if x.dtype.kind != "f" or not np.isfinite(x).all() or _irregular(x) < 3:
            continue
        if equal(got, x):
            return "unchanged", f"yours equals {name}, unchanged"
        for sign, text in ((1, "+"), (-1, "-")):
            if want is not None and equal(sign * (got - want), x):
                return "adds-input", f"yours = expected {text} {name}"
        for axis in range(x.ndim if want is not None and x.shape == want.shape else 0):
            share = x / x.sum(axis, keepdims=True)
            if _is_one(want.sum(axis)) and equal(got, share):
                return "no-exponential", (
                    f"yours equals {name} divided by its sum over axis {axis}"
                )
        for axes in _axes(x.ndim):
            if math.prod(x.shape[a] for a in axes) < 2:
                continue
            over = "everything" if len(axes) == x.ndim else _over(axes)
            for what, f in (("mean", np.mean), ("sum", np.sum)):
                value = f(x, axes)
                is_it = value.size == got.size and equal(got.ravel(), value.ravel())
                if got.shape == x.shape:
                    rows = np.broadcast_to(f(x, axes, keepdims=True), x.shape)
                    is_it = is_it or equal(got, rows)
                if is_it:
                    return f"plain-{what}", (
                        f"yours equals the plain {what} of {name} over {over}"
                    )


def _over(axes):
    if len(axes) == 1:
        return f"axis {axes[0]}"
    return f"axes {', '.join(map(str, axes))}"


def _of_elements(got, want):
    with np.errstate(all="ignore"):
        for tag, text, f in ELEMENTWISE:
            array = f(want)
            if np.isfinite(array).all() and not equal(array, want):
                if equal(got, array):
                    return tag, f"yours equals {text}"


def _of_order(got, want, close=EXACT):
    """Return (tag, sentence) for right numbers in wrong places."""
    for axis, n in enumerate(want.shape):
        if n < 3:
            continue
        a, b = np.moveaxis(got, axis, 0), np.moveaxis(want, axis, 0)
        if equal(a, b[::-1], close):
            return "reversed", f"yours equals expected with axis {axis} reversed"
        what = f"along axis {axis}, your entry i equals the expected entry"
        if _irregular(b[1:]) > 2:
            if equal(a[1:], b[:-1], close) and not equal(a[1:], b[1:], close):
                return "shifted", f"{what} i - 1"
            if equal(a[:-1], b[1:], close) and not equal(a[:-1], b[:-1], close):
                return "shifted", f"{what} i + 1"
        if equal(a, np.cumsum(b, 0), close):
            return "cumulative", f"yours equals the running sums along axis {axis}"
        for j in range(n):
            if _irregular(b[j]) > 2 and equal(a, np.broadcast_to(b[j], b.shape), close):
                return "repeated", (
                    f"at every index of axis {axis}, yours equals expected at index {j}"
                )


def _of_permutation(got, want):
    """Return (tag, sentence) for right numbers in any other order."""
    for axis, n in enumerate(want.shape):
        if not 2 < n <= 64:
            continue
        a, b = (np.moveaxis(x, axis, 0).reshape(n, -1) for x in (got, want))
        is_same = np.abs(a[:, None] - b).max(-1) <= EXACT * np.abs(want).max()
        if (is_same.sum(0) == 1).all() and (is_same.sum(1) == 1).all():
            order = ", ".join(map(str, is_same.argmax(1)[:8])) + ", …" * (n > 8)
            return "permuted", (
                f"along axis {axis}, yours has the expected entries in the order {order}"
            )
    if want.ndim > 1 and equal(np.sort(got, None), np.sort(want, None)):
        return "permuted", (
            "yours has all expected numbers, in other places: a reshape where axes "
            "change places?"
        )


def _of_zeros(got, want):
    """Return (tag, sentence) if every wrong entry is 0."""
    wrong = np.abs(got - want) > EXACT * np.abs(want).max()
    if not got[wrong].any() and _irregular(got[~wrong]) > 2:
        count = f"{wrong.sum()} of {wrong.size} entries"
        return "not-filled", f"yours is 0 in {count}, and right in all others"


def _of_sums(got, want, close=EXACT):
    for axes in _axes(want.ndim):
        count = math.prod(want.shape[a] for a in axes)
        if count < 2:
            continue
        over = "everything" if len(axes) == want.ndim else _over(axes)
        for what, f in (("sum", np.sum), ("mean", np.mean)):
            for keep in (False, True):
                value = f(want, axes, keepdims=keep)
                if got.shape == want.shape and keep:
                    value = np.broadcast_to(value, want.shape)
                if got.shape == value.shape and equal(got, value, close):
                    tag = "everything" if over == "everything" else "axis"
                    return f"{what}-over-{tag}", (
                        f"yours equals the {what} of expected over {over}"
                    )


def _diagonal(mask):
    """Return (kind, k) of a mask j <= i + k or j >= i + k, or None."""
    rows, columns = mask.shape[-2:]
    flat = mask.reshape(-1, rows, columns)
    if not mask.any() or mask.all() or not (flat == flat[0]).all():
        return None
    for k in range(1 - rows, columns):
        if np.array_equal(flat[0], np.tri(rows, columns, k, dtype=bool)):
            return "<=", k
        if np.array_equal(flat[0], ~np.tri(rows, columns, k - 1, dtype=bool)):
            return ">=", k
    return None


def _of_causal(got, want):
    """Return (tag, sentence) if both masks are triangles, and differ."""
    yours, right = _diagonal(got), _diagonal(want)
    if not yours or not right or yours == right:
        return None

    def say(kind, k):
        return f"j {kind} i" + (f" {_signed(k)}" if k else "")

    flipped = yours[0] != right[0]
    near = abs(yours[1] - right[1]) == 1
    tag = "flipped" if flipped else "off-by-one" if near else "offset"
    return tag, (
        f"yours allows {say(*yours)}; expected {say(*right)}, for query i and key j"
    )


def _of_windows(got, want):
    """Return (tag, sentence) if each window lacks its two ends, or has two more."""
    more, less = (got & ~want).any(), (want & ~got).any()
    if more == less:
        return None
    outer, inner = (want, got) if less else (got, want)
    if more and _is_one_sided(got, want):
        return "one-sided", "one bound of every window of yours is missing"
    ends = 0
    for a, b in zip(
        outer.reshape(-1, want.shape[-1]), inner.reshape(-1, want.shape[-1])
    ):
        j = np.flatnonzero(a)
        if not len(j) or len(j) != j[-1] - j[0] + 1:
            return None  # no window
        lost = np.flatnonzero(a & ~b)
        for end, border in ((j[0], 0), (j[-1], len(a) - 1)):
            if end != border and end not in lost:
                return None
            ends += end in lost
        if not set(lost) <= {j[0], j[-1]}:
            return None
    if ends < 3:
        return None
    how = "lacks the outermost keys" if less else "has one key more at each end"
    return "off-by-one", f"every window of yours {how}: is a bound strict?"


def _is_one_sided(got, want):
    """Return whether each window of yours begins at the first key, or ends at the last.

    At its other end it agrees with the expected window.
    """
    rows = list(zip(got.reshape(-1, got.shape[-1]), want.reshape(-1, want.shape[-1])))
    for turn in (1, -1):
        longer = 0
        for a, b in rows:
            a, b = a[::turn], b[::turn]
            j = np.flatnonzero(b)
            if not len(j):
                continue
            is_window = len(j) == j[-1] - j[0] + 1
            if not is_window or not np.array_equal(a, np.arange(len(a)) <= j[-1]):
                break
            longer += bool(j[0])
        else:
            if longer > 2:
                return True
    return False


def _is_single(a):
    """Return whether all entries are float32 numbers, and some need over 12 bits."""
    if a.size < 3 or not np.isfinite(a).all():
        return False
    mantissa = np.frexp(a)[0]
    in24, in12 = (np.ldexp(mantissa, bits) % 1 == 0 for bits in (24, 12))
    return bool(in24.all() and not in12.all())


def _line_with_float32(text):
    """Return the first line of an answer that makes a float32, or None."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        given = []  # a string is a dtype only where NumPy takes it as one
        if isinstance(node, ast.Call):
            called = getattr(node.func, "attr", None)
            given = [k.value for k in node.keywords if k.arg == "dtype"]
            given += node.args if called in ("astype", "dtype", "view") else []
        named = [getattr(part, "value", None) for part in given]
        named += [getattr(node, "attr", None), getattr(node, "id", None)]
        if any(isinstance(n, str) and n.lstrip("<>=") in SHORT for n in named):
            return f"line {node.lineno}:  {text.splitlines()[node.lineno - 1].strip()}"
