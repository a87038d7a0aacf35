"""Check an answer to E.7."""

import math

import numpy as np

from lessons.checks.measure import has_all_digits
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.classroom.steps import edges, gradients, laws, numbers, shape, values


def by_loop(x, mask):
    """Return weights and lse, computed from the allowed scores of each row."""
    y, lse = np.zeros(x.shape), np.full(x.shape[:-1], -np.inf)
    for row in np.ndindex(lse.shape):
        allowed = [j for j in range(x.shape[-1]) if mask[row][j]]
        if allowed:
            top = max(x[row][j] for j in allowed)
            total = sum(math.exp(x[row][j] - top) for j in allowed)
            lse[row] = top + math.log(total)
            for j in allowed:
                y[row][j] = math.exp(x[row][j] - top) / total
    return y, lse


def a_mask(rng, shape):
    """Return a random mask with True and False in every row."""
    mask = rng.random(shape) < 0.6
    first = np.arange(mask[..., 0].size).reshape(shape[:-1]) % shape[-1]
    np.put_along_axis(mask, first[..., None], True, -1)
    np.put_along_axis(mask, (first[..., None] + 1) % shape[-1], False, -1)
    return mask


def mistakes(x, mask):
    """Return wrong weights: (tag, what, array)."""
    everywhere = np.ones_like(mask)
    full, other = by_loop(x, everywhere)[0], by_loop(x, ~mask)[0]
    times, shown = by_loop(x * mask, everywhere)[0], np.where(mask, x, 0.0)
    return [
        ("mask-times-scores", "the softmax of x * mask over all keys", times),
        ("no-exponential", "x, not exp(x), divided by its sum over the allowed keys",
         shown / shown.sum(-1, keepdims=True)),
        ("complement", "the softmax over the keys that are not allowed", other),
        ("mask-leak", "the softmax over all keys, allowed or not", full),
        (
            "not-renormalised",
            "the softmax over all keys, set to 0 where masked",
            np.where(mask, full, 0.0),
        ),
    ]  # fmt: skip


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
    my.equal(
        my.masked_softmax(x, mask)[0], [0.25, 0.75, 0.0, 0.0], "j", mistakes(x, mask)
    )
    wrong = [
        ("mask-leak", "the log of a sum over all keys", math.log(24)),
        ("masked-zero", "the log of a sum with masked scores of 0", math.log(10)),
        ("maximum-alone", "the largest allowed score", math.log(6)),
        ("mean", "the log of a mean over the allowed keys", math.log(4)),
        ("mean", "the log of a mean over all keys", math.log(2)),
        ("log-base", "ln 6 + log2(4/3)", math.log(6) + math.log2(4 / 3)),
        ("log-base", "ln 6 + log10(4/3)", math.log(6) + math.log10(4 / 3)),
        ("maximum-sign", "ln(4/3) - ln 6: the maximum is subtracted", math.log(8 / 36)),
    ]
    my.equal(my.masked_lse(x, mask)[0], math.log(8), "", wrong)


@values("weights and lse, against a loop")
def against_a_loop(my, rng):
    x = rng.normal(size=(3, 5, 7))
    mask = a_mask(rng, x.shape)
    y, lse = by_loop(x, mask)
    found = my.masked_softmax(x, mask)[0]
    my.equal(found, y, "BLS", mistakes(x, mask), mask=mask)
    found = np.asarray(found)
    my.holds(
        not found[~mask].any(),
        "mask-leak",
        "expected a weight of exactly 0 wherever the mask is False",
        f"found up to {np.abs(found[~mask]).max(initial=0):.3g}",
    )
    highest = np.where(mask, x, -np.inf).max(-1)
    wrong = [
        ("mask-leak", "the log of a sum over all keys", np.log(np.exp(x).sum(-1))),
        ("maximum-lost", "expected - the largest allowed score", lse - highest),
        ("sign", "m - ln sum exp(x - m), with - for +", 2 * highest - lse),
        ("plain-sum", "the sum of the allowed scores", (x * mask).sum(-1)),
        ("average", "sum y x, the average of the scores", (x * y).sum(-1)),
        ("complement", "the log of a sum over the masked keys", by_loop(x, ~mask)[1]),
    ]
    found = my.masked_lse(x, mask)[0]
    if np.shape(found) == lse.shape:
        added = np.exp(found - highest) - np.exp(lse - highest)
        my.holds(
            not 1e-13 < added.mean() < 1e-3 or np.ptp(added) > 1e-14,
            "epsilon",
            "expected ln sum exp(x), with the maximum m taken out as exp(x - m)",
            f"found ln(sum + {added.mean():.1g})",
        )
    my.equal(found, lse, "BL", wrong)


@laws("masked scores have no influence")
def no_influence(my, rng):
    x = rng.normal(size=(5, 7))
    mask = a_mask(rng, x.shape)
    y, lse = by_loop(x, mask)
    # exp(x - 742) has one or two digits, exp(x - 1e4) is 0
    for score in (742.0, 1e4, -1e4):
        changed = np.where(mask, x, score)
        whole = np.where(mask, np.exp(x - score), 0.0)
        text = "exp(x - the largest of all) / its sum"
        wrong = [
            ("masked-maximum", "0 in every row with such a score", np.zeros_like(y)),
            ("masked-maximum", text, whole / whole.sum(-1, keepdims=True)),
        ]
        found = my.masked_softmax(changed, mask)[0]
        my.equal(found, y, "LS", wrong if score > 0 else (), mask=mask)
        wrong = ("masked-maximum", "ln sum exp(x - the largest of all) + that",
                 score + np.log(whole.sum(-1)))  # fmt: skip
        my.equal(my.masked_lse(changed, mask)[0], lse, "L", [wrong] * (score > 0))


@gradients("softmax over the allowed keys")
def of_softmax(my, rng):
    x = rng.normal(size=(3, 5))
    mask = a_mask(rng, x.shape)
    y, full = by_loop(x, mask)[0], by_loop(x, np.ones_like(mask))[0]

    def masked_softmax(x):
        return my.masked_softmax(x, mask)

    def leaking(g):
        centred = g - (g * y).sum(-1, keepdims=True)
        return np.where(mask, y, 1 / x.shape[-1]) * centred

    def of_all(g):
        return full * (g - (g * full).sum(-1, keepdims=True))

    wrong = [
        ("mask-leak", "weights of 1/n where masked, in the backward", leaking),
        ("mask-leak", "the gradient of the softmax over all keys", of_all),
        ("mask-leak", "the gradient of the softmax over all keys, 0 where masked",
         lambda g: mask * of_all(g)),
        ("softmax-skipped", "g where allowed", lambda g: mask * g),
        ("not-divided", "exp(x - m) (g - sum(y g)), not divided by the sum",
         lambda g: y * (g - (g * y).sum(-1, keepdims=True)) / y.max(-1)[:, None]),
    ]  # fmt: skip
    my.gradients(masked_softmax, [x], variants={"x": wrong})
    my.equal(masked_softmax(x)[0], y, "LS", rtol=0.0, atol=1e-13)
    g = rng.normal(size=x.shape)
    centred = g - np.array([[sum(a * b)] for a, b in zip(g, y)])
    has_all_digits(my, masked_softmax(x)[1](g), y * centred, "dx")


@gradients("lse over the allowed keys")
def of_lse(my, rng):
    x = rng.normal(size=(3, 5))
    mask = a_mask(rng, x.shape)
    y, full = by_loop(x, mask)[0], by_loop(x, np.ones_like(mask))[0]

    def masked_lse(x):
        return my.masked_lse(x, mask)

    def alike(g):
        return np.where(mask, g[..., None], 0.0)

    def undivided(g):
        largest = np.where(mask, x, -np.inf).max(-1, keepdims=True)
        return np.where(mask, np.exp(x - largest), 0.0) * g[..., None]

    def over_all(g):
        return full * g[..., None]

    wrong = [
        ("mask-leak", "g times the softmax over all keys", over_all),
        ("wrong-slope", "g for every key that is allowed", alike),
        ("not-divided", "g exp(x - m), not divided by the sum", undivided),
        ("wrong-slope", "g for every key", lambda g: np.tile(g[..., None], 5)),
        ("wrong-slope", "g / n for every key", lambda g: np.tile(g[..., None] / 5, 5)),
        ("wrong-slope", "g x", lambda g: np.where(mask, x, 0.0) * g[..., None]),
        ("wrong-slope", "g (y - 1)", lambda g: (y - 1) * g[..., None]),
        ("wrong-slope", "g y (1 - y)", lambda g: y * (1 - y) * g[..., None]),
        ("wrong-slope", "g exp(x)", lambda g: mask * np.exp(x) * g[..., None]),
    ]
    my.gradients(masked_lse, [x], variants={"x": wrong})
    my.equal(masked_lse(x)[0], by_loop(x, mask)[1], "L", rtol=0.0, atol=1e-13)
    g = rng.normal(size=3)
    want = np.array([a * row for a, row in zip(g, by_loop(x, mask)[0])])
    has_all_digits(my, masked_lse(x)[1](g), want, "dx")


@edges("a row without an allowed key")
def nothing_allowed(my, rng):
    x, mask = rng.normal(size=(3, 5)), np.ones((3, 5), bool)
    mask[1] = False
    y, lse = by_loop(x, mask)
    found, backward = my.masked_softmax(x, mask)
    uniform = np.where(mask, y, 1 / 5)
    everything = np.where(mask, y, by_loop(x, np.ones_like(mask))[0])
    wrong = [
        ("sentinel", "equal weights, 1 / n, in a row without an allowed key", uniform),
        ("sentinel", "the softmax over all keys in such a row", everything),
    ]
    my.equal(found, y, "LS", wrong)
    g = rng.normal(size=x.shape)
    dx = backward(g)
    my.equal(dx[1], np.zeros(5), "S")
    bad = np.count_nonzero(~np.isfinite(dx))
    my.holds(
        not bad, "nan", "expected finite gradients", f"found {bad} NaN or infinite"
    )
    found, backward = my.masked_lse(x, mask)
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
    my.equal(found, lse, "L")
    my.equal(backward(np.ones(3))[1], np.zeros(5), "S")


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
    lost, text = want * [[1], [0], [0]], "0 in each row far below 1e4, the largest"
    wrong = [
        ("global-maximum", f"{text} score of all rows", lost),
        ("overflow", "0 in the row with scores of 1e4", want - lost),
        ("clipped", "1/2 for 1e4 and for 1e4 - ln 3", np.where(lost, 0.5, want)),
    ]
    my.equal(y, want, "LS", wrong, mask=mask)
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
    x = np.array([[np.nan, 1.0, 2.0, 3.0], [0.0, 0.0, 5.0, np.nan]])
    mask = np.array([[True, True, True, False], [True, True, False, False]])
    row = "a row with the scores nan, 1, 2, 3, of which the last is masked"
    for name, f, g in (
        ("the weights", my.masked_softmax, rng.normal(size=x.shape)),
        ("lse", my.masked_lse, rng.normal(size=2)),
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
    x = rng.normal(size=(5, 7))
    mask = a_mask(rng, x.shape)
    for tag, far, text in (
        ("masked-maximum", -1e4, "masked scores of 0 in the maximum"),
        ("sentinel", -1e10, "masked scores of -1e9 in the maximum"),
    ):
        y, lse = by_loop(x + far, mask)
        wrong = [(tag, f"0 in every row, with {text}", np.zeros_like(y))]
        my.equal(my.masked_softmax(x + far, mask)[0], y, "LS", wrong, mask=mask)
        wrong = [(tag, f"-inf, with {text}", np.full(5, -np.inf))]
        my.equal(my.masked_lse(x + far, mask)[0], lse, "L", wrong)


HINTS = {
    "hides-nan": [
        "A NaN is a mistake made earlier. Which line replaces it by a number?",
    ],
    "nan-spreads": [
        "A masked key has weight 0 and gradient 0, whatever the others are. 0 * NaN "
        "is NaN: which function selects without a product?",
    ],
    "average": ["lse is the logarithm of a sum of exponentials, and no average."],
    "masked-zero": ["exp(0) = 1. Which score adds 0 to the sum?"],
    "maximum-alone": [
        "ln sum exp(x) = m + ln sum exp(x - m): is the second term 0? A sum of weights "
        "is 1.",
    ],
    "mean": ["Is lse the logarithm of a sum, or of a mean?"],
    "maximum-sign": ["ln sum exp(x) = m + ln sum exp(x - m): which sign does m have?"],
    "mask-times-scores": [
        "A score of 0 is a score: exp(0) = 1. Which score has the weight 0?",
    ],
    "maximum-lost": ["ln sum exp(x) = m + ln sum exp(x - m): where is m added back?"],
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
    "sentinel": [
        "If all masked scores of a row are -1e9, what is the largest? What is exp of "
        "a score minus that?",
    ],
    "masked-maximum": [
        "The largest score is subtracted to keep exp in range. Over which scores is "
        "that maximum?",
    ],
    "not-renormalised": [
        "The allowed weights of a row sum to 1. Yours were divided by a sum that "
        "contains masked keys as well.",
    ],
    "mask-leak": ["A masked key has weight 0 and gradient 0."],
    "masked-nan": [
        "0 * NaN is NaN: a product with the mask cannot remove a NaN, but np.where "
        "can.",
    ],
    "overflow": [
        "exp(1e4) is larger than any float64. ln sum exp(x) = m + ln sum exp(x - m) "
        "for every m: which m helps?",
    ],
    "clipped": ["Which m makes all x - m at most 0, and leaves their differences?"],
    "wrong-slope": ["How much does ln sum_j exp(x_j) grow when x_i grows?"],
}
