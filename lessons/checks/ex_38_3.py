"""Check an answer to 38.3."""

import math

import numpy as np

from lessons.checks import pictures
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.predictions import locked
from lessons.classroom.steps import edges, laws, numbers, shape, values

# THE EXERCISE IN LOOPS


def scores(T, d, samples, rng):
    rows = []
    for _ in range(samples):
        s, H = rng.normal(size=d), rng.normal(size=(T, d))
        rows.append(H @ s)
    return np.array(rows)


def entropy(p):
    """H = -sum_j p_j ln p_j, of each row"""
    H = np.zeros(p.shape[:-1])
    for i in np.ndindex(H.shape):
        H[i] = -sum(x * math.log(x) for x in p[i] if x > 0)
    return H


def entropy_curve(T, ds, scaled, rng, samples):
    curve = []
    for d in ds:
        e = scores(T, d, samples, rng) / (d**0.5 if scaled else 1)
        z = np.exp(e - e.max(-1, keepdims=True))
        p = z / z.sum(-1, keepdims=True)
        curve.append(sum(entropy(p)) / samples)
    return np.array(curve)


def large_T_entropy(T, a):
    log_Z = math.log(T) + math.log(math.sinh(a) / a)
    mean_score = a / math.tanh(a) - 1
    return log_Z - mean_score


# THE CHECK

EPSILON = 1e-11  # so that log(p + 1e-12) is near enough


def by_quadrature(T, a):
    """Return ln(T E exp(x)) - E[x exp(x)] / E exp(x) for x uniform from -a to a."""
    n = 20000
    x = a * (2 * (np.arange(n) + 0.5) / n - 1)  # the middles of n equal parts
    weight = np.exp(x)
    return math.log(T * weight.mean()) - (x * weight).sum() / weight.sum()


@shape("a number for each width, an entropy for each row")
def a_number_for_each(my, rng):
    my.shape(my.entropy(rng.random((3, 5, 7))), (3, 5), "ij")
    my.shape(my.entropy_curve(7, (3, 5, 11), True, rng, 2), (3,), ("d",))


@numbers("weights 1/2, 1/4, 1/4, equal ones, and 1/2, 1/3, 1/6")
def known_entropies(my, rng):
    p = np.array([[0.5, 0.25, 0.25], [1 / 3, 1 / 3, 1 / 3], [1 / 2, 1 / 3, 1 / 6]])
    mixed = math.log(2) / 2 + math.log(3) / 3 + math.log(6) / 6
    nats = np.array([1.5 * math.log(2), math.log(3), mixed])
    my.equal(my.entropy(p), nats, "i", atol=EPSILON)


@values("both curves, against a loop")
def both_curves(my, rng):
    T, ds, samples, seed = 7, (3, 5, 17), 11, int(rng.integers(1000))
    found, want = [], []
    for wanted in (True, False):
        source = np.random.default_rng(seed)
        found.append(my.entropy_curve(T, ds, wanted, source, samples))
        unused = np.random.default_rng(seed)
        my.holds(
            source.bit_generator.state != unused.bit_generator.state,
            "own-generator",
            "expected scores that are drawn from the argument rng",
            "found that rng was not used",
        )
        want.append(entropy_curve(T, ds, wanted, unused, samples))
    names = "scaled", "unscaled"
    axes = {"curve": [f"{name}, d = {d}" for name in names for d in ds]}
    text = f"entropy_curve(T={T}, ds={ds}, scaled=True, …), and scaled=False"
    my.equal(np.concatenate(found), np.concatenate(want), axes, atol=EPSILON, call=text)


@laws("the limit for many keys, against a sum over the interval")
def the_limit(my, rng):
    cases = (64, 1.5), (4096, 3.0), (64, 0.3), (10**6, 1.0)
    ratios = [my.large_T_entropy(*case) / by_quadrature(*case) for case in cases]
    is_near = np.allclose(ratios, 1, rtol=0, atol=0.005)  # no wrong formula is so near
    for T, a in cases:
        want, got = by_quadrature(T, a), my.large_T_entropy(T, a)
        grid = "expected, but for the error of a sum over a grid of x"
        near = [("grid", grid, got)] if is_near else []
        my.equal(got, want, "", near, rtol=1e-7)


@laws("your prediction and the measurement")
def predicted(my, rng):
    text = 'expected {"gap": a number, "half": a number}'
    my.holds(
        is_prediction(my.prediction()),
        "prediction",
        text,
        f"found {my.prediction()!r}",
    )
    first = locked(my, is_prediction)
    z = np.exp(2 * scores(64, 64, 400, rng) / 8)
    gap = math.log(64) - entropy(z / z.sum(-1, keepdims=True)).mean()
    ds = np.arange(2, 31, 4)
    left = np.array(my.entropy_curve(1024, ds, False, rng, 60)) / math.log(1024)
    half = np.interp(-0.5, -left, ds)
    print(f"deviation 2: predicted {first['gap']:g} nats below log 64, found {gap:.2f}")
    guess = first["half"]
    print(f"half of log 1024 is left: predicted d = {guess:g}, found {half:.0f}")


@laws("the plot")
def the_plot(my, rng):
    T, ds = 64, 2 ** np.arange(9)
    scaled, unscaled = (
        np.array(my.entropy_curve(T, ds, wanted, np.random.default_rng(1), 20))
        for wanted in (True, False)
    )
    fig = pictures.drawn(my, "draw", (6, 3.6), 7, ds, scaled, unscaled)
    pictures.has_level(fig, math.log(7), "no-level", f"log 7 = {math.log(7):.4g}")
    fig = pictures.drawn(my, "draw", (6, 3.6), T, ds, scaled, unscaled)
    for y, what in ((scaled, "scaled"), (unscaled, "unscaled")):
        pictures.has_curve(fig, ds, y, "curves", f"the {what} entropies against ds")
    pictures.has_level(fig, math.log(T), "no-level", f"log {T} = {math.log(T):.4g}")
    pictures.is_labelled(fig, r"\bd\b|width|dim", r"entrop|nat|\bH\b")
    curves = [curve for curve in pictures.lines(fig) if len(curve[1]) == len(ds)]
    for y, what in ((scaled, "scaled"), (unscaled, "unscaled")):
        label = next(label for _, b, label in curves if np.allclose(b, y))
        words = label.lower().replace("not scaled", "unscaled")
        text = f'expected label="{what}" for this curve in the legend'
        my.holds("scaled" in words, "unlabelled", text, f"found {label!r}")
        is_un = "unscaled" in words
        my.holds(is_un == (what == "unscaled"), "exchanged", text, f"found {label!r}")
    kind = pictures.panels(fig)[0].get_xscale()
    my.holds(kind != "linear", "linear-axis", "expected a logarithmic axis for d",
             f"found {kind}")  # fmt: skip
    kind = pictures.panels(fig)[0].get_yscale()
    my.holds(kind == "linear", "logarithmic-entropy",
             "expected a linear axis for the entropy", f"found {kind}")  # fmt: skip
    pictures.keep(my, fig)


@edges("weights of exactly 0, one key, and scores whose exp overflows")
def certain(my, rng):
    p = np.array([[1.0, 0.0, 0.0], [0.5, 0.0, 0.5]])
    my.equal(my.entropy(p), [0.0, math.log(2)], "i", atol=EPSILON)
    alone = my.entropy_curve(1, (5,), True, rng, 3)
    my.equal(alone, [0.0], {"d": (5,)}, atol=EPSILON, size=1)
    large = 100.0, 100.0, 100 - math.log(3) / 100, -100.0  # s_1, then h_j
    small = 1.0, 0.0, -math.log(3), -1000.0  # scores far below those of the other
    want = math.log(4) - 0.75 * math.log(3)  # weights 3/4, 1/4 and 0
    got = my.entropy_curve(3, (1,), False, Prepared(*large, *small), 2)
    my.equal(got, [want], {"d": (1,)}, atol=EPSILON)


class Prepared:
    """A generator whose ``normal`` returns prepared numbers, in their order."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def normal(self, loc=0.0, scale=1.0, size=()):
        return loc + scale * np.array(
            [self.numbers.pop(0) for _ in range(np.prod(size, dtype=int))]
        ).reshape(size)


def is_prediction(found):
    both = isinstance(found, dict) and set(found) == {"gap", "half"}
    return both and all(np.ndim(v) == 0 and np.isreal(v) for v in found.values())


TERM, LOG = "-sum(x * math.log(x) for x in p[i] if x > 0)", "math.log(x)"
SCALE, EXP = "(d**0.5 if scaled else 1)", "np.exp(e - e.max(-1, keepdims=True))"
SUM = "z.sum(-1, keepdims=True)"
SOFTMAX = f"z = {EXP}\n        p = z / {SUM}"
MEAN, DRAWN = "sum(entropy(p)) / samples", "e = scores(T, d"
LOG_Z, SINH = "math.log(T) + math", "math.sinh(a) / a"
SCORE, LIMIT = "a / math.tanh(a) - 1", "log_Z - mean_score"
NATS = "The entropy is in nats: use the natural logarithm."
SHARE = "Return the entropy in nats, not its share of log T."
AXIS = "The weights of one query sum to 1 over its keys, not over the queries."
SAMPLES = "Return the mean over the samples."
QUERIES = "How many queries does a call of _scores return?"
UNIFORM = "That is the limit of normal scores. These are uniform from -a to a."
LOG_OF_Z = "H = ln Z - sum_j p_j e_j. What is ln Z for many keys?"
SECOND = "H = ln Z - sum_j p_j e_j. Is the second term 0?"
WIDTH = "The interval from -a to a has the length 2 a."
INTEGRAL = "The integral of exp(x) from -a to a is exp(a) - exp(-a)."
DENOMINATOR = "sum_j p_j e_j: p_j has a denominator. What does it become for many keys?"
TERMS = "The scores are sums over the d entries. How many terms does each score have?"
FLAT = (
    "The mean of many sharp distributions is flat. Compute the entropy of each query "
    "first."
)

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("log2", "the entropy in bits", NATS, LOG, "math.log2(x)"),
    ("divided", "the entropy / log T", SHARE, TERM, f"{TERM} / math.log(len(p[i]))"),
    ("no-weights", "-sum_j ln p_j, without p_j",
     "H = -sum_j p_j ln p_j is a mean of -ln p_j. With which weights?", f"x * {LOG}",
     LOG),
    ("inverted", "the curves with the scaling where scaled is False",
     "Which curve has scores divided by sqrt(d): scaled=True, or False?", "if scaled",
     "if not scaled"),
    ("ignores-scaled", "the unscaled curve, twice",
     "Only one of the two curves divides. Which argument decides?", SCALE, "1"),
    ("ignores-scaled", "the scaled curve, twice", "", SCALE, "d**0.5"),
    ("divides-by-d", "the curve of scores / d",
     "The variance of the scores is d. What is their standard deviation?", SCALE,
     "(d if scaled else 1)"),
    ("multiplies", "the curve of scores * sqrt(d)",
     "Wide vectors have large scores. Scaling makes them smaller.", SCALE,
     "(d**-0.5 if scaled else 1)"),
    ("divides-by-T", "the curve of scores / sqrt(T)", TERMS, SCALE,
     "(T**0.5 if scaled else 1)"),
    ("sum-over-everything",
     "the curve of exponents divided by their sum over all queries", "", SUM,
     "z.sum()"),
    ("wrong-axis", "the curve of weights that sum to one over the queries", AXIS,
     SOFTMAX, SOFTMAX.replace("-1", "0")),
    ("wrong-axis", "the curve of exponents divided by their sum over the queries", AXIS,
     SUM, SUM.replace("-1", "0")),
    ("clipped", "the entropy of 1/2 and 1/2: the scores are 1e4, 1e4 - ln 3 and -1e4",
     "Which m makes all e - m at most 0, and leaves their differences?", EXP,
     "np.exp(np.clip(e, -700, 700))"),
    ("mean-weights", "the entropy of the mean weights", FLAT, MEAN,
     "entropy(p.mean(0))"),
    ("sum", "the sum over the samples", SAMPLES, MEAN, "sum(entropy(p))"),
    ("median", "the median over the samples", SAMPLES, MEAN, "np.median(entropy(p))"),
    ("one-sample", "the entropy of the first query", QUERIES, MEAN, "entropy(p)[0]"),
    ("one-sample", "the largest entropy of a query", QUERIES, MEAN, "max(entropy(p))"),
    ("not-normalised", "the curve of exponentials, not divided by their sum", "", MEAN,
     "sum(entropy(z)) / samples"),
    ("divided", "the curve / log T", SHARE, MEAN, f"{MEAN} / math.log(T)"),
    ("d-first", "the curve of _scores(d, T, …)", "_scores takes T first, then d.",
     DRAWN, "e = scores(d, T"),
    ("on-the-line", "log T, the entropy of equal weights",
     "Weights that are not all equal have an entropy below log T. By how much?", LIMIT,
     "math.log(T)"),
    ("no-log-T", "expected - log T",
     "Z is a sum over T keys: T times an expectation.", LOG_Z, "math"),
    ("normal", "log T - variance / 2", UNIFORM, LIMIT, "math.log(T) - a * a / 6"),
    ("normal", "log T - a / 2", UNIFORM, LIMIT, "math.log(T) - a / 2"),
    ("normal", "log T - a^2 / 2", UNIFORM, LIMIT, "math.log(T) - a * a / 2"),
    ("sign", "log T - ln(sinh(a) / a) - the mean score", LOG_OF_Z, LOG_Z,
     "math.log(T) - math"),
    ("sign", "log T plus what is to be subtracted", LOG_OF_Z, LIMIT,
     "2 * math.log(T) - log_Z + mean_score"),
    ("not-divided", "ln Z - E[x exp(x)], not divided by E[exp(x)]", DENOMINATOR, SCORE,
     "math.cosh(a) - math.sinh(a) / a"),
    ("mean-score-lost", "ln Z", SECOND, LIMIT, "log_Z"),
    ("mean-score-lost", "ln Z plus the mean score", SECOND, LIMIT,
     "log_Z + mean_score"),
    ("width-of-interval", "expected + ln 2", WIDTH, SINH, "2 * math.sinh(a) / a"),
    ("width-of-interval", "expected - ln 2", WIDTH, SINH, "math.sinh(a) / a / 2"),
    ("width-of-interval", "expected + ln a", WIDTH, SINH, "math.sinh(a)"),
    ("width-of-interval", "expected + ln (2 a)", WIDTH, SINH, "2 * math.sinh(a)"),
    ("one-lost", "expected - 1",
     "E[x exp(x)] is cosh(a) - sinh(a) / a. Divide both terms.", SCORE,
     "a / math.tanh(a)"),
    ("hyperbolic", "the limit with tanh a for coth a", INTEGRAL, SCORE,
     "a * math.tanh(a) - 1"),
    ("hyperbolic", "the limit with cosh a for sinh a in E[exp(x)]", INTEGRAL, SINH,
     "math.cosh(a) / a"),
    ("log2", "expected in bits", NATS, LIMIT, f"({LIMIT}) / math.log(2)"),
]  # fmt: skip

HINTS = {
    "grid": ["Both integrals have a closed form: write them without a sum."],
    "draw": ["Two curves, a level, two labels and a legend."],
    "prediction": ["The docstring gives the two keys, and a number for each."],
    "entropy": [
        "Where p is 0 the term is 0: which argument of the logarithm avoids ln 0 "
        "there?",
    ],
    "entropy_curve": [
        "One softmax for each query, one entropy for each query, then the mean.",
    ],
    "large_T_entropy": [
        "H = ln Z - sum_j p_j e_j. What do both terms become for many keys?",
    ],
    "": [
        "A row of _scores belongs to one query: compute softmax and entropy along "
        "it, and the mean over the rows last.",
        "ln p_j = e_j - ln Z, so H = ln Z - sum_j p_j e_j. This also gives the "
        "limit: replace both sums by T times an expectation.",
        "The density of x is 1 / (2 a). E[exp(x)] is sinh(a) / a, and E[x exp(x)] is "
        "cosh(a) - sinh(a) / a; divide the second by the first.",
    ],
    "no-level": ["Draw log T as well: the entropy of equal weights."],
    "exchanged": ["Which label belongs to which curve?"],
    "logarithmic-entropy": ["Only the widths cover several powers of ten."],
    "linear-axis": ["Widths from 1 to 4096 need a logarithmic axis."],
    "unlabelled": ["A reader needs to know what each axis and each curve is."],
    "nan": ["Where a weight is exactly 0, its logarithm is -inf, and 0 * -inf is NaN."],
    "own-generator": ["The same seed must give the same scores: pass rng on."],
}
