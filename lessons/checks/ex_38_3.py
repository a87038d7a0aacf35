"""Check an answer to 38.3."""

import math

import numpy as np

from lessons.checks import pictures
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.predictions import locked
from lessons.checks.results import same
from lessons.classroom.steps import edges, laws, numbers, shape, values

EPSILON = 1e-11  # so that log(p + 1e-12) is near enough


def scores(T, d, samples, rng):
    rows = []
    for _ in range(samples):
        s, H = rng.normal(size=d), rng.normal(size=(T, d))
        rows.append(H @ s)
    return np.array(rows)


def exchanged(T, d, samples, rng):
    return scores(d, T, samples, rng)


def softmax(e):
    z = exponentials(e)
    return z / z.sum(-1, keepdims=True)


def over_queries(e):
    return softmax(e.T).T


def columns(e):
    z = exponentials(e)
    return z / z.sum(0)


def everywhere(e):
    z = exponentials(e)
    return z / z.sum()


def exponentials(e):
    return np.exp(e - e.max(-1, keepdims=True))


def entropies(p):
    return np.array([-sum(x * math.log(x) for x in row if x > 0) for row in p])


def by_loop(T, ds, factor, seed, samples, mean=None, weights=softmax, draw=scores):
    """Return the curve for scores that are multiplied by factor(d)."""
    rng, curve = np.random.default_rng(seed), []
    for d in ds:
        p = weights(draw(T, d, samples, rng) * factor(d))
        curve.append(mean(p) if mean else entropies(p).mean())
    return np.array(curve)


def by_quadrature(T, a):
    """Return ln(T E exp(x)) - E[x exp(x)] / E exp(x) for x uniform from -a to a."""
    n = 20000
    x = a * (2 * (np.arange(n) + 0.5) / n - 1)  # the middles of n equal parts
    weight = np.exp(x)
    return math.log(T * weight.mean()) - (x * weight).sum() / weight.sum()


@shape("a number for each width, an entropy for each row")
def a_number_for_each(my, rng):
    my.shape(my.entropy(softmax(rng.normal(size=(3, 5, 7)))), (3, 5), "ij")
    my.shape(my.entropy_curve(7, (3, 5, 11), True, rng, 2), (3,), ("d",))


@numbers("weights 1/2, 1/4, 1/4, equal ones, and 1/2, 1/3, 1/6")
def known_entropies(my, rng):
    p = np.array([[0.5, 0.25, 0.25], [1 / 3, 1 / 3, 1 / 3], [1 / 2, 1 / 3, 1 / 6]])
    mixed = math.log(2) / 2 + math.log(3) / 3 + math.log(6) / 6
    nats = np.array([1.5 * math.log(2), math.log(3), mixed])
    bits = [
        ("log2", "the entropy in bits", nats / math.log(2)),
        ("divided", "the entropy / log T", nats / math.log(3)),
        ("no-weights", "-sum_j ln p_j, without p_j", -np.log(p).sum(1)),
    ]
    my.equal(my.entropy(p), nats, "i", bits, atol=EPSILON)


@values("both curves, against a loop")
def both_curves(my, rng):
    T, ds, samples, seed = 7, (3, 5, 17), 11, int(rng.integers(1000))
    plain, scaled = (lambda d: 1.0), (lambda d: d**-0.5)

    def flat(p):
        return entropies([p.mean(0)])[0]

    for wanted in (True, False):
        factor = scaled if wanted else plain

        def curve(factor, **options):
            return by_loop(T, ds, factor, seed, samples, **options)

        other = "scaled" if not wanted else "unscaled"
        opposite = my.entropy_curve(
            T, ds, not wanted, np.random.default_rng(seed), samples
        )
        wrong = [
            (
                "inverted" if same(opposite, curve(factor)) else "ignores-scaled",
                f"the {other} curve",
                curve(plain if wanted else scaled),
            ),
            ("divides-by-d", "the curve of scores / d", curve(lambda d: 1 / d)),
            ("multiplies", "the curve of scores * sqrt(d)", curve(lambda d: d**0.5)),
            ("divides-by-T", "the curve of scores / sqrt(T)", curve(lambda d: T**-0.5)),
            ("sum-over-everything",
             "the curve of exponents divided by their sum over all queries",
             curve(factor, weights=everywhere)),
            ("mean-weights", "the entropy of the mean weights",
             curve(factor, mean=flat)),
            ("sum", "the sum over the samples", samples * curve(factor)),
            ("median", "the median over the samples",
             curve(factor, mean=lambda p: np.median(entropies(p)))),
            ("one-sample", "the entropy of the first query",
             curve(factor, mean=lambda p: entropies(p)[0])),
            ("one-sample", "the largest entropy of a query",
             curve(factor, mean=lambda p: entropies(p).max())),
            ("not-normalised", "the curve of exponentials, not divided by their sum",
             curve(factor, weights=exponentials)),
            ("d-first", "the curve of _scores(d, T, …)", curve(factor, draw=exchanged)),
            ("divided", "the curve / log T", curve(factor) / math.log(T)),
            ("wrong-axis", "the curve of weights that sum to one over the queries",
             curve(factor, weights=over_queries)),
            ("wrong-axis",
             "the curve of exponents divided by their sum over the queries",
             curve(factor, weights=columns)),
        ]  # fmt: skip
        source = np.random.default_rng(seed)
        got = my.entropy_curve(T, ds, wanted, source, samples)
        unused = np.random.default_rng(seed).bit_generator.state
        my.holds(
            source.bit_generator.state != unused,
            "own-generator",
            "expected scores that are drawn from the argument rng",
            "found that rng was not used",
        )
        my.equal(got, curve(factor), {"d": ds}, wrong, atol=EPSILON)


@laws("the limit for many keys, against a sum over the interval")
def the_limit(my, rng):
    cases = (64, 1.5), (4096, 3.0), (64, 0.3), (10**6, 1.0)
    ratios = [my.large_T_entropy(*case) / by_quadrature(*case) for case in cases]
    is_near = np.allclose(ratios, 1, rtol=0, atol=0.005)  # no wrong formula is so near
    for T, a in cases:
        want, got = by_quadrature(T, a), my.large_T_entropy(T, a)
        mean = math.sinh(a) / a  # of exp(x)
        log_Z = math.log(T * mean)
        of_scores = "ln Z - E[x exp(x)], not divided by E[exp(x)]"
        wrong = [
            ("on-the-line", "log T, the entropy of equal weights", math.log(T)),
            ("no-log-T", "expected - log T", want - math.log(T)),
            ("normal", "log T - variance / 2", math.log(T) - a * a / 6),
            ("normal", "log T - a / 2", math.log(T) - a / 2),
            ("normal", "log T - a^2 / 2", math.log(T) - a * a / 2),
            ("sign", "log T - ln(sinh(a) / a) - the mean score",
             want - 2 * math.log(mean)),
            ("not-divided", of_scores, log_Z - math.cosh(a) + mean),
            ("mean-score-lost", "ln Z", log_Z),
            ("mean-score-lost", "ln Z plus the mean score", 2 * log_Z - want),
            ("width-of-interval", "expected + ln 2", want + math.log(2)),
            ("width-of-interval", "expected - ln 2", want - math.log(2)),
            ("width-of-interval", "expected + ln a", want + math.log(a)),
            ("width-of-interval", "expected + ln (2 a)", want + math.log(2 * a)),
            ("one-lost", "expected - 1", want - 1),
            ("sign", "log T plus what is to be subtracted", 2 * math.log(T) - want),
            ("hyperbolic", "the limit with tanh a for coth a",
             want + a / math.tanh(a) - a * math.tanh(a)),
            ("hyperbolic", "the limit with cosh a for sinh a in E[exp(x)]",
             want - math.log(math.tanh(a))),
            ("log2", "expected in bits", want / math.log(2)),
            ("grid", "expected, but for the error of a sum over a grid of x",
             got if is_near else math.nan),
        ]  # fmt: skip
        my.equal(got, want, "", wrong, rtol=1e-7)


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
    e = 2 * scores(64, 64, 400, rng) / 8
    gap = math.log(64) - entropies(softmax(e)).mean()
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
    fig = pictures.drawn(my, "draw", (6, 3.6), T, ds, scaled, unscaled)
    for y, what in ((scaled, "scaled"), (unscaled, "unscaled")):
        pictures.has_curve(fig, ds, y, "curves", f"the {what} entropies against ds")
    pictures.has_level(fig, math.log(T), "no-level", f"log {T} = {math.log(T):.4g}")
    pictures.is_labelled(fig)
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
    large = Prepared(100.0, 100.0, 100 - math.log(3) / 100, -100.0)  # s_1, then h_j
    want = math.log(4) - 0.75 * math.log(3)  # weights 3/4, 1/4 and 0
    cut = "the entropy of 1/2 and 1/2: the scores are 1e4, 1e4 - ln 3 and -1e4"
    got = my.entropy_curve(3, (1,), False, large, 1)
    my.equal(got, [want], {"d": (1,)}, [("clipped", cut, [math.log(2)])], atol=EPSILON)


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
    return both and all(isinstance(v, (int, float)) for v in found.values())


HINTS = {
    "no-weights": ["H = -sum_j p_j ln p_j is a mean of -ln p_j. With which weights?"],
    "median": ["Return the mean over the samples."],
    "clipped": ["Which m makes all e - m at most 0, and leaves their differences?"],
    "one-sample": ["How many queries does a call of _scores return?"],
    "grid": ["Both integrals have a closed form: write them without a sum."],
    "one-lost": ["E[x exp(x)] is cosh(a) - sinh(a) / a. Divide both terms."],
    "hyperbolic": ["The integral of exp(x) from -a to a is exp(a) - exp(-a)."],
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
    "d-first": ["_scores takes T first, then d."],
    "": [
        "A row of _scores belongs to one query: compute softmax and entropy along "
        "it, and the mean over the rows last.",
        "ln p_j = e_j - ln Z, so H = ln Z - sum_j p_j e_j. This also gives the "
        "limit: replace both sums by T times an expectation.",
        "The density of x is 1 / (2 a). E[exp(x)] is sinh(a) / a, and E[x exp(x)] is "
        "cosh(a) - sinh(a) / a; divide the second by the first.",
    ],
    "ignores-scaled": ["Only one of the two curves divides. Which argument decides?"],
    "divides-by-d": [
        "The variance of the scores is d. What is their standard deviation?",
    ],
    "multiplies": ["Wide vectors have large scores. Scaling makes them smaller."],
    "mean-weights": [
        "The mean of many sharp distributions is flat. Compute the entropy of each "
        "query first.",
    ],
    "wrong-axis": [
        "The weights of one query sum to 1 over its keys, not over the queries.",
    ],
    "sum": ["Return the mean over the samples."],
    "log2": ["The entropy is in nats: use the natural logarithm."],
    "on-the-line": [
        "Weights that are not all equal have an entropy below log T. By how much?",
    ],
    "no-log-T": ["Z is a sum over T keys: T times an expectation."],
    "normal": ["That is the limit of normal scores. These are uniform from -a to a."],
    "mean-score-lost": ["H = ln Z - sum_j p_j e_j. Is the second term 0?"],
    "width-of-interval": ["The interval from -a to a has the length 2 a."],
    "no-level": ["Draw log T as well: the entropy of equal weights."],
    "exchanged": ["Which label belongs to which curve?"],
    "inverted": ["Which curve has scores divided by sqrt(d): scaled=True, or False?"],
    "logarithmic-entropy": ["Only the widths cover several powers of ten."],
    "linear-axis": ["Widths from 1 to 4096 need a logarithmic axis."],
    "unlabelled": ["A reader needs to know what each axis and each curve is."],
    "divided": ["Return the entropy in nats, not its share of log T."],
    "nan": ["Where a weight is exactly 0, its logarithm is -inf, and 0 * -inf is NaN."],
    "not-divided": [
        "sum_j p_j e_j: p_j has a denominator. What does it become for many keys?",
    ],
    "sign": ["H = ln Z - sum_j p_j e_j. What is ln Z for many keys?"],
    "divides-by-T": [
        "The scores are sums over the d entries. How many terms does each score have?",
    ],
    "own-generator": ["The same seed must give the same scores: pass rng on."],
}
