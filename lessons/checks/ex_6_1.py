"""Check an answer to 6.1."""

from fractions import Fraction

import numpy as np

from lessons.checks.measure import exact_gradients
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.words import self_assessed
from lessons.classroom.steps import edges, gradients, laws, numbers, shape, values


# THE EXERCISE IN LOOPS


def weights(e):
    """alpha_j = exp(e_j - top) / sum_k exp(e_k - top)"""
    top = max(e)
    z = [np.exp(x - top) for x in e]
    return np.array([x / sum(z) for x in z])


def context(alpha, H):
    """c = sum_j alpha_j h_j"""
    c = np.zeros(H.shape[1])
    for j in range(len(H)):
        c += alpha[j] * H[j]
    return c


def context_backward(alpha, H, g):
    """dc_k / dalpha_j = h_jk, dc_k / dh_jk = alpha_j"""
    d_alpha, d_H = np.zeros(len(alpha)), np.zeros(H.shape)
    for j, k in np.ndindex(*H.shape):
        d_alpha[j] += H[j, k] * g[k]
        d_H[j, k] = alpha[j] * g[k]
    return d_alpha, d_H


def is_uniform(e):
    return all(x == e[0] for x in e)


def explanation():
    return "a mean of all states is the same vector at every step"


# THE CHECK


@shape("a weight for each score, a context of one state")
def a_weight_for_each(my, rng):
    alpha, H = rng.random(7), rng.normal(size=(7, 5))
    my.shape(my.weights(rng.normal(size=7)), (7,), "T")
    my.shape(my.context(alpha, H), (5,), "d")


@numbers("the mean of seven states, exactly")
def the_mean(my, rng):
    H = rng.integers(-50, 50, (7, 3))
    exact = [float(sum(Fraction(int(h), 7) for h in column)) for column in H.T]
    my.equal(my.context(np.full(7, 1 / 7), H.astype(float)), exact, "d")


@values("weights and context, against loops")
def against_loops(my, rng):
    e, H = rng.normal(size=7), rng.normal(size=(7, 5))
    my.equal(my.weights(e), weights(e), "T")
    # the sum of the formula, also if alpha does not sum to 1
    for alpha in (weights(e), rng.random(7)):
        my.equal(my.context(alpha, H), context(alpha, H), "d")


@laws("uniform if and only if all scores are equal")
def if_and_only_if(my, rng):
    for c in (0.0, 5.0, -1e4, 1e4, 0.1):  # in float64, the mean of seven 0.1 is larger
        e = np.full(7, c)
        my.holds(
            uniform(my, e),
            "mean-of-scores" if c == 0.1 else "only-zero",
            f"expected True: seven scores of {c:g} give weights of 1/7",
            "found False",
        )
    larger(my, 1.0, 1.0, "always")
    for e in ([0.0, 1.0, 2.0], [2.0, 1.0, 0.0]):
        lines = f"expected False for {e}", "found True"
        my.holds(not uniform(my, np.array(e)), "sorted", *lines)
    for e in ([1.0, 0.0, 2.0], [0.0, -3.0, 3.0]):  # the first is the mean of all
        found = uniform(my, np.array(e))
        lines = "expected False: the scores differ", "found True"
        my.holds(not found, "mean-of-scores", *lines)
    for others, gap in (
        (1.0, 1e-9),
        (1.0, 2.0**-50),
        (0.0, 5e-324),  # in float64 the weights are equal
    ):
        larger(my, others, gap, "tolerance")


def uniform(my, e):
    """Return the learner's is_uniform(e), if it is one True or False."""
    found = my.is_uniform(e)
    text = "expected one True or False", f"found {found!r:.60}"
    my.holds(np.ndim(found) == 0, "type", *text)
    return bool(found)


def larger(my, others, gap, tag):
    """Fail unless seven scores, of which one is larger, are not uniform."""
    e = np.full(7, others)
    e[3] += gap
    my.holds(
        not uniform(my, e),
        tag,
        f"expected False: one score is larger by {gap:.3g}, the others are {others:g}",
        "found True",
    )


@gradients("of the context, for the weights and the states")
def of_the_context(my, rng):
    inputs = [weights(rng.normal(size=7)), rng.normal(size=(7, 5))]

    def mine(alpha, H):
        return my.context(alpha, H), lambda g: my.context_backward(alpha, H, g)

    def right(alpha, H):
        return context(alpha, H), lambda g: context_backward(alpha, H, g)

    mine.__name__ = "context_backward"  # for the report
    exact_gradients(my, mine, right, inputs, rng)


@edges("scores of 700 and 2000, equal and unequal, and a single state")
def large_scores(my, rng):
    e = np.array([705.0, 708.0, 712.0])  # exp of the last is inf
    my.equal(my.weights(e), weights(e), "T")
    for e in ([0.0, 0.0, 2000.0], [0.0, -2000.0, -2000.0]):
        e = np.array(e)
        my.equal(my.weights(e), weights(e), "T")
    for c in (1e4, -1e4):
        my.equal(my.weights(np.full(7, c)), np.full(7, 1 / 7), "T")
    my.equal(my.weights(np.array([3.0])), [1.0], "T")


@edges("equal weights, in your own words")
def your_own_words(my, rng):
    self_assessed(
        my,
        my.explanation(),
        "the context is the same vector at every step i: no step can ask for another "
        "word",
        "what a mean loses: which word, in which order, and rare words beside many "
        "others",
        "e_ij = a constant for this i, so the score does not use h_j; it need not be "
        "0, and the constant may differ between the steps",
        "where it is right: before training, for a sum such as counting, or if "
        "nothing in the source matters for this word",
    )


TOP, SHARE = "top = max(e)", "[x / sum(z) for x in z]"
POWER = "np.exp(x - top)"
TERM = "c += alpha[j] * H[j]"
D_ALPHA = "d_alpha[j] += H[j, k] * g[k]"
D_H = "d_H[j, k] = alpha[j] * g[k]"
RETURN = "return d_alpha, d_H"
SAME = "all(x == e[0] for x in e)"
RANGE = (
    "exp(1e4) is larger than any float64. Which change of the scores leaves the "
    "softmax as it is?"
)
NAN = (
    "inf / inf is NaN, and exp(x) is inf from x = 710 on. Which number can you "
    "subtract from all scores, so that no difference is above 0?"
)
SUM = "The weights of a softmax sum to 1."
BETWEEN = (
    "The function starts at g = dL/dc and ends at the weights. Is the softmax between "
    "the two?"
)
NEARLY = "Nearly equal scores give nearly equal weights. Those are not equal weights."
MEAN = (
    "Scores of 1, 0, 2 have the mean 1, which is the first of them. Are their weights "
    "equal? And the mean of seven scores of 0.1 is rounded."
)

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("overflow", "exp(e) / sum exp(e)", RANGE, TOP, "top = 0"),
    ("nan", "exp(e - mean e) / its sum", NAN, TOP, "top = sum(e) / len(e)"),
    ("clipped", "the softmax of scores clipped at 700",
     "Two scores that are clipped to the same limit are no longer different.", TOP,
     "e = np.clip(e, -700, 700)\n    top = max(e)"),
    ("not-normalised", "exp(e - max e), not divided by its sum", SUM, SHARE, "z"),
    ("not-normalised", "exp(e), not divided by its sum", SUM, SHARE,
     "[x * np.exp(top) for x in z]"),
    ("ignores-weights", "the mean of the states", "Each state has its own weight.",
     TERM, "c += H[j] / len(H)"),
    ("scale:7", "the sum of the states", "Each state has its own weight.", TERM,
     "c += H[j]"),
    ("renormalised", "the sum of alpha_j h_j, divided by the sum of alpha",
     "The formula has no division: sum_j alpha_j h_j.", TERM, TERM + " / sum(alpha)"),
    ("hard", "the state of the largest weight", "Every state is a term of the sum.",
     TERM, "c += (j == np.argmax(alpha)) * H[j]"),
    ("loop-short", "the sum without its last term", "How many states are there?", TERM,
     "c += alpha[j] * H[j] * (j + 1 < len(H))"),
    ("last-term", "the last term of the sum, alone", "Which axis is summed?", TERM,
     "c = alpha[j] * H[j]"),
    ("first-term", "the first term of the sum, alone", "Which axis is summed?", TERM,
     "c += alpha[j] * H[j] * (j == 0)"),
    ("reversed", "the sum with the weights reversed", "Which weight has h_0?", TERM,
     "c += alpha[-1 - j] * H[j]"),
    ("scale:-1", "-d_alpha", "How does c change with more weight on h_j?", D_ALPHA,
     "d_alpha[j] -= H[j, k] * g[k]"),
    ("ignores-weights", "g for every state", "How much of h_j is in c?", D_H,
     "d_H[j, k] = g[k]"),
    *(
        ("through-softmax", text, BETWEEN, RETURN, f"return {line}, d_H")
        for text, line in (
            ("the gradient of the scores, not of the weights",
             "alpha * (d_alpha - alpha @ d_alpha)"),
            ("the gradient of the weights, less its weighted mean",
             "d_alpha - alpha @ d_alpha"),
            ("alpha (1 - alpha) times the gradient of the weights",
             "alpha * (1 - alpha) * d_alpha"),
            ("alpha times the gradient of the weights", "alpha * d_alpha"),
        )
    ),
    ("only-zero", "whether all scores are 0",
     "Which weights do seven scores of 5 give?",
     SAME, "all(x == 0 for x in e)"),
    ("always", "whether any score equals the first", "The first equals itself.", SAME,
     "any(x == e[0] for x in e)"),
    ("sorted", "whether no score is below the one before",
     "Do scores that only rise have equal weights?", SAME,
     "all(x <= y for x, y in zip(e, e[1:]))"),
    ("tolerance", "whether the scores are nearly equal", NEARLY, SAME,
     "all(abs(x - e[0]) < 1e-8 for x in e)"),
    ("tolerance", "whether the scores differ by less than 1e-12", NEARLY, SAME,
     "all(abs(x - e[0]) < 1e-12 for x in e)"),
    ("tolerance", "whether the scores differ by less than 1e-300", NEARLY, SAME,
     "all(abs(x - e[0]) < 1e-300 for x in e)"),
    ("tolerance", "whether the rounded weights are equal", NEARLY, SAME,
     "all(x == 1 / len(e) for x in weights(e))"),
    ("mean-of-scores", "whether the first score is the mean", MEAN, SAME,
     "sum(e) / len(e) == e[0]"),
    ("mean-of-scores", "whether all scores are the mean", MEAN, SAME,
     "all(x == sum(e) / len(e) for x in e)"),
]  # fmt: skip

HINTS = {
    "weights": [
        "Compute the weights of the scores 1000 and 1001 by hand: which exponents do "
        "you need?",
    ],
    "context": ["Sum over j, the axis of the states; which axis remains?"],
    "context_backward": [
        "c_k = sum_j alpha_j h_jk. Differentiate by alpha_j, then by h_jk.",
    ],
    "is_uniform": ["Which of the weights or the scores are exact in float64?"],
    "": [
        "Adding one number to all scores changes no weight. Choose a number that "
        "keeps exp in range.",
        "c is a sum of rows, each multiplied by a number: a vector times a matrix.",
        "dc_k / dh_jk = alpha_j, and dc_k / dalpha_j = h_jk.",
        "Equal weights mean exp(e_i) = exp(e_j) for all i and j. What does that mean "
        "for the scores?",
    ],
}
