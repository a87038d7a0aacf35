"""Check an answer to 6.1."""

from fractions import Fraction

import numpy as np

from lessons.checks.attending import wrong_sums
from lessons.checks.measure import has_all_digits
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.words import self_assessed
from lessons.classroom.steps import edges, gradients, laws, numbers, shape, values


def softmax(e):
    z = [np.exp(x - max(e)) for x in e]
    return np.array([x / sum(z) for x in z])


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
    alpha = softmax(e)
    unnormalised = [
        ("not-normalised", "exp(e), not divided by its sum", np.exp(e)),
        (
            "not-normalised",
            "exp(e - max e), not divided by its sum",
            np.exp(e - e.max()),
        ),
    ]
    my.equal(my.weights(e), alpha, "T", unnormalised)
    want = sum(alpha[j] * H[j] for j in range(7))
    my.equal(my.context(alpha, H), want, "d", wrong_sums(alpha, H))
    alpha = rng.random(7)  # the sum of the formula, also if alpha does not sum to 1
    want = sum(alpha[j] * H[j] for j in range(7))
    text = "the sum of alpha_j h_j, divided by the sum of alpha"
    my.equal(my.context(alpha, H), want, "d", [("renormalised", text,
             want / alpha.sum())])  # fmt: skip


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
    alpha, H = softmax(rng.normal(size=7)), rng.normal(size=(7, 5))

    def context(alpha, H):
        return my.context(alpha, H), lambda g: my.context_backward(alpha, H, g)

    context.__name__ = "context_backward"  # for the report
    unweighted = ("ignores-weights", "g for every state", lambda g: np.tile(g, (7, 1)))
    too_far = [
        ("through-softmax", "the gradient of the scores, not of the weights",
         lambda g: alpha * (H @ g - alpha @ H @ g)),
        ("through-softmax", "the gradient of the weights, less its weighted mean",
         lambda g: H @ g - alpha @ H @ g),
        ("through-softmax", "alpha (1 - alpha) times the gradient of the weights",
         lambda g: alpha * (1 - alpha) * (H @ g)),
        ("through-softmax", "alpha times the gradient of the weights",
         lambda g: alpha * (H @ g)),
    ]  # fmt: skip
    known = {"alpha": too_far, "H": [unweighted]}
    my.gradients(context, [alpha, H], variants=known)
    g = rng.normal(size=5)
    d_alpha, d_H = my.context_backward(alpha, H, g)
    has_all_digits(my, d_alpha, np.array([sum(h * g) for h in H]), "d_alpha")
    has_all_digits(my, d_H, np.array([a * g for a in alpha]), "d_H")


@edges("scores of 700 and 2000, equal and unequal, and a single state")
def large_scores(my, rng):
    e = np.array([705.0, 708.0, 712.0])  # exp of the last is inf
    z = np.exp(e)
    cut = softmax(np.clip(e, -700, 700))
    wrong = [
        ("overflow", "exp(e) / sum exp(e)", z / z.sum()),
        ("clipped", "the softmax of scores clipped at 700", cut),
    ]
    my.equal(my.weights(e), softmax(e), "T", wrong)
    for e in ([0.0, 0.0, 2000.0], [0.0, -2000.0, -2000.0]):
        e = np.array(e)
        my.equal(my.weights(e), softmax(e), "T")
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
    "overflow": [
        "exp(1e4) is larger than any float64. Which change of the scores leaves the "
        "softmax as it is?",
    ],
    "nan": [
        "inf / inf is NaN, and exp(x) is inf from x = 710 on. Which number can you "
        "subtract from all scores, so that no difference is above 0?",
    ],
    "clipped": [
        "Two scores that are clipped to the same limit are no longer different.",
    ],
    "renormalised": ["The formula has no division: sum_j alpha_j h_j."],
    "only-zero": ["Which weights do seven scores of 5 give?"],
    "tolerance": [
        "Nearly equal scores give nearly equal weights. Those are not equal weights.",
    ],
    "sorted": ["Do scores that only rise have equal weights?"],
    "mean-of-scores": [
        "Scores of 1, 0, 2 have the mean 1, which is the first of them. Are their "
        "weights equal? And the mean of seven scores of 0.1 is rounded.",
    ],
    "through-softmax": [
        "The function starts at g = dL/dc and ends at the weights. Is the "
        "softmax between the two?",
    ],
}
