"""The delta rule: a state that is read before it is written, so values are replaced.

    S' = a_t S_(t-1)                   forget: the gated delta rule; a = 1 is "DeltaNet"
    r_t = v_t - S'^T k_t               the error of what the key returns so far
    S_t = S' + k_t (b_t r_t)^T         write a part b_t of it, from 0 to 1
    o_t = S_t^T q_t

Linear attention adds v_t, so that two values of one key are mixed. Here the key k_t, of
length 1, returns S_t^T k_t = (1 - b_t) S'^T k_t + b_t v_t: with b_t = 1, v_t alone. A
step is one step of gradient descent on |S^T k_t - v_t|^2 / 2 with the rate b_t.

Write u_t = b_t r_t. Then S_t = a_t S_(t-1) + k_t u_t^T is linear attention with decay
whose values are u (recurrence.py). The weights of the values v are not M_ij (q_i .
k_j), because every u depends on all earlier keys and values.

**Chunks.** With the letters of recurrence.py, the errors in a chunk are

    r_i = v_i - f_i S^T k_i - sum_(j < i) B_ij b_j r_j        B_ij = M_ij (k_i . k_j)

These linear equations have a triangular matrix. To solve them once replaces C steps. R
has the rows r_i here:

    R = T (V - f (K S)),    T = (I + B b)^-1        column j of B b has the factor b_j

**Backward.** Let g_t = dL/do_t, D_t = dL/dS_t, e_t = dL/du_t, over all paths, and y_t =
b_t e_t. As r_t contains v_t and -S'^T k_t, the gradient of v_t is y_t, and that of S'
has the term -k_t y_t^T. From the last token to the first:

    D_t = q_t g_t^T + a_(t+1) (D_(t+1) - k_(t+1) y_(t+1)^T)
    e_t = D_t^T k_t,    dv_t = y_t = b_t e_t,    db_t = e_t . r_t

In a chunk, these are equations with the transposed matrix. D is the gradient of the
state after the chunk, through later chunks alone:

    Y = T^T b (P^T G + l (K D)),    P = M * Q K^T

Now y and u are known, and all other gradients are scans of recurrence.py. k_t is used
twice: as a query that reads S', with the gradient -y_t, and as a key that writes u_t:

    dq_t = S_t g_t,    dk_t = read_t + written_t
    read_t = -S' y_t,  written_t = D_t u_t
    dL/dc_t = q_t . dq'_t + k_t . read_t - k_t . written'_t

where dq' and written' are without the pair of a token with itself, which read does not
have, and dL/d ln a_t is the sum of dL/dc_s over s >= t, as in recurrence.py.

Schlag et al. 2021; Yang et al. 2024 (chunks); Yang, Kautz and Hatamizadeh 2024 (gates).
"""

import numpy as np

from minigrad import differentiable
from minigrad.shapes import shapes

from .. import definitions
from ..kernels import delta as backward_kernel
from ..kernels.recurrence import memory
from .recurrence import (
    broadcast_rows, chunks, dots, first_state, gate_gradient, key_gradient,
    leading_axes, pair_decays, query_gradient, row_products, step, through_the_state,
    transposed,
)  # fmt: skip
from .row import Variant


@shapes
@differentiable
def delta_rule(q, k, v, beta, log_decay=None, state=None, *, needs=(True,) * 6):
    """S' = a_t S_(t-1),  S_t = S' + k_t (b_t (v_t - S'^T k_t))^T,  o_t = S_t^T q_t

    q (..., L, E), k (..., L, E), v (..., L, Ev), beta (..., L | 1),
    log_decay? (..., L | 1), state? (..., E, Ev)
        ->  o (..., L, Ev), state (..., E, Ev)

    k           of length 1, as a rule: the state explodes if beta |k|^2 is above 2
    beta        b_t, from 0 (do not write) to 1 (replace)
    log_decay   ln a_t, 0 or less; None is a = 1, the delta rule without gate
    state       S_0, the result of an earlier call; None is 0. The new state is S_L, for
                the next call: decoding makes calls with L = 1
    """
    L, b = q.shape[-2], beta[..., None]
    gates = None if log_decay is None else log_decay[..., None]
    leading = leading_axes(q, k, v, b, gates, state)
    b = broadcast_rows(b, leading, L)
    a = np.exp(broadcast_rows(np.zeros_like(b) if gates is None else gates, leading, L))
    S_0 = first_state(state, leading, k, v)
    o, r, S = delta_scan(q, k, v, a, b, S_0)
    u = b * r

    def backward(gradients):
        g, D = gradients
        of_q, of_k, _, _, of_a, _ = (*needs, False, False)[:6]
        of_a = of_a and gates is not None
        e, dS_0 = errors_backward(q, k, g, a, b, D)
        y, own = b * e, dots(u, g)[..., None]
        dq = dk = dlog = None
        if of_q or of_a:
            dq = query_gradient(g, u, k, a, S_0)
        if of_k or of_a:
            read = -query_gradient(y, u, k, a, S_0)
            written = key_gradient(u, g, q, a) - key_gradient(u, y, k, a)
            dk_S, dlog_S = through_the_state(k, u, a, S_0, D)
        if of_a:
            dlog = gate_gradient(q, dq, k, written - read, dlog_S, a)[..., 0]
        if of_q:
            dq += own * k
        if of_k:
            dk = read + written + own * q + dk_S
        found = dq, dk, y, dots(e, r), dlog, dS_0
        return tuple(dx if needed else None for dx, needed in zip(found, needs))

    return (o, S), backward


def delta_scan(q, k, v, a, b, S):
    """Return o and the errors r, both (..., L, Ev), and the last S (..., E, Ev).

    q and k (..., L, E), v (..., L, Ev), a and b (..., L, 1); S is the state before the
    first token
    """
    compiled = memory(q, k, v, a, S, beta=b)
    if compiled is not None:
        return compiled
    o, r = (np.empty((*S.shape[:-2], *v.shape[-2:]), S.dtype) for _ in range(2))
    for rows in chunks(k.shape[-2]):
        Q, K, beta = q[rows], k[rows], b[rows]
        f, _ = row_products(a[rows])
        B = np.tril(pair_decays(a[rows]) * (K @ transposed(K)), -1)
        r[rows] = inverse(B * transposed(beta)) @ (v[rows] - f * (K @ S))
        o[rows], S = step(Q, K, beta * r[rows], a[rows], S)
    return o, r, S


def errors_backward(q, k, g, a, b, D):
    """Return e (..., L, Ev), the gradients of u, and dL/dS_0, both from D = dL/dS_L.

    The other shapes are those of ``delta_scan``; g is dL/do.
    """
    compiled = backward_kernel.backward(q, k, g, a, b, D)
    if compiled is not None:
        return compiled
    e = np.empty((*D.shape[:-2], *g.shape[-2:]), D.dtype)
    for rows in chunks(k.shape[-2], reverse=True):
        Q, K, beta = q[rows], k[rows], b[rows]
        f, _ = row_products(a[rows])
        B = np.tril(pair_decays(a[rows]) * (K @ transposed(K)), -1)
        # without the later reads of the chunk: P^T G + l (K D)
        direct, D = step(K, Q, g[rows], a[rows], D, reverse=True)
        Y = transposed(inverse(B * transposed(beta))) @ (beta * direct)
        e[rows] = direct - transposed(B) @ Y  # sum over the reads i > j
        D = D - transposed(f * K) @ Y
    return e, D


def inverse(B):
    """Return (I + B)^-1 for B (..., n, n) with numbers below the diagonal alone.

        [I + B_1    0     ]^-1     [    T_1       0 ]
        [  B_21   I + B_2 ]     =  [-T_2 B_21 T_1 T_2]

    Both halves T are computed in one call: log2(n) calls in all, of products alone.
    """
    n = B.shape[-1]
    if n < 2:
        return np.ones_like(B)
    h = n // 2
    if n % 2:  # one more row and column, of 0
        axes = [(0, 0)] * (B.ndim - 2) + [(0, 1)] * 2
        return inverse(np.pad(B, axes))[..., :n, :n]
    T_1, T_2 = inverse(np.stack([B[..., :h, :h], B[..., h:, h:]]))
    T = np.zeros_like(B)
    T[..., :h, :h], T[..., h:, h:] = T_1, T_2
    T[..., h:, :h] = -T_2 @ B[..., h:, :h] @ T_1
    return T


def _definition(q, k, v, b, log_a=None):
    log_a = None if log_a is None else log_a[:, None]
    return definitions.delta_rule(q, k, v, b[:, None], log_a)


ROWS = [
    Variant(
        "delta", _definition, delta_rule,
        inputs="q (L, E), k (L, E), v (L, Ev), b (L)",
        multiplications="3*L*E*Ev + L*Ev",
        about="""template: S = S + k b (v - S^T k)^T, which writes the error of what k
        returns
        can replace the value of a key, and keep those of orthogonal keys
        cannot return exact values of more keys than coordinates;
        set its state to 0 at once
        lesson 18: overwritten names; Schlag et al. 2021""",
    ),
    Variant(
        "delta-gate", _definition, delta_rule,
        inputs="q (L, E), k (L, E), v (L, Ev), b (L), log_a (L)",
        multiplications="4*L*E*Ev + L*Ev",
        about="""template: the delta rule, on a state that is multiplied by a_t first
        can replace one value, or reset its state
        cannot return exact values of more keys than coordinates
        lesson 18: overwritten names; Yang, Kautz and Hatamizadeh 2024""",
    ),
]  # fmt: skip
