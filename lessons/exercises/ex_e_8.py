"""E.8  The online softmax  ●●○○  35 min  needs E.7

Online softmax computes attention over one block of keys after the other. For each row
it stores the largest score so far, the sum of exponentials relative to it, and the sum
of values with these exponentials as weights:

    m = max_j s_j        z = sum_j exp(s_j - m)        u = sum_j exp(s_j - m) v_j

When a block contains a larger score, the stored sums are relative to the old maximum
and must be rescaled. At the end o = u / z and lse = m + ln z. The matrix of all weights
is never stored. A score of -inf is a masked key; a row without keys has o = 0, lse =
-inf.
"""

import numpy as np

from lessons import NotWritten


def online_attention(s, V, block):
    """Return o (L, Ev) and lse (L,) for scores s (L, S) and values V (S, Ev)."""
    L, S = s.shape
    m, z, u = np.full(L, -np.inf), np.zeros(L), np.zeros((L, V.shape[1]))
    for j in range(0, S, block):
        m, z, u = update(m, z, u, s[:, j : j + block], V[j : j + block])
    return finish(m, z, u)


def update(m, z, u, s, V):
    """Return m, z, u after one more block of keys.

    The given m, z and u may be overwritten; no later code reads them. s and V may not.
    m (L,), z (L,), u (L, Ev) for the keys before; s (L, n), V (n, Ev) of the new keys
    """
    raise NotWritten("E.8 update")


def finish(m, z, u):
    """Return o (L, Ev) and lse (L,) from m, z, u of all keys."""
    raise NotWritten("E.8 finish")


def merge(o1, lse1, o2, lse2):
    """Return o (L, Ev) and lse (L,) over two sets of keys, from those over each set.

    o1, o2 (L, Ev), lse1, lse2 (L,); no key is in both sets. In this way several
    machines can share a long sequence.
    """
    raise NotWritten("E.8 merge")
