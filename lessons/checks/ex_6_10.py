"""Check an answer to 6.10."""

import math

import numpy as np

from lessons.checks import pictures
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import equal_all
from lessons.checks.words import self_assessed
from lessons.classroom.steps import edges, laws, numbers, shape, values

# THE EXERCISE IN LOOPS


def softmax_t(e, tau):
    z = np.exp((e - e.max(-1, keepdims=True)) / tau)
    return z / z.sum(-1, keepdims=True)


def entropy(p):
    """H = -sum_j p_j ln p_j, of each row"""
    H = np.zeros(p.shape[:-1])
    for i in np.ndindex(H.shape):
        H[i] = -sum(x * math.log(x) for x in p[i] if x > 0)
    return H


def dH_dtau(e, tau):
    """Var_p(e) / tau^3, of each row"""
    p, slope = softmax_t(e, tau), np.zeros(e.shape[:-1])
    for i in np.ndindex(slope.shape):
        m = sum(p[i] * e[i])
        variance = sum(p[i] * (e[i] - m) ** 2)
        slope[i] = variance / tau**3
    return slope


def sweep(X, taus):
    e = X @ X.T
    weights = np.array([softmax_t(e, tau) for tau in taus])
    return weights, np.array([sum(entropy(p)) / len(X) for p in weights])


# THE CHECK

TEMPERATURES = (0.1, 0.5, 1.0, 2.0, 5.0)
OTHERS = (3.0, 0.2, 0.7, 8.0, 1.5)  # neither the chapter's, nor in order
EPSILON = 1e-11  # so that log(p + 1e-12) is near enough


def slope_by_differences(e, tau, h=1e-3):
    """Return dH/dtau from four entropies, with an error of h^4."""
    H = {k: entropy(softmax_t(e, tau * (1 + k * h))) for k in (-2, -1, 1, 2)}
    return (8 * (H[1] - H[-1]) - (H[2] - H[-2])) / (12 * h * tau)


@shape("weights like the scores, an entropy for each row")
def like_the_scores(my, rng):
    e = rng.normal(size=(3, 5))
    my.shape(my.softmax_t(e, 0.5), (3, 5), "ij")
    my.shape(my.entropy(softmax_t(e, 1.0)), (3,), "i")
    my.shape(my.dH_dtau(e, 0.5), (3,), "i")


@numbers("weights 1/4 and 3/4 at tau = 2; the entropy of 1/2, 1/4, 1/4")
def two_scores(my, rng):
    e = np.array([0.0, 2 * math.log(3)])
    my.equal(my.softmax_t(e, 2.0), [0.25, 0.75], "j")
    p = np.array([0.5, 0.25, 0.25])
    my.equal(my.entropy(p), 1.5 * math.log(2), "", atol=EPSILON)


@values("softmax_t and entropy, at five temperatures")
def at_five_temperatures(my, rng):
    e = rng.normal(size=(3, 5))
    for tau in TEMPERATURES:
        p = softmax_t(e, tau)
        my.equal(my.softmax_t(e, tau), p, "ij")
        my.equal(my.entropy(p), entropy(p), "i", atol=EPSILON, size=1)


@laws("the slope of the entropy, against finite differences")
def the_slope(my, rng):
    e = rng.normal(size=(3, 5))
    for tau in (0.7, 2.0, 5.0):  # no small power of the first is a round number
        found = my.dH_dtau(e, tau)
        my.equal(found, slope_by_differences(e, tau), "i", rtol=1e-7)
        # the formula has more digits than four entropies
        off = np.abs(np.asarray(found) / dH_dtau(e, tau) - 1).max()
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
    want = dict(zip(("weights", "H"), sweep(X, OTHERS)))
    axes = {"weights": ("tau", "i", "j"), "H": ("tau",)}
    equal_all(my, my.sweep(X, OTHERS), want, axes, atol=EPSILON)


@laws("five heatmaps and the curve of the entropy")
def five_heatmaps(my, rng):
    X = rng.normal(size=(8, 16))
    for taus in (sorted(OTHERS), TEMPERATURES):
        fig = check_drawing(my, taus, *map(np.asarray, my.sweep(X, taus)))
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
    pictures.is_labelled(fig, "tau|τ|temp", r"entrop|nat|\bH\b")
    return fig


@edges("large scores, and rows that are far apart")
def far_apart(my, rng):
    for tau, scores in (
        (1.0, [705.0, 708.0, 712.0]),  # exp of the last is inf
        (0.5, [705.0, 708.0, 712.0]),
        (400.0, [0.0, -700.0, -800.0]),  # exp of the last is 0, and so is its power
        # less the largest of all, exp of the first row has few digits left, or none
        (1.0, [[0.0, 1.0], [742.0, 743.0]]),
        (1.0, [[0.0, 1.0], [1000.0, 1001.0]]),
    ):
        e = np.array(scores)
        my.equal(my.softmax_t(e, tau), softmax_t(e, tau), "ij"[-e.ndim :])


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


MAX, TAU = "e.max(-1, keepdims=True)", "keepdims=True)) / tau)"
EXPONENT = f"(e - {MAX}) / tau"
SUM = "z / z.sum(-1, keepdims=True)"
SOFTMAX = f"    z = np.exp({EXPONENT})\n    return {SUM}"
TERM = "x * math.log(x) for"
SUM_OF_TERMS = f"sum({TERM} x in p[i] if x > 0)"
H = f"-{SUM_OF_TERMS}"
P, M = "softmax_t(e, tau), np", "m = sum(p[i] * e[i])"
VARIANCE, SLOPE = "sum(p[i] * (e[i] - m) ** 2)", "variance / tau**3"
E, WEIGHTS, TAUS = "e = X @ X.T", "softmax_t(e, tau) for", "for tau in taus"
MEAN = "sum(entropy(p)) / len(X)"
LARGEST = "Does the largest weight grow or shrink at a low temperature?"
NATS = "The entropy is in nats: use the natural logarithm."
SHARE = "Each term has the weight p_j."
POWER = "By which power of tau does your slope differ from the measured one?"
LOST = "Which weights does the entropy belong to?"
QUERIES = "H is the mean over the queries."
ALONE = "The scores are x_i . x_j, divided by tau alone."
OWN_LARGEST = (
    "Each row has its own largest score. What is exp of a row that is 1000 below "
    "another row?"
)
POWER_OF_0 = (
    "exp(-800) is 0 in float64, and every power of 0 is 0. Where does the formula "
    "divide by tau?"
)

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("tau-multiplies", "softmax(e * tau)", LARGEST, TAU, "keepdims=True)) * tau)"),
    ("wrong-axis", "the softmax over the queries, axis 0", "", SOFTMAX,
     SOFTMAX.replace("-1", "0")),
    ("wrong-axis", "weights whose columns sum to one", "", SUM, SUM.replace("-1", "0")),
    ("wrong-axis", "the softmax of e, less the maximum of each column", "", MAX,
     MAX.replace("-1", "0")),
    ("tau-after", "softmax(e) / tau",
     "Divide the scores, not the weights: what do your weights sum to?", SOFTMAX,
     SOFTMAX.replace(" / tau", "") + " / tau"),
    ("overflow", "exp(e / tau) / sum exp(e / tau)",
     "exp(710) is larger than any float64. Which number can you subtract?", EXPONENT,
     "e / tau"),
    ("maximum-not-divided", "exp(e / tau - the largest e), divided by its sum",
     "Is the largest exponent 0 for every tau?", EXPONENT, f"e / tau - {MAX}"),
    ("power-of-exp", "exp(e) to the power 1 / tau, divided by its sum", POWER_OF_0,
     f"np.exp({EXPONENT})", f"np.exp(e - {MAX}) ** (1 / tau)"),
    ("whole-maximum", "exp(e - the largest of all rows), divided by its sum",
     OWN_LARGEST, MAX, "e.max()"),
    ("log2", "the entropy in bits", NATS, "math.log(x)", "math.log2(x)"),
    ("scale:-1", "the entropy with the wrong sign", "", H, SUM_OF_TERMS),
    ("divided", "the entropy / log n",
     "The entropy itself is in nats. Do not divide it by its maximum.", H,
     f"{H} / math.log(len(p[i]))"),
    ("no-weights", "-sum_j ln p_j", SHARE, TERM, "math.log(x) for"),
    ("no-weights", "the mean of -ln p_j", SHARE, TERM, "math.log(x) / len(p[i]) for"),
    ("gap", "ln n - H", "The entropy is the sum itself, not what it lacks to ln n.", H,
     f"math.log(len(p[i])) + {SUM_OF_TERMS}"),
    ("gini", "1 - sum_j p_j^2", "The entropy contains a logarithm.", H,
     "1 - sum(p[i] ** 2)"),
    ("largest-term", "the largest of -p_j ln p_j", "", H, H.replace("sum", "min")),
    *(
        ("epsilon", f"-sum_j p_j ln(p_j + {10.0**-k:g})", "", "math.log(x)",
         f"math.log(x + 1e-{k})")
        for k in range(1, 11)
    ),
    *(
        ("tau-power", f"dH/dtau {times} tau{f'^{k}' * (k > 1)}", POWER, SLOPE,
         f"{SLOPE} {sign} tau**{k}")
        for times, sign in (("x", "*"), ("/", "/"))
        for k in (1, 2, 3, 4, 6)
    ),
    ("variance-of-p", "Var(p) / tau^3",
     "The variance is that of the scores e, with the weights p.", VARIANCE,
     "p[i].var()"),
    ("flat-mean", "sum_j p_j (e_j - m)^2 / tau^3, m the plain mean of e",
     "The mean in a variance under p is taken under p as well.", M, "m = e[i].mean()"),
    ("tau-lost", "Var_p(e) / tau^3 with p = softmax(e)", LOST, P,
     "softmax_t(e, 1.0), np"),
    ("tau-lost", "Var_p(e) / tau^3 with p = softmax(e tau)", LOST, P,
     "softmax_t(e, 1 / tau), np"),
    ("tau-lost", "Var_p(e) / tau^3 with p = softmax(e / tau^2)", LOST, P,
     "softmax_t(e, tau**2), np"),
    ("deviation", "the root of Var_p(e), / tau^3",
     "A variance is not a deviation: it has no root.", SLOPE, "variance**0.5 / tau**3"),
    ("no-square", "E_p |e - m| / tau^3", "A variance is a mean of squares.", VARIANCE,
     "sum(p[i] * abs(e[i] - m))"),
    ("not-squared", "(E_p e^2 - E_p e) / tau^3",
     "Var(e) = E(e^2) - E(e)^2: which of the two is squared?", VARIANCE,
     "sum(p[i] * e[i] ** 2) - m"),
    ("no-weights", "sum_j (e_j - m)^2 / tau^3", SHARE, VARIANCE,
     "sum((e[i] - m) ** 2)"),
    ("no-weights", "the plain mean of (e_j - m)^2 / tau^3", SHARE, VARIANCE,
     "np.mean((e[i] - m) ** 2)"),
    ("one-mean", "E_p (e - m)^2 / tau^3, m the mean of all rows together",
     "Each row has its own mean.", M, "m = np.sum(p * e)"),
    ("flat-variance", "Var(e) / tau^3 under equal weights",
     "The variance is taken under p, not under equal weights.", VARIANCE, "e[i].var()"),
    ("uncentred", "E_p(e^2) / tau^3", "", VARIANCE, "sum(p[i] * e[i] ** 2)"),
    ("wrong-axis", "weights whose columns sum to 1", "", WEIGHTS,
     "softmax_t(e, tau).T for"),
    ("scaled", "the softmax of the scores / sqrt(d)", ALONE, E,
     f"{E} / X.shape[1] ** 0.5"),
    ("scaled", "the softmax of the scores / 4", ALONE, E, f"{E} / 4"),
    ("scaled", "the softmax of the scores / d", ALONE, E, f"{E} / X.shape[1]"),
    ("fixed-taus", "the weights at 0.1, 0.5, 1, 2 and 5",
     "The temperatures are an argument.", TAUS, "for tau in (0.1, 0.5, 1, 2, 5)"),
    ("not-in-order", "the weights at the sorted temperatures",
     "Row k belongs to taus[k], in the order of the argument.", TAUS,
     "for tau in sorted(taus)"),
    ("tau-multiplies", "the softmax of scores * tau", LARGEST, WEIGHTS,
     "softmax_t(e, 1 / tau) for"),
    ("tau-power", "the softmax of scores / tau^2", POWER, WEIGHTS,
     "softmax_t(e, tau**2) for"),
    ("cosines", "the softmax of cosines / tau",
     "The scores are x_i . x_j, whatever the lengths of the rows are.", E,
     "U = X / np.linalg.norm(X, axis=1, keepdims=True)\n    e = U @ U.T"),
    ("mean-weights", "the entropy of the mean weights",
     "The mean of sharp rows is flat. Compute the entropy of each row first.", MEAN,
     "entropy(p.mean(0))"),
    ("sum", "the sum over the queries", QUERIES, MEAN, "sum(entropy(p))"),
    ("one-query", "the entropy of the first query", QUERIES, MEAN, "entropy(p)[0]"),
    ("one-query", "the entropy of the last query", QUERIES, MEAN, "entropy(p)[-1]"),
    ("median", "the median entropy", QUERIES, MEAN, "np.median(entropy(p))"),
    ("largest", "the largest entropy", QUERIES, MEAN, "max(entropy(p))"),
    ("log2", "the entropy in bits", NATS, MEAN, f"{MEAN} / math.log(2)"),
]  # fmt: skip

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
    "cancels": [
        "E(e^2) and E(e)^2 are near 1e12 if e is near 1e6: what remains of their "
        "difference? Subtract the mean from e first.",
    ],
    "axes-exchanged": ["tau is on the horizontal axis, H on the vertical one."],
    "nan": [
        "inf / inf and 0 * -inf are NaN, and exp(x) is inf from x = 710 on. Which "
        "number can you subtract from the scores of a row, so that none is above 0?",
    ],
    "differences": [
        "A difference of two entropies loses the digits that they have in common. "
        "The formula keeps them.",
    ],
    "no-image": ["There is one heatmap for each temperature."],
    "transposed": ["Row i of the image is row i of the weights."],
    "own-limits": ["A colour must mean the same weight at every temperature."],
    "no-title": ["Which heatmap is of which temperature?"],
    "curves": ["The curve has H on the vertical axis and tau on the other."],
    "unlabelled": ["A reader needs to know what each axis is."],
}
