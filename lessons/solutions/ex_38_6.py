"""38.6  What only the additive score can do  ●●○○  25 min  needs 38.1  book §38.1

    additive   e(h) = v_a . tanh(W_a [s; h])        general   e(h) = s^T W_g h

The chapter says that only the additive score need not grow with s . h. That is not what
sets it apart, as one matrix W_g shows. What does is found on a line: of three keys, the
one in the middle can have the highest additive score.
"""

import numpy as np

from lessons.classroom.theory import Chain


def witness():
    """An additive score that prefers the middle one of three keys.

    ->  W_a (d_a, d_s + d_h), v_a (d_a,), s (d_s,), h1, h2, h3 (d_h,)
    with h2 = (h1 + h3) / 2 exactly, and e(h2) > e(h1), e(h2) > e(h3)

    All widths are yours to choose. [s; h] has the entries of s first.
    """
    # BEGIN SOLUTION
    W_a = np.array([[1.0, 1.0], [-1.0, 1.0]])  # tanh(h + s) and tanh(h - s)
    v_a = np.array([1.0, -1.0])  # their difference is a bump around h = 0
    s = np.array([1.0])
    h1, h3 = np.array([-2.0]), np.array([2.0])
    return W_a, v_a, s, h1, (h1 + h3) / 2, h3
    # END SOLUTION


def proof():
    """Why no general score can: in the middle it has the mean of the end scores.

    A chain, as in 38.1, of functions of (s, W_g, h1, h3), from the score of the point
    in the middle, s @ W_g @ ((h1 + h3) / 2), to the mean of the scores of h1 and h3.
    """
    # BEGIN SOLUTION
    return (
        Chain(lambda s, W_g, h1, h3: s @ W_g @ ((h1 + h3) / 2), "the middle")
        .then(lambda s, W_g, h1, h3: s @ W_g @ (h1 + h3) / 2, "a number moves out")
        .then(lambda s, W_g, h1, h3: (s @ W_g @ h1 + s @ W_g @ h3) / 2, "linear in h")
    )
    # END SOLUTION


def counterexample():
    """Against "only additive": a general score that falls where s . h grows.

    ->  W_g (d, d), s (d,), h1, h2 (d,), with s . h1 < s . h2 and a general score that
        is higher for h1 than for h2
    """
    # BEGIN SOLUTION
    return -np.eye(1), np.ones(1), np.zeros(1), np.ones(1)
    # END SOLUTION


def situation():
    """One situation in which you would pay for the additive score, and why: a string.

    Not graded; what a good answer contains is shown once you have written one.
    """
    # BEGIN SOLUTION
    return (
        "A query that asks for keys near a value, neither below nor above it, such as "
        "the next position: the best key is in the middle of others, and a score that "
        "is linear in the key is highest at an end."
    )
    # END SOLUTION


# FOR THE CHECK

HINTS = {
    "": [
        "Widths of 1 are enough: s, h1, h2, h3 are then numbers, and the score is a "
        "sum of shifted tanh curves.",
        "One tanh only rises, or only falls. The difference of two that are shifted "
        "against each other rises, and falls again.",
        "tanh(h + s) - tanh(h - s) is highest at h = 0: rows (1, 1) and (-1, 1) of "
        "W_a, and +1 and -1 in v_a. For the counterexample: which W_g changes a sign?",
    ],
    "not-midpoint": [
        "The middle is compared exactly: choose numbers such as -2, 0, 2."
    ],
    "valley": ["The middle is the lowest of the three. What turns a valley over?"],
    "monotone": ["One tanh rises all the way, and so does a sum of rising ones."],
    "same-points": ["Three different keys are asked for."],
    "no-counterexample": [
        "s . h is the general score with W_g = I. Which change of W_g turns it around?",
    ],
    "dot-does-not-rise": ["Choose h1 and h2 first, with s . h1 below s . h2."],
    "results": ["All are returned, in the order of the docstring."],
    "starts-elsewhere": ["The first expression is the score of (h1 + h3) / 2."],
    "arrives-elsewhere": ["The last is half the sum of two scores."],
    "false-link": ["The report names the link whose value changes. What moved there?"],
    "chain-repeats": ["Two neighbours are the same text: each step changes something."],
    "chain": ["What is returned begins with Chain( and goes on with .then(."],
    "link-raises": ["Write the size of each factor of that expression next to it."],
}

MUTANTS = [
    ("[[1.0, 1.0], [-1.0, 1.0]]", "[[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]]", "shape"),
    ("v_a = np.array([1.0, -1.0])", "v_a = np.array([-1.0, 1.0])", "valley"),
    ("v_a = np.array([1.0, -1.0])", "v_a = np.array([1.0, 1.0])", "monotone"),
    ("h1, (h1 + h3) / 2, h3", "h1, (h1 + h3) / 2 + 0.1, h3", "not-midpoint"),
    ("np.array([-2.0]), np", "np.array([2.0]), np", "same-points"),
    ("s, h1, (h1 + h3) / 2, h3", "s, h1, h3", "results"),
    ('"the middle")', '"the middle").then(lambda s, W_g, h1, h3: s @ W_g @ h1, "")',
     "false-link"),
    ("h3) / 2), \"the", "h3) / 3), \"the", "starts-elsewhere"),
    ("h1 + s @ W_g @ h3) / 2", "h1 + s @ W_g @ h3)", "arrives-elsewhere"),
    ("return -np.eye(1)", "return np.eye(1)", "no-counterexample"),
    ("np.zeros(1), np.ones(1)\n", "np.ones(1), np.zeros(1)\n", "dot-does-not-rise"),
]  # fmt: skip
