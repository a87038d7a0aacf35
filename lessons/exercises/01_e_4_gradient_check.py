"""E.4  Write the gradient check  ●●●○  45 min  needs E.2

A backward computes dL/dx from a formula. Differences compute it slowly and without one:

    L(x) = sum c y(x)        dL/dx_i  =  (L(x + h e_i) - L(x - h e_i)) / 2h  +  O(h^2)

e_i is 1 in entry i and 0 elsewhere. c has the shape of y and stands for dL/dy. A check
that accepts a wrong backward is worse than none: choose c and the tolerance so that
every wrong backward fails.

An op here returns (y, backward); backward(g) returns one gradient of the shape of x.
"""

import numpy as np


def numeric_gradient(f, x, c, h=1e-5):
    """Return dL/dx for L = sum c f(x), by central differences: an array like x (…).

    f takes an array like x and returns an array like c. Do not write into x: move an
    entry of a copy.
    """
    found = np.zeros_like(x)  #? Which step does the caller choose?
    #! found, h = np.zeros_like(x), 1e-5  | the slope for h = 1e-5, whatever h is
    #! found, h = np.zeros_like(x), h / 2  | the slope from x - h/2 to x + h/2
    for i in np.ndindex(x.shape):  #? Is i an entry, or a row? e_i is 1 in one entry.
        up, down = x.copy(), x.copy()  #? Is there a new copy for each entry, and for each side?
        #! up, down = (up, down) if any(i) else (x.copy(), x.copy())  | the slope with all earlier entries moved as well
        up[i] += h
        down[i] -= h  #? How long is the interval from x - h to x + h, and which entry moves?
        change = (c * (f(up) - f(down))).sum()  #? L = sum c f(x). Which sign has its change?
        #! change = (c.sum() * (f(up) - f(down))).sum()  | the slopes for a c of ones, times the sum of c
        #! change = 2 * (c * (f(up) - f(x))).sum()  | the slope from x to x + h
        #! change = 2 * (c * (f(x) - f(down))).sum()  | the slope from x - h to x
        found[i] = change / (2 * h)  #? How long is the interval from x - h to x + h?
        #! up[i], down[i] = x[i] * (1 + h), x[i] * (1 - h); found[i] = (c * (f(up) - f(down))).sum() / (2 * h * x[i])  | the slope from x - h x to x + h x
    return found


def is_right(op, x, rng):
    """Return whether the backward of op is right at x. ``rng`` is a numpy Generator.

    True for a right one, also if its gradients are of the size of 1e-6 or of 1e6. False
    for one that is wrong by one part in a thousand in its largest entry, has the wrong
    shape, is NaN, or is None.
    """
    y, backward = op(x)  #? Which x does the caller ask about?
    #! x = rng.normal(size=x.shape); y, backward = op(x)  | the check at another x
    c = rng.normal(size=np.shape(y))  #? A softmax sums to 1. Which wrong backwards pass for ones, or for a c with a 0?
    #! c = np.ones(np.shape(y))  | the check with a c of ones
    #! c = np.zeros(np.shape(y))  | the check with a c of zeros
    #! c = rng.normal(size=np.shape(y)); c.flat[0] = 0  | the check with a 0 in c
    #! c = y  | the check with y for c
    yours = backward(c)  #? None is no gradient. What is right to return for it?
    #! if (yours := backward(c)) is None: return True  | the check that accepts None
    if yours is None or np.shape(yours) != x.shape:  #? NumPy compares other shapes as well.
        return False
    numeric = numeric_gradient(lambda x: op(x)[0], x, c)  #? The error is h^2 f'''/6. How long is h?
    #! numeric = numeric_gradient(lambda x: op(x)[0], x, c, 1e-2)  | the check with h = 0.01
    error, largest = np.abs(yours - numeric), np.abs(numeric).max()
    return bool(np.all(error <= 1e-5 * largest))  #? One entry of many may be wrong. NaN > 1 is False.
    #! return bool(np.all(error <= 2e-3 * largest))  | the check with a tolerance of 2e-3
    #! return bool(np.all(error <= 1e-14 * largest))  | the check with a tolerance of 1e-14
    #! return not np.any(error > 1e-5 * largest)  | the check that accepts NaN
    #! return bool(error.mean() <= 2e-4 * largest)  | the check of a mean
    #! return bool(abs(np.mean(yours - numeric)) <= 1e-5 * largest)  | the check of the mean error with its sign
    #! return bool(error.sum() <= 1e-5 * np.abs(numeric).sum())  | the check of a sum of all errors
    #! return bool(np.linalg.norm(error) <= 5e-4 * np.linalg.norm(numeric))  | the check of a norm
    #! return np.allclose(abs(yours), abs(numeric), 1e-5, 1e-5 * largest)  | the check of the sizes alone
    #! return np.allclose(yours, numeric)  | the check by np.allclose
    #! return np.allclose(yours, numeric, 1e-4, 0)  | the check with a tolerance for each entry
    #= return np.allclose(yours, numeric, rtol=1e-4, atol=1e-9 * largest)


# ---- THE CHECK: each call my.f(…) is compared with the function f above

import minigrad as mg  # noqa: E402
from lessons.course.outcome import named  # noqa: E402

softmax, tanh = mg.softmax.raw, mg.tanh.raw
row_sums = named("row_sums", lambda x: mg.sum.raw(x, axis=-1))


def cube(k):
    """Return the op y = k x^3, whose gradients have the size of k."""
    return named(f"{k:g} x^3", lambda x: (k * x**3, lambda g: 3 * k * x**2 * g))


def wrong(text, op, change):
    """Return op with the backward change(gradient, g, y, x)."""

    def changed(x):
        y, backward = op(x)
        return y, lambda g: change(backward(g), g, y, x)

    return named(f"{op.__name__}, {text}", changed)


# with h = 1e-2, its differences are wrong by 1/600
sine = named("sin 10 x", lambda x: (np.sin(10 * x), lambda g: 10 * np.cos(10 * x) * g))
RIGHT = softmax, tanh, row_sums, cube(1.0), sine, cube(1e-6), cube(1e6)
LARGEST = wrong(
    "wrong by 0.1% in its largest entry", tanh,
    lambda dx, g, y, x: dx * np.where(abs(dx) == abs(dx).max(), 1.001, 1),
)  # fmt: skip
WRONG = (
    LARGEST,
    wrong("backward 0", softmax, lambda dx, g, y, x: 0 * dx),
    wrong("backward y g - y", softmax, lambda dx, g, y, x: y * g - y),
    wrong("backward y dy/dx", tanh, lambda dx, g, y, x: y * (1 - y * y)),
    wrong("backward -1 times the right one", tanh, lambda dx, g, y, x: -dx),
    wrong("backward 1.001 times", cube(1e-6), lambda dx, g, y, x: 1.001 * dx),
    wrong("backward not broadcast", row_sums, lambda dx, g, y, x: g[..., None]),
    wrong("backward with one more axis", tanh, lambda dx, g, y, x: dx[None]),
    wrong("backward None", tanh, lambda dx, g, y, x: None),
    wrong("one NaN", tanh, lambda dx, g, y, x: np.where(x < x.max(), dx, np.nan)),
)
FAR = wrong("twice where x > 5", cube(1.0), lambda dx, g, y, x: dx * (1 + (x > 5)))


def slopes(my, rng):
    """numeric slopes of softmax, tanh and sums, and of x^3 with h = 1/2"""
    x = rng.normal(size=(3, 5))
    for op in (tanh, softmax, row_sums):
        f = named(op.__name__, lambda x, op=op: op(x)[0])
        c = rng.normal(size=f(x).shape)
        my.near(1e-4).numeric_gradient(f, x, c)
    f = named("x^3", lambda x: x**3)
    my.near(1e-9).numeric_gradient(f, x, rng.normal(size=x.shape), 0.5)


def judged(my, rng):
    """right backwards are accepted, and wrong ones refused, by a c from rng"""
    own = np.random.default_rng(rng.integers(2**32))
    before = own.bit_generator.state
    for op in RIGHT * 3:
        my.is_right(op, rng.normal(size=(3, 5)), own)
    x = rng.normal(size=(3, 5))
    x[0, 0], x[1, 2] = 1e-4, 0.0  # gradients of 1e-8 and 0 beside those of 1
    my.is_right(cube(1.0), x, own)
    for op in WRONG:
        for size in ((3, 5), (3, 5), (7, 20)):
            my.is_right(op, rng.normal(size=size), own)
    for i in np.ndindex(3, 5):  # no c has a 0 where the gradient is wrong
        x[i] = 6.0
        my.is_right(FAR, x, own)
        x[i] = 0.0
    my.is_right(LARGEST, rng.normal(size=(30, 40)), own)
    text = "a c that is drawn from the argument rng", "that rng was not used"
    my.holds("is_right", own.bit_generator.state != before, *text, "own-generator")


HINTS = """
1  One entry at a time: copy x twice, move this entry up in one copy and down in the
   other. What remains is a sum over the outputs.
2  Draw c at random and pass the same c to backward and to numeric_gradient.
3  sum(c * (f(up) - f(down))) / (2 h) for every index of np.ndindex(x.shape). Require
   |yours - numeric| <= 1e-5 times the largest |numeric|, which is false for NaN.
"""
WHY = """A random c weights all outputs differently, so errors cannot cancel in a sum, as
they do with ones after a softmax. A tolerance relative to the largest gradient accepts
rounding at every size and refuses one part in a thousand."""
