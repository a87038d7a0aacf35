"""E.4  Write the gradient check  ●●●○  45 min  needs E.2

A backward says what dL/dx is. So do differences, slowly and without a formula:

    L(x) = sum c y(x)        dL/dx_i  =  (L(x + h e_i) - L(x - h e_i)) / 2h  +  O(h^2)

where e_i moves the entry i alone and c, as large as y, stands for the gradient that
would come from above. A check that a wrong backward passes is worse than none: c, the
inputs, and what "near enough" means all have to be chosen so that it can fail.

An op here returns (y, backward); backward(g) returns one gradient of x's shape.
"""

import numpy as np


def numeric_gradient(f, x, c, h=1e-5):
    """dL/dx for L = sum c f(x), by central differences: an array like x (…).

    f takes an array like x and returns one like c. Nothing is written into x:
    what is moved is a copy.
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
    """Whether the backward of op is right at x. ``rng`` is a numpy Generator.

    True for a right one, whether its gradients are of the size of 1e-6 or of 1e6; False
    for one that is off by one part in a thousand in its largest entry, has the wrong
    shape, is NaN, or is not there (None).
    """
    # BEGIN SOLUTION
    y, backward = op(x)
    c = rng.normal(size=np.shape(y))
    yours = backward(c)
    if yours is None or np.shape(yours) != x.shape:
        return False
    numeric = numeric_gradient(lambda x: op(x)[0], x, c)
    scale = np.abs(numeric).max()
    # written so that NaN is not near enough
    return bool(np.all(np.abs(yours - numeric) <= 1e-5 * scale))
    # END SOLUTION


# FOR THE CHECK

HINTS = {
    "": [
        "One entry at a time: copy x twice, move that entry up in one and down in the "
        "other. Everything else is a sum over the outputs.",
        "Draw c at random, and hand the same c to backward and to numeric_gradient. "
        "Errors are then measured against the largest entry of the numeric gradient.",
        "sum(c * (f(up) - f(down))) / (2 h) for every index of np.ndindex(x.shape). In "
        "is_right: refuse None and other shapes, then ask whether |yours - numeric| <= "
        "1e-5 times the largest |numeric|, everywhere; that is false of NaN.",
    ],
    "one-sided": [
        "(f(x + h) - f(x)) / h is wrong by h f''/2; what cancels in the middle?"
    ],
    "step": ["From x - h to x + h: how far is that?"],
    "cotangent": ["What stands for the gradient from above, and where is it used?"],
    "constant-cotangent": [
        "The outputs of a softmax sum to 1, whatever x is. What is the gradient of "
        "that sum, and which wrong backwards return it?",
        "With c = 0, every backward that is linear is right; with ones, too many are. "
        "Draw c from rng.",
    ],
    "scale": [
        "Every entry is off by one factor. From x - h to x + h, how far is that?"
    ],
    "one-entry": ["A backward can be wrong in one entry of many."],
    "largest-entry": [
        "A mean over all entries, or a norm, hardly shows that one of many is wrong. "
        "Compare entry by entry."
    ],
    "shape": ["NumPy broadcasts: a gradient of another shape may be compared with."],
    "nan-passes": ["NaN > 1 is False, and so is NaN <= 1."],
    "absolute": [
        "Near enough, compared with what? A gradient of 1e-6 is smaller than many "
        "tolerances."
    ],
    "loose": ["One part in a thousand is wrong; differences see one in a million."],
    "factor": ["A sign, or a 2, is what backwards most often get wrong."],
    "refuses-right": [
        "Differences in float64 have about ten right digits, not sixteen. And is c the "
        "same on both sides?"
    ],
    "missing-gradient": ["None is no gradient; what should the check say of it?"],
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
