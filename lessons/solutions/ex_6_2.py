"""6.2  The dot product is a bilinear score  ●○○○  20 min  book §6.3

    dot(s, h) = s . h            bilinear(s, h) = s^T W_a h

For one matrix W_a the second is the first. That matrix is the only one: a bilinear
score holds its W_a so openly that a few questions bring it to light. What the identity
takes for granted shows when one of the two spaces changes its coordinates.
"""

import numpy as np


def W_for_dot(d):
    """The W_a (d, d) with which the bilinear score is the dot product."""
    # BEGIN SOLUTION
    return np.eye(d)
    # END SOLUTION


def dot(s, h):
    """s . h, a number, of vectors s (d_s,) and h (d_h,).

    Raises ValueError where d_s and d_h differ, with a sentence that names both widths.
    """
    # BEGIN SOLUTION
    if len(s) != len(h):
        raise ValueError(
            f"dot: s has {len(s)} entries, h has {len(h)}; expected as many."
        )
    return s @ h
    # END SOLUTION


def recover_W(score, d_s, d_h):
    """The W_a (d_s, d_h) that is hidden in a bilinear score.

    score  a function (s, h) -> number, for vectors s (d_s,) and h (d_h,)

    It answers d_s d_h questions, and no more.
    """
    # BEGIN SOLUTION
    W = np.empty((d_s, d_h))
    for i, s in enumerate(np.eye(d_s)):
        for k, h in enumerate(np.eye(d_h)):
            W[i, k] = score(s, h)  # s picks row i of W_a, h its entry k
    return W
    # END SOLUTION


def W_after_change(R):
    """The W_a that keeps all dot scores when the encoder changes its coordinates.

    Every state h becomes R h, with an invertible R (d, d), and the s stay as they are:
    bilinear(s, R h) with this W_a is dot(s, h)  ->  (d, d)
    """
    # BEGIN SOLUTION
    return np.linalg.inv(R)
    # END SOLUTION


# FOR THE CHECK

HINTS = {
    "": [
        "s^T W_a h = sum_i sum_k s_i W_ik h_k. Which terms are left in s . h?",
        "Ask with vectors that have a single 1: of the double sum one term is left.",
        "For the change of coordinates: s^T W_a R h has to be s^T h for all s and h. "
        "What does that say of the product W_a R?",
    ],
    "ones": [
        "Which entries of W_a multiply s_0 with h_1? Does s . h contain that term?"
    ],
    "no-error": [
        "Some ways to write the sum find an answer for widths that differ. Compare the "
        "widths before.",
    ],
    "error-type": [
        "NumPy's own error speaks of signatures. Compare the widths, and raise a "
        "ValueError that says what was given.",
        "dot is to raise ValueError for widths that differ, and nothing else.",
    ],
    "scaled": ["The dot product itself is asked for, without the 1 / sqrt(d)."],
    "truncated": ["All entries count."],
    "error-text": ["The sentence of the error is to contain both numbers."],
    "too-many": ["One question for one entry of W_a is enough."],
    "cross-terms": [
        "A question with more than one 1 is answered with a sum of entries."
    ],
    "transposed-inverse": ["Is W_a R the identity? Multiply, and look."],
    "not-inverse": ["A transposed matrix undoes a rotation, and not much else."],
    "forward": ["The change has to be undone, and not done again."],
}

MUTANTS = [
    ("return np.eye(d)", "return np.ones((d, d))", "ones"),
    ("return np.eye(d)", "return np.eye(d) / np.sqrt(d)", "scaled"),
    ("return s @ h", "return s[:3] @ h[:3]", "truncated"),
    (
        "    if len(s)",
        "    return sum(a * b for a, b in zip(s, h))\n    if len(s)",
        "no-error",
    ),
    ("if len(s) != len(h):", "if len(s) < len(h):", "error-type"),
    ("s has {len(s)} entries, h has {len(h)}", "wrong widths", "error-text"),
    ("return W\n", "return W.T\n", "transpose"),
    ("np.eye(d_h)", "np.tri(d_h)", "cross-terms"),
    ("W[i, k] = score(s, h)", "W[i, k] = score(s, h) + 0 * score(s, h)", "too-many"),
    ("np.linalg.inv(R)", "R.T", "not-inverse"),
    ("np.linalg.inv(R)", "np.linalg.inv(R).T", "transpose"),
    ("np.linalg.inv(R)", "R", "forward"),
]  # fmt: skip
