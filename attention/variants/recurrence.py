"""A state that is multiplied and added to at each token: one scan, and its gradients.

    S_t = diag(a_t) S_(t-1) + k_t v_t^T,    o_t = S_t^T q_t        S (E, Ev)

a_t has E numbers (gated_linear.py), or one (decay.py); with a = 1 it is causal linear
attention (linear.py), and the delta rule computes other values first (delta_rule.py).
With S_t written out, it is attention to the keys j <= i:

    o_i = sum_j (sum_e q_ie k_je M_ije) v_j        M_ije = a_(j+1)e ... a_ie,  M_iie = 1

**Chunks.** Key by key, this would be L steps of E Ev multiplications. A chunk of C
tokens begins with the state S of the earlier tokens. Let f_i be the product of a from
the first token of the chunk to i, and l_j that from j + 1 to the last. With q_i as row
i of Q, and so on, f Q multiplies row i by f_i. So there are only products of matrices:

    O = (f Q) S + (pairs within the chunk),        S <- diag(f_C) S + (l K)^T V

With C = 1 this is the recurrence, and with C = L the matrix of all pairs.

**Pairs, if a_t is one number.** They are (M * Q K^T) V. The rows of M are products,
M_ij = a_i M_(i-1)j. A quotient of cumulative products would be 0 / 0 after some hundred
tokens, and a difference of cumulative logarithms loses its digits after a token whose a
is near 0.

**Pairs, if a_t is a vector.** M has E numbers for each pair, too many to compute. With
c_i = ln a_1 + ... + ln a_i, the sum over e is the product of q_i exp(c_i) and k_j
exp(-c_j); but exp(-c_j) overflows in float32 after some hundred tokens. Take 2h tokens,
with i in their later half and j in the earlier one, which ends with the token m. Then

    M_ij = f_i l_j        f_i = a_(m+1) ... a_i,    l_j = a_(j+1) ... a_m

are two products of numbers from 0 to 1: nothing overflows, and nothing is divided. So
the pairs of such a block are one product of matrices, (q f) (k l)^T. Blocks of 2, 4,
..., C tokens contain each pair of a chunk once, except j = i, which needs no a.

**Backward.** Let g_t = dL/do_t, and R_t = dL/dS_t, over all paths. Then

    R_t = q_t g_t^T + diag(a_(t+1)) R_(t+1)
    dq_t = S_t g_t,    dk_t = R_t v_t,    dv_t = R_t^T k_t

S_t^T is the state for keys v_t and values k_t, whose *columns* decay, so dq is the same
scan of other arrays. R_t is the state of a scan from the last token to the first, with
keys q_t and values g_t. So dv is such a scan, and dk is one with R_t^T. In its chunks M
is transposed, and f and l change places. No state is stored.

For a, let c_t = ln a_1 + ... + ln a_t. The pair of a query i and an earlier key j has
the factor M_ij = exp(c_i - c_j). So it adds to dL/dc_i what it adds to q_i . dq_i, and
subtracts from dL/dc_j what it adds to k_j . dk_j. With sums over these pairs, dq' and
dk', and for a vector a coordinate by coordinate,

    dL/dc_t = q_t . dq'_t - k_t . dk'_t,      dL/d ln a_t = sum_(s >= t) dL/dc_s
    dq_t = dq'_t + (v_t . g_t) k_t,           dk_t = dk'_t + (v_t . g_t) q_t

The pair of a token with itself has no factor. In q_t . dq_t - k_t . dk_t it would
cancel but for its rounding error, and where a is near 0 it is much larger than the
rest. The last state adds to dk_t and to dL/d ln a_t, see ``through_the_state``.

Katharopoulos et al. 2020, section 3.3.1; Hua et al. 2022 (chunks); Dao and Gu 2024 (one
number); Yang et al. 2024 (a vector).
"""

import numpy as np

from minigrad import differentiable
from minigrad.shapes import shapes

from ..kernels import recurrence as kernel
from ..kernels.recurrence import CHUNK


@shapes
@differentiable
def recurrence(q, k, v, log_decay, state=None, *, needs=(True,) * 5):
    """S_t = diag(a_t) S_(t-1) + k_t v_t^T,  o_t = S_t^T q_t,  a_t = exp(log_decay_t)

    q (..., L, E), k (..., L, E), v (..., L, Ev), log_decay (..., L | 1, E | 1),
    state? (..., E, Ev)  ->  o (..., L, Ev), state (..., E, Ev)

    state   S_0; None is 0. The new state is S_L
    """
    leading = leading_axes(q, k, v, log_decay, state)
    a = np.exp(broadcast_rows(log_decay, leading, q.shape[-2]))
    S_0 = first_state(state, leading, k, v)
    o, S = scan(q, k, v, a, S_0)

    def backward(gradients):
        g, R = gradients
        of_q, of_k, of_v, of_a, of_state = (*needs, False)[:5]
        own = dots(v, g)[..., None]
        dq = dk = dv = dlog = dS_0 = dk_S = None
        if of_v or of_state:
            dv, dS_0 = scan(k, q, g, a, R, reverse=True)
        if of_q or of_a:
            dq = query_gradient(g, v, k, a, S_0)
        if of_k or of_a:
            dk = key_gradient(v, g, q, a)
            dk_S, dlog_S = through_the_state(k, v, a, S_0, R)
        if of_a:
            dlog = gate_gradient(q, dq, k, dk, dlog_S, a)
        if of_q:
            dq += own * k
        if of_k:
            dk += own * q
            dk += dk_S
        found = dq, dk, dv, dlog, dS_0
        return tuple(dx if needed else None for dx, needed in zip(found, needs))

    return (o, S), backward


def query_gradient(g, v, k, a, S_0):
    """Return S_t g_t without the pair of a token with itself: dq', (..., L, E)."""
    return scan(g, v, k, a, transposed(S_0), columns=True, own=False)[0]


def key_gradient(v, g, q, a):
    """Return R_t v_t of the outputs, without the pair of a token with itself: dk'."""
    R = np.zeros((*a.shape[:-2], g.shape[-1], q.shape[-1]), q.dtype)
    return scan(v, g, q, a, R, reverse=True, columns=True, own=False)[0]


def gate_gradient(q, dq, k, dk, dlog_S, a):
    """Return dL/d ln a_t, shaped as a: dL/dc_s summed over s >= t, and dlog_S."""
    if a.shape[-1] == 1:
        dc = (dots(q, dq) - dots(k, dk))[..., None]
        dlog_S = dlog_S.sum(-1, keepdims=True)
    else:
        dc = q * dq - k * dk
    return dc[..., ::-1, :].cumsum(-2)[..., ::-1, :] + dlog_S


def scan(q, k, v, a, S, reverse=False, columns=False, own=True):
    """Return o (..., L, Ev) and the last state S (..., E, Ev) of the recurrence.

    q and k (..., L, E), v (..., L, Ev)

    a         (..., L, E), or (..., L, 1)
    S         the state before the first token, with all leading axes
    reverse   from the last token to the first, as a gradient: R_t = S_t + k_t v_t^T,
              o_t = R_t^T q_t, S_(t-1) = a_t R_t
    columns   a has the decays of the columns of S, (..., L, Ev), and not of its rows
    own       False: without the pair of a token with itself, k_t (v_t . q_t), in o_t
    """
    if a.shape[-1] == 1:
        compiled = kernel.memory(q, k, v, a, S, reverse=reverse, own=own)
        if compiled is not None:
            return compiled[0], compiled[2]
    o = np.empty((*S.shape[:-2], q.shape[-2], v.shape[-1]), S.dtype)
    for rows in chunks(q.shape[-2], reverse):
        part = q[rows], k[rows], v[rows], a[rows]
        o[rows], S = step(*part, S, reverse, columns, own)
    return o, S


def chunks(L, reverse=False):
    """Return the rows of each chunk of arrays (..., L, E)."""
    starts = range(0, L, CHUNK)
    return [
        np.s_[..., i : i + CHUNK, :] for i in (reversed(starts) if reverse else starts)
    ]


def step(q, k, v, a, S, reverse=False, columns=False, own=True):
    """Return the outputs of one chunk, and the state after it, as ``scan`` does."""
    f, l = row_products(a)
    all_a = f[..., -1:, :]
    if reverse:  # pairs j >= i; the state comes from the end
        f, l = l, f
    pairs = pairs_by_halves
    if a.shape[-1] == 1:
        pairs, columns = pairs_by_matrix, True  # one number: rows decay as columns do
    inside = pairs(q, k, v, a, reverse, columns, own)
    if columns:
        return f * (q @ S) + inside, all_a * S + transposed(k) @ (l * v)
    return (f * q) @ S + inside, transposed(all_a) * S + transposed(l * k) @ v


def pairs_by_matrix(q, k, v, a, reverse, columns, own):
    """Return (M * Q K^T) V of a chunk, with a (..., C, 1)."""
    M = pair_decays(a)
    M = M if own else np.tril(M, -1)
    return ((transposed(M) if reverse else M) * (q @ transposed(k))) @ v


def pair_decays(a):
    """Return M (..., C, C) of a (..., C, 1): a_(j+1) ... a_i for j <= i, else 0."""
    below = np.tri(a.shape[-2], k=-1, dtype=bool)  # j < i
    return np.tril(np.where(below, a, a.dtype.type(1)).cumprod(-2))


def pairs_by_halves(q, k, v, a, reverse, columns, own):
    """Return sum_j (sum_e q_ie k_je M_ije) v_j of a chunk, in blocks of 2, 4, ...

    columns   M_ij has a number for each entry of v_j instead, and not of k_j
    """
    C = q.shape[-2]
    q, k, v, a = (_padded(x, n) for x, n in ((q, 0), (k, 0), (v, 0), (a, 1)))
    o = np.zeros((*a.shape[:-1], v.shape[-1]), v.dtype)  # a has all leading axes
    if own:
        o += (q * k).sum(-1, keepdims=True) * v  # j = i
    i, j = (0, 1) if reverse else (1, 0)  # which half has the queries, and the keys
    h = 1
    while h < q.shape[-2]:
        f = row_products(_halves(a, h)[i])[1 - i]
        l = row_products(_halves(a, h)[j])[1 - j]
        Q, K, V, O = (_halves(x, h)[n] for x, n in ((q, i), (k, j), (v, j), (o, i)))
        if columns:
            O += f * ((Q @ transposed(K)) @ (l * V))
        else:
            O += ((f * Q) @ transposed(l * K)) @ V
        h = 2 * h
    return o[..., :C, :]


def _padded(x, number):
    """Return x (..., C, n) with more rows, of a number, so that C is a power of 2."""
    C = x.shape[-2]
    more = (1 << (C - 1).bit_length()) - C
    rows = np.full((*x.shape[:-2], more, x.shape[-1]), number, x.dtype)
    return np.concatenate([x, rows], -2)


def _halves(x, h):
    """Return views of the earlier and later halves of all blocks of 2h rows of x."""
    blocks = x.reshape(*x.shape[:-2], x.shape[-2] // (2 * h), 2, h, x.shape[-1])
    return blocks[..., 0, :, :], blocks[..., 1, :, :]


def through_the_state(k, v, a, S_0, R):
    """Return what R = dL/dS_L adds to dk and to dL/d ln a_t, both (..., L, E).

        S_L = f_L S_0 + sum_j l_j k_j v_j^T

    a_t is a factor of S_0 and of the keys j < t. If it is one number, sum over E.
    """
    if not R.any():  # as a rule: only the outputs are used
        return 0, np.zeros_like(a)
    f, l = row_products(a)
    dk = l * (v @ transposed(R))
    first = f[..., -1:, :] * (S_0 * R).sum(-1)[..., None, :]  # (..., 1, E)
    return dk, np.concatenate([first, (k * dk)[..., :-1, :]], -2).cumsum(-2)


def row_products(a):
    """Return f_i = a_1 ... a_i and l_j = a_(j+1) ... a_L, of the rows of a."""
    later = np.concatenate([a[..., 1:, :], np.ones_like(a[..., :1, :])], -2)
    return a.cumprod(-2), later[..., ::-1, :].cumprod(-2)[..., ::-1, :]


def dots(x, y):
    """x_t . y_t of all rows: (..., L)"""
    return np.einsum("...te,...te->...t", x, y)


def leading_axes(*arrays):
    """Return the common leading axes of arrays (..., n, E), some of which are None."""
    return np.broadcast_shapes(*(x.shape[:-2] for x in arrays if x is not None))


def broadcast_rows(x, leading, L):
    """Broadcast x (..., L | 1, E) to (*leading, L, E)."""
    return np.broadcast_to(x, (*leading, L, x.shape[-1]))


def first_state(state, leading, k, v):
    """Return S_0 as a new array (*leading, E, Ev); zeros if ``state`` is None."""
    S = np.zeros((*leading, k.shape[-1], v.shape[-1]), k.dtype)
    return S if state is None else S + state


def transposed(x):
    """Exchange the last two axes of x (..., n, m)."""
    return x.swapaxes(-1, -2)
