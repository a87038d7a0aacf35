"""38.6  What only the additive score can do  ●●○○  25 min  needs 38.1  book §38.1

    additive   e(h) = v_a . tanh(W_a [s; h])        general   e(h) = s^T W_g h

The chapter states that every score but the additive one grows with s . h. One matrix
W_g disproves this. The real difference appears on a line: of three keys, the middle one
can have the highest additive score.
"""

import numpy as np

from lessons.classroom.theory import Chain


def witness():
    """Return an additive score that is highest for the middle one of three keys.

    ->  W_a (d_a, d_s + d_h), v_a (d_a,), s (d_s,), h1, h2, h3 (d_h,)
    with h2 = (h1 + h3) / 2 exactly, and e(h2) > e(h1), e(h2) > e(h3)

    Choose all widths yourself. [s; h] contains the entries of s first.
    """
    # BEGIN SOLUTION
    W_a = np.array([[1.0, 1.0], [-1.0, 1.0]])  # tanh(h + s) and tanh(h - s)
    v_a = np.array([1.0, -1.0])  # their difference is a bump around h = 0
    s = np.array([1.0])
    h1, h3 = np.array([-2.0]), np.array([2.0])
    return W_a, v_a, s, h1, (h1 + h3) / 2, h3
    # END SOLUTION


def proof():
    """Return a chain that shows: the general score of the middle is the mean.

    So no general score is highest there. A chain, as in 38.1, of functions of (s, W_g,
    h1, h3), from the score of the middle, s @ W_g @ ((h1 + h3) / 2), to the mean of the
    scores of h1 and h3. Use one law in each step: move a number out of the product, or
    write the product with a sum as a sum of products.
    """
    # BEGIN SOLUTION
    return (
        Chain(lambda s, W_g, h1, h3: s @ W_g @ ((h1 + h3) / 2), "the middle")
        .then(lambda s, W_g, h1, h3: s @ W_g @ (h1 + h3) / 2, "a number moves out")
        .then(lambda s, W_g, h1, h3: (s @ W_g @ h1 + s @ W_g @ h3) / 2, "linear in h")
    )
    # END SOLUTION


def counterexample():
    """Return a general score that falls where s . h grows.

    ->  W_g (d, d), s (d,), h1, h2 (d,), with s . h1 < s . h2 and a general score that
        is higher for h1 than for h2
    """
    # BEGIN SOLUTION
    return -np.eye(1), np.ones(1), np.zeros(1), np.ones(1)
    # END SOLUTION


def situation():
    """Return a string: one situation that needs the additive score, and why.

    Write five words or more; they are not graded. After that, the check prints what a
    good answer says.
    """
    # BEGIN SOLUTION
    return (
        "A query that asks for keys near a value, neither below nor above it, such as "
        "the next position: the best key is in the middle of others, and a score that "
        "is linear in the key is highest at an end."
    )
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "A general score is linear in h, so at the middle of two keys it is the mean of "
    "their scores and never the largest of the three. tanh is not linear: a rising and "
    "a falling step, side by side, have their highest sum between them."
)

MUTANTS = [
    ("[[1.0, 1.0], [-1.0, 1.0]]", "[[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]]", "shape"),
    ("v_a = np.array([1.0, -1.0])", "v_a = np.array([-1.0, 1.0])", "valley"),
    ("v_a = np.array([1.0, -1.0])", "v_a = np.array([1.0, 1.0])", "monotone"),
    ("h1, (h1 + h3) / 2, h3", "h1, (h1 + h3) / 2 + 0.1, h3", "not-midpoint"),
    ("np.array([-2.0]), np", "np.array([2.0]), np", "same-points"),
    ("s, h1, (h1 + h3) / 2, h3", "s, h1, h3", "results"),
    ('"the middle")', '"the middle").then(lambda s, W_g, h1, h3: s @ W_g @ h1, "h1")',
     "false-link"),
    ("h3) / 2), \"the", "h3) / 3), \"the", "starts-elsewhere"),
    ("h1 + s @ W_g @ h3) / 2", "h1 + s @ W_g @ h3)", "arrives-elsewhere"),
    ("return -np.eye(1)", "return np.eye(1)", "no-counterexample"),
    ("np.zeros(1), np.ones(1)\n", "np.ones(1), np.zeros(1)\n", "dot-does-not-rise"),
]  # fmt: skip
