"""E.7  Masked softmax, and its backward  ●●○○  30 min  needs E.2

A mask defines which keys a query may attend to: True = may attend. The softmax is taken
over these keys only:

    y_i = exp(x_i) / sum_j exp(x_j)     over the allowed j;   y_i = 0 where not allowed

A masked key has weight 0 and gradient 0, exactly, also if its own score or an allowed
score of its row is NaN. A NaN in an allowed score is not hidden: the weights of the
allowed keys of its row, and lse, are NaN. A row without an allowed key has weights 0
and gradient 0. The number

    lse = ln sum_j exp(x_j)             over the allowed j;   -inf if there are none

is what tiled attention stores for each row. It has its own backward.
"""

import numpy as np


def masked_softmax(x, mask):
    """Return the weights y (…, n) for the scores x (…, n) and the mask (…, n) bool.

    The softmax is over the last axis.
    ->  y, backward;  backward(g) returns dL/dx for g = dL/dy
    """
    s = np.where(mask, x, -np.inf)  #? Which score has a weight of 0? Is each NaN still there?
    #! s = np.where(mask, np.nan_to_num(x), -np.inf)  | the weights with 0 for a NaN, which is hidden
    top = s.max(-1, keepdims=True)  #? Over which scores is the maximum, to keep exp in range?
    #! top = s.max()  | the weights with the largest allowed score of all rows
    top = np.where(np.isfinite(top), top, 0.0)  #? What is -inf - (-inf), and NaN - NaN?
    #! top = np.where(top == -np.inf, 0.0, top)  | NaN for masked keys beside an allowed NaN
    e = np.exp(s - top)  #? exp(1e4) is larger than any float64. Which m in exp(x - m) helps?
    #! e = np.exp(s)  | infinity / infinity, where exp is larger than any float64
    #! e = np.exp(np.minimum(s, 700.0))  | exp(min(x, 700)) / its sum
    total = e.sum(-1, keepdims=True)
    y = e / np.where(mask, total, 1.0)  #? Which keys are in the sum, and what if there are none?
    #! y = (e := np.where(mask, 0.0, np.exp(x))) / e.sum(-1, keepdims=True)  | the softmax over the keys that are not allowed
    #! y = (e := np.exp(x * mask)) / e.sum(-1, keepdims=True)  | the softmax of x * mask over all keys
    #! y = mask * (e := np.exp(x - x.max(-1, keepdims=True))) / e.sum(-1, keepdims=True)  | the softmax over all keys, set to 0 where masked
    #! y = np.where(mask, x, 0.0) / np.where(mask, x, 0.0).sum(-1, keepdims=True)  | x, not exp(x), divided by its sum over the allowed keys
    #! y = (e := np.exp(s - x.max(-1, keepdims=True))) / np.where((t := e.sum(-1, keepdims=True)) == 0, 1.0, t)  | exp(x - the largest of all) / its sum, 0 if that is 0
    #! y = (e := np.exp(s - np.where(mask, x, 0.0).max(-1, keepdims=True))) / np.where((t := e.sum(-1, keepdims=True)) == 0, 1.0, t)  | the weights with masked scores of 0 in the maximum
    #! y = (e := np.exp(s - s.max())) / np.maximum(e.sum(-1, keepdims=True), 1e-300)  | the weights with the largest allowed score of all rows
    #! y = np.nan_to_num(np.exp(s) / np.exp(s).sum(-1, keepdims=True))  | 0 for infinity / infinity, where exp is larger than any float64
    #! y = e / np.where(mask.any(-1, keepdims=True), total, 1.0) + ~mask.any(-1, keepdims=True) / x.shape[-1]  | equal weights, 1 / n, in a row without an allowed key
    #! y = np.exp((t := np.where(mask.any(-1, keepdims=True), s, x)) - t.max(-1, keepdims=True)) / np.exp(t - t.max(-1, keepdims=True)).sum(-1, keepdims=True)  | the softmax over all keys in a row without an allowed key
    #! y = (e := np.exp((t := np.where(mask, x, -1e9)) - t.max(-1, keepdims=True))) / e.sum(-1, keepdims=True)  | the weights with -1e9 for masked scores, which is not below every allowed score
    #! y = e / np.where(total == 0, 1.0, total)  | NaN for masked keys beside an allowed NaN

    def backward(g):
        centre = np.where(mask, (g * y).sum(-1, keepdims=True), 0.0)  #? What does 0 * NaN give?
        #! centre = (g * y).sum(-1, keepdims=True)  | NaN for masked keys beside an allowed NaN
        #! centre = (mask * g).mean(-1, keepdims=True)  | y (g - mean(g)), the mean of g with 0 where masked
        #! centre = (mask * g).sum(-1, keepdims=True) / mask.sum(-1, keepdims=True)  | y (g - mean(g)), the mean over the allowed keys
        return y * (g - centre)  #? The softmax of E.2, over the allowed keys: what is its gradient?
        #! return np.where(mask, g, 0.0)  | g where allowed
        #! return (p := (e := np.exp(x - x.max(-1, keepdims=True))) / e.sum(-1, keepdims=True)) * (g - (p * g).sum(-1, keepdims=True))  | the gradient of the softmax over all keys
        #! return mask * (p := (e := np.exp(x - x.max(-1, keepdims=True))) / e.sum(-1, keepdims=True)) * (g - (p * g).sum(-1, keepdims=True))  | the gradient of the softmax over all keys, 0 where masked

    return y, backward


def masked_lse(x, mask):
    """Return lse (…) over the last axis of the scores x (…, n); the mask is like x.

    ->  lse, backward;  backward(g) returns dL/dx (…, n) for g = dL/dlse (…)
    """
    y, _ = masked_softmax(x, mask)
    s = np.where(mask, x, -np.inf)  #? Which score adds 0 to the sum, and what is ln 0?
    #! s = np.where(mask, x, -1e9)  | lse with masked scores of -1e9
    highest = s.max(-1)  #? Over which scores is the maximum, to keep exp in range?
    base = np.where(highest == -np.inf, 0.0, highest)  #? What is -inf - (-inf)?
    #! base = highest  | -inf - (-inf), which is NaN, in a row without an allowed key
    total = np.exp(s - base[..., None]).sum(-1)  #? Which keys are in the sum?
    #! total = np.exp(x * mask - base[..., None]).sum(-1)  | the log of a sum with masked scores of 0
    #! total = np.exp(s - base[..., None]).sum(-1) / mask.sum(-1)  | the log of a mean over the allowed keys
    lse = base + np.log(total)  #? ln sum exp(x) = m + ln sum exp(x - m), for every m.
    #! lse = base + np.log10(total)  | m + log10 sum exp(x - m)
    #! lse = np.log(total) - base  | ln sum exp(x - m) - m: the maximum is subtracted
    #! lse = np.where(mask.any(-1), base + np.log(total), 0.0)  | lse with 0 in a row without an allowed key
    #! lse = np.where(mask, x, 0.0).sum(-1)  | the sum of the allowed scores
    #! lse = (y * np.where(mask, x, 0.0)).sum(-1)  | sum y x, the average of the scores

    def backward(g):
        return y * g[..., None]  #? How much does ln sum_j exp(x_j) grow when x_i grows?
        #! return np.exp(s - base[..., None]) * g[..., None]  | g exp(x - m), not divided by the sum
        #! return np.where(mask, x, 0.0) * g[..., None]  | g x
        #! return (y - 1) * g[..., None]  | g (y - 1)
        #! return y * (1 - y) * g[..., None]  | g y (1 - y)
        #! return np.exp(s) * g[..., None]  | g exp(x)

    return lse, backward


# ---- THE CHECK: each call my.f(…) is compared with the function f above


def a_mask(rng, shape):
    """Return a random mask with True and False in every row."""
    mask = np.arange(shape[-1]) < rng.integers(1, shape[-1], (*shape[:-1], 1))
    return rng.permuted(mask, axis=-1)


def both(my, x, mask):
    my.masked_softmax(x, mask)
    my.near(0).masked_lse(x, mask)


def weights(my, rng):
    """weights and lse of random masks"""
    for shape in ((3, 5, 7), (5, 5), (2, 7)):
        x, mask = rng.normal(size=shape), a_mask(rng, shape)
        both(my, x, mask)
        leak = np.abs(my.only.masked_softmax(x, mask)[0][~mask]).max()
        text = "a weight of exactly 0 wherever the mask is False", f"up to {leak:.3g}"
        my.holds("masked_softmax", leak == 0, *text, "mask-leak")


def far_from_0(my, rng):
    """masked scores of 742, 1e4 and -1e4, and allowed ones of 1e4, -1e4 and -1e10"""
    x, mask = rng.normal(size=(5, 7)), a_mask(rng, (5, 7))
    # exp(x - 742) has one or two digits
    for allowed, masked in ((0, 742), (0, 1e4), (0, -1e4), (1e4, 1e4), (-1e4, -1e4)):
        both(my, x + np.where(mask, allowed, masked), mask)
    my.masked_softmax(x - 1e10, mask)
    my.near(1e-5).masked_lse(x - 1e10, mask)  # exp(x - lse) is right, with few digits


def empty_rows_and_nan(my, rng):
    """rows without an allowed key, NaN and infinity in masked and in allowed scores"""
    x = np.array([rng.normal(size=3), [np.nan] * 3])
    both(my, x, np.isfinite(x))
    x = np.array([[1e4, 1e4 - np.log(3), -1e4], [np.nan, 1.0, np.inf], [0.0, 0.0, -np.inf]])
    both(my, x, np.array([[True, True, True], [False, True, False], [True, True, False]]))
    x = np.array([[np.nan, 1.0, 2.0, 3.0], [0.0, 0.0, 5.0, np.nan], [np.nan, 1.0, 2.0, np.nan]])
    both(my, x, np.arange(4) < np.array([[3], [2], [3]]))


HINTS = """
1  Which number can replace a masked score, so that its exp is exactly 0?
2  In a row without an allowed key the maximum is -inf, and -inf - (-inf) is NaN: subtract
   another number there, and divide by another number.
3  Take np.where(mask, x, -np.inf) and its maximum, replace a maximum of -inf by 0, take
   exp of the difference and divide it by its sum, or by 1 where the key is masked. The
   backward is that of E.2, computed from y; that of lse is y times g.
"""
WHY = """A masked score is left out of the maximum, the sum and the gradient, so no value of
it can reach a result. 0 times NaN or infinity is NaN, so the mask selects before the
exponential; a multiplication after it is too late."""
