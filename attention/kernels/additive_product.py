"""The additive score in float32 with one exponential per row, not one tanh per pair.

    tanh(q + k) / 2 = h = 1/2 - 1 / (P + 1),   where P = exp(2q) exp(2k)

This holds for each of the A units. A row is a query or a key, so the exponentials of
B (L + S) rows serve all B L S pairs. Each pair needs a product and a division. A
division takes long, and two pairs share one: with m and n for their P + 1,

    1/m = n r   and   1/n = m r,   where r = 1 / (m n)

In the sums over pairs, t = tanh(q + k) and its derivative come from h:

    g t = 2 u   and   g (1 - t^2) = 4 (g/4 - u h),   where u = g h

m n must not overflow in float32, so q and k must lie within LIMIT of 0. If one of them
does not, or is NaN, or if w or the gradient has a NaN or an infinity, scores.py
computes every tanh in NumPy. It does so too if a row belongs to few pairs.

The error of a tanh is at most 4e-7. It is absolute, not relative: where q + k is small,
h is the difference of two nearly equal numbers. So the tanhs add at most 4e-7 times the
sum of all |w_a| to the error of a score.
"""

import numpy as np

from .choice import EXP
from .compiling import Helper, kernel, reads, writes
from .elementary import exp
from .product import aligned_empty

ONE, TWO, FOUR = np.float32(1), np.float32(2), np.float32(4)
HALF, QUARTER, LIMIT = np.float32(0.5), np.float32(0.25), np.float32(9)
PAIRS_A_ROW = 3  # fewer pairs per row are not worth the exponentials. L S >= 3 (L + S)
# also means that S is 4 or more: the loops take four keys at a time
QUERIES = 64  # of a work item of the forward, at least, if there are so many
ITEMS = 8  # of the backward, at least, where each can have 16 queries


def loop_for(loop, q, k, w, work):
    """Return the compiled loop; None if it does not suit the inputs, or cannot run."""
    L, S = q.shape[1], k.shape[1]
    if q.dtype != np.float32 or L * S < PAIRS_A_ROW * (L + S):
        return None
    if not all(x.size and -LIMIT <= x.min() and x.max() <= LIMIT for x in (q, k)):
        return None
    return loop.on_threads(q.dtype, work) if np.isfinite(w).all() else None


def forward(q, k, w):
    """Return the scores e (B, L, S), or None where ``loop_for`` returns None."""
    (B, L, A), S = q.shape, k.shape[1]
    parts = max(1, L // QUERIES)
    loop = loop_for(forward_loop, q, k, w, EXP * B * L * S * A)
    if loop is None:
        return None
    e = np.empty((B, L, S), q.dtype)
    loop(parts * B, q, k, w, parts, e)
    return e


def backward(q, k, w, g):
    """Return dq, dk and dw, or None where ``loop_for`` returns None.

    Keys are taken in groups of four. For each query, a group whose g are all 0 is
    skipped.
    """
    (B, L, A), S = q.shape, k.shape[1]
    work = 2 * EXP * B * L * S * A
    loop = loop_for(backward_loop, q, k, w, work) if np.isfinite(g).all() else None
    if loop is None:
        return None
    # Queries of one example add to the same dk. So each part of them has its own, and
    # the parts are summed at the end, in an order that does not depend on threads.
    parts = max(1, min(-(-ITEMS // max(B, 1)), L // 16))
    dq, dk = np.empty_like(q), np.empty((parts, B, S, A), q.dtype)
    dw = np.empty((parts, B, A), q.dtype)
    loop(parts * B, q, k, w, g, dq, dk, dw)
    dk = dk[0] if parts == 1 else dk.sum(0)
    return dq, dk, dw.reshape(parts * B, A).sum(0)


@Helper
def half_tanhs(q, k_m, k_n):
    """Return tanh(q + k) / 2 for two keys; q and k are given as exp(2q) and exp(2k)."""
    m, n = q * k_m + ONE, q * k_n + ONE  # P + 1
    r = ONE / (m * n)
    return HALF - n * r, HALF - m * r


@Helper
def exponentials(E: writes(2), x: reads(2)):
    """E = exp(2x)"""
    for i in range(x.shape[0]):
        E_i, x_i = E[i], x[i]
        for a in range(x.shape[1]):
            E_i[a] = exp(x_i[a] + x_i[a])


@kernel
def forward_loop(
    start: int,
    stop: int,
    q: reads(3),
    k: reads(3),
    w: reads(1),
    parts: int,
    e: writes(3),
):
    """e_ij = 2 sum_a w_a h_a; a work item is a part of the queries of an example."""
    B, L, A = q.shape
    S = k.shape[1]
    zero = q.dtype.type(0)
    E_q, E_k = aligned_empty(L, A, q), aligned_empty(S, A, q)
    for item in range(start, stop):
        part, b = item // B, item % B
        first, end = part * L // parts, (part + 1) * L // parts
        exponentials(E_q[first:end], q[b, first:end])
        exponentials(E_k, k[b])
        for i in range(first, end):
            q_i, e_i = E_q[i], e[b, i]
            for j in range(0, S, 4):
                j = min(j, S - 4)  # some of the last four may be computed twice
                k_0, k_1, k_2, k_3 = E_k[j], E_k[j + 1], E_k[j + 2], E_k[j + 3]
                e_0 = e_1 = e_2 = e_3 = zero
                for a in range(A):
                    h_0, h_1 = half_tanhs(q_i[a], k_0[a], k_1[a])
                    h_2, h_3 = half_tanhs(q_i[a], k_2[a], k_3[a])
                    e_0 += w[a] * h_0
                    e_1 += w[a] * h_1
                    e_2 += w[a] * h_2
                    e_3 += w[a] * h_3
                e_i[j], e_i[j + 1] = TWO * e_0, TWO * e_1
                e_i[j + 2], e_i[j + 3] = TWO * e_2, TWO * e_3


@kernel
def backward_loop(
    start: int,
    stop: int,
    q: reads(3),
    k: reads(3),
    w: reads(1),
    g: reads(3),
    dq: writes(3),
    dk: writes(4),
    dw: writes(3),
):
    """Compute dq, and dk and dw of each part of the queries, a work item."""
    B, L, A = q.shape
    parts, S = dk.shape[0], k.shape[1]
    zero = q.dtype.type(0)
    E_q, E_k = aligned_empty(L, A, q), aligned_empty(S, A, q)
    # the sums: of dq, of dk for four keys at a time, and of dw
    sum_q, sum_k = aligned_empty(L, A, q), aligned_empty(4, A, q)
    sum_w = aligned_empty(1, A, q)[0]
    sum_0, sum_1, sum_2, sum_3 = sum_k[0], sum_k[1], sum_k[2], sum_k[3]
    for item in range(start, stop):
        part, b = item // B, item % B
        first, end = part * L // parts, (part + 1) * L // parts
        exponentials(E_q[first:end], q[b, first:end])
        exponentials(E_k, k[b])
        sum_q[first:end], sum_w[:] = zero, zero
        for new in range(0, S, 4):
            # Four keys at a time, so that dq and dw are fetched and stored a fourth as
            # often. Of the last four, some may already be done: their g count as 0.
            j = min(new, S - 4)
            k_0, k_1, k_2, k_3 = E_k[j], E_k[j + 1], E_k[j + 2], E_k[j + 3]
            sum_k[:] = zero
            for i in range(first, end):
                g_i = g[b, i]
                g_0 = g_i[j] if j >= new else zero
                g_1 = g_i[j + 1] if j + 1 >= new else zero
                g_2 = g_i[j + 2] if j + 2 >= new else zero
                g_3 = g_i[j + 3]
                if g_0 == 0 and g_1 == 0 and g_2 == 0 and g_3 == 0:
                    continue
                q_i, sum_i = E_q[i], sum_q[i]
                for a in range(A):
                    h_0, h_1 = half_tanhs(q_i[a], k_0[a], k_1[a])
                    h_2, h_3 = half_tanhs(q_i[a], k_2[a], k_3[a])
                    u_0, u_1, u_2, u_3 = g_0 * h_0, g_1 * h_1, g_2 * h_2, g_3 * h_3
                    v_0, v_1 = QUARTER * g_0 - u_0 * h_0, QUARTER * g_1 - u_1 * h_1
                    v_2, v_3 = QUARTER * g_2 - u_2 * h_2, QUARTER * g_3 - u_3 * h_3
                    sum_0[a] += v_0
                    sum_1[a] += v_1
                    sum_2[a] += v_2
                    sum_3[a] += v_3
                    sum_i[a] += (v_0 + v_1) + (v_2 + v_3)
                    sum_w[a] += (u_0 + u_1) + (u_2 + u_3)
            for n in range(new - j, 4):
                write_sum(dk[part, b, j + n], sum_k[n], w)
        for i in range(first, end):
            write_sum(dq[b, i], sum_q[i], w)
        for a in range(A):
            dw[part, b, a] = TWO * sum_w[a]


@Helper
def write_sum(d, total, w):
    """d = 4 w total: these factors are the same in every term of the sum."""
    for a in range(w.size):
        d[a] = FOUR * w[a] * total[a]
