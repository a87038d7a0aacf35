"""Check an answer to 38.3."""

import math

import numpy as np

from lessons.checks.own_work import own_work  # noqa: F401
from lessons.classroom.steps import edges, laws, numbers, shape, values

EPSILON = 1e-11  # so that log(p + 1e-12) is near enough


def scores(T, d, samples, rng):
    rows = []
    for _ in range(samples):
        s, H = rng.normal(size=d), rng.normal(size=(T, d))
        rows.append(H @ s)
    return np.array(rows)


def softmax(e):
    z = np.exp(e - e.max(-1, keepdims=True))
    return z / z.sum(-1, keepdims=True)


def over_queries(e):
    return softmax(e.T).T


def columns(e):
    z = np.exp(e - e.max(-1, keepdims=True))
    return z / z.sum(0)


def entropies(p):
    return np.array([-sum(x * math.log(x) for x in row if x > 0) for row in p])


def by_loop(T, ds, factor, seed, samples, mean=None, weights=softmax):
    """Return the curve for scores that are multiplied by factor(d)."""
    rng, curve = np.random.default_rng(seed), []
    for d in ds:
        p = weights(scores(T, d, samples, rng) * factor(d))
        curve.append(mean(p) if mean else entropies(p).mean())
    return np.array(curve)


def by_quadrature(T, variance):
    """Return ln(T E exp(x)) - E[x exp(x)] / E exp(x) for x ~ N(0, variance)."""
    x = np.linspace(-15, 15, 30001) * variance**0.5
    weight = np.exp(-(x**2) / (2 * variance) + x)
    normal = np.exp(-(x**2) / (2 * variance)).sum()
    return math.log(T * weight.sum() / normal) - (x * weight).sum() / weight.sum()


@shape("a number for each width, an entropy for each row")
def a_number_for_each(my, rng):
    my.shape(my.entropy(softmax(rng.normal(size=(3, 5, 7)))), (3, 5), "ij")
    my.shape(my.entropy_curve(7, (3, 5, 11), True, rng, 2), (3,), ("d",))


@numbers("weights 1/2, 1/4, 1/4, and equal ones")
def known_entropies(my, rng):
    p = np.array([[0.5, 0.25, 0.25], [1 / 3, 1 / 3, 1 / 3]])
    nats = np.array([1.5 * math.log(2), math.log(3)])
    bits = [
        ("log2", "the entropy in bits", nats / math.log(2)),
        ("divided", "the entropy / log T", nats / math.log(3)),
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
        wrong = [
            (
                "ignores-scaled",
                f"the {other} curve",
                curve(plain if wanted else scaled),
            ),
            ("divides-by-d", "the curve of scores / d", curve(lambda d: 1 / d)),
            ("multiplies", "the curve of scores * sqrt(d)", curve(lambda d: d**0.5)),
            (
                "mean-weights",
                "the entropy of the mean weights",
                curve(factor, mean=flat),
            ),
            ("sum", "the sum over the samples", samples * curve(factor)),
            ("divided", "the curve / log T", curve(factor) / math.log(T)),
            (
                "wrong-axis",
                "the curve of weights that sum to one over the queries",
                curve(factor, weights=over_queries),
            ),
            (
                "wrong-axis",
                "the curve of exponents divided by their sum over the queries",
                curve(factor, weights=columns),
            ),
        ]
        got = my.entropy_curve(T, ds, wanted, np.random.default_rng(seed), samples)
        my.equal(got, curve(factor), ("d",), wrong, atol=EPSILON)


@laws("the limit for many keys, against a sum over the normal density")
def the_limit(my, rng):
    for T, variance in ((64, 1.0), (4096, 1.0), (64, 0.3), (10**6, 3.0)):
        half_sd = math.log(T) - variance**0.5 / 2
        wrong = [
            ("on-the-line", "log T, the entropy of equal weights", math.log(T)),
            ("half-or-whole", "log T - variance", math.log(T) - variance),
            ("half-or-whole", "log T + variance / 2", math.log(T) + variance / 2),
            ("deviation", "log T - sqrt(variance) / 2", half_sd),
            ("half-or-whole", "log T - 1/2 for any variance", math.log(T) - 0.5),
        ]
        want = by_quadrature(T, variance)
        my.equal(my.large_T_entropy(T, variance), want, "", wrong, rtol=1e-7)


@laws("your prediction and the measurement")
def predicted(my, rng):
    prediction = my.prediction()
    my.holds(
        is_prediction(prediction),
        "prediction",
        'expected {"gap": a number, "faster": 16 or 64}',
        f"found {prediction!r}",
    )
    gap = math.log(64) - my.entropy_curve(64, (64,), True, rng, 200)[0]
    left = {
        T: my.entropy_curve(T, (6,), False, rng, 2000)[0] / math.log(T)
        for T in (16, 64)
    }
    faster = min(left, key=left.get)
    gap_expected, wins = prediction["gap"], prediction["faster"]
    print(f"gap at T = 64, d = 64: predicted {gap_expected:g}, measured {gap:.2f} nats")
    print(f"larger loss at d = 6: predicted {wins}, measured {faster}:")
    print(", ".join(f"{share:.0%} of log {T} is left" for T, share in left.items()))


@edges("weights of exactly 0, one key, and scores whose exp overflows")
def certain(my, rng):
    p = np.array([[1.0, 0.0, 0.0], [0.5, 0.0, 0.5]])
    my.equal(my.entropy(p), [0.0, math.log(2)], "i", atol=EPSILON)
    alone = my.entropy_curve(1, (5,), True, rng, 3)
    my.equal(alone, [0.0], ("d",), atol=EPSILON, size=1)
    sharp = my.entropy_curve(5, (300_000,), False, rng, 3)
    my.holds(
        np.all(np.isfinite(sharp)) and np.all(sharp < 0.1),
        "nan",
        "expected an entropy near 0 at d = 300,000, unscaled",
        f"found {sharp[0]:.4g}",
    )


def is_prediction(found):
    if not isinstance(found, dict) or found.get("faster") not in (16, 64):
        return False
    return isinstance(found.get("gap"), (int, float))
