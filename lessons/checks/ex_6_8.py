"""Check an answer to 6.8."""

import math
import re

import numpy as np

from lessons.checks import pictures
from lessons.checks.attending import wrong_sums, wrong_weights
from lessons.checks.measure import without_loops
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.predictions import locked
from lessons.checks.results import equal_all, shape_all
from lessons.checks.words import self_assessed
from lessons.classroom.steps import edges, laws, numbers, shape, values

# THE EXERCISE IN LOOPS


def self_attention(X, scale):
    """e_ij = scale x_i . x_j, alpha = softmax(e) over j, z_i = sum_j alpha_ij x_j"""
    T, d = X.shape
    e, z, alpha, Z = *np.zeros((3, T, T)), np.zeros((T, d))
    for i, j in np.ndindex(T, T):
        e[i, j] = scale * (X[i] @ X[j])
    for i, j in np.ndindex(T, T):
        z[i, j] = np.exp(e[i, j] - max(e[i]))
    for i, j in np.ndindex(T, T):
        alpha[i, j] = z[i, j] / sum(z[i])
    for i, j in np.ndindex(T, T):
        Z[i] += alpha[i, j] * X[j]
    return alpha, Z


def norm(x):
    return math.sqrt(sum(x * x))


def cosine(X):
    C = np.zeros((len(X), len(X)))
    for i, j in np.ndindex(C.shape):
        C[i, j] = X[i] @ X[j] / (norm(X[i]) * norm(X[j]))
    return C


def geometry_change(X, scale):
    alpha, Z = self_attention(X, scale)
    before, after = cosine(X), cosine(Z)
    pairs = [(i, j) for i in range(len(X)) for j in range(i + 1, len(X))]
    mutual = np.array([alpha[i, j] + alpha[j, i] for i, j in pairs])
    gain = np.array([after[i, j] - before[i, j] for i, j in pairs])
    return mutual, gain


def ranks(x):
    """Return for each entry how many entries are smaller."""
    return np.array([sum(other < entry for other in x) for entry in x])


def rank_correlation(a, b):
    u, v = (r - r.mean() for r in (ranks(a), ranks(b)))
    return u @ v / math.sqrt(u @ u * (v @ v))


# THE CHECK

SCALES = (1, 1 / 4, 1 / 20)
AXES = {"alpha": "ij", "Z": "id", "mutual": ("pair",), "gain": ("pair",)}


@shape("weights and outputs for each position, two numbers for each pair")
def for_each_pair(my, rng):
    X = rng.normal(size=(7, 5))
    shapes = {"alpha": (7, 7), "Z": (7, 5)}
    shape_all(my, my.self_attention(X, 0.5), shapes, {"alpha": "TT", "Z": "Td"})
    my.shape(my.cosine(X), (7, 7), "ij")
    shapes = {"mutual": (21,), "gain": (21,)}
    shape_all(my, my.geometry_change(X, 0.5), shapes, {"mutual": "n", "gain": "n"})
    my.shape(my.rank_correlation(rng.normal(size=7), rng.normal(size=7)), (), "")


@numbers("cosines of 90 and 45 degrees; ranks of 1, 2, 4 and of 10, 30, 20")
def by_hand(my, rng):
    X = np.array([[2.0, 0.0], [0.0, 3.0], [1.0, 1.0]])
    r = math.sqrt(0.5)
    want = [[1.0, 0.0, r], [0.0, 1.0, r], [r, r, 1.0]]
    a, b = np.array([1.0, 2.0, 4.0]), np.array([10.0, 30.0, 20.0])
    with without_loops():
        my.equal(my.cosine(X), want, "ij")
        my.equal(my.rank_correlation(a, b), 0.5, "")


@values("self-attention, against a loop")
def against_a_loop(my, rng):
    X = rng.normal(size=(7, 5))
    for scale in (0.5, 0.2):
        found, (alpha, Z) = my.self_attention(X, scale), self_attention(X, scale)
        known = {"alpha": wrong_weights(scale * X @ X.T), "Z": wrong_sums(alpha, X)}
        equal_all(my, found, {"alpha": alpha, "Z": Z}, AXES, known)


@values("cosines, and the rank correlation, against loops")
def against_loops(my, rng):
    X = rng.normal(size=(7, 5))
    my.equal(my.cosine(X), cosine(X), "ij")
    a = np.exp(2 * rng.normal(size=11))
    b = a + rng.normal(size=11)
    my.equal(my.rank_correlation(a, b), rank_correlation(a, b), "")


@values("mutual weight and gain of each pair, against a loop")
def pair_by_pair(my, rng):
    X = rng.normal(size=(7, 5))
    want = dict(zip(("mutual", "gain"), geometry_change(X, 0.3)))
    equal_all(my, my.geometry_change(X, 0.3), want, AXES)


@laws("shuffled positions give shuffled weights and outputs")
def shuffled(my, rng):
    X, order = rng.normal(size=(7, 5)), rng.permutation(7)
    alpha, Z = map(np.asarray, my.self_attention(X, 0.5))
    alpha_of_shuffled, Z_of_shuffled = my.self_attention(X[order], 0.5)
    my.equal(alpha_of_shuffled, alpha[order][:, order], "ij")
    my.equal(Z_of_shuffled, Z[order], "id")


@laws("your prediction and the measurement")
def prediction(my, rng):
    predicted = my.prediction()
    my.holds(
        is_prediction(predicted),
        "prediction",
        "expected {1: (gain, sign), 1 / 4: (gain, sign), 1 / 20: (gain, sign)}, gain "
        "from -2 to 2 and sign +1 or -1",
        f"found {predicted!r}",
    )
    predicted = locked(my, is_prediction)
    X = rng.normal(size=(8, 16))
    print("scale   gain, predicted   rank correlation, predicted   own weight")
    for scale in SCALES:
        alpha, _ = my.self_attention(X, scale)
        mutual, gain = map(np.asarray, my.geometry_change(X, scale))
        rank = my.rank_correlation(mutual, gain)
        guess, sign = predicted[scale]
        print(
            f"{scale:<6g} {gain.mean():+6.2f}, {guess:+8.2f}   "
            f"{rank:+16.2f}, {int(sign):+9d}   {np.diag(alpha).mean():10.3f}"
        )


@laws("three heatmaps: weights, and cosines before and after")
def three_heatmaps(my, rng):
    X = rng.normal(size=(8, 16))
    alpha, Z = map(np.asarray, my.self_attention(X, 1 / 4))
    before, after = np.asarray(my.cosine(X)), np.asarray(my.cosine(Z))
    fig = pictures.drawn(my, "draw", (9, 3.2), alpha, before, after)
    turned = [("transposed", "the weights, transposed", alpha.T)]
    pictures.has_image(fig, alpha, "no-image", "the weights", turned)
    limits = [
        pictures.has_image(fig, array, "no-image", f"the cosines of {name}")
        for array, name in ((before, "X"), (after, "Z"))
    ]
    text = f"found {limits[0]} and {limits[1]}"
    my.holds(
        limits == [(-1, 1)] * 2,
        "own-limits",
        "expected colours from -1 to 1 for both images of cosines",
        text,
    )
    titles = [title for _, _, title in pictures.images(fig)]
    my.holds(all(titles), "no-title", "expected a title for each panel",
             f"found {titles}")  # fmt: skip
    alike = len({title.strip().lower() for title in titles}) < len(titles)
    my.holds(not alike, "same-title",
             "expected another title for each panel", f"found {titles}")  # fmt: skip
    of = [
        title
        for array in (before, after, alpha)
        for shown, _, title in pictures.images(fig)
        if np.allclose(shown, array)
    ]
    if len(of) == 3:
        said = [set(re.findall(r"[a-z]+", title.lower())) for title in of]
        of_weights = (said[0] | said[1]) & {"alpha", "weight", "weights"}
        my.holds(not (of_weights and said[2] & {"cosine", "cosines"}),
                 "images-exchanged", "expected the title of the weights above them",
                 f"found {of[2]!r}")  # fmt: skip
        is_exchanged = said[0] & {"after", "z"} and said[1] & {"before", "x"}
        is_right = said[0] & {"before", "x"} and said[1] & {"after", "z"}
        my.holds(is_right or not is_exchanged, "images-exchanged",
                 "expected the title of X above the cosines of X, argument before",
                 f"found {of[0]!r} above before, {of[1]!r} above after",
                 )  # fmt: skip
        shows = "[ck]os|simil|before|x", "[ck]os|simil|after|z", "weight|alpha|α|att|soft"
        whats = "cosines of X", "cosines of Z", "weights"
        for title, words, what in zip(of, shows, whats):
            my.holds(re.search(words, title.lower()), "no-title",
                     f"expected a title that names what it shows, the {what}",
                     f"found {title!r}")  # fmt: skip
    pictures.keep(my, fig)


@edges("long vectors and a single position")
def long_vectors(my, rng):
    X = np.array([[100.0, 0.0], [0.0, 0.0]])  # scores of 10000 and of 0
    my.equal(my.self_attention(X, 1.0)[0], self_attention(X, 1.0)[0], "ij")
    X = np.array([[26.6, 0.0], [26.7, 0.0]])  # scores of 708, 710, 713
    my.equal(my.self_attention(X, 1.0)[0], self_attention(X, 1.0)[0], "ij")
    X = np.array([[100.0, 0.0], [0.0, 100.0]])
    my.equal(my.self_attention(X, 1.0)[0], np.eye(2), "ij")
    alpha, Z = my.self_attention(np.array([[3.0, 4.0]]), 1.0)
    my.equal(alpha, [[1.0]], "ij")
    my.equal(Z, [[3.0, 4.0]], "id")


@edges("what you saw, in your own words")
def your_own_words(my, rng):
    self_assessed(
        my,
        my.explanation(),
        "scale 1: each position keeps its own weight, Z is nearly X, and little moves",
        "scale 1 / 4: about a quarter of the weight is on others, and pairs with more "
        "weight on each other gain more: the rank correlation is about +0.6",
        "scale 1 / 20: the weights are nearly equal, all z_i are near the mean of X, "
        "and all cosines grow; the pairs that were far apart gain most, so the sign "
        "turns",
        "what is mixed depends on the score, which here is the similarity itself: "
        "projections would separate the two",
    )


def is_prediction(found):
    try:
        pairs = [found[scale] for scale in SCALES]
        return all(-2 <= gain <= 2 and sign in (-1, 1) for gain, sign in pairs)
    except (TypeError, KeyError, ValueError, IndexError):
        return False


E, DOTS, ROOT = "scale * (X[i] @ X[j])", "X[i] @ X[j]", "d**0.5"
Z_IJ = "np.exp(e[i, j] - max(e[i]))"
ALPHA, TERM = "/ sum(z[i])", "alpha[i, j] * X[j]"
NORMS = "/ (norm(X[i]) * norm(X[j]))"
COSINE = f"{DOTS} {NORMS}"
MUTUAL, GAIN = "alpha[i, j] + alpha[j, i]", "after[i, j] - before[i, j]"
RANKS, CORRELATION = "(ranks(a), ranks(b))", "u @ v / math.sqrt(u @ u * (v @ v))"
DISTANCE = "scale * norm(X[i] - X[j]) ** 2"
SQUARES = "(u - v) @ (u - v) /"
USED = "The scale is an argument. Where is it used?"
ALONE = "The scores are scale x_i . x_j, with the argument scale alone."
TIMES = "The scores are multiplied by the scale, not divided."
DOT = "The score is a dot product, not a distance."
ROWS = "Which of your arrays sums to 1 in each row?"
ITSELF = "A position may attend to itself: j runs over all positions."
LENGTH = "A cosine is at most 1. Which factor of a long vector must be removed?"
BOTH = "mutual is the sum of the weight of i on j and the weight of j on i."
OF_TWO = "mutual is a sum of two weights."
GROWTH = "A gain is a difference between after and before."
OF_ITSELF = "The correlation of a and a is 1. What is yours?"
RANGE = (
    "exp(1e3) is larger than any float64. Which change of the scores leaves the "
    "softmax as it is?"
)

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("no-scale", "the weights with scale 1", USED, E, DOTS),
    ("divided", "the weights of scores / scale", TIMES, E, f"{DOTS} / scale"),
    ("divided", "the weights of scores * scale^2", TIMES, E, f"scale * {E}"),
    ("scaled", "the weights of scores that are also / sqrt(d)", ALONE, E,
     f"{E} / {ROOT}"),
    ("scaled", "the weights of scores that are also / d", ALONE, E, f"{E} / d"),
    ("scaled", "the weights of scores that are also x sqrt(d)", ALONE, E,
     f"{E} * {ROOT}"),
    ("scaled", "the weights of x_i . x_j / sqrt(d)", ALONE, E, f"{DOTS} / {ROOT}"),
    ("scaled", "the weights of scores / d, without the scale", ALONE, E,
     f"{DOTS} / d"),
    ("distances", "the weights of scale |x_i - x_j|^2", DOT, E, DISTANCE),
    ("distances", "the weights of -scale |x_i - x_j|^2", DOT, E, f"-{DISTANCE}"),
    ("cosines", "the weights of scale times the cosines",
     "The scores are scale x_i . x_j; the cosines are measured only.", E,
     f"{E} {NORMS}"),
    ("no-diagonal", "the weights of the other positions, without its own", ITSELF, Z_IJ,
     f"(i != j) * {Z_IJ}"),
    ("causal", "the weights of the keys j <= i only",
     "A position may attend to all positions, also later ones.", Z_IJ,
     f"(j <= i) * {Z_IJ}"),
    ("overflow", "exp(e) / sum exp(e)", RANGE, Z_IJ, "np.exp(e[i, j])"),
    ("no-keepdims", "exp(e_ij), divided by the sum of row j", "", ALPHA, "/ sum(z[j])"),
    ("no-softmax", "the scores", ROWS, f"z[i, j] {ALPHA}", "e[i, j]"),
    ("no-softmax", "the scores times X", ROWS, TERM, "e[i, j] * X[j]"),
    ("no-softmax", "X X^T X", ROWS, TERM, f"({DOTS}) * X[j]"),
    ("transpose-alpha", "alpha^T X", "", TERM, "alpha[j, i] * X[j]"),
    ("no-norms", "x_i . x_j, not divided by the norms", LENGTH, NORMS, ""),
    ("no-norms", "x_i . x_j / |x_i|", LENGTH, NORMS, "/ norm(X[i])"),
    ("no-norms", "x_i . x_j / |x_j|", LENGTH, NORMS, "/ norm(X[j])"),
    ("squared-norms", "x_i . x_j divided by the squared norms",
     "Divide by the norm of each vector, not by its square.", NORMS, f"{NORMS} ** 2"),
    ("whole-norm", "x_i . x_j, divided by the square of the norm of all of X",
     "Each row has its own norm. Over which axis is the sum?", NORMS,
     "/ sum(X.ravel() ** 2)"),
    ("other-norm", "x_i . x_j, divided by the sums of |x_ik| and of |x_jk|",
     "|x| is the square root of the sum of squares.", "math.sqrt(sum(x * x))",
     "sum(abs(x))"),
    ("angles", "the angles, arccos of the cosines",
     "A cosine is a number from -1 to 1, not an angle.", COSINE,
     f"math.acos(min(1, {COSINE}))"),
    ("no-diagonal", "the cosines, 0 where i = j", ITSELF, COSINE,
     f"(i != j) * {COSINE}"),
    ("column-norms", "products of columns of norm 1",
     "The norm of a row is a sum over its d entries.", COSINE,
     "sum(x * y / (c @ c) for x, y, c in zip(X[i], X[j], X.T))"),
    ("centred", "the cosines of X - the mean of its rows",
     "A cosine compares the vectors themselves. A correlation centres.",
     "C = np.zeros(", "X, C = X - X.mean(0), np.zeros("),
    ("no-scale", "mutual and gain with scale 1", USED, "tion(X, scale)\n    b",
     "tion(X, 1)\n    b"),
    ("tril-order", "the pairs in the order of np.tril_indices",
     "In which order does np.triu_indices list the pairs?", "range(i + 1, len(X))",
     "range(i)"),
    ("one-way", "alpha_ij alone", BOTH, MUTUAL, "alpha[i, j]"),
    ("one-way", "alpha_ji alone", BOTH, MUTUAL, "alpha[j, i]"),
    ("one-way", "2 alpha_ij", BOTH, MUTUAL, "2 * alpha[i, j]"),
    ("difference", "alpha_ij - alpha_ji", OF_TWO, MUTUAL, "alpha[i, j] - alpha[j, i]"),
    ("product", "alpha_ij alpha_ji", OF_TWO, MUTUAL, "alpha[i, j] * alpha[j, i]"),
    ("no-softmax", "x_i . x_j", ROWS, MUTUAL, DOTS),
    ("no-softmax", "twice the scores", ROWS, MUTUAL, f"2 * {E}"),
    ("no-norms", "z_i . z_j - x_i . x_j", LENGTH, GAIN, "Z[i] @ Z[j] - X[i] @ X[j]"),
    ("ratio", "the cosine of z_i and z_j, divided by that of x_i and x_j", GROWTH, GAIN,
     "after[i, j] / before[i, j]"),
    ("ratio", "the quotient of both cosines, less 1", GROWTH, GAIN,
     "after[i, j] / before[i, j] - 1"),
    ("sum", "the sum of both cosines", GROWTH, GAIN, "after[i, j] + before[i, j]"),
    ("before-only", "the cosine of x_i and x_j", GROWTH, GAIN, "before[i, j]"),
    ("after-only", "the cosine of z_i and z_j", GROWTH, GAIN, "after[i, j]"),
    ("before-less-after", "the cosine of x_i and x_j minus that of z_i and z_j",
     "A gain is the cosine after, minus the one before.", GAIN,
     "before[i, j] - after[i, j]"),
    ("not-centred", "the cosine of the ranks, without their means",
     "A correlation compares differences from the mean.", "r - r.mean() for", "r for"),
    ("pearson", "the correlation of the entries themselves",
     "Only the ranks count, not the size of the entries.", RANKS, "(a, b)"),
    ("sorted", "the correlation of the sorted entries",
     "Sorted entries have lost their pairs. What is the rank of each?", RANKS,
     "(np.sort(a), np.sort(b))"),
    ("order", "the correlation of the argsorts",
     "argsort returns where the sorted entries come from, which are not their ranks.",
     RANKS, "(np.argsort(a), np.argsort(b))"),
    *(
        ("divisor", text, "The formula with d^2 divides by n (n^2 - 1).", CORRELATION,
         f"1 - {line}")
        for text, line in (
            ("1 - 6 sum d^2 / n^3", f"6 * {SQUARES} len(a) ** 3"),
            ("1 - 6 sum d^2 / (n (n^2 + 1))", f"6 * {SQUARES} (len(a) ** 3 + len(a))"),
            ("1 - 3 sum d^2 / (n (n^2 - 1))", f"3 * {SQUARES} (len(a) ** 3 - len(a))"),
        )
    ),
    ("no-square", "1 - 6 sum |d| / (n (n^2 - 1))",
     "The differences of the ranks are squared.", CORRELATION,
     "1 - 6 * sum(abs(u - v)) / (len(a) ** 3 - len(a))"),
    ("not-divided", "the dot product of the ranks, less their means", OF_ITSELF,
     CORRELATION, "u @ v"),
    ("not-divided", "the dot product of the ranks, less their means, divided by n",
     OF_ITSELF, CORRELATION, "u @ v / len(a)"),
    ("no-root", "u . v of the centred ranks, divided by both squared lengths",
     "|u| |v| is the square root of (u . u) (v . v).", "math.sqrt(u @ u", "(u @ u"),
    ("kendall", "Kendall's rank correlation",
     "Spearman's correlation is that of the ranks themselves.", "r - r.mean() for",
     "np.sign(r[:, None] - r).ravel() for"),
]  # fmt: skip

HINTS = {
    "draw": ["Three panels; the last two share vmin and vmax."],
    "prediction": ["The docstring gives the three keys, with a pair for each."],
    "self_attention": ["Write the three steps with indices: e_ij, alpha_ij, z_id."],
    "cosine": ["What is the cosine of x and x, and that of x and 2 x?"],
    "geometry_change": ["Which pairs i < j do three positions have?"],
    "rank_correlation": ["Which ranks have the entries of (0.3, 7, 2)?"],
    "": [
        "Row i of alpha belongs to position i: it sums to 1, and z_i is computed "
        "from it.",
        "For the cosines, first divide each row by its norm; then one product gives "
        "all of them. The pairs i < j stand above the diagonal: np.triu_indices(T, "
        "k=1).",
        "np.argsort(np.argsort(x)) gives the rank of each entry. Subtract the means, "
        "and divide the dot product by the square root of both squared lengths.",
    ],
    "wrong-axis": ["Over which axis do the weights of one position sum to 1?"],
    "transposed": ["Row i of the array is row i of the image."],
    "own-limits": [
        "A colour means another number in each image, unless both have the same vmin "
        "and vmax.",
    ],
    "images-exchanged": ["draw receives before first, and then after."],
    "same-title": ["Which of two panels with one title shows X, and which Z?"],
    "no-title": ["Which of the three images is which?"],
    "no-image": ["ax.imshow draws an array, each entry as a square."],
}
