"""Check an answer to E.7."""

import math

import numpy as np

from lessons.checks.measure import exact_gradients, without_loops
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.classroom.steps import edges, gradients, laws, numbers, shape, values

# THE EXERCISE IN LOOPS


def allowed(mask):
    """Yield each row, and the keys to which it may attend."""
    for row in np.ndindex(*mask.shape[:-1]):
        yield row, np.flatnonzero(mask[row])


def masked_softmax(x, mask):
    y = np.zeros(x.shape)
    for row, keys in allowed(mask):
        if len(keys):
            s = x[row][keys]
            e = np.exp(s - max(s))
            y[row][keys] = e / sum(e)

    def backward(g):
        dx = np.zeros(x.shape)
        for row, keys in allowed(mask):
            p, g_row = y[row][keys], g[row][keys]
            dx[row][keys] = p * (g_row - p @ g_row)
        return dx

    return y, backward


def masked_lse(x, mask):
    lse = np.full(x.shape[:-1], -np.inf)
    for row, keys in allowed(mask):
        if len(keys):
            a = x[row][keys]
            lse[row] = max(a) + np.log(sum(np.exp(a - max(a))))

    def backward(g):
        dx, (y, _) = np.zeros(x.shape), masked_softmax(x, mask)
        for row, keys in allowed(mask):
            dx[row][keys] = y[row][keys] * g[row]
        return dx

    return lse, backward


# THE CHECK


def a_mask(rng, shape):
    """Return a random mask with True and False in every row."""
    mask = rng.random(shape) < 0.6
    first = np.arange(mask[..., 0].size).reshape(shape[:-1]) % shape[-1]
    np.put_along_axis(mask, first[..., None], True, -1)
    np.put_along_axis(mask, (first[..., None] + 1) % shape[-1], False, -1)
    return mask


@shape("weights like the scores, one lse for each row")
def like_the_scores(my, rng):
    x = rng.normal(size=(3, 5, 7))
    mask = a_mask(rng, x.shape)
    y, backward = my.masked_softmax(x, mask)
    my.shape(y, x.shape, "BLS")
    my.shape(backward(rng.normal(size=x.shape)), x.shape, "BLS")
    lse, backward = my.masked_lse(x, mask)
    my.shape(lse, x.shape[:-1], "BL")
    my.shape(backward(rng.normal(size=(3, 5))), x.shape, "BLS")


@numbers("scores ln 2, ln 6, ln 5 and ln 11, the last two masked")
def one_and_three(my, rng):
    x, mask = np.log([2.0, 6.0, 5.0, 11.0]), np.array([True, True, False, False])
    with without_loops():
        my.equal(my.masked_softmax(x, mask)[0], [0.25, 0.75, 0.0, 0.0], "j")
        my.equal(my.masked_lse(x, mask)[0], math.log(8), "")


@values("weights and lse, against a loop")
def against_a_loop(my, rng):
    x = rng.normal(size=(3, 5, 7))
    mask = a_mask(rng, x.shape)
    found = my.masked_softmax(x, mask)[0]
    my.equal(found, masked_softmax(x, mask)[0], "BLS", mask=mask)
    found = np.asarray(found)
    my.holds(
        not found[~mask].any(),
        "mask-leak",
        "expected a weight of exactly 0 wherever the mask is False",
        f"found up to {np.abs(found[~mask]).max(initial=0):.3g}",
    )
    found, want = my.masked_lse(x, mask)[0], masked_lse(x, mask)[0]
    added = np.zeros(1)
    if np.shape(found) == want.shape:
        highest = np.where(mask, x, -np.inf).max(-1)
        added = np.exp(found - highest) - np.exp(want - highest)
    my.holds(
        not 1e-13 < added.mean() < 1e-3 or np.ptp(added) > 1e-14,
        "epsilon",
        "expected ln sum exp(x), with the maximum m taken out as exp(x - m)",
        f"found ln(sum + {added.mean():.1g})",
    )
    my.equal(found, want, "BL")


@laws("masked scores have no influence")
def no_influence(my, rng):
    x = rng.normal(size=(5, 7))
    mask = a_mask(rng, x.shape)
    y, lse = masked_softmax(x, mask)[0], masked_lse(x, mask)[0]
    # exp(x - 742) has one or two digits, exp(x - 1e4) is 0
    for score in (742.0, 1e4, -1e4):
        changed = np.where(mask, x, score)
        my.equal(my.masked_softmax(changed, mask)[0], y, "LS", mask=mask)
        my.equal(my.masked_lse(changed, mask)[0], lse, "L")


@gradients("softmax over the allowed keys")
def of_softmax(my, rng):
    x = rng.normal(size=(3, 5))
    mask = a_mask(rng, x.shape)
    compare(my, lambda x: my.masked_softmax(x, mask),
            lambda x: masked_softmax(x, mask), x, rng)  # fmt: skip


@gradients("lse over the allowed keys")
def of_lse(my, rng):
    x = rng.normal(size=(3, 5))
    mask = a_mask(rng, x.shape)
    compare(my, lambda x: my.masked_lse(x, mask),
            lambda x: masked_lse(x, mask), x, rng)  # fmt: skip


def compare(my, mine, right, x, rng):
    """Fail unless the values are right to the last digits, and the gradient."""
    my.equal(mine(x)[0], right(x)[0], rtol=0.0, atol=1e-13)
    exact_gradients(my, mine, right, [x], rng)


@edges("a row without an allowed key")
def nothing_allowed(my, rng):
    x, mask = rng.normal(size=(3, 5)), np.ones((3, 5), bool)
    mask[1] = False
    my.equal(my.masked_softmax(x, mask)[0], masked_softmax(x, mask)[0], "LS")
    found = my.masked_lse(x, mask)[0]
    my.holds(
        not np.isnan(found).any(),
        "nan",
        "expected -inf, the logarithm of an empty sum",
        "found NaN",
    )
    for tag, is_it in (
        ("empty-row", found[1] == 0),
        ("sentinel", -np.inf < found[1] < -1e3),
    ):
        text = "expected -inf in a row without an allowed key"
        my.holds(not is_it, tag, text, f"found {found[1]:.6g}")
    my.equal(found, masked_lse(x, mask)[0], "L")


@edges("the gradient of a row without an allowed key")
def no_gradient(my, rng):
    x, mask = rng.normal(size=(3, 5)), np.ones((3, 5), bool)
    mask[1] = False
    dx = my.masked_softmax(x, mask)[1](rng.normal(size=x.shape))
    my.equal(dx[1], np.zeros(5), "S")
    bad = np.count_nonzero(~np.isfinite(dx))
    my.holds(
        not bad, "nan", "expected finite gradients", f"found {bad} NaN or infinite"
    )
    my.equal(my.masked_lse(x, mask)[1](np.ones(3))[1], np.zeros(5), "S")


@edges("a row of NaN without an allowed key")
def nothing_but_nan(my, rng):
    x, mask = rng.normal(size=(3, 5)), np.ones((3, 5), bool)
    mask[1], x[1] = False, np.nan
    with without_loops():
        for f, want, g in (
            (my.masked_softmax, np.zeros(5), rng.normal(size=x.shape)),
            (my.masked_lse, np.array(-np.inf), np.ones(3)),
        ):
            found, backward = f(x, mask)
            my.equal(found[1], want)
            my.equal(backward(g)[1], np.zeros(5), "S")


@edges("NaN, infinity and scores of 1e4")
def nan_and_large(my, rng):
    near = 1e4 - math.log(3)
    x = np.array([[1e4, near, -1e4], [np.nan, 1.0, np.inf], [0.0, 0.0, -np.inf]])
    mask = np.array([[True, True, True], [False, True, False], [True, True, False]])
    y, backward = my.masked_softmax(x, mask)
    want = np.array([[0.75, 0.25, 0.0], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0]])
    my.holds(
        np.isfinite(np.asarray(y)[~mask]).all(),
        "masked-nan",
        "expected weights 0, 1, 0 for the scores nan, 1, inf with only 1 allowed",
        f"found {', '.join(f'{w:.4g}' for w in y[1])}",
    )
    my.equal(y, want, "LS", mask=mask)
    dx = backward(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 3.0, 7.0]]))
    my.equal(dx, [[-3 / 16, 3 / 16, 0.0], [0.0, 0.0, 0.0], [-0.5, 0.5, 0.0]], "LS")
    lse = my.masked_lse(x, mask)[0]
    my.holds(
        not np.isposinf(lse).any(),
        "overflow",
        "expected 1e4 + ln(4/3), 1 and ln 2, near the largest allowed scores",
        f"found {', '.join(f'{value:.6g}' for value in lse)}",
    )
    my.equal(lse, [1e4 + math.log(4 / 3), 1.0, math.log(2)], "L")


@edges("NaN in an allowed score")
def allowed_nan(my, rng):
    rest = [0.0, 0.0, 5.0, np.nan], [np.nan, 1.0, 2.0, np.nan]
    x = np.array([[np.nan, 1.0, 2.0, 3.0], *rest])
    mask = np.array([3 * [True] + [False], [True, True, False, False]])[[0, 1, 0]]
    row = "a row with the scores nan, 1, 2, 3 or nan, of which the last is masked"
    for name, f, g in (
        ("the weights", my.masked_softmax, rng.normal(size=x.shape)),
        ("lse", my.masked_lse, rng.normal(size=3)),
    ):
        found, backward = f(x, mask)
        found = np.asarray(found)
        of_allowed = found[0, :3] if found.ndim > 1 else found[0]
        my.holds(
            np.isnan(of_allowed).all(),
            "hides-nan",
            f"expected NaN in {name} of the allowed keys of {row}",
            f"found {np.round(of_allowed, 4)}",
        )
        results = {"weight": lambda: found, "gradient": lambda: backward(g)}
        for what, result in results.items():
            each = np.asarray(result())
            text = f"expected the {what} 0 of the masked key of {row}"
            is_zero = each.ndim == 1 or not each[~mask].any()
            my.holds(is_zero, "nan-spreads", text, f"found {each[..., -1]}")


@edges("scores far below 0")
def far_below(my, rng):
    near = rng.normal(size=(5, 7))
    mask = a_mask(rng, near.shape)
    for x in (near - 1e4, near - 1e10):
        want = masked_softmax(x, mask)[0]
        my.equal(my.masked_softmax(x, mask)[0], want, "LS", mask=mask)
        my.equal(my.masked_lse(x, mask)[0], masked_lse(x, mask)[0], "L")


S = "s = x[row][keys]"
E, Y = "e = np.exp(s - max(s))", "y[row][keys] = e / sum(e)"
E_Y = f"{E}\n            {Y}"
A, LSE = "a = x[row][keys]", "lse[row] = max(a) + np.log(sum(np.exp(a - max(a))))"
D_SOFTMAX = "dx[row][keys] = p * (g_row - p @ g_row)"
D_LSE = "dx[row][keys] = y[row][keys] * g[row]"
KEYS_S = f"allowed(mask):\n        if len(keys):\n            {S}"
KEYS_A = f"allowed(mask):\n        if len(keys):\n            {A}"
OF_ALL = "masked_softmax(x, mask | True)"
LEAK = "A masked key has weight 0 and gradient 0."
MAXIMUM = (
    "The largest score is subtracted to keep exp in range. Over which scores is that "
    "maximum?"
)
SENTINEL = (
    "If all masked scores of a row are -1e9, what is the largest? What is exp of a "
    "score minus that?"
)
OVERFLOW = (
    "exp(1e4) is larger than any float64. ln sum exp(x) = m + ln sum exp(x - m) for "
    "every m: which m helps?"
)
SLOPE = "How much does ln sum_j exp(x_j) grow when x_i grows?"
SIGN = "ln sum exp(x) = m + ln sum exp(x - m): which sign does m have?"

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("mask-leak", "the softmax over all keys, allowed or not", LEAK, KEYS_S,
     KEYS_S.replace("mask", "mask | True")),
    ("complement", "the softmax over the keys that are not allowed", "", KEYS_S,
     KEYS_S.replace("mask", "~mask")),
    ("mask-times-scores", "the softmax of x * mask over all keys",
     "A score of 0 is a score: exp(0) = 1. Which score has the weight 0?", KEYS_S,
     KEYS_S.replace("mask", "mask | True").replace("x[", "(x * mask)[")),
    ("not-renormalised", "the softmax over all keys, set to 0 where masked",
     "The allowed weights of a row sum to 1. Yours were divided by a sum that contains "
     "masked keys as well.", Y, "y[row][keys] = e / sum(np.exp(x[row] - max(s)))"),
    ("no-exponential", "x, not exp(x), divided by its sum over the allowed keys", "", Y,
     "y[row][keys] = s / sum(s)"),
    ("nan", "exp(x - m) times the mask, where infinity times 0 is NaN", "", Y,
     "y[row] = np.exp(x[row] - max(s)) * mask[row] / sum(e)"),
    ("masked-maximum", "exp(x - the largest of all) / its sum", MAXIMUM, E,
     "e = np.exp(s - max(x[row]))"),
    ("masked-maximum", "exp(x - the largest of all) / its sum, 0 if that is 0", MAXIMUM,
     E_Y, E_Y.replace("max(s)", "max(x[row])").replace("sum(e)", "(sum(e) or 1)")),
    ("masked-maximum", "the weights with masked scores of 0 in the maximum", MAXIMUM,
     E_Y, E_Y.replace("max(s)", "max(x[row] * mask[row])")
     .replace("sum(e)", "(sum(e) or 1)")),
    ("sentinel", "the weights with masked scores of -1e9 in the maximum", SENTINEL,
     E_Y, E_Y.replace("max(s)", "max(np.where(mask[row], x[row], -1e9))")
     .replace("sum(e)", "(sum(e) or 1)")),
    ("sentinel", "equal weights, 1 / n, in a row without an allowed key", "",
     "y = np.zeros(x.shape)",
     "y = np.zeros(x.shape) + ~mask.any(-1, keepdims=True) / x.shape[-1]"),
    ("sentinel", "the softmax over all keys in a row without an allowed key", "", S,
     f"{S}\n        else:\n            keys, s = np.arange(x.shape[-1]), x[row]\n"
     "        if True:"),
    ("global-maximum", "the weights with the largest allowed score of all rows", "",
     E_Y, E_Y.replace("max(s)", "max(x[mask])")
     .replace("sum(e)", "max(sum(e), 1e-300)")),
    ("overflow", "infinity / infinity, where exp is larger than any float64", OVERFLOW,
     E, "e = np.exp(s)"),
    ("overflow", "0 for infinity / infinity, where exp is larger than any float64",
     OVERFLOW, E_Y,
     "e = np.exp(s)\n            y[row][keys] = np.nan_to_num(e / sum(e))"),
    ("clipped", "exp(min(x, 700)) / its sum",
     "Which m makes all x - m at most 0, and leaves their differences?", E,
     "e = np.exp(np.minimum(s, 700.0))"),
    ("mask-leak", "weights of 1/n where masked, in the backward", LEAK, D_SOFTMAX,
     f"dx[row] = (g[row] - p @ g_row) / len(g[row])\n            {D_SOFTMAX}"),
    ("mask-leak", "the gradient of the softmax over all keys", LEAK, D_SOFTMAX,
     f"p = {OF_ALL}[0][row]\n            dx[row] = p * (g[row] - p @ g[row])"),
    ("mask-leak", "the gradient of the softmax over all keys, 0 where masked", LEAK,
     D_SOFTMAX, f"p = {OF_ALL}[0][row]\n"
     "            dx[row] = mask[row] * p * (g[row] - p @ g[row])"),
    ("softmax-skipped", "g where allowed", "", D_SOFTMAX, "dx[row][keys] = g_row"),
    ("not-divided", "exp(x - m) (g - sum(y g)), not divided by the sum", "", D_SOFTMAX,
     f"{D_SOFTMAX} / max(p)"),
    ("mask-leak", "the log of a sum over all keys", LEAK, KEYS_A,
     KEYS_A.replace("mask", "mask | True")),
    ("complement", "the log of a sum over the masked keys", "", KEYS_A,
     KEYS_A.replace("mask", "~mask")),
    ("masked-zero", "the log of a sum with masked scores of 0",
     "exp(0) = 1. Which score adds 0 to the sum?", A, "a = x[row] * mask[row]"),
    ("mean", "the log of a mean over the allowed keys",
     "Is lse the logarithm of a sum, or of a mean?", LSE, f"{LSE} - np.log(len(keys))"),
    ("mean", "the log of a mean over all keys", "", LSE,
     f"{LSE} - np.log(len(mask[row]))"),
    ("log-base", "m + log2 sum exp(x - m)", "", LSE, LSE.replace("log", "log2")),
    ("log-base", "m + log10 sum exp(x - m)", "", LSE, LSE.replace("log", "log10")),
    ("maximum-alone", "the largest allowed score",
     "ln sum exp(x) = m + ln sum exp(x - m): is the second term 0? A sum of weights is "
     "1.", LSE, "lse[row] = max(a)"),
    ("maximum-lost", "ln sum exp(x - m), without the largest allowed score m",
     "ln sum exp(x) = m + ln sum exp(x - m): where is m added back?", LSE,
     LSE.replace("max(a) +", "")),
    ("maximum-sign", "ln sum exp(x - m) - m: the maximum is subtracted", SIGN, LSE,
     LSE.replace("= max", "= -max")),
    ("sign", "m - ln sum exp(x - m), with - for +", SIGN, LSE, LSE.replace("+", "-")),
    ("plain-sum", "the sum of the allowed scores", "", LSE, "lse[row] = sum(a)"),
    ("average", "sum y x, the average of the scores",
     "lse is the logarithm of a sum of exponentials, and no average.", LSE,
     "e = np.exp(a - max(a))\n            lse[row] = e @ a / sum(e)"),
    ("masked-maximum", "ln sum exp(x - the largest of all) + that", MAXIMUM, LSE,
     LSE.replace("max(a)", "max(x[row])")),
    ("masked-maximum", "lse with masked scores of 0 in the maximum", MAXIMUM, LSE,
     LSE.replace("max(a)", "max(x[row] * mask[row])")),
    ("sentinel", "lse with masked scores of -1e9 in the maximum", SENTINEL, LSE,
     LSE.replace("max(a)", "max(np.where(mask[row], x[row], -1e9))")),
    ("overflow", "ln sum exp(x)", OVERFLOW, LSE, "lse[row] = np.log(sum(np.exp(a)))"),
    ("mask-leak", "g times the softmax over all keys", LEAK, D_LSE,
     f"dx[row] = {OF_ALL}[0][row] * g[row]"),
    ("not-divided", "g exp(x - m), not divided by the sum", "", D_LSE,
     f"{D_LSE} / max(y[row])"),
    ("wrong-slope", "g for every key that is allowed", SLOPE, D_LSE,
     "dx[row][keys] = g[row]"),
    ("wrong-slope", "g for every key", SLOPE, D_LSE, "dx[row] = g[row]"),
    ("wrong-slope", "g / n for every key", SLOPE, D_LSE,
     "dx[row] = g[row] / len(dx[row])"),
    ("wrong-slope", "g x", SLOPE, D_LSE, "dx[row][keys] = x[row][keys] * g[row]"),
    ("wrong-slope", "g (y - 1)", SLOPE, D_LSE, "dx[row] = (y[row] - 1) * g[row]"),
    ("wrong-slope", "g y (1 - y)", SLOPE, D_LSE,
     "dx[row] = y[row] * (1 - y[row]) * g[row]"),
    ("wrong-slope", "g exp(x)", SLOPE, D_LSE,
     "dx[row][keys] = np.exp(x[row][keys]) * g[row]"),
]  # fmt: skip

HINTS = {
    "hides-nan": [
        "A NaN is a mistake made earlier. Which line replaces it by a number?",
    ],
    "nan-spreads": [
        "A masked key has weight 0 and gradient 0, whatever the others are. 0 * NaN "
        "is NaN: which function selects without a product?",
    ],
    "masked_softmax": [
        "What does the maximum see, what does the sum see, and what are the weights of "
        "a row without keys?",
    ],
    "masked_lse": ["d lse / dx_j is a weight you know. What is lse in an empty row?"],
    "": [
        "Which number can replace a masked score, so that its exp is exactly 0? The "
        "usual softmax then does most of the rest.",
        "In a row without an allowed key the maximum is -inf, and -inf - (-inf) is "
        "NaN: subtract another number there, and divide by another number. The "
        "backward is that of the softmax, computed from y.",
        "Take np.where(mask, x, -np.inf) and its maximum, replace a maximum of -inf "
        "by 0, take exp of the difference and divide it by its sum, or by 1 where "
        "the sum is 0. The backward subtracts sum(y g) from g and multiplies by y; "
        "that of lse is y times g.",
    ],
    "masked-nan": [
        "0 * NaN is NaN: a product with the mask cannot remove a NaN, but np.where "
        "can.",
    ],
}
