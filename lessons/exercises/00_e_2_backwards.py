"""E.2  The backward of tanh, matmul and softmax  ●●○○  35 min

Each function returns its output y and its backward. The backward is a function of
g = dL/dy and returns dL/d(input): one array for one input, a tuple for several inputs.
The forward is given. The backward may use all variables of the forward.
"""

import numpy as np


def tanh(x):
    """Return y = tanh(x) elementwise and its backward; dy/dx = 1 - tanh(x)^2."""
    y = np.tanh(x)

    def backward(g):
        return g * (1 - y * y)  #? Does the derivative of tanh contain x or y?
        #! return g * (1 - x * x)  | g * (1 - x * x)
        #! return g * y * (1 - y)  | g * y * (1 - y), of a sigmoid
        #! return g / np.cosh(x)  | g / cosh(x), without the square
        #! return g * y * (1 - y * y)  | g * y * (1 - y * y)
        #! return g * (1 - np.tanh(y) ** 2)  | g * (1 - tanh(y)^2)
        #= return g / np.cosh(x) ** 2

    return y, backward


def matmul(a, b):
    """Return y = a @ b and its backward; backward(g) returns (da, db).

    a (n, k), b (k, m), y (n, m)
    """
    y = a @ b

    def backward(g):
        da = g @ b.T  #? In which entries of y is a_ik, and what multiplies it there?
        db = a.T @ g  #? In which entries of y is b_kj, and what multiplies it there?
        return da, db

    return y, backward


def softmax(x):
    """Return y_i = exp(x_i) / sum_j exp(x_j), over the last axis of x (…, n).

    The Jacobian of a row is dy_i/dx_k = y_i (delta_ik - y_k). Do not build it: the
    backward needs memory for a few arrays like x.
    """
    e = np.exp(x - x.max(-1, keepdims=True))
    y = e / e.sum(-1, keepdims=True)

    def backward(g):
        centre = (g * y).sum(-1, keepdims=True)  #? What is sum_i g_i y_i, for one row?
        #! centre = g.mean(-1, keepdims=True)  | y (g - mean(g)), the mean without weights
        #! centre = y * g.sum(-1, keepdims=True)  | y g - y^2 sum(g), with g for g_i in the sum
        return y * (g - centre)  #? dy_i/dx_k has two terms: which factor do both have?
        #! return y * g - centre  | y g - sum(y g), without y in the second term
        #! return x * (g - (g * x).sum(-1, keepdims=True))  | x (g - sum(x g)), with x for y

    return y, backward


def log_softmax(x):
    """Return y = x - ln sum exp(x) along the last axis of x (…, n), and its backward.

    These are the logarithms of the softmax, which the cross-entropy needs. Derive
    dy_i/dx_k first. The backward needs memory for a few arrays like x.
    """
    top = x.max(-1, keepdims=True)
    y = x - top - np.log(np.exp(x - top).sum(-1, keepdims=True))

    def backward(g):
        p = np.exp(y)  #? Which function of the logarithm y is the softmax?
        #! p = np.exp(x - top)  | g - exp(x - max x) sum(g), exponents that are not divided
        return g - p * g.sum(-1, keepdims=True)  #? p_k is the same for all i. What is sum_i g_i p_k?
        #! return g - (p * g).sum(-1, keepdims=True)  | g - sum(p g)
        #! return p * (g - (p * g).sum(-1, keepdims=True))  | p (g - sum(p g)), of the softmax
        #! return y * (g - (y * g).sum(-1, keepdims=True))  | y (g - sum(y g)), with y for p
        #! return g - p * (p * g).sum(-1, keepdims=True)  | g - p sum(p g)
        #! return g - p * (y * g).sum(-1, keepdims=True)  | g - p sum(y g)
        #! return p * (g - g.sum(-1, keepdims=True))  | p (g - sum(g))
        #! return g / p  | g / p

    return y, backward


# ---- THE CHECK: each call my.f(…) is compared with the function f above

from lessons.course.measure import peak_numbers  # noqa: E402


def of_tanh(my, rng):
    """tanh"""
    my.tanh(rng.normal(size=(3, 5)))


def of_matmul(my, rng):
    """matmul"""
    for n, k, m in ((3, 5, 7), (3, 3, 3)):
        my.matmul(rng.normal(size=(n, k)), rng.normal(size=(k, m)))


def of_softmax(my, rng):
    """softmax"""
    for shape in ((3, 5), (2, 3, 5)):
        my.softmax(rng.normal(size=shape))


def of_log_softmax(my, rng):
    """log_softmax"""
    for shape in ((3, 5), (2, 3, 5), (5,)):
        my.log_softmax(rng.normal(size=shape))


def without_jacobian(my, rng):
    """memory, for a row of 500 scores"""
    x, g = rng.normal(size=(2, 1, 500))
    for name in ("softmax", "log_softmax"):
        numbers = peak_numbers(getattr(my, name)(x)[1], g)
        expected = "a few rows of 500 numbers in memory, not a Jacobian of 250,000"
        my.holds(name, numbers < 500 * 100, expected, f"{numbers:.0f} numbers", "jacobian")


def large_and_alone(my, rng):
    """a score of 1e4, and a row of one score"""
    for x in (np.array([[1e4, 0.0, -1e4]]), np.array([[3.0]])):
        my.softmax(x)


HINTS = """
tanh  dy/dx = 1 - tanh(x)^2: which variable of the forward is tanh(x)?
matmul  Which entries of y contain a_ik, and which number multiplies it in each?
softmax  Which outputs of its row does one score x_k change? One of them is special.
log_softmax  y_i = x_i - ln sum_j exp(x_j): what is dy_i/dx_k, and over which i is the
   sum?
jacobian  Write sum_i g_i dy_i/dx_k for one k: a sum over i and a term of k are left,
   and no matrix.
1  Start with one entry: how much does L change if x_k changes a little?
2  For matmul, write y_ij = sum_k a_ik b_kj and sum g_ij dy_ij/da_ik over i and j. The
   shapes allow only one product.
3  For softmax: sum_i g_i y_i (delta_ik - y_k) has two terms, and y_k is a factor of
   both.
"""
WHY = """Each backward is g times the derivative, summed over all outputs that an input
influences: one output for tanh, a row or a column for matmul, the whole row for softmax.
In the softmax this sum is y (g - sum_i g_i y_i), one number for each row in place of a
Jacobian."""
