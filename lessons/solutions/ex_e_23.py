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


def latent_rows(x, start, W_d, W_r):
    """Return the rows [c; r] (L, R + F) of new tokens x (L, D), to be cached.

    c = RMSNorm(W_d x), r = rope(W_r x);  W_d (R, D), W_r (F, D)

    start   the number of tokens before them, so their positions are start, start + 1, …
    """
    # BEGIN SOLUTION
    positions = start + np.arange(len(x))
    return np.concatenate([_rms_norm(x @ W_d.T), _rope(x @ W_r.T, positions)], axis=1)
    # END SOLUTION


def weights(s):
    """Return p (H, L, S), the softmax of scores s (H, L, S) over the tokens it reads."""
    # BEGIN SOLUTION
    L, S = s.shape[1:]
    s = np.where(np.tri(L, S, S - L, dtype=bool), s, -np.inf)  # j <= S - L + i
    p = np.exp(s - s.max(2, keepdims=True))
    return p / p.sum(2, keepdims=True)
    # END SOLUTION


def expanded(q, u, cache, W_k, W_v):
    """Return o (H, L, Ev), from the keys and values of all tokens and heads.

    q (H, L, E), u (H, L, F), cache (S, R + F), W_k (H, E, R), W_v (H, Ev, R)
    """
    # BEGIN SOLUTION
    c, r = np.split(cache, [W_k.shape[2]], axis=1)
    k, v = c @ W_k.swapaxes(1, 2), c @ W_v.swapaxes(1, 2)  # (H, S, E), (H, S, Ev)
    scale = (q.shape[2] + u.shape[2]) ** -0.5
    return weights(scale * (q @ k.swapaxes(1, 2) + u @ r.T)) @ v
    # END SOLUTION


def absorbed(q, u, cache, W_k, W_v):
    """Return the same o (H, L, Ev), with no array of S keys or values of a head."""
    # BEGIN SOLUTION
    queries = np.concatenate([q @ W_k, u], axis=2)  # W_k^T q_i and u_i: (H, L, R + F)
    scale = (q.shape[2] + u.shape[2]) ** -0.5
    averages = weights(scale * (queries @ cache.T)) @ cache[:, : W_k.shape[2]]
    return averages @ W_v.swapaxes(1, 2)
    # END SOLUTION


def products(L, S, H, E, R, F, is_absorbed):
    """Return how many multiplications a form needs, of all products, with Ev = E.

    L queries and S tokens: count the products of every query with every token. Do not
    count the scale and the softmax.
    """
    # BEGIN SOLUTION
    if is_absorbed:
        return 2 * L * H * E * R + L * S * H * (R + F + R)
    return 2 * S * H * E * R + L * S * H * (E + F + E)
    # END SOLUTION


def _rms_norm(c):
    """Return the rows c (L, R), each divided by the root of its mean square."""
    return c / np.sqrt((c**2).mean(1, keepdims=True) + 1e-6)


def _rope(r, positions):
    """Return the rows r (L, F), F even, rotated by their positions (L,)."""
    angle = np.outer(positions, 10000.0 ** (-np.arange(0, r.shape[1], 2) / r.shape[1]))
    turned = (r[:, 0::2] + 1j * r[:, 1::2]) * np.exp(1j * angle)
    return np.stack([turned.real, turned.imag], axis=2).reshape(r.shape)


# FOR THE CHECK

WHY = (
    "q . W_k c = (W_k^T q) . c, and an average of W_v c_j is W_v times that of the c_j: "
    "a matrix is applied to each query, and not to each of the many tokens of a cache. "
    "Training has as many queries as tokens, and there the expanded form needs less, "
    "because keys of E numbers are shorter than rows of the cache."
)

MUTANTS = [
    ("        return 2 * L * H * E * R + L * S * H * (R + F + R)",
     "        return 2 * S * H * E * R + L * S * H * (E + F + E)", "other-form"),
    ("2 * S * H * E * R + L * S * H * (E + F + E)",
     "S * H * E * R + L * S * H * (E + F + E)", "no-term"),
    ("L * S * H * (R + F + R)", "L * S * H * (R + F + E)", "widths"),
    ("averages = weights(scale * (queries @ cache.T)) @ cache[:, : W_k.shape[2]]\n"
     "    return averages @ W_v.swapaxes(1, 2)",
     "c = cache[:, : W_k.shape[2]]\n"
     "    return weights(scale * (queries @ cache.T)) @ (c @ W_v.swapaxes(1, 2))",
     "expands"),
]  # fmt: skip
