"""Linear attention with decay: each step multiplies the state by a number below 1.

    S_t = a_t S_(t-1) + k_t v_t^T,    o_t = S_t^T q_t        S (E, Ev), S_0 = 0

This replaces softmax and mask. With S_t written out, it is attention to the keys j <= i
with the weights M_ij (q_i . k_j), which are not divided by their sum:

    o_i = sum_j M_ij (q_i . k_j) v_j         M_ij = a_(j+1) a_(j+2) ... a_i,  M_ii = 1

So there are two ways to the same outputs: token by token with a state, or by a matrix
of all pairs. This is the duality of recurrence and attention. Two published variants:

    RetNet     a is fixed, one for each head, see ``retnet_log_decay``
    Mamba-2    ln a_t = d_t A is computed from the token: one A < 0 for each head, and a
               step d_t > 0; then q, k and v are C_t, B_t and d_t x_t

With a = 1 this is linear attention without phi and denominator. ALiBi has the same
factor M_ij inside of a softmax: its bias of a score is ln M_ij, for a constant a.

**Chunks.** A chunk of C tokens begins with the state S of the earlier tokens. Let f_i
be the product of a from the first token of the chunk to i, and l_j that from j + 1 to
the last token. Then, with rows multiplied by f and l,

    O = f (Q S) + (M * Q K^T) V,        S <- f_C S + (l K)^T V

The rows of M are products, M_ij = a_i M_(i-1)j. A quotient of cumulative products would
be 0 / 0 after some hundred tokens, and a difference of cumulative logarithms loses its
digits after a token whose a is near 0.

**Backward.** Let g_t = dL/do_t, and R_t = dL/dS_t, over all paths. Then

    R_t = q_t g_t^T + a_(t+1) R_(t+1)
    dq_t = S_t g_t,    dk_t = R_t v_t,    dv_t = R_t^T k_t

S_t^T is the state for keys v_t and values k_t, so dq is the same scan of other arrays.
R_t is the state of a scan from the last token to the first, with keys q_t and values
g_t. So dv is such a scan, and dk is one with R_t^T. In its chunks M is transposed, and
f and l change places. No state is stored.

For a, let c_t = ln a_1 + ... + ln a_t. The pair of a query i and an earlier key j has
the factor M_ij = exp(c_i - c_j). So it adds to dL/dc_i what it adds to q_i . dq_i, and
subtracts from dL/dc_j what it adds to k_j . dk_j. With sums over these pairs, dq' and
dk',

    dL/dc_t = q_t . dq'_t - k_t . dk'_t,      dL/d ln a_t = sum_(s >= t) dL/dc_s
    dq_t = dq'_t + (v_t . g_t) k_t,           dk_t = dk'_t + (v_t . g_t) q_t

The pair of a token with itself has no factor. In q_t . dq_t - k_t . dk_t it would
cancel but for its rounding error, and where a is near 0 it is much larger than the
rest. The last state adds to dk_t and to dL/d ln a_t, see ``through_the_state``.

Sun et al. 2023 (RetNet); Dao and Gu 2024 (Mamba-2).
"""

import numpy as np

from minigrad import differentiable
from minigrad.arguments import whole
from minigrad.shapes import shapes

from ..kernels.linear import CHUNK, memory


@shapes
@differentiable
def decay_attention(q, k, v, log_decay, state=None, *, needs=(True,) * 5):
    """S_t = a_t S_(t-1) + k_t v_t^T,  o_t = S_t^T q_t,  a_t = exp(log_decay_t)

    q (..., L, E), k (..., L, E), v (..., L, Ev), log_decay (..., L | 1),
    state? (..., E, Ev)  ->  o (..., L, Ev), state (..., E, Ev)

    log_decay   ln a_t, 0 or less. With -inf, which is a_t = 0, all earlier tokens are
                forgotten
    state       S_0, the result of an earlier call; None is 0. The new state is S_L, for
                the next call: decoding makes calls with L = 1

    Nothing is divided: divide q by sqrt(E), and normalise o of each head. It costs
    2 E Ev + 64 (E + Ev) multiplications for each token, or 3 E Ev if L = 1.
    """
    leading = leading_axes(q, k, v, log_decay[..., None], state)
    a = np.exp(broadcast_rows(log_decay[..., None], leading, q.shape[-2]))
    S_0 = first_state(state, leading, k, v)
    o, S = scan(q, k, v, a, S_0)

    def backward(gradients):
        g, R = gradients
        own, zero = dots(v, g)[..., None], np.zeros_like(transposed(R))
        dq, _ = scan(g, v, k, a, transposed(S_0), own=False)
        dk, _ = scan(v, g, q, a, zero, reverse=True, own=False)
        dv, dS_0 = scan(k, q, g, a, R, reverse=True)
        dk_S, dlog_S = through_the_state(k, v, a, S_0, R)
        dlog = summed_from_the_end(dots(q, dq) - dots(k, dk)) + dlog_S.sum(-1)
        dq += own * k
        dk += own * q
        dk += dk_S
        return (dq, dk, dv, dlog, dS_0)[: len(needs)]

    return (o, S), backward


def retnet_log_decay(num_heads):
    """Return ln a_h for a_h = 1 - 2^(-5 - h), h = 0, ..., H - 1: an array (H, 1).

    A head with a_h adds up about 1 / (1 - a_h) tokens: 32, 64, 128, ...
    Sun et al. 2023
    """
    H = whole("retnet_log_decay", "num_heads", num_heads, least=1)
    return np.log1p(-(2.0 ** (-5 - np.arange(H))))[:, None]


def scan(q, k, v, a, S, chunk=CHUNK, reverse=False, own=True):
    """Return o (..., L, Ev) and the last state S (..., E, Ev) of the recurrence.

    a         (..., L, 1)
    S         the state before the first token, with all leading axes
    chunk     C. With 1 this is the recurrence, with L the matrix of all pairs
    reverse   from the last token to the first, as a gradient: R_t = S_t + k_t v_t^T,
              o_t = R_t^T q_t, S_(t-1) = a_t R_t
    own       False: without the pair of a token with itself, k_t (v_t . q_t), in o_t
    """
    compiled = memory(q, k, v, a, S, reverse, own=own) if chunk == CHUNK else None
    if compiled is not None:
        return compiled[0], compiled[2]
    L = q.shape[-2]
    o = np.empty((*S.shape[:-2], L, v.shape[-1]), S.dtype)
    starts = range(0, L, chunk)
    for i in reversed(starts) if reverse else starts:
        rows = np.s_[..., i : i + chunk, :]
        Q, K, V = q[rows], k[rows], v[rows]
        M, f, l = products(a[rows])
        all_a = f[..., -1:, :]
        M = M if own else np.tril(M, -1)
        if reverse:  # pairs j >= i; the state comes from the end
            M, f, l = transposed(M), l, f
        o[rows] = f * (Q @ S) + (M * (Q @ transposed(K))) @ V
        S = all_a * S + transposed(l * K) @ V  # sum over j
    return o, S


def products(a):
    """Return M (..., C, C), f and l (..., C, 1) of a chunk, with a (..., C, 1).

    M_ij = a_(j+1) ... a_i for j <= i, else 0
    f_i = a_1 ... a_i,    l_j = a_(j+1) ... a_C
    """
    below = np.tri(a.shape[-2], k=-1, dtype=bool)  # j < i
    M = np.tril(np.where(below, a, a.dtype.type(1)).cumprod(-2))
    return M, a[..., :1, :] * M[..., :1], M[..., -1, :, None]


def through_the_state(k, v, a, S_0, R):
    """Return the parts of dk and dL/d ln a_t, both (..., L, E), by R = dL/dS_L.

        S_L = f_L S_0 + sum_j l_j k_j v_j^T

    a_t is a factor of S_0 and of the keys j < t. The sum over E is that of one a_t.
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


def summed_from_the_end(x):
    """y_t = sum_(s >= t) x_s, along the last axis"""
    return x[..., ::-1].cumsum(-1)[..., ::-1]


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
    """Exchange the last two axes."""
    return x.swapaxes(-1, -2)
