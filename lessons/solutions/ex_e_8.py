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
    # BEGIN SOLUTION
    top = np.maximum(m, s.max(1))
    base = np.where(top == -np.inf, 0.0, top)  # no key yet
    shrink = np.exp(m - base)  # 0 for the first keys of a row
    p = np.exp(s - base[:, None])  # (L, n)
    z = shrink * z + p.sum(1)
    u = shrink[:, None] * u + p @ V
    return top, z, u
    # END SOLUTION


def finish(m, z, u):
    """Return o (L, Ev) and lse (L,) from m, z, u of all keys."""
    # BEGIN SOLUTION
    o = u / np.where(z == 0, 1.0, z)[:, None]
    return o, m + np.log(z)  # -inf where z is 0
    # END SOLUTION


def merge(o1, lse1, o2, lse2):
    """Return o (L, Ev) and lse (L,) over two sets of keys, from those over each set.

    o1, o2 (L, Ev), lse1, lse2 (L,); no key is in both sets. In this way several
    machines can share a long sequence.
    """
    # BEGIN SOLUTION
    high = np.maximum(lse1, lse2)
    base = np.where(high == -np.inf, 0.0, high)
    w1, w2 = np.exp(lse1 - base), np.exp(lse2 - base)
    both = w1 + w2
    share = np.where(both == 0, 1.0, both)
    o = (w1 / share)[:, None] * o1 + (w2 / share)[:, None] * o2
    return o, base + np.log(both)
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "exp(s - new) is exp(s - old) exp(old - new), so one factor for each row converts "
    "the stored sums to the new maximum. Sums that are relative to the same maximum "
    "can be added, whether they come from blocks or from machines."
)
