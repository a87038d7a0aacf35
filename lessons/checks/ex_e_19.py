"""Check an answer to E.19."""

import numpy as np

from lessons.checks.own_work import own_work  # noqa: F401
from lessons.classroom.steps import edges, laws, shape, values

N = 5

# THE EXERCISE IN LOOPS


def softmax(e):
    p = np.exp(e - max(e))
    return p / sum(p)


def exact(e, l):
    p, d = softmax(e), np.zeros(len(e))
    J = sum(p[j] * l[j] for j in range(len(e)))
    for k in range(len(e)):
        d[k] = p[k] * (l[k] - J)
    return d


def estimate(e, l_j, j, b):
    p, x = softmax(e), np.zeros(len(e))
    for k in range(len(e)):
        x[k] = (l_j - b) * ((k == j) - p[k])
    return x


def variance(e, l, b):
    p, squares, mean = softmax(e), 0.0, exact(e, l)
    for j in range(len(e)):
        x = estimate(e, l[j], j, b)
        squares += p[j] * sum(x * x)
    return squares - sum(mean * mean)


def best_baseline(e, l):
    p, above, below = softmax(e), 0.0, 0.0
    for j in range(len(e)):
        x = estimate(e, 1.0, j, 0.0)
        c = sum(x * x)
        above += p[j] * c * l[j]
        below += p[j] * c
    return above / below


# THE CHECK


def draw(rng, n=N):
    return rng.normal(size=n), rng.uniform(1, 4, n)


@shape("a gradient like the scores, and two numbers")
def like_the_scores(my, rng):
    e, l = draw(rng)
    my.shape(my.exact(e, l), (N,), "n")
    my.shape(my.estimate(e, l[1], 1, 0.5), (N,), "n")
    my.shape(my.variance(e, l, 0.5), (), "")
    my.shape(my.best_baseline(e, l), (), "")


@values("the exact gradient, against a loop")
def the_gradient(my, rng):
    for n in (N, 2, 7):
        e, l = draw(rng, n)
        my.equal(my.exact(e, l), exact(e, l), "n")


@values("the estimate of each draw, against a loop")
def each_draw(my, rng):
    e, l = draw(rng)
    for j in range(N):
        my.equal(my.estimate(e, l[j], j, 1.7), estimate(e, l[j], j, 1.7), "n")


@values("the variance, against a loop over all draws")
def of_all_draws(my, rng):
    e, l = draw(rng)
    for b in (0.0, 2.5, -1.0):
        my.equal(my.variance(e, l, b), variance(e, l, b), "")


@values("the best baseline, against a loop")
def the_smallest(my, rng):
    for n in (N, 7):
        e, l = draw(rng, n)
        my.equal(my.best_baseline(e, l), best_baseline(e, l), "")


@laws("the mean of all draws is the exact gradient, for each baseline")
def unbiased(my, rng):
    e, l = draw(rng)
    p = softmax(e)
    for b in (0.0, 2.0, -7.0):
        mean = sum(p[j] * np.asarray(my.estimate(e, l[j], j, b)) for j in range(N))
        my.equal(mean, my.exact(e, l), "n")


@laws("no other baseline has a smaller variance")
def no_other(my, rng):
    e, l = draw(rng)
    best = float(my.best_baseline(e, l))
    least = float(my.variance(e, l, best))
    for other in (best - 0.1, best + 0.1, softmax(e) @ l, 0.0):
        found = float(my.variance(e, l, other))
        my.holds(
            found >= least - 1e-12,
            "not-smallest",
            f"expected a variance of at least {least:.4g}, that of your baseline",
            f"found {found:.4g} for the baseline {other:.4g}",
        )


@edges("equal losses, and large scores")
def ends(my, rng):
    e, l = rng.normal(size=N), np.full(N, 3.0)
    my.equal(my.best_baseline(e, l), best_baseline(e, l), "")
    found = np.abs(my.exact(e, l)).max()
    my.holds(
        found < 1e-12,
        "equal-losses",
        "expected the gradient 0 if all losses are equal",
        f"found {found:.3g}",
    )
    e, l = 1000 + rng.normal(size=N), rng.uniform(1, 4, N)
    my.equal(my.exact(e, l), exact(e, l), "n")
    my.equal(my.variance(e, l, 0.5), variance(e, l, 0.5), "", rtol=1e-8)


J_SUM = "J = sum(p[j] * l[j] for j in range(len(e)))"
D = "d[k] = p[k] * (l[k] - J)"
X = "x[k] = (l_j - b) * ((k == j) - p[k])"
SQUARES = "squares += p[j] * sum(x * x)"
V = "return squares - sum(mean * mean)"
C = "c = sum(x * x)"
ABOVE, BELOW = "above += p[j] * c * l[j]", "below += p[j] * c"
SLOPE = "Each p_j depends on every score: dp_j / de_k = p_j (delta_jk - p_k)."
ALL = "The estimate moves all scores: the drawn one and, by -p, the others."
DRAWN = "How often is key j drawn?"
PARABOLA = "Set the derivative of V(b) by b to 0. Which factor of l_j - b remains?"

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("no-centre", "p l, without J", SLOPE, D, "d[k] = p[k] * l[k]"),
    ("no-weight", "l - J, without p", SLOPE, D, "d[k] = l[k] - J"),
    ("sign", "p (J - l), with the sign reversed",
     "Where the loss is above the mean, a larger score makes J larger.", D,
     "d[k] = p[k] * (J - l[k])"),
    ("diagonal", "p (1 - p) l, the diagonal alone", SLOPE, D,
     "d[k] = p[k] * (1 - p[k]) * l[k]"),
    ("plain-mean", "p (l - the mean of l)", "J weights the losses by p.", J_SUM,
     "J = sum(l) / len(l)"),
    ("only-the-drawn", "(l_j - b) onehot_j, without - p", ALL, X,
     "x[k] = (l_j - b) * (k == j)"),
    ("only-the-drawn", "(l_j - b) (1 - p_j) onehot_j", ALL, X,
     "x[k] = (l_j - b) * ((k == j) - p[k]) * (k == j)"),
    ("no-baseline", "l_j (onehot_j - p), without b",
     "b is subtracted from the loss.", X,
     "x[k] = l_j * ((k == j) - p[k])"),
    ("sign", "(l_j - b) (p - onehot_j)",
     "Is this the gradient of the loss, or of its negative?", X,
     "x[k] = (l_j - b) * (p[k] - (k == j))"),
    ("sign", "(l_j + b) (onehot_j - p)", "b is subtracted from the loss.", X,
     "x[k] = (l_j + b) * ((k == j) - p[k])"),
    ("weighted", "p_j (l_j - b) (onehot_j - p), weighted by p_j",
     "What weights the estimates in their mean, a factor or how often they occur?", X,
     "x[k] = p[j] * (l_j - b) * ((k == j) - p[k])"),
    ("divided", "(l_j - b) (onehot_j - p) / p_j",
     "d ln p_j / de = onehot_j - p: the division is in the logarithm.", X,
     "x[k] = (l_j - b) * ((k == j) - p[k]) / p[j]"),
    ("outside", "l_j (onehot_j - p) - b", "b is subtracted from the loss.", X,
     "x[k] = l_j * ((k == j) - p[k]) - b"),
    ("second-moment", "sum_j p_j |x_j|^2, without - |dJ/de|^2",
     "A variance is the mean square minus the square of the mean.", V,
     "return squares"),
    ("not-weighted", "the mean of |x_j|^2 over the keys, not over the draws", DRAWN,
     SQUARES, "squares += sum(x * x) / len(e)"),
    ("not-weighted", "the sum of |x_j|^2 over the keys", DRAWN, SQUARES,
     "squares += sum(x * x)"),
    ("mean", "V / n, the mean over the entries",
     "The variance is the sum over the entries of x.", V,
     "return (squares - sum(mean * mean)) / len(e)"),
    ("root", "the square root of V", "V is a variance, no standard deviation.", V,
     "return (squares - sum(mean * mean)) ** 0.5"),
    ("only-the-drawn", "V of the entry of the drawn key alone", ALL, SQUARES,
     "squares += p[j] * x[j] ** 2"),
    ("mean-loss", "sum_j p_j l_j, the mean loss",
     "The mean loss is nearly as good, and not the best: c_j is missing.", C,
     "c = 1.0"),
    ("plain-mean", "the mean of the losses", PARABOLA, C, "c = 1.0 / p[j]"),
    ("no-weight", "sum c l / sum c, without p", DRAWN, f"{ABOVE}\n        {BELOW}",
     "above += c * l[j]\n        below += c"),
    ("not-divided", "sum p c l, not divided by sum p c", PARABOLA, BELOW,
     "below = 1.0"),
    ("root", "c = |onehot - p| for its square", PARABOLA, C, "c = sum(x * x) ** 0.5"),
    ("only-the-drawn", "c = (1 - p_j)^2, of the drawn key alone", ALL, C,
     "c = x[j] ** 2"),
    ("diagonal", "c = 1 - p_j", PARABOLA, C, "c = x[j]"),
]  # fmt: skip

HINTS = {
    "exact": ["dp_j / de_k = p_j (delta_jk - p_k). Multiply by l_j and sum over j."],
    "estimate": [
        "d ln p_j / de has an entry for each key, not only for the drawn one."
    ],
    "variance": ["Each key j is drawn with the probability p_j. So the mean is a sum."],
    "best_baseline": ["Which losses count more, those of rare or of frequent draws?"],
    "": [
        "|onehot_j - p|^2 = 1 - 2 p_j + sum_k p_k^2. Call it c_j.",
        "V(b) = sum_j p_j (l_j - b)^2 c_j - |dJ/de|^2, and only the first term depends "
        "on b.",
        "dJ/de = p (l - J). The best b is sum_j p_j c_j l_j / sum_j p_j c_j.",
    ],
}
