"""Check an answer to 6.8."""

import math
import re

import numpy as np

from lessons.checks import pictures
from lessons.checks.attending import softmax, wrong_sums, wrong_weights
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.predictions import locked
from lessons.checks.results import equal_all, shape_all
from lessons.checks.words import self_assessed
from lessons.classroom.steps import edges, laws, numbers, shape, values

SCALES = (1, 1 / 4, 1 / 20)
AXES = {"alpha": "ij", "Z": "id", "mutual": ("pair",), "gain": ("pair",)}


def weights(X, scale):
    """Return alpha: row i has exp(scale x_i . x_j), divided by the sum over j."""
    alpha = np.zeros((len(X), len(X)))
    for i, x in enumerate(X):
        e = [scale * sum(x * y) for y in X]
        z = [math.exp(v - max(e)) for v in e]
        alpha[i] = [v / sum(z) for v in z]
    return alpha


def outputs(alpha, X):
    return np.array([sum(a * x for a, x in zip(row, X)) for row in alpha])


def cosines(X):
    return np.array(
        [[sum(x * y) / math.sqrt(sum(x * x) * sum(y * y)) for y in X] for x in X]
    )


def ranks(x):
    """Return for each entry how many entries are smaller."""
    return [sum(other < entry for other in x) for entry in x]


def spearman(a, b):
    """Return 1 - 6 sum d^2 / (n (n^2 - 1)), with the differences d of the ranks."""
    n = len(a)
    differences = sum((i - j) ** 2 for i, j in zip(ranks(a), ranks(b)))
    return 1 - 6 * differences / (n * (n * n - 1))


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
    my.equal(my.cosine(X), want, "ij", wrong_cosines(X))
    a, b = np.array([1.0, 2.0, 4.0]), np.array([10.0, 30.0, 20.0])
    my.equal(my.rank_correlation(a, b), 0.5, "")


@values("self-attention, against a loop")
def against_a_loop(my, rng):
    X = rng.normal(size=(7, 5))
    extra = [
        ("scaled", f"scores that are also {what}", factor)
        for what, factor in (
            ("/ sqrt(d)", 5**-0.5),
            ("/ d", 0.2),
            ("x sqrt(d)", 5**0.5),
        )
    ]
    for scale in (0.5, 0.2):
        alpha = weights(X, scale)
        e = scale * X @ X.T
        wrong = [
            ("no-scale", "the weights with scale 1", weights(X, 1)),
            ("divided", "the weights of scores / scale", weights(X, 1 / scale)),
            *wrong_weights(e, scales=extra),
        ]
        squares = ((X[:, None] - X) ** 2).sum(-1)
        every, z = np.ones(e.shape, bool), np.exp(e - e.max(-1, keepdims=True))
        wrong += [
            (tag, f"the weights of {text}", softmax(x, every))
            for tag, text, x in (
                ("scaled", "x_i . x_j / sqrt(d)", e / scale / 5**0.5),
                ("scaled", "scores / d, without the scale", e / scale / 5),
                ("divided", "scores * scale^2", scale * e),
                ("distances", "scale |x_i - x_j|^2", scale * squares),
                ("distances", "-scale |x_i - x_j|^2", -scale * squares),
                ("cosines", "scale times the cosines", scale * cosines(X)),
            )
        ]
        causal = softmax(e, np.tri(7, dtype=bool))
        wrong += [
            ("no-keepdims", "exp(e_ij), divided by the sum of row j", z / z.sum(-1)),
            ("causal", "the weights of the keys j <= i only", causal),
            ("no-softmax", "the scores", e),
        ]
        others = e + np.diag(np.full(7, -np.inf))
        text = "the weights of the other positions, without its own"
        wrong.append(("no-diagonal", text, softmax(others, np.isfinite(others))))
        turned = [("transpose-alpha", "alpha^T X", alpha.T @ X),
                  ("no-softmax", "the scores times X", e @ X),
                  ("no-softmax", "X X^T X", X @ X.T @ X),
                  *wrong_sums(alpha, X)]  # fmt: skip
        want, known = {"alpha": alpha, "Z": outputs(alpha, X)}, {"alpha": wrong}
        known["Z"] = turned
        equal_all(my, my.self_attention(X, scale), want, AXES, known)


@values("cosines, and the rank correlation, against loops")
def against_loops(my, rng):
    X = rng.normal(size=(7, 5))
    my.equal(my.cosine(X), cosines(X), "ij", wrong_cosines(X))
    a = np.exp(2 * rng.normal(size=11))
    b = a + rng.normal(size=11)
    want = spearman(a, b)
    my.equal(my.rank_correlation(a, b), want, "", wrong_correlations(a, b))


@values("mutual weight and gain of each pair, against a loop")
def pair_by_pair(my, rng):
    X = rng.normal(size=(7, 5))
    alpha, alone = weights(X, 0.3), weights(X, 1)
    after, before = cosines(outputs(alpha, X)), cosines(X)
    pairs = [(i, j) for i in range(7) for j in range(i + 1, 7)]

    def of_pairs(matrix):
        return np.array([matrix[i, j] for i, j in pairs])

    lower = np.tril_indices(7, k=-1)
    text = "the pairs in the order of np.tril_indices"
    wrong = {
        "mutual": [
            ("tril-order", text, (alpha + alpha.T)[lower]),
            ("one-way", "alpha_ij alone", of_pairs(alpha)),
            ("one-way", "alpha_ji alone", of_pairs(alpha.T)),
            ("one-way", "2 alpha_ij", 2 * of_pairs(alpha)),
            ("difference", "alpha_ij - alpha_ji", of_pairs(alpha - alpha.T)),
            ("no-scale", "the weights with scale 1", of_pairs(alone + alone.T)),
            ("no-softmax", "x_i . x_j", of_pairs(X @ X.T)),
            ("no-softmax", "twice the scores", of_pairs(0.6 * X @ X.T)),
            ("product", "alpha_ij alpha_ji", of_pairs(alpha * alpha.T)),
        ],
        "gain": [
            ("tril-order", text, (after - before)[lower]),
            ("no-scale", "the gain with scale 1",
             of_pairs(cosines(outputs(alone, X)) - before)),
            ("no-norms", "z_i . z_j - x_i . x_j",
             of_pairs(outputs(alpha, X) @ outputs(alpha, X).T - X @ X.T)),
            ("ratio", "the cosine of z_i and z_j, divided by that of x_i and x_j",
             of_pairs(after / before)),
            ("sum", "the sum of both cosines", of_pairs(after + before)),
            ("ratio", "that quotient, less 1", of_pairs(after / before - 1)),
            ("before-only", "the cosine of x_i and x_j", of_pairs(before)),
            ("after-only", "the cosine of z_i and z_j", of_pairs(after)),
            ("before-less-after", "the cosine of x_i and x_j minus that of z_i and z_j",
             of_pairs(before - after)),
        ],
    }  # fmt: skip
    want = {"mutual": of_pairs(alpha + alpha.T), "gain": of_pairs(after - before)}
    equal_all(my, my.geometry_change(X, 0.3), want, AXES, wrong)


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
    pictures.keep(my, fig)


@edges("long vectors and a single position")
def long_vectors(my, rng):
    X = np.array([[26.6, 0.0], [26.7, 0.0]])  # scores of 708, 710, 713
    z = np.exp(X @ X.T)
    naive = z / z.sum(-1, keepdims=True)
    overflow = [("overflow", "exp(e) / sum exp(e)", naive)]
    my.equal(my.self_attention(X, 1.0)[0], weights(X, 1.0), "ij", overflow)
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


def wrong_cosines(X):
    lengths = np.array([math.sqrt(sum(x * x)) for x in X])
    centred = X - X.mean(0)
    by_column = X / np.array([math.sqrt(sum(x * x)) for x in X.T])
    return [
        ("no-norms", "x_i . x_j, not divided by the norms", X @ X.T),
        (
            "squared-norms",
            "x_i . x_j divided by the squared norms",
            (X @ X.T) / np.outer(lengths, lengths) ** 2,
        ),
        ("no-norms", "x_i . x_j / |x_i|", (X @ X.T) / lengths[:, None]),
        ("no-norms", "x_i . x_j / |x_j|", (X @ X.T) / lengths),
        ("angles", "the angles, arccos of the cosines",
         np.arccos(np.clip(cosines(X), -1, 1))),
        ("other-norm", "x_i . x_j, divided by the sums of |x_ik| and of |x_jk|",
         (X @ X.T) / np.outer(*2 * [abs(X).sum(1)])),
        ("no-diagonal", "the cosines, 0 where i = j", cosines(X) - np.eye(len(X))),
        ("centred", "the cosines of X - the mean of its rows", cosines(centred)),
        (
            "whole-norm",
            "x_i . x_j, divided by the square of the norm of all of X",
            (X @ X.T) / (lengths @ lengths),
        ),
        ("column-norms", "products of columns of norm 1", by_column @ by_column.T),
    ]  # fmt: skip


def wrong_correlations(a, b):
    u, v = np.argsort(a), np.argsort(b)
    r, s = np.array(ranks(a)), np.array(ranks(b))
    n, apart = len(r), 6 * ((r - s) ** 2).sum()
    x, y = r - r.mean(), s - s.mean()
    uncentred = (r @ s) / math.sqrt((r @ r) * (s @ s))
    return [
        ("not-centred", "the cosine of the ranks, without their means", uncentred),
        (
            "pearson",
            "the correlation of the entries themselves",
            np.corrcoef(a, b)[0, 1],
        ),
        ("divisor", "1 - 6 sum d^2 / n^3", 1 - apart / n**3),
        ("divisor", "1 - 6 sum d^2 / (n (n^2 + 1))", 1 - apart / (n**3 + n)),
        ("divisor", "1 - 3 sum d^2 / (n (n^2 - 1))", 1 - apart / (n**3 - n) / 2),
        ("no-square", "1 - 6 sum |d| / (n (n^2 - 1))",
         1 - 6 * abs(r - s).sum() / (n**3 - n)),
        ("not-divided", "the dot product of the ranks, less their means", x @ y),
        ("not-divided", "that, divided by n", x @ y / n),
        ("no-root", "that, divided by both squared lengths", x @ y / (x @ x * (y @ y))),
        ("sorted", "the correlation of the sorted entries",
         np.corrcoef(np.sort(a), np.sort(b))[0, 1]),
        ("kendall", "Kendall's rank correlation",
         np.sign((r[:, None] - r) * (s[:, None] - s)).sum() / n / (n - 1)),
        ("order", "the correlation of the argsorts", np.corrcoef(u, v)[0, 1]),
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
    "no-scale": ["The scale is an argument. Where is it used?"],
    "divided": ["The scores are multiplied by the scale, not divided."],
    "no-norms": [
        "A cosine is at most 1. Which factor of a long vector must be removed?",
    ],
    "squared-norms": ["Divide by the norm of each vector, not by its square."],
    "no-diagonal": ["A position may attend to itself: j runs over all positions."],
    "product": ["mutual is a sum of two weights."],
    "centred": ["A cosine compares the vectors themselves. A correlation centres."],
    "divisor": ["The formula with d^2 divides by n (n^2 - 1)."],
    "one-way": ["mutual is the sum of the weight of i on j and the weight of j on i."],
    "after-only": ["A gain is a difference between after and before."],
    "before-less-after": ["A gain is the cosine after, minus the one before."],
    "overflow": [
        "exp(1e3) is larger than any float64. Which change of the scores leaves the "
        "softmax as it is?",
    ],
    "pearson": ["Only the ranks count, not the size of the entries."],
    "order": [
        "argsort returns where the sorted entries come from, which are not their "
        "ranks.",
    ],
    "transposed": ["Row i of the array is row i of the image."],
    "own-limits": [
        "A colour means another number in each image, unless both have the same vmin "
        "and vmax.",
    ],
    "images-exchanged": ["draw receives before first, and then after."],
    "same-title": ["Which of two panels with one title shows X, and which Z?"],
    "causal": ["A position may attend to all positions, also later ones."],
    "cosines": ["The scores are scale x_i . x_j; the cosines are measured only."],
    "distances": ["The score is a dot product, not a distance."],
    "sum": ["A gain is a difference between after and before."],
    "no-softmax": ["Which of your arrays sums to 1 in each row?"],
    "scaled": ["The scores are scale x_i . x_j, with the argument scale alone."],
    "ratio": ["A gain is a difference, after less before."],
    "before-only": ["A gain is a difference between after and before."],
    "difference": ["mutual is a sum of two weights."],
    "angles": ["A cosine is a number from -1 to 1, not an angle."],
    "other-norm": ["|x| is the square root of the sum of squares."],
    "no-square": ["The differences of the ranks are squared."],
    "not-divided": ["The correlation of a and a is 1. What is yours?"],
    "no-root": ["|u| |v| is the square root of (u . u) (v . v)."],
    "kendall": ["Spearman's correlation is that of the ranks themselves."],
    "sorted": ["Sorted entries have lost their pairs. What is the rank of each?"],
    "no-title": ["Which of the three images is which?"],
    "no-image": ["ax.imshow draws an array, each entry as a square."],
    "column-norms": ["The norm of a row is a sum over its d entries."],
    "whole-norm": ["Each row has its own norm. Over which axis is the sum?"],
    "tril-order": ["In which order does np.triu_indices list the pairs?"],
    "not-centred": ["A correlation compares differences from the mean."],
}
