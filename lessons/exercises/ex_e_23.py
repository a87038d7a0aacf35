"""E.23  MLA absorbed  ●●●○  40 min  needs E.7

A cache of keys and values has 2 H E numbers for each token. Latent attention (MLA)
caches one row of R + F numbers, [c_j; r_j], for all heads. Each head makes its keys and
values from c_j, and r_j carries the position:

    k_j = W_k c_j (E,),   v_j = W_v c_j (Ev,)              of each head
    s_ij = (q_i . k_j + u_i . r_j) / sqrt(E + F)
    o_i = sum_j p_ij v_j,   p_i = softmax(s_i)

u_i and r_j are rotated by the positions of their tokens. This is the expanded form. In
the absorbed form no key and no value is computed. q_i . W_k c_j is the product of c_j
with another vector, which is the same for all j: find it, and do the same for values.
The numbers stay what they are. (A rotation between W_k and c_j would depend on i and j.
This is why positions have a part of their own.)

The queries are the last L of S tokens. Each reads itself and all tokens before it.
"""

import numpy as np

from lessons import NotWritten


def latent_rows(x, start, W_d, W_r):
    """Return the rows [c; r] (L, R + F) of new tokens x (L, D), to be cached.

    c = RMSNorm(W_d x), r = rope(W_r x);  W_d (R, D), W_r (F, D)

    start   the number of tokens before them, so their positions are start, start + 1, …
    """
    raise NotWritten("E.23 latent_rows")


def weights(s):
    """Return p (H, L, S), the softmax of scores s (H, L, S) over the tokens it reads."""
    raise NotWritten("E.23 weights")


def expanded(q, u, cache, W_k, W_v):
    """Return o (H, L, Ev), from the keys and values of all tokens and heads.

    q (H, L, E), u (H, L, F), cache (S, R + F), W_k (H, E, R), W_v (H, Ev, R)
    """
    raise NotWritten("E.23 expanded")


def absorbed(q, u, cache, W_k, W_v):
    """Return the same o (H, L, Ev), with no array of S keys or values of a head."""
    raise NotWritten("E.23 absorbed")


def products(L, S, H, E, R, F, is_absorbed):
    """Return how many multiplications a form needs, of all products, with Ev = E.

    L queries and S tokens: count the products of every query with every token. Do not
    count the scale and the softmax.
    """
    raise NotWritten("E.23 products")


def _rms_norm(c):
    """Return the rows c (L, R), each divided by the root of its mean square."""
    return c / np.sqrt((c**2).mean(1, keepdims=True) + 1e-6)


def _rope(r, positions):
    """Return the rows r (L, F), F even, rotated by their positions (L,)."""
    angle = np.outer(positions, 10000.0 ** (-np.arange(0, r.shape[1], 2) / r.shape[1]))
    turned = (r[:, 0::2] + 1j * r[:, 1::2]) * np.exp(1j * angle)
    return np.stack([turned.real, turned.imag], axis=2).reshape(r.shape)
