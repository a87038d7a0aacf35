"""The additive score in float32 with one exponential a row, not one tanh a pair.

    tanh(q + k) = (P - 1) / (P + 1),   where P = exp(2q) exp(2k)

so the exponentials of B (L + S) rows serve all B L S pairs, and for a pair a product
and a division are left. A division takes long, and two pairs share one:

    m/c = m d r   and   n/d = n c r,   where r = 1 / (c d)

The square of P must not overflow in float32, so q and k must lie within LIMIT of 0.
For other inputs, NaN too, and for an infinity in w or in a gradient, additive.py
computes every tanh.

Where q + k is small, P is near 1, and the rounding error of the exponentials is large
beside P - 1. So each row keeps, beside E = exp(2x) rounded, the relative rounding error
lambda of E, exp(2x) = E (1 + lambda), and to first order

    tanh(q + k) = t + (1 - t^2) (lambda_q + lambda_k) / 2

with t from the rounded exponentials. In the score this adds one number for the
query and one for the key, as 1 - t^2 is nearly 1 where the correction matters; in the
gradient of w it adds half of lambda times a sum that the gradients of q and k need in
any case. The error of a tanh is then at most 3e-7, absolute and not relative, which in
a score, a sum of many, makes no difference. README.md has what it gains.
"""

import numpy as np

from .compiling import Helper, kernel, reads, writes
from .elementary import exp_twice, multiply_add
from .pool import spread

ONE, HALF, LIMIT = np.float32(1), np.float32(0.5), np.float32(9)
PAIRS_A_ROW = 3  # at least, to be worth preparing a row
PREPARE_NS, FORWARD_NS, BACKWARD_NS = 0.5, 0.15, 0.3  # for a number, and for a pair's


def row_exponentials(q, k, w):
    """Return (E_q, c_q), (E_k, c_k) as above, or None if every tanh must be computed.

    c_i = sum_a w_a lambda_ia / 2, what the query or the key adds to the score
    """
    L, S = q.shape[1], k.shape[1]
    if q.dtype != np.float32 or L * S < PAIRS_A_ROW * (L + S):
        return None
    time = FORWARD_NS * len(q) * L * S * q.shape[2]  # that of the score
    loop = prepare_loop.version(q.dtype, time)
    if loop is None:
        return None
    if not np.isfinite(w).all():  # inf * lambda has the sign of lambda
        return None
    rows, w = [], np.ascontiguousarray(w)
    for x in map(np.ascontiguousarray, (q, k)):
        E, (c, outside) = np.empty_like(x), np.empty((2, *x.shape[:2]), x.dtype)
        work = PREPARE_NS * x.size
        spread(loop, len(x), work, x, w, E, c, outside)
        if outside.any():
            return None
        rows.append((E, c))
    return rows


def forward(rows, w):
    """e (B, L, S)"""
    (E_q, c_q), (E_k, c_k) = rows
    (B, L, A), S = E_q.shape, E_k.shape[1]
    e = np.empty((B, L, S), E_q.dtype)
    loop = forward_loop.version(E_q.dtype)
    spread(loop, B * L, FORWARD_NS * e.size * A, E_q, c_q, E_k, c_k, w, e)
    return e


def backward(rows, q, k, w, g, dq, dk, dw):
    """Add to dq (B, L, A), dk (parts, B, S, A) and dw (parts, B, A)."""
    (E_q, _), (E_k, _) = rows
    loop, work = backward_loop.version(q.dtype), BACKWARD_NS * g.size * q.shape[2]
    spread(loop, dw.shape[0] * len(q), work, q, E_q, k, E_k, w, g, dq, dk, dw)


def _two_tanh(q, k_m, k_n):
    """tanh of two pairs of a query and a key, of which all are given as exp(2x)."""
    up_m, down_m = multiply_add(q, k_m, -ONE), multiply_add(q, k_m, ONE)  # P -+ 1
    up_n, down_n = multiply_add(q, k_n, -ONE), multiply_add(q, k_n, ONE)
    r = ONE / (down_m * down_n)
    return up_m * down_n * r, up_n * down_m * r


def _finish(x, w, dx, dw):
    for a in range(len(x)):
        _, lost = exp_twice(x[a])
        dw[a] += HALF * lost * dx[a]
        dx[a] *= w[a]


two_tanh, finish = Helper(_two_tanh), Helper(_finish)


@kernel
def prepare_loop(
    start: int,
    stop: int,
    x: reads(3),
    w: reads(1),
    E: writes(3),
    c: writes(2),
    outside: writes(2),
):
    zero = x.dtype.type(0)
    for b in range(start, stop):
        for i in range(x.shape[1]):
            x_i, E_i = x[b, i], E[b, i]
            c_i = out = zero
            for a in range(len(w)):
                E_i[a], lost = exp_twice(x_i[a])
                c_i += w[a] * lost
                out += zero if abs(x_i[a]) <= LIMIT else ONE  # of NaN too
            c[b, i], outside[b, i] = HALF * c_i, out


@kernel
def forward_loop(
    start: int,
    stop: int,
    q: reads(3),
    c_q: reads(2),
    k: reads(3),
    c_k: reads(2),
    w: reads(1),
    e: writes(3),
):
    B, L, A = q.shape
    S = k.shape[1]
    zero = q.dtype.type(0)
    for item in range(start, stop):
        b, i = item // L, item % L
        q_i = q[b, i]
        for j in range(0, S, 4):
            j = min(j, S - 4)  # the last four may be some of those before again
            k_0, k_1, k_2, k_3 = k[b, j], k[b, j + 1], k[b, j + 2], k[b, j + 3]
            e_0 = e_1 = e_2 = e_3 = zero
            for a in range(A):
                t_0, t_1 = two_tanh(q_i[a], k_0[a], k_1[a])
                t_2, t_3 = two_tanh(q_i[a], k_2[a], k_3[a])
                e_0 += w[a] * t_0
                e_1 += w[a] * t_1
                e_2 += w[a] * t_2
                e_3 += w[a] * t_3
            e[b, i, j], e[b, i, j + 1] = e_0, e_1
            e[b, i, j + 2], e[b, i, j + 3] = e_2, e_3
        for j in range(S):
            e[b, i, j] += c_q[b, i] + c_k[b, j]


@kernel
def backward_loop(
    start: int,
    stop: int,
    q: reads(3),
    E_q: reads(3),
    k: reads(3),
    E_k: reads(3),
    w: reads(1),
    g: reads(3),
    dq: writes(3),
    dk: writes(4),
    dw: writes(3),
):
    B, L, A = q.shape
    parts, S = dk.shape[0], k.shape[1]
    zero = q.dtype.type(0)
    for item in range(start, stop):
        part, b = item // B, item % B
        first, end = part * L // parts, (part + 1) * L // parts
        k_b, dk_b, dw_b = E_k[b], dk[part, b], dw[part, b]
        for new in range(0, S, 4):
            # Four keys at a time, so that dq and dw are fetched and stored a fourth as
            # often. Of the last four some may be done: their g counts as 0.
            j = min(new, S - 4)
            k_0, k_1, k_2, k_3 = k_b[j], k_b[j + 1], k_b[j + 2], k_b[j + 3]
            dk_0, dk_1, dk_2, dk_3 = dk_b[j], dk_b[j + 1], dk_b[j + 2], dk_b[j + 3]
            for i in range(first, end):
                g_i = g[b, i]
                g_0 = g_i[j] if j >= new else zero
                g_1 = g_i[j + 1] if j + 1 >= new else zero
                g_2 = g_i[j + 2] if j + 2 >= new else zero
                g_3 = g_i[j + 3]
                if g_0 == 0 and g_1 == 0 and g_2 == 0 and g_3 == 0:
                    continue
                q_i, dq_i = E_q[b, i], dq[b, i]
                for a in range(A):
                    t_0, t_1 = two_tanh(q_i[a], k_0[a], k_1[a])
                    t_2, t_3 = two_tanh(q_i[a], k_2[a], k_3[a])
                    dz_0, dz_1 = g_0 * (ONE - t_0 * t_0), g_1 * (ONE - t_1 * t_1)
                    dz_2, dz_3 = g_2 * (ONE - t_2 * t_2), g_3 * (ONE - t_3 * t_3)
                    dk_0[a] += dz_0
                    dk_1[a] += dz_1
                    dk_2[a] += dz_2
                    dk_3[a] += dz_3
                    dq_i[a] += (dz_0 + dz_1) + (dz_2 + dz_3)
                    dw_b[a] += (g_0 * t_0 + g_1 * t_1) + (g_2 * t_2 + g_3 * t_3)
        # w_a is the same factor in every term of a sum; so is what was lost of a row
        for i in range(first, end):
            finish(q[b, i], w, dq[b, i], dw_b)
        for j in range(S):
            finish(k[b, j], w, dk_b[j], dw_b)
