"""E.19  REINFORCE and its baseline  ●●●○  35 min  needs E.2

Hard attention chooses one key: j is drawn from p = softmax(e), and the loss is l_j. A
choice has no derivative. The expected loss J = sum_j p_j l_j has one, but it takes the
losses of all keys, and a model that chooses sees one. REINFORCE estimates it from one
draw:

    x_j = (l_j - b) (onehot_j - p)        if key j was drawn, with a number b

For every b the mean of x_j over all draws is the exact gradient of J by e. The baseline
b changes only the variance,

    V(b) = E |x - E x|^2 = sum_j p_j |x_j|^2 - |dJ/de|^2

which is summed over the entries of x. Derive the b with the smallest V.
"""

import numpy as np


def exact(e, l):
    """Return dJ/de (n,) for the scores e (n,) and the losses l (n,) of all keys."""
    p = _softmax(e)
    J = p @ l  #? Which number is the expected loss of one draw?
    #! J = l.mean()  | p (l - the mean of l)
    #! J = 0.0  | p l, without J
    return p * (l - J)  #? Each p_j depends on every score: dp_j / de_k = p_j (delta_jk - p_k).
    #! return l - J  | l - J, without p
    #! return p * (J - l)  | p (J - l), with the sign reversed
    #! return p * (1 - p) * l  | p (1 - p) l, the diagonal alone


def estimate(e, l_j, j, b):
    """Return x_j (n,), the estimate of dJ/de if key j was drawn and its loss is l_j."""
    onehot = np.arange(len(e)) == j
    x = onehot - _softmax(e)  #? Does only the score of the drawn key move, or do all?
    #! x = onehot * 1.0  | (l_j - b) onehot_j, without - p
    #! x = (onehot - _softmax(e)) * onehot  | (l_j - b) (1 - p_j) onehot_j
    #! x = _softmax(e) - onehot  | (l_j - b) (p - onehot_j)
    #! x = (onehot - _softmax(e)) * _softmax(e)[j]  | p_j (l_j - b) (onehot_j - p), weighted by p_j
    #! x = (onehot - _softmax(e)) / _softmax(e)[j]  | (l_j - b) (onehot_j - p) / p_j
    return (l_j - b) * x  #? What is the baseline subtracted from?
    #! return l_j * x  | l_j (onehot_j - p), without b
    #! return (l_j + b) * x  | (l_j + b) (onehot_j - p)
    #! return l_j * x - b  | l_j (onehot_j - p) - b


def variance(e, l, b):
    """Return V(b), over all draws: a number, computed without drawing."""
    p = _softmax(e)
    c = 1 - 2 * p + p @ p  #? What is |onehot_j - p|^2, over all entries? The estimate moves all scores.
    #! c = (1 - p) ** 2  | V of the entry of the drawn key alone
    squares = p @ ((l - b) ** 2 * c)  #? Each key j is drawn with the probability p_j. So which mean is E |x|^2?
    #! squares = ((l - b) ** 2 * c).mean()  | the mean of |x_j|^2 over the keys, not over the draws
    #! squares = ((l - b) ** 2 * c).sum()  | the sum of |x_j|^2 over the keys
    return squares - (exact(e, l) ** 2).sum()  #? A variance is the mean square, minus the square of which mean?
    #! return squares  | sum_j p_j |x_j|^2, without - |dJ/de|^2
    #! return (squares - (exact(e, l) ** 2).sum()) / len(e)  | V / n, the mean over the entries
    #! return (squares - (exact(e, l) ** 2).sum()) ** 0.5  | the square root of V


def best_baseline(e, l):
    """Return the b with the smallest variance."""
    p = _softmax(e)
    c = 1 - 2 * p + p @ p  #? Set the derivative of V(b) by b to 0. Which factor of l_j - b remains?
    #! c = np.ones(len(p))  | sum_j p_j l_j, the mean loss
    #! c = 1 / p  | the mean of the losses
    #! c = (1 - 2 * p + p @ p) / p  | sum c l / sum c, without p
    #! c = (1 - 2 * p + p @ p) ** 0.5  | c = |onehot - p| for its square
    #! c = (1 - p) ** 2  | c = (1 - p_j)^2, of the drawn key alone
    #! c = 1 - p  | c = 1 - p_j
    return p * c @ l / (p @ c)  #? V(b) is a parabola in b. Where is its lowest point?
    #! return p * c @ l  | sum p c l, not divided by sum p c


def _softmax(e):
    """Return the weights p (n,) of the scores e (n,)."""
    p = np.exp(e - e.max())
    return p / p.sum()


# ---- THE CHECK: each call my.f(…) is compared with the function f above


def draw(rng, n=5):
    return rng.normal(size=n), rng.uniform(1, 4, n)


def the_gradient(my, rng):
    """the exact gradient, for 5, 2 and 7 keys"""
    for n in (5, 2, 7):
        my.exact(*draw(rng, n))


def each_draw(my, rng):
    """the estimate of each draw"""
    e, l = draw(rng)
    for j, b in ((0, 1.7), (1, 0.0), (2, 1.7), (3, -7.0), (4, 1.7)):
        my.estimate(e, l[j], j, b)


def of_all_draws(my, rng):
    """the variance over all draws"""
    e, l = draw(rng)
    for b in (0.0, 2.5, -1.0):
        my.variance(e, l, b)


def the_smallest(my, rng):
    """the baseline with the smallest variance"""
    for n in (5, 7):
        my.best_baseline(*draw(rng, n))


def ends(my, rng):
    """equal losses, and large scores"""
    my.best_baseline(rng.normal(size=5), np.full(5, 3.0))
    e, l = 1000 + rng.normal(size=5), rng.uniform(1, 4, 5)
    my.exact(e, l)
    my.near(1e-8).variance(e, l, 0.5)


HINTS = """
exact  dp_j / de_k = p_j (delta_jk - p_k). Multiply by l_j and sum over j.
estimate  d ln p_j / de has an entry for each key, not only for the drawn one.
variance  Each key j is drawn with the probability p_j. So the mean is a sum.
best_baseline  Which losses count more, those of rare or of frequent draws?
1  |onehot_j - p|^2 = 1 - 2 p_j + sum_k p_k^2. Call it c_j.
2  V(b) = sum_j p_j (l_j - b)^2 c_j - |dJ/de|^2, and only the first term depends on b.
3  dJ/de = p (l - J). The best b is sum_j p_j c_j l_j / sum_j p_j c_j.
"""
WHY = """sum_j p_j (onehot_j - p) = 0, so a b that does not depend on the draw adds nothing
on average. V(b) is a parabola in b: its derivative -2 sum_j p_j c_j (l_j - b) is 0 where b
is the mean of the losses with the weights p_j c_j, c_j = |onehot_j - p|^2."""
