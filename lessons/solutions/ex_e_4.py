"""E.4  Write the gradient check  ●●●○  45 min  needs E.2

A backward computes dL/dx from a formula. Differences compute it slowly and without one:

    L(x) = sum c y(x)        dL/dx_i  =  (L(x + h e_i) - L(x - h e_i)) / 2h  +  O(h^2)

e_i moves entry i only. c has the shape of y and replaces the gradient of later
operations. A check that accepts a wrong backward is worse than none: choose c, the
inputs and the tolerance so that every wrong backward fails.

An op here returns (y, backward); backward(g) returns one gradient of the shape of x.
"""

import numpy as np


def numeric_gradient(f, x, c, h=1e-5):
    """Return dL/dx for L = sum c f(x), by central differences: an array like x (…).

    f takes an array like x and returns an array like c. Do not write into x: move an
    entry of a copy.
    """
    # BEGIN SOLUTION
    found = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += h
        down[i] -= h
        found[i] = (c * (f(up) - f(down))).sum() / (2 * h)
    return found
    # END SOLUTION


def is_right(op, x, rng):
    """Return whether the backward of op is right at x. ``rng`` is a numpy Generator.

    True for a right one, also if its gradients are of the size of 1e-6 or of 1e6. False
    for one that is wrong by one part in a thousand in its largest entry, has the wrong
    shape, is NaN, or is None.
    """
    # BEGIN SOLUTION
    y, backward = op(x)
    c = rng.normal(size=np.shape(y))
    yours = backward(c)
    if yours is None or np.shape(yours) != x.shape:
        return False
    numeric = numeric_gradient(lambda x: op(x)[0], x, c)
    scale = np.abs(numeric).max()
    # NaN <= 1 is False
    return bool(np.all(np.abs(yours - numeric) <= 1e-5 * scale))
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "A random c weights all outputs differently, so errors cannot cancel in a sum, as "
    "they do with ones after a softmax. A tolerance relative to the largest gradient "
    "accepts rounding at every size and refuses one part in a thousand."
)

HINTS = {
    "numeric_gradient": [
        "Move one entry of a copy up and down; sum c times the change of every output.",
    ],
    "is_right": ["Which c, which comparison, and what if there is no gradient at all?"],
    "": [
        "One entry at a time: copy x twice, move this entry up in one copy and down "
        "in the other. All other operations are a sum over the outputs.",
        "Draw c at random and pass the same c to backward and to numeric_gradient. "
        "Compare errors with the largest entry of the numeric gradient.",
        "sum(c * (f(up) - f(down))) / (2 h) for every index of np.ndindex(x.shape). "
        "In is_right: refuse None and other shapes, then require |yours - numeric| "
        "<= 1e-5 times the largest |numeric| everywhere; that is false for NaN.",
    ],
    "one-sided": [
        "(f(x + h) - f(x)) / h has an error of h f''/2. Which terms cancel in a "
        "central difference?",
    ],
    "step": ["How long is the interval from x - h to x + h?"],
    "cotangent": ["c replaces the gradient of later operations. Where do you use it?"],
    "constant-cotangent": [
        "The outputs of a softmax sum to 1 for every x. What is the gradient of that "
        "sum, and which wrong backwards return it?",
        "With c = 0 every linear backward is accepted, and with ones too many are. "
        "Draw c from rng.",
    ],
    "zero-in-cotangent": [
        "What is g * dy/dx in an entry where g is 0, and what is it for another dy/dx?",
    ],
    "entry-tolerance": [
        "Rounding in the differences depends on the size of f, not on that of one "
        "entry. Compare each error with the largest entry of the gradient.",
    ],
    "other-x": ["Which x does the caller ask about?"],
    "zero": ["Is the copy that moves up another array than the one that moves down?"],
    "moves-all": ["e_i is 1 in entry i and 0 in all others."],
    "scale": [
        "Every entry is wrong by the same factor. How long is the interval from x - "
        "h to x + h?",
    ],
    "one-entry": ["A backward can be wrong in one of many entries."],
    "largest-entry": [
        "A mean over all entries, or a norm, hardly shows that one of many is wrong. "
        "Compare entry by entry.",
    ],
    "shape": [
        "NumPy broadcasts: it compares arrays of different shapes without an error.",
    ],
    "nan-passes": ["NaN > 1 is False, and so is NaN <= 1."],
    "absolute": [
        "A gradient of 1e-6 is smaller than many tolerances. Compare the error with "
        "the size of the gradient.",
    ],
    "loose": [
        "An error of one part in a thousand is wrong. Differences find one in a "
        "million.",
    ],
    "factor": [
        "A wrong sign and a missing 2 are the most frequent mistakes of a backward.",
    ],
    "refuses-right": [
        "Differences in float64 have about ten right digits, not sixteen. And is c "
        "the same on both sides?",
    ],
    "missing-gradient": [
        "None is not a gradient. What should the check return for it?",
    ],
}

MUTANTS = [
    ("        down[i] -= h\n", "        down[i] -= 0\n", "step"),
    (
        "(c * (f(up) - f(down))).sum() / (2 * h)",
        "(c * (f(up) - f(x))).sum() / h",
        "one-sided",
    ),
    (
        "(c * (f(up) - f(down))).sum() / (2 * h)",
        "(f(up) - f(down)).sum() / (2 * h)",
        "cotangent",
    ),
    ("up, down = x.copy(), x.copy()", "up, down = x, x.copy()", "mutates-input"),
    (
        "c = rng.normal(size=np.shape(y))",
        "c = np.ones(np.shape(y))",
        "constant-cotangent",
    ),
    (" or np.shape(yours) != x.shape", "", "shape"),
    (
        "    if yours is None or",
        "    if yours is None:\n        return True\n    if",
        "missing-gradient",
    ),
    ("<= 1e-5 * scale", "<= 2e-3 * scale", "loose"),
    (
        "np.all(np.abs(yours - numeric) <= 1e-5 * scale)",
        "not np.any(np.abs(yours - numeric) > 1e-5 * scale)",
        "nan-passes",
    ),
    (
        "np.all(np.abs(yours - numeric) <= 1e-5 * scale)",
        "np.any(np.abs(yours - numeric) <= 1e-5 * scale)",
        "one-entry",
    ),
    ("<= 1e-5 * scale", "<= 1e-5", "absolute"),
    (
        "np.all(np.abs(yours - numeric) <= 1e-5 * scale)",
        "np.allclose(yours, numeric)",
        "absolute",
    ),
    ("<= 1e-5 * scale", "<= 1e-14 * scale", "refuses-right"),
]

EQUIVALENT = {
    "np.abs(yours - numeric) <= 1e-05 * scale -> "
    "np.abs(yours - numeric) < 1e-05 * scale": "no difference is exactly the tolerance"
}
