"""E.26  The induction score of a head  ●●○○  35 min  needs E.7

A text that repeats itself can be continued by copying: find where the present token
occurred before, and write the token that followed it. A head that looks there is an
induction head (Olsson et al. 2022):

    … key  query  … key  ?         at the second "key" it looks at "query"

No head can do this alone, because "query" has to know that "key" stood before it. Two
layers can: a head of the first tells each token its predecessor, and a head of the
second compares the present token with these predecessors. Measure such heads, and build
one without any training.
"""

import numpy as np


def after_earlier(ids):
    """Return which tokens k follow an earlier occurrence of token i: (n, n) bool.

    ids (n,)  ->  allowed (n, n), True at (i, k) if 1 <= k <= i and ids[k - 1] = ids[i]
    """
    n = len(ids)
    i, k = np.arange(n)[:, None], np.arange(n)
    before = np.concatenate([ids[:1], ids[:-1]])  #? Which token stands before token k?
    #! before = np.concatenate([ids[1:], ids[-1:]])  | the places before an earlier occurrence
    #! before = ids  | the earlier occurrences themselves
    same = ids[:, None] == before  #? Row i is the token that looks, column k the one that is looked at. Which two tokens are equal?
    return same & (k >= 1) & (k <= i)  #? Has token 0 a predecessor? May a token look at later ones?
    #! return same & (k >= 1)  | also places after the token that looks
    #! return same & (k <= i)  | also token 0, which follows nothing
    #! return same & (k >= 1) & (k < i)  | places before the token that looks, without itself


def induction_scores(p, ids):
    """Return the score of each head: its weight on tokens that follow an earlier one.

    p (H, n, n), ids (n,)  ->  scores (H,)

    The weights of a row on all such tokens are added, and the mean is over the rows
    that have such a token. Without any such row all scores are 0.
    """
    marked = after_earlier(ids)
    rows = marked.any(1)  #? Which tokens can look at such a place at all?
    #! rows = np.ones(len(ids), bool)  | the mean over all rows, also those without such a token
    on = (p * marked).sum(-1)  # (H, n)  #? Which weights of a row count? Is it their sum or their mean?
    #! on = (p * marked).sum(-1) / np.maximum(marked.sum(-1), 1)  | the mean weight of such a token, not the sum
    #! on = (p * marked).max(-1)  | the largest weight on such a token
    return on[:, rows].sum(1) / max(rows.sum(), 1)  #? Each head has its own mean. What is it without any row?
    #! return np.full(len(p), on[:, rows].mean())  | the mean of all heads


def previous_scores(p):
    """Return the mean weight (H,) on the token before, for p (H, n, n) without row 0."""
    return p[:, 1:].diagonal(axis1=1, axis2=2).mean(1)  #? Row i should look at column i - 1: which diagonal is that?
    #= return np.diagonal(p, -1, 1, 2).mean(1)
    #! return p.diagonal(axis1=1, axis2=2).mean(1)  | the mean weight on the token itself
    #! return p[:, :, 1:].diagonal(axis1=1, axis2=2).mean(1)  | the mean weight on the token after
    #! return p[:, 1:].diagonal(axis1=1, axis2=2).sum(1) / p.shape[1]  | the sum divided by n, though n - 1 rows have a token before


def two_heads(x, beta):
    """Return the weights of an induction head, built by hand, and what it predicts.

    x (n, V), one-hot rows, beta a number  ->  p (n, n), y (n, V)

    Layer 1: row i of ``before`` is x_{i-1}, and row 0 is zero.
    Layer 2: s_ik = beta x_i . before_k for the keys 0 <= k <= i; p is the softmax of the
    scores over these keys, and y = p x, the tokens that are looked at.
    """
    before = np.concatenate([np.zeros_like(x[:1]), x[:-1]])  #? Layer 1 tells each token its predecessor. What does token 0 get?
    #! before = np.concatenate([x[:1], x[:-1]])  | token 0 as its own predecessor
    #! before = x  | a head without the first layer, which finds the token itself
    s = beta * x @ before.T  #? The query is the present token, the key is what layer 1 told.
    #! s = beta * before @ x.T  | queries of predecessors, and keys of tokens
    s = np.where(np.tri(len(x), dtype=bool), s, -np.inf)  #? Which keys may token i see?
    p = np.exp(s - s.max(-1, keepdims=True))
    p = p / p.sum(-1, keepdims=True)  #? The weights of a row sum to 1: over which axis?
    return p, p @ x  #? The values are what is copied: the token that is looked at, or its predecessor?
    #! return p, p @ before  | the predecessors of the tokens that are looked at


# ---- THE CHECK: each call my.f(…) is compared with the function f above


def weights(rng, H, n):
    """Return causal weights (H, n, n) whose rows sum to 1."""
    p = np.tri(n) * rng.random((H, n, n))
    return p / p.sum(-1, keepdims=True)


def texts(rng):
    """Yield ids of some texts: repeated, random with few tokens, one token, without."""
    half = rng.permutation(11)[:7]
    yield np.concatenate([half, half])
    yield rng.integers(0, 4, 13)
    yield np.array([2, 2, 2, 2, 5])
    yield np.arange(5)
    yield np.array([3])


def places(my, rng):
    """which tokens follow an earlier occurrence"""
    for ids in texts(rng):
        my.after_earlier(ids)


def scores(my, rng):
    """scores of random heads"""
    for H, ids in zip((3, 2, 5, 3), texts(rng)):
        p = weights(rng, H, len(ids))
        my.induction_scores(p, ids)
        my.previous_scores(p)


def built(my, rng):
    """the weights and the prediction of the two heads, for beta 0, 3 and 20"""
    for ids in texts(rng):
        for beta in (0.0, 3.0, 20.0):
            my.two_heads(np.eye(12)[ids], beta)


HINTS = """
after_earlier  Write the rows for the ids 5 7 5: only the last has a mark. Where?
induction_scores  A row of weights sums to 1. Which part of this 1 lies on marked tokens?
two_heads  Write x and before for the tokens a b a. Which row of before equals x_2?
1  k follows an earlier occurrence of token i if the token before k equals token i:
   compare ids[i] with ids[k - 1].
2  The mean is over rows that have a marked token. The others cannot score.
3  before is x, moved down by one row. Layer 2: beta x before^T, masked by np.tri, then
   the softmax over the last axis, and its product with x.
"""
WHY = """The score of a head needs no training and no labels: the repetition says where
an induction head must look. The built head shows that two layers are enough, and why one
is not: the key of a token has to contain the token before it."""
