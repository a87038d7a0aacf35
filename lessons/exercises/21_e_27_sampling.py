"""E.27  Sampling with temperature, top-k and top-p  ●●○○  30 min  needs E.2

A language model returns logits z, and the next token is drawn from the probabilities

    p_v = exp(z_v / T) / sum_u exp(z_u / T)

T is the temperature: a small one makes probable tokens more probable. A distribution
over thousands of tokens has a long tail, which together is likely, and a text seldom
recovers from one such token. Two ways cut the tail off; what is left is divided by its
sum:

    top-k   keep the k most probable tokens
    top-p   keep the most probable tokens, as few as have a sum of P or more

(Fan et al. 2018; Holtzman et al. 2020, "nucleus sampling".)
"""

import numpy as np


def probabilities(z, T):
    """Return the probabilities of the logits z, for the temperature T >= 0.

    z (V,)  ->  p (V,)

    T = 0 is the limit: all weight on the largest logit, on the first of equal ones.
    """
    if T == 0:
        return 1.0 * (np.arange(len(z)) == z.argmax())  #? Which tokens are left when T goes to 0, and which one of equal ones?
        #! return (z == z.max()) / (z == z.max()).sum()  | equal weights on all largest logits, for T = 0
    e = np.exp((z - z.max()) / T)  #? Where does T stand? exp(1e4) is larger than any float64: what may be subtracted?
    #! e = np.exp((z - z.max()) * T)  | probabilities with T z for z / T
    #! e = np.exp(z - z.max())  | probabilities with T = 1 for any T
    #! e = np.exp(z / T)  | infinity / infinity, where exp is larger than any float64
    return e / e.sum()  #? What do the probabilities sum to?


def top_k(p, k):
    """Return p with the k largest entries alone, divided by their sum.

    p (V,), k from 1; k may be larger than V  ->  q (V,)
    Of equal entries keep those of the smallest ids.
    """
    order = np.argsort(-p, kind="stable")  #? Which tokens come first? Which of two equal ones?
    #! order = np.argsort(p, kind="stable")[::-1]  | the largest entries, with the largest ids of equal ones
    #! order = np.argsort(p, kind="stable")  | the k smallest entries
    kept = np.zeros(len(p), bool)
    kept[order[:k]] = True  #? How many tokens stay?
    #! kept[:] = p >= p[order[min(k, len(p)) - 1]]  | more than k entries, where some are equal
    q = np.where(kept, p, 0.0)
    return q / q.sum()  #? What do the kept entries sum to?
    #! return q  | entries that are not divided by their sum


def top_p(p, P):
    """Return p with its nucleus alone, divided by its sum.

    p (V,), 0 < P <= 1  ->  q (V,)

    The nucleus are the largest entries, in their order, until their sum is P or more:
    a token is kept if the sum of those before it is less than P. Of equal entries the
    smallest ids come first.
    """
    order = np.argsort(-p, kind="stable")  #? The sum runs over the tokens in which order?
    #! order = np.arange(len(p))  | entries in the order of their ids
    total = p[order].cumsum()
    before = total - p[order]  #? Is the token kept that takes the sum across P?
    #! before = total  | a nucleus without the token that reaches P
    kept = np.zeros(len(p), bool)
    kept[order[before < P]] = True  #? Which sum is compared with P? Are the kept entries at the right ids again?
    #! kept[before < P] = True  | tokens at their ranks, not at their ids
    #! kept[:] = p > 1 - P  | all entries above 1 - P
    q = np.where(kept, p, 0.0)
    return q / q.sum()  #? What do the kept entries sum to?


def draw(p, u):
    """Return the token, an int, of a number u that is uniform in [0, 1).

    p (V,)

    Token v has the part of [0, 1) from p_0 + … + p_{v-1} to p_0 + … + p_v, without its
    end. If u lies above the sum of all p by a rounding error, take the last p_v > 0.
    """
    v = int((p.cumsum() <= u).sum())  #? How many sums lie at or below u?
    #! v = int((p.cumsum() < u).sum())  | the part of a token with its end, and not with its beginning
    #! v = int(p.argmax())  | the most probable token, whatever u is
    last = int(np.flatnonzero(p)[-1])  #? Which tokens can never be drawn?
    #! last = len(p) - 1  | a last token of probability 0, by a rounding error
    return min(v, last)


# ---- THE CHECK: each call my.f(…) is compared with the function f above


def some(rng, V=7):
    """Return probabilities (V,)."""
    return probabilities(3 * rng.normal(size=V), 1.0)


def temperatures(my, rng):
    """temperatures from 0 to 10, large logits, and equal ones"""
    z = 2 * rng.normal(size=7)
    for T in (1.0, 0.5, 3.0, 10.0, 0.0):
        my.probabilities(z, T)
    for T in (1.0, 0.01, 100.0, 0.0):
        my.probabilities(1e4 + z, T)
        my.probabilities(1e3 * z, T)
    z = np.array([1.0, 4.0, 4.0, -1.0])
    my.probabilities(z, 0.0)


def ranks(my, rng):
    """the k largest, k above V, and equal entries"""
    for k in (1, 3, 7, 20):
        my.top_k(some(rng), k)
    for k in (1, 2, 3, 4):
        my.top_k(np.array([0.1, 0.3, 0.3, 0.3]), k)


def nuclei(my, rng):
    """nuclei of several sizes, and of equal entries"""
    for P in (0.1, 0.5, 0.9, 0.99, 1.0):
        my.top_p(some(rng), P)
    for P in (0.25, 0.3, 0.5, 0.75, 1.0):
        my.top_p(np.array([0.125, 0.25, 0.375, 0.25]), P)
    my.top_p(np.array([0.0, 0.5, 0.0, 0.5]), 0.75)


def tokens(my, rng):
    """the token of a number, at the borders too"""
    p = np.array([0.0, 0.25, 0.5, 0.0, 0.25, 0.0])
    for u in (0.0, 0.2, 0.25, 0.5, 0.75, 0.9):
        my.draw(p, u)
    for u in rng.random(6):
        my.draw(some(rng), float(u))
    my.draw(np.array([0.7, 0.3 - 1e-9, 0.0]), 1 - 1e-12)


HINTS = """
top_p  Add up the sorted entries. Which sums decide about the third token?
1  np.argsort(-p, kind="stable") gives the ids, the most probable first, and of equal
   ones the smallest id first.
2  The sum before a token is the cumulative sum minus its own probability.
3  top_p keeps order[before < P]. draw counts the cumulative sums that are at most u, and
   takes at most the last id whose probability is not 0.
"""
WHY = """Temperature keeps the order of all tokens, and changes how far apart they are.
top-k and top-p change which tokens can be drawn at all: one by their number, the other by
their sum, so that a sure model has few candidates and an unsure one many."""
