"""E.8  The online softmax  ●●○○  35 min  needs E.7

Attention over the keys a block at a time: what a row needs to remember is the largest
score so far, the sum of exponentials relative to it, and the sum of values so weighted.

    m = max_j s_j        z = sum_j exp(s_j - m)        u = sum_j exp(s_j - m) v_j

When a larger score turns up, what was summed is relative to the wrong number and has to
be rescaled. In the end o = u / z and lse = m + ln z. No matrix of all weights is ever
there. Scores of -inf are masked keys; a row without any key has o = 0 and lse = -inf.
"""

import numpy as np

from lessons import NotWritten


def online_attention(s, V, block):
    """o (L, Ev) and lse (L,) for the scores s (L, S) and the values V (S, Ev)."""
    L, S = s.shape
    m, z, u = np.full(L, -np.inf), np.zeros(L), np.zeros((L, V.shape[1]))
    for j in range(0, S, block):
        m, z, u = update(m, z, u, s[:, j : j + block], V[j : j + block])
    return finish(m, z, u)


def update(m, z, u, s, V):
    """m, z, u after one more block of keys.

    m (L,), z (L,), u (L, Ev) of the keys before; s (L, n), V (n, Ev) of the new ones
    """
    raise NotWritten("E.8 update")


def finish(m, z, u):
    """o (L, Ev) and lse (L,) when all keys have been seen."""
    raise NotWritten("E.8 finish")


def merge(o1, lse1, o2, lse2):
    """o (L, Ev) and lse (L,) over two sets of keys, from those over each.

    o1, o2 (L, Ev), lse1, lse2 (L,); the sets have no key in common. So a sequence can
    be split between machines.
    """
    raise NotWritten("E.8 merge")
