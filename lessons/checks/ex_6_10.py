"""Check an answer to 6.10."""

import math

import numpy as np

from lessons.checks import pictures
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import equal_all
from lessons.checks.words import self_assessed
from lessons.classroom.steps import edges, laws, numbers, shape, values

TEMPERATURES = (0.1, 0.5, 1.0, 2.0, 5.0)
OTHERS = (3.0, 0.2, 0.7, 8.0, 1.5)  # neither the chapter's, nor in order
EPSILON = 1e-11  # so that log(p + 1e-12) is near enough


def softmax(e, tau, axis=-1):
    z = np.exp((e - e.max(axis, keepdims=True)) / tau)
    return z / z.sum(axis, keepdims=True)


def entropy(p):
    rows = p.reshape(-1, p.shape[-1])
    found = [-sum(x * math.log(x) for x in row if x > 0) for row in rows]
    return np.array(found).reshape(p.shape[:-1])


def slope_by_differences(e, tau, h=1e-3):
    """Return dH/dtau from four entropies, with an error of h^4."""
    H = {k: entropy(softmax(e, tau * (1 + k * h))) for k in (-2, -1, 1, 2)}
    return (8 * (H[1] - H[-1]) - (H[2] - H[-2])) / (12 * h * tau)


@shape("weights like the scores, an entropy for each row")
def like_the_scores(my, rng):
    e = rng.normal(size=(3, 5))
    my.shape(my.softmax_t(e, 0.5), (3, 5), "ij")
    my.shape(my.entropy(softmax(e, 1.0)), (3,), "i")
    my.shape(my.dH_dtau(e, 0.5), (3,), "i")


@numbers("weights 1/4 and 3/4 at tau = 2; the entropy of 1/2, 1/4, 1/4")
def two_scores(my, rng):
    e = np.array([0.0, 2 * math.log(3)])
    swapped = [("tau-multiplies", "softmax(e * tau)", softmax(e, 1 / 2))]
    my.equal(my.softmax_t(e, 2.0), [0.25, 0.75], "j", swapped)
    p = np.array([0.5, 0.25, 0.25])
    H = 1.5 * math.log(2)
    in_bits = [("log2", "the entropy in bits", H / math.log(2))]
    in_bits.append(("scale:-1", "the entropy with the wrong sign", -H))
    in_bits.append(("divided", "the entropy / log n", H / math.log(3)))
    my.equal(my.entropy(p), H, "", in_bits, atol=EPSILON)


@values("softmax_t and entropy, at five temperatures")
def at_five_temperatures(my, rng):
    e = rng.normal(size=(3, 5))
    for tau in TEMPERATURES:
        wrong = [
            ("tau-multiplies", "softmax(e * tau)", softmax(e, 1 / tau)),
            ("wrong-axis", "the softmax over the queries, axis 0", softmax(e, tau, 0)),
            ("wrong-axis", "weights whose columns sum to one", _columns(e, tau)),
            ("tau-after", "softmax(e) / tau", softmax(e, 1.0) / tau),
            ("wrong-axis", "the softmax of e, less the maximum of each column",
             softmax(e - e.max(0), tau)),
        ]  # fmt: skip
        p = softmax(e, tau)
        my.equal(my.softmax_t(e, tau), p, "ij", wrong)
        logs = np.log(np.where(p > 0, p, 1.0))
        wrong = [
            ("log2", "the entropy in bits", entropy(p) / math.log(2)),
            ("no-weights", "-sum_j ln p_j", -logs.sum(-1)),
            ("no-weights", "the mean of -ln p_j", -logs.mean(-1)),
            ("gap", "ln n - H", math.log(5) - entropy(p)),
            ("gini", "1 - sum_j p_j^2", 1 - (p * p).sum(-1)),
            ("largest-term", "the largest of -p_j ln p_j", -(p * logs).min(-1)),
            *(("epsilon", f"-sum_j p_j ln(p_j + {x:g})", -(p * np.log(p + x)).sum(-1))
              for x in (0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)),
        ]  # fmt: skip
        my.equal(my.entropy(p), entropy(p), "i", wrong, atol=EPSILON, size=1)


def variance(e, tau):
    """Return the variance of each row of e under p = softmax(e / tau)."""
    p = softmax(e, tau)
    return (p * (e - (p * e).sum(-1, keepdims=True)) ** 2).sum(-1)


@laws("the slope of the entropy, against finite differences")
def the_slope(my, rng):
    e = rng.normal(size=(3, 5))
    for tau in (0.7, 2.0, 5.0):  # no small power of the first is a round number
        p = softmax(e, tau)
        want = slope_by_differences(e, tau)
        wrong = [
            ("tau-power", f"dH/dtau {'x' if k > 0 else '/'} tau{power}", want * tau**k)
            for k in (-2, -1, 1, 2, 3, 4, 6)
            for power in [f"^{abs(k)}" * (abs(k) > 1)]
        ]
        flat, m = e - e.mean(-1, keepdims=True), (p * e).sum(-1, keepdims=True)
        at_1 = softmax(e, 1.0)
        mean_at_1 = (at_1 * e).sum(-1, keepdims=True)
        wrong += [
            ("variance-of-p", "Var(p) / tau^3", p.var(-1) / tau**3),
            (
                "flat-mean",
                "sum_j p_j (e_j - m)^2 / tau^3, m the plain mean of e",
                (p * flat**2).sum(-1) / tau**3,
            ),
            (
                "tau-lost",
                "Var_p(e) / tau^3 with p = softmax(e)",
                (at_1 * (e - mean_at_1) ** 2).sum(-1) / tau**3,
            ),
            ("tau-lost", "Var_p(e) / tau^3 with p = softmax(e tau)",
             variance(e, 1 / tau) / tau**3),
            ("tau-lost", "Var_p(e) / tau^3 with p = softmax(e / tau^2)",
             variance(e, tau**2) / tau**3),
            ("deviation", "the root of Var_p(e), / tau^3",
             variance(e, tau) ** 0.5 / tau**3),
            ("no-square", "E_p |e - m| / tau^3", (p * abs(e - m)).sum(-1) / tau**3),
            ("zero", "0", 0 * want),
            ("not-squared", "(E_p e^2 - E_p e) / tau^3",
             (p * e * (e - 1)).sum(-1) / tau**3),
            ("no-weights", "sum_j (e_j - m)^2 / tau^3",
             ((e - m) ** 2).sum(-1) / tau**3),
            ("no-weights", "the plain mean of (e_j - m)^2 / tau^3",
             ((e - m) ** 2).mean(-1) / tau**3),
            ("one-mean", "E_p (e - m)^2 / tau^3, m the mean of all rows together",
             (p * (e - (p * e).sum()) ** 2).sum(-1) / tau**3),
            ("flat-variance", "Var(e) / tau^3 under equal weights", e.var(-1) / tau**3),
            ("uncentred", "E_p(e^2) / tau^3", (p * e**2).sum(-1) / tau**3),
        ]  # fmt: skip
        found = my.dH_dtau(e, tau)
        my.equal(found, want, "i", wrong, rtol=1e-7)
        # a formula has more digits than four entropies: Var x = E (x - x')^2 / 2
        pairs = p[:, :, None] * p[:, None, :] * (e[:, :, None] - e[:, None, :]) ** 2
        slope = pairs.sum((1, 2)) / 2 / tau**3
        off = np.abs(np.asarray(found) / slope - 1).max()
        my.holds(
            off < 1e-12,
            "differences",
            "expected 12 right digits, as the formula gives them",
            f"found a relative error of {off:.1g}, as differences have",
        )


@laws("the entropy grows with tau, and log n - H tends to Var(e) / (2 tau^2)")
def it_only_grows(my, rng):
    e, tau = rng.normal(size=7), 3e3
    weights = [np.asarray(my.softmax_t(e, t)) for t in (*TEMPERATURES, tau)]
    *H, last = (float(my.entropy(p)) for p in weights)
    rising = ", ".join(f"{h:.4f}" for h in H)
    text = "expected entropies that grow with tau"
    my.holds(np.all(np.diff(H) > 0), "not-rising", text, f"found {rising}")
    gap = math.log(7) - last
    limit = e.var() / (2 * tau**2)
    my.holds(
        abs(gap - limit) < 1e-3 * limit,
        "limit",
        f"expected log 7 - H = {limit:.4g} at tau = {tau:g}",
        f"found {gap:.4g}",
    )


@values("weights and mean entropies at five temperatures")
def of_self_attention(my, rng):
    X = 0.7 * rng.normal(size=(7, 5))
    found = my.sweep(X, OTHERS)
    e = X @ X.T
    p = np.array([softmax(e, tau) for tau in OTHERS])
    fixed = np.array([softmax(e, tau) for tau in TEMPERATURES])
    near = e / np.outer(*2 * [np.linalg.norm(X, axis=1)])  # cosines
    columns = p.swapaxes(1, 2)  # as over the other axis, because e is symmetric
    wrong = {
        "weights": [("wrong-axis", "weights whose columns sum to 1", columns)]
                   + [("scaled", f"the softmax of the scores / {what}",
                       np.array([softmax(e / k, tau) for tau in OTHERS]))
                      for k, what in ((5**0.5, "sqrt(d)"), (4, "4"), (5, "d"))]
                   + [("fixed-taus", "the weights at 0.1, 0.5, 1, 2 and 5", fixed),
                      ("not-in-order", "the weights at the sorted temperatures",
                       p[np.argsort(OTHERS)]),
                      ("tau-multiplies", "the softmax of scores * tau",
                       np.array([softmax(e, 1 / tau) for tau in OTHERS])),
                      ("tau-power", "the softmax of scores / tau^2",
                       np.array([softmax(e, tau**2) for tau in OTHERS])),
                      ("cosines", "the softmax of cosines / tau",
                       np.array([softmax(near, tau) for tau in OTHERS]))],
        "H": [("mean-weights", "the entropy of the mean weights", entropy(p.mean(1))),
              ("sum", "the sum over the queries", entropy(p).sum(-1)),
              ("one-query", "the entropy of the first query", entropy(p)[:, 0]),
              ("one-query", "the entropy of the last query", entropy(p)[:, -1]),
              ("median", "the median entropy", np.median(entropy(p), -1)),
              ("largest", "the largest entropy", entropy(p).max(-1)),
              ("log2", "the entropy in bits", entropy(p).mean(-1) / math.log(2))],
    }  # fmt: skip
    want = {"weights": p, "H": entropy(p).mean(-1)}
    axes = {"weights": ("tau", "i", "j"), "H": ("tau",)}
    equal_all(my, found, want, axes, wrong, atol=EPSILON)


@laws("five heatmaps and the curve of the entropy")
def five_heatmaps(my, rng):
    X = rng.normal(size=(8, 16))
    for taus in (sorted(OTHERS), TEMPERATURES):
        fig = check_drawing(my, taus, *my.sweep(X, taus))
    pictures.keep(my, fig)


def check_drawing(my, taus, weights, H):
    """Fail unless ``draw`` draws a heatmap for each tau, and H; return the figure."""
    fig = pictures.drawn(my, "draw", (9, 5.6), taus, weights, H)
    for tau, p in zip(taus, weights):
        turned = [("transposed", "the weights, transposed", p.T)]
        text = f"the weights at tau = {tau:g}"
        limits = pictures.has_image(fig, p, "no-image", text, turned)
        my.holds(limits == (0, 1), "own-limits",
                 "expected colours from 0 to 1 for every heatmap",
                 f"found {limits} at tau = {tau:g}")  # fmt: skip
        titles = [t for array, _, t in pictures.images(fig) if np.allclose(array, p)]
        my.holds(any(f"{tau:g}" in title for title in titles), "no-title",
                 f"expected {tau:g} in the title of its heatmap",
                 f"found {titles}")  # fmt: skip
    text = "the mean entropy against tau"
    pictures.has_curve(fig, taus, H, "curves", text)
    pictures.is_labelled(fig)
    return fig


@edges("large scores, and rows that are far apart")
def far_apart(my, rng):
    e = np.array([705.0, 708.0, 712.0])  # exp of the last is inf
    z = np.exp(e)
    overflow = [("overflow", "exp(e / tau) / sum exp(e / tau)", z / z.sum())]
    my.equal(my.softmax_t(e, 1.0), softmax(e, 1.0), "j", overflow)
    z = np.exp(e / 0.5 - e.max())
    text = "exp(e / tau - the largest e), divided by its sum"
    late = [("maximum-not-divided", text, z / z.sum())]
    my.equal(my.softmax_t(e, 0.5), softmax(e, 0.5), "j", late)
    e = np.array([0.0, -700.0, -800.0])  # exp of the last is 0, and so is its power
    z = np.exp(e) ** (1 / 400)
    text = "exp(e) to the power 1 / tau, divided by its sum"
    late = [("power-of-exp", text, z / z.sum())]
    my.equal(my.softmax_t(e, 400.0), softmax(e, 400.0), "j", late)
    # less the largest of all, exp of the first row has few digits left, or none
    for gap in (742.0, 1000.0):
        e = np.array([[0.0, 1.0], [gap, gap + 1.0]])
        z = np.exp(e - e.max())
        text = "exp(e - the largest of all rows), divided by its sum"
        whole = [("whole-maximum", text, z / z.sum(-1, keepdims=True))]
        my.equal(my.softmax_t(e, 1.0), softmax(e, 1.0), "ij", whole)


@edges("the slope of the entropy of scores near 1e6")
def far_from_zero(my, rng):
    e = rng.normal(size=(3, 5))
    for tau in (0.5, 2.0):
        found, want = (np.asarray(my.dH_dtau(x, tau)) for x in (e + 1e6, e))
        off = np.abs(found / want - 1).max()
        my.holds(
            off < 1e-6,
            "cancels",
            "expected the same slope for e and for e + 1e+06",
            f"found slopes that differ by {off:.1g} of the right one: digits cancel",
        )


@edges("tau = 1e-3 with scores of 1e3, ties, and a weight of 0")
def cold(my, rng):
    e = np.array([[1e3, -1e3, 0.0], [1e3, 1e3, 0.0]])
    want = [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]
    my.equal(my.softmax_t(e, 1e-3), want, "ij")
    certain = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    my.equal(my.entropy(certain), [0.0, math.log(2)], "i", atol=EPSILON)


@edges("the limits and inference, in your own words")
def your_own_words(my, rng):
    self_assessed(
        my,
        my.explanation(),
        "tau to 0: the largest score takes all, ties share equally, H tends to 0 or "
        "to the logarithm of the ties; no gradient is left",
        "tau to infinity: weights 1 / T, H = log T, the output is the mean of the "
        "values",
        "at inference: a lower tau makes a soft model decide, a higher one makes it "
        "hedge; for the words of a language model it is the sampling temperature",
        "tau is one factor for all scores, as 1 / sqrt(d) is, and the model was "
        "trained with one of them",
    )


def _columns(e, tau):
    z = np.exp((e - e.max(-1, keepdims=True)) / tau)
    return z / z.sum(0, keepdims=True)


HINTS = {
    "draw": ["Five images with one range of colours, and one curve."],
    "sweep": ["One row for each temperature."],
    "softmax_t": ["Which exponents do scores of 0 and 1000 have at tau = 0.5?"],
    "entropy": ["Compute H of the weights (1, 0) by hand, term by term."],
    "dH_dtau": [
        "The mean and the variance are those under p, with p = softmax(e / tau).",
    ],
    "": [
        "Divide by tau first, then do what a stable softmax does.",
        "0 ln 0 is 0, but np.log(0) is -inf and 0 * -inf is NaN: do not take the log "
        "of 0.",
        "The mean of e under p is sum_j p_j e_j; the variance is the mean of (e - "
        "mean)^2.",
    ],
    "tau-multiplies": ["Does the largest weight grow or shrink at a low temperature?"],
    "cancels": [
        "E(e^2) and E(e)^2 are near 1e12 if e is near 1e6: what remains of their "
        "difference? Subtract the mean from e first.",
    ],
    "divided": ["The entropy itself is in nats. Do not divide it by its maximum."],
    "power-of-exp": [
        "exp(-800) is 0 in float64, and every power of 0 is 0. Where does the formula "
        "divide by tau?",
    ],
    "maximum-not-divided": ["Is the largest exponent 0 for every tau?"],
    "fixed-taus": ["The temperatures are an argument."],
    "not-in-order": ["Row k belongs to taus[k], in the order of the argument."],
    "one-query": ["H is the mean over the queries."],
    "largest": ["H is the mean over the queries."],
    "no-weights": ["Each term has the weight p_j."],
    "gap": ["The entropy is the sum itself, not what it lacks to ln n."],
    "median": ["H is the mean over the queries."],
    "not-squared": ["Var(e) = E(e^2) - E(e)^2: which of the two is squared?"],
    "gini": ["The entropy contains a logarithm."],
    "deviation": ["A variance is not a deviation: it has no root."],
    "no-square": ["A variance is a mean of squares."],
    "one-mean": ["Each row has its own mean."],
    "axes-exchanged": ["tau is on the horizontal axis, H on the vertical one."],
    "tau-power": [
        "By which power of tau does your slope differ from the measured one?",
    ],
    "nan": [
        "inf / inf and 0 * -inf are NaN, and exp(x) is inf from x = 710 on. Which "
        "number can you subtract from the scores of a row, so that none is above 0?",
    ],
    "overflow": ["exp(710) is larger than any float64. Which number can you subtract?"],
    "whole-maximum": [
        "Each row has its own largest score. What is exp of a row that is 1000 below "
        "another row?",
    ],
    "differences": [
        "A difference of two entropies loses the digits that they have in common. "
        "The formula keeps them.",
    ],
    "flat-variance": ["The variance is taken under p, not under equal weights."],
    "mean-weights": [
        "The mean of sharp rows is flat. Compute the entropy of each row first.",
    ],
    "scaled": ["The scores are x_i . x_j, divided by tau alone."],
    "cosines": ["The scores are x_i . x_j, whatever the lengths of the rows are."],
    "sum": ["H is the mean over the queries."],
    "no-image": ["There is one heatmap for each temperature."],
    "transposed": ["Row i of the image is row i of the weights."],
    "own-limits": ["A colour must mean the same weight at every temperature."],
    "no-title": ["Which heatmap is of which temperature?"],
    "curves": ["The curve has H on the vertical axis and tau on the other."],
    "unlabelled": ["A reader needs to know what each axis is."],
    "log2": ["The entropy is in nats: use the natural logarithm."],
    "tau-after": ["Divide the scores, not the weights: what do your weights sum to?"],
    "variance-of-p": ["The variance is that of the scores e, with the weights p."],
    "flat-mean": ["The mean in a variance under p is taken under p as well."],
    "tau-lost": ["Which weights does the entropy belong to?"],
}
