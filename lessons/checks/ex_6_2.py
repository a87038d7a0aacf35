"""Check an answer to 6.2."""

import numpy as np

from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.words import self_assessed
from lessons.classroom.steps import CheckFailed, edges, laws, numbers, shape, values


class Hidden:
    """A bilinear score that counts its calls."""

    __name__ = "score"

    def __init__(self, W):
        self.W, self.calls = W, 0

    def __call__(self, s, h):
        s, h = np.asarray(s), np.asarray(h)
        if s.shape != self.W.shape[:1] or h.shape != self.W.shape[1:]:
            raise ValueError(
                f"score: s has shape {s.shape} and h {h.shape}; expected "
                f"{self.W.shape[:1]} and {self.W.shape[1:]}"
            )
        self.calls += 1
        return sum(
            s[i] * self.W[i, k] * h[k] for i in range(len(s)) for k in range(len(h))
        )


# THE EXERCISE IN LOOPS


def W_for_dot(d):
    return np.array([[float(i == k) for k in range(d)] for i in range(d)])


def dot(s, h):
    if len(s) != len(h):
        raise ValueError(f"dot: the widths are {len(s)} and {len(h)}")
    return sum(s[i] * h[i] for i in range(len(s)))


def recover_W(score, d_s, d_h):
    W = np.zeros((d_s, d_h))
    for i in range(d_s):
        for k in range(d_h):
            s, h = np.zeros(d_s), np.zeros(d_h)
            s[i] = h[k] = 1
            W[i, k] = score(s, h)
    return W


def W_after_change(R):
    """Column k of W_a solves R x = e_k."""
    d = len(R)
    W = np.zeros((d, d))
    for k in range(d):
        W[:, k] = np.linalg.solve(R, [float(i == k) for i in range(d)])
    return W


def explanation():
    return "both states are vectors of one space with the same axes"


# THE CHECK


def as_floats(W):
    """Convert a matrix of integers to floats; it multiplies in the same way."""
    whole = isinstance(W, np.ndarray) and W.dtype.kind in "iu"
    return W.astype(float) if whole else W


@shape("matrices with the widths of s and h")
def of_the_widths(my, rng):
    my.shape(as_floats(my.W_for_dot(3)), (3, 3), ("d", "d"))
    score = Hidden(rng.normal(size=(3, 5)))
    my.shape(my.recover_W(score, 3, 5), (3, 5), ("d_s", "d_h"))
    my.shape(my.W_after_change(rng.normal(size=(3, 3))), (3, 3), ("d", "d"))


@numbers("s = (1, 2, 3) and h = (4, 5, 7): 35 either way")
def either_way(my, rng):
    s, h = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 7.0])
    my.equal(my.dot(s, h), 35.0, "")
    my.equal(s @ my.W_for_dot(3) @ h, 35.0, "", call="s @ W_for_dot(3) @ h")


@values("dot, and the bilinear score with your matrix, against a sum")
def against_a_sum(my, rng):
    for d in (3, 5, 7):
        s, h = rng.normal(size=d), rng.normal(size=d)
        my.equal(my.dot(s, h), dot(s, h), "")
        W = as_floats(my.W_for_dot(d))
        my.shape(W, (d, d), ("d", "d"))
        others = [(i, k) for i in range(d) for k in range(d) if i != k and W[i][k] != 0]
        my.holds(
            not others,
            "off-diagonal",
            "expected 0 in W_a[i, k] where i != k: s . h has no term s_i h_k",
            f"found another number at {others}",
        )
        my.equal(W, W_for_dot(d))


@values("five unknown matrices, found with d_s d_h calls")
def five_hidden(my, rng):
    for d_s, d_h in ((3, 5), (5, 3), (7, 2), (1, 5), (3, 3)):
        score = Hidden(rng.normal(size=(d_s, d_h)))
        got = my.recover_W(score, d_s, d_h)
        my.shape(got, (d_s, d_h), ("d_s", "d_h"))
        right = np.isclose(got, score.W).all(1)
        my.holds(
            d_s == 1 or not right[0] or right[1:].any(),
            "first-row",
            f"expected {d_s} rows",
            "found the first row right, and all others wrong",
        )
        my.equal(got, score.W, ("d_s", "d_h"))
        my.holds(
            score.calls <= d_s * d_h,
            "too-many",
            f"expected {d_s * d_h} calls of score or fewer",
            f"found {score.calls}",
        )


@laws("the old scores, after the states of the encoder become R h")
def after_a_change(my, rng):
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    for R in (rng.normal(size=(3, 3)), rng.normal(size=(5, 5)), 3 * turn):
        my.equal(my.W_after_change(R), W_after_change(R), ("d_s", "d_h"), rtol=1e-6)


@edges("different widths: dot raises ValueError, the bilinear score works")
def widths_that_differ(my, rng):
    for d_s, d_h in ((5, 3), (3, 5), (1, 7), (7, 1)):
        s, h = rng.normal(size=d_s), rng.normal(size=d_h)
        call = f"dot(s=float64 ({d_s},), h=float64 ({d_h},))"
        wanted = "expected a ValueError whose message contains both widths"
        try:
            found = my.dot(s, h)
        except CheckFailed as failure:
            error = failure.__cause__
            if error is None:
                raise
            text = str(error)
            found = f"found {type(error).__name__}: {text}"
            if not isinstance(error, ValueError) or "matmul" in text:
                raise CheckFailed("error-type", call, wanted, found) from error
            if not (str(d_s) in text and str(d_h) in text):
                raise CheckFailed("error-text", call, wanted, found) from error
        else:
            raise CheckFailed("no-error", call, wanted, f"found the answer {found!r}")
    score = Hidden(rng.normal(size=(1, 1)))
    my.equal(my.recover_W(score, 1, 1), score.W, ("d_s", "d_h"))


@edges("the geometry of W_a = I, in your own words")
def your_own_words(my, rng):
    self_assessed(
        my,
        my.explanation(),
        "one space, with the same axes and the same units for s and h: s_k is "
        "compared with h_k alone",
        "who makes it so: both networks have to learn to agree, because the score "
        "cannot",
        "a general W_a changes coordinates: it turns, stretches, drops directions, "
        "and joins different widths",
        "the symmetry: dot(s, h) = dot(h, s); a general W_a need not be symmetric",
    )


EYE = "[[float(i == k) for k in range(d)] for i in range(d)]"
SUM = "sum(s[i] * h[i] for i in range(len(s)))"
SIGN = "A dot product may be negative."
WIDTHS = "    if len(s) != len(h):"
UNIT, INVERSE = "s[i] = h[k] = 1", "    return W\n\n\ndef explanation"
ONES = "Which entries of W_a multiply s_0 with h_1? Does s . h contain that term?"
SCALED = "The exercise asks for the dot product itself, without 1 / sqrt(d)."
REVERSED = "Which entry of h does entry i of s meet?"
ALL = "The sum is over all entries."
CROSS = (
    "If a vector contains more than one 1, the score is a sum of several entries "
    "of W_a."
)
NO_ERROR = (
    "Some ways to write the sum return a number even if the widths differ. Compare the "
    "widths first."
)
ERROR = (
    "NumPy's own error message speaks of signatures. Compare the widths, and raise a "
    "ValueError, and nothing else, with a message that contains both."
)
AGAIN = "W_a must undo the change R. Yours applies it a second time."

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("ones", "sum(s) * sum(h)", ONES, EYE, "np.ones((d, d))"),
    ("scaled", "s . h / sqrt(d)", SCALED, EYE, f"np.array({EYE}) / d**0.5"),
    ("reversed", "s . h with h reversed", REVERSED, EYE, EYE + "[::-1]"),
    ("ones", "sum(s) * sum(h)", ONES, SUM, "sum(s) * sum(h)"),
    ("scaled", "s . h / sqrt(d)", SCALED, SUM, SUM + " / len(s) ** 0.5"),
    ("cosine", "the cosine of s and h",
     "The dot product grows with the lengths of s and h.", SUM,
     "s @ h / (s @ s * (h @ h)) ** 0.5"),
    ("reversed", "s . h with h reversed", REVERSED, SUM, "s @ h[::-1]"),
    ("mean", "the mean of the products s_k h_k", ALL, SUM, SUM + " / len(s)"),
    ("distance", "the distance from s to h", SIGN, SUM, "((s - h) @ (s - h)) ** 0.5"),
    ("scale:-1", "-s . h", "", SUM, "-" + SUM),
    ("square", "the square of s . h", "", SUM, SUM + " ** 2"),
    ("projection", "s . h / s . s", SCALED, SUM, SUM + " / (s @ s)"),
    ("absolute", "|s . h|", SIGN, SUM, f"abs({SUM})"),
    ("loop-short", "the sum without its last term", ALL, SUM, "s[:-1] @ h[:-1]"),
    ("loop-short", "the sum without its first term", ALL, SUM, "s[1:] @ h[1:]"),
    ("truncated", "the sum over the first three entries", ALL, SUM, "s[:3] @ h[:3]"),
    ("no-error", "a sum up to the smaller width", NO_ERROR, WIDTHS,
     f"    return sum(a * b for a, b in zip(s, h))\n{WIDTHS}"),
    ("error-type", "an IndexError where h is too short", ERROR, WIDTHS,
     WIDTHS.replace("!=", "<")),
    ("error-text", "an error without the widths", "The message of the error must contain "
     "both widths.", "the widths are {len(s)} and {len(h)}", "the widths differ"),
    ("too-many", "two calls for each entry", "One call is enough for one entry of W_a.",
     "score(s, h)\n", "score(s, h) + 0 * score(s, h)\n"),
    ("first-row", "the matrix after its first row",
     "Where does ``return`` stand: inside the loop, or after it?",
     "h)\n    return W\n", "h)\n        return W\n"),
    ("cross-terms", "sums along the rows of W_a", CROSS, UNIT, "s[i] = h[: k + 1] = 1"),
    ("not-inverse", "R with its axes swapped",
     "The transpose is the inverse of a rotation, but not of most other matrices.",
     INVERSE, INVERSE.replace("W", "R.T", 1)),
    ("transposed-inverse", "the inverse of R with its axes swapped",
     "Is W_a R the identity? Multiply the two and compare.", INVERSE,
     INVERSE.replace("W", "W.T", 1)),
    *(
        ("forward", line, AGAIN, INVERSE, INVERSE.replace("W", line, 1))
        for line in ("R", "-R", "R @ R.T")
    ),
    ("normal-equations", "the inverse of R^T R",
     "R is square and invertible: W_a R = I needs no R^T.", INVERSE,
     INVERSE.replace("W", "W @ W.T", 1)),
    ("inverse-twice", "the inverse of R, twice", "", INVERSE,
     INVERSE.replace("W", "W @ W", 1)),
    ("unchanged", "the identity, W_a before the change",
     "Does s^T W_a (R h) equal s^T h with this W_a?", INVERSE,
     INVERSE.replace("W", "np.eye(d)", 1)),
    ("elementwise", "1 / R, entry by entry",
     "The inverse of a matrix is not the inverse of its entries.", INVERSE,
     INVERSE.replace("W", "1 / R", 1)),
]  # fmt: skip

HINTS = {
    "W_for_dot": [
        "Write s^T W_a h for d = 2, with four unknown entries, and compare it with s . "
        "h, term by term.",
    ],
    "dot": ["Compare the two widths before you multiply; both belong in the message."],
    "recover_W": ["How many entries are unknown, and how many calls may you make?"],
    "W_after_change": ["What must W_a do to the vector R h?"],
    "": [
        "s^T W_a h = sum_i sum_k s_i W_ik h_k. Which of these terms are in s . h?",
        "Call the score with vectors that contain a single 1. Then one term of the "
        "double sum remains.",
        "After the change of coordinates, s^T W_a R h must equal s^T h for all s and "
        "h. What does that mean for the product W_a R?",
    ],
    "off-diagonal": ["Which product of an s_i and an h_k does W_a[0, 1] multiply?"],
}
