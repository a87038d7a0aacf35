"""Gated linear attention: a decay for each row of the state, computed from the token.

    S_t = diag(a_t) S_(t-1) + k_t v_t^T,    o_t = S_t^T q_t        a_t (E,)

This is decay.py with a number a_te for each coordinate of the keys, so that the state
can keep one coordinate for long and forget another. In Yang et al. it is near 1: a_t is
sigmoid(W x_t)^(1 / 16), so log_decay is log_sigmoid(W x_t) / 16. As attention of pairs,

    o_i = sum_(j <= i) (sum_e q_ie k_je M_ije) v_j        M_ije = a_(j+1)e ... a_ie

M has E numbers for each pair, too many to compute. With c_i = ln a_1 + ... + ln a_i,
the sum over e is the product of q_i exp(c_i) and k_j exp(-c_j); but exp(-c_j) overflows
in float32 after some hundred tokens.

**Halves.** Take a block of 2h tokens, with i in its later half and j in the earlier
one, which ends with the token m. Then

    M_ij = f_i l_j        f_i = a_(m+1) ... a_i,    l_j = a_(j+1) ... a_m

are two products of numbers from 0 to 1: nothing overflows, and nothing is divided. So
the pairs of such a block are one product of matrices, (q f) (k l)^T. Blocks of 2, 4,
..., C tokens contain each pair of a chunk once, except j = i, which needs no a. Between
chunks a state is passed, with the same f and l:

    O += (q f) S,        S <- diag(f_C) S + (k l)^T V

**Backward.** As in decay.py, the gradients are scans. S_t^T is the state of keys v_t
and values k_t, and its *columns* decay. So ``scan`` has two decays, of rows and of
columns:

    S_t = diag(a_t) S_(t-1) diag(b_t) + k_t v_t^T

The numbers a_te of coordinate e meet q_ie and k_je only, so

    dL/d ln a_te = sum_(s >= t) (q_se dq'_se - k_se dk'_se)

where dq' and dk' are without the pairs of a token with itself, as in decay.py.

Yang et al. 2024, "Gated linear attention transformers".
"""

import numpy as np

from minigrad import differentiable
from minigrad.shapes import shapes

from ..kernels.linear import CHUNK
from .decay import (
    broadcast_rows, dots, first_state, leading_axes, row_products,
    summed_from_the_end, through_the_state, transposed,
)  # fmt: skip


@shapes
@differentiable
def gated_linear_attention(q, k, v, log_decay, state=None, *, needs=(True,) * 5):
    """S_t = diag(a_t) S_(t-1) + k_t v_t^T,  o_t = S_t^T q_t,  a_t = exp(log_decay_t)

    q (..., L, E), k (..., L, E), v (..., L, Ev), log_decay (..., L, E),
    state? (..., E, Ev)  ->  o (..., L, Ev), state (..., E, Ev)

    log_decay   ln a_t, 0 or less
    state       S_0, the result of an earlier call; None is 0. The new state is S_L

    Nothing is divided: divide q by sqrt(E), and normalise o of each head.
    """
    leading = leading_axes(q, k, v, log_decay, state)
    a = np.exp(broadcast_rows(log_decay, leading, q.shape[-2]))
    one = np.ones_like(a[..., :1])
    S_0 = first_state(state, leading, k, v)
    o, S = scan(q, k, v, a, one, S_0)

    def backward(gradients):
        g, R = gradients
        own, zero = dots(v, g)[..., None], np.zeros_like(transposed(R))
        dq, _ = scan(g, v, k, one, a, transposed(S_0), own=False)
        dk, _ = scan(v, g, q, one, a, zero, reverse=True, own=False)
        dv, dS_0 = scan(k, q, g, a, one, R, reverse=True)
        dk_S, dlog_S = through_the_state(k, v, a, S_0, R)
        dc = q * dq - k * dk  # (..., L, E)
        dlog = transposed(summed_from_the_end(transposed(dc))) + dlog_S
        return (dq + own * k, dk + own * q + dk_S, dv, dlog, dS_0)[: len(needs)]

    return (o, S), backward


def scan(q, k, v, a, b, S, chunk=CHUNK, reverse=False, own=True):
    """S_t = diag(a_t) S_(t-1) diag(b_t) + k_t v_t^T, o_t = S_t^T q_t: return o and S_L.

    a         (..., L, E) or (..., L, 1), the decay of the rows of S
    b         (..., L, Ev) or (..., L, 1), the decay of its columns
    chunk     C, a power of 2
    reverse, own   as in ``scan`` of decay.py
    """
    L = q.shape[-2]
    q, k, v = (_padded(x, 0, chunk) for x in (q, k, v))
    a, b = (_padded(x, 1, chunk) for x in (a, b))
    o = np.zeros((*S.shape[:-2], *v.shape[-2:]), S.dtype)
    if own:
        o += (q * k).sum(-1, keepdims=True) * v  # j = i
    h = 1
    while h < chunk:
        _add_pairs(o, q, k, v, a, b, h, reverse)
        h = 2 * h
    starts = range(0, o.shape[-2], chunk)
    for i in reversed(starts) if reverse else starts:
        rows = np.s_[..., i : i + chunk, :]
        (f, l), (f_o, l_v) = row_products(a[rows]), row_products(b[rows])
        all_a, all_b = f[..., -1:, :], f_o[..., -1:, :]
        if reverse:
            f, l, f_o, l_v = l, f, l_v, f_o
        o[rows] += ((q[rows] * f) @ S) * f_o
        S = transposed(all_a) * S * all_b + transposed(k[rows] * l) @ (v[rows] * l_v)
    return o[..., :L, :], S


def _add_pairs(o, q, k, v, a, b, h, reverse):
    """Add to o the pairs of blocks of 2h tokens: i in one half, j in the other."""
    i, j = (0, 1) if reverse else (1, 0)  # which half
    f, f_o = (row_products(_halves(x, h)[i])[1 - i] for x in (a, b))
    l, l_v = (row_products(_halves(x, h)[j])[1 - j] for x in (a, b))
    Q, K, V, O = (_halves(x, h)[n] for x, n in ((q, i), (k, j), (v, j), (o, i)))
    O += ((Q * f) @ transposed(K * l)) @ (V * l_v) * f_o


def _padded(x, number, chunk):
    """Return x (..., L, n) with L a multiple of the chunk, by rows of a number."""
    rows = np.full((*x.shape[:-2], -x.shape[-2] % chunk, x.shape[-1]), number, x.dtype)
    return np.concatenate([x, rows], -2)


def _halves(x, h):
    """Return views of the earlier and later halves of all blocks of 2h rows of x."""
    blocks = x.reshape(*x.shape[:-2], x.shape[-2] // (2 * h), 2, h, x.shape[-1])
    return blocks[..., 0, :, :], blocks[..., 1, :, :]
