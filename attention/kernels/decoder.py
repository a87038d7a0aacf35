"""All steps of a GRU decoder with attention in one loop, forward and backward.

``attention/seq2seq/attention_gru.py`` is the same in NumPy, has the formulas, and is
the one to read. There a step is a dozen calls on small arrays, and a product of 64 x 96
with 96 x 288 numbers is done before a second thread is awake. Here a thread takes some
examples through all the steps: examples meet in the gradients of the weights alone,
which NumPy gathers afterwards, so no thread ever waits for another.

Arrays lie as in NumPy's loop, in order of time: t first, then the examples b.
"""

import numpy as np

from .compiling import Helper, kernel, reads, writes
from .elementary import exp, tanh
from .pool import spread
from .product import multiply
from .softmax import NO_LENGTHS

EXAMPLES = 16  # an item: enough rows for a product, and items enough for the threads
MULTIPLY_NS, TANH_NS = 0.02, 0.25  # a multiplication and an addition; both in float32


def forward(
    memory, keys, W_q, w_v, scale,
    W_c, W_h, bias_hh, lengths, fed, gates, states, weights,
):  # fmt: skip
    """Fill contexts, gates, states and weights as NumPy's loop would; None: let it run.

    memory (B, S, M), keys (B, S, A), W_q (A, H), w_v (A,), scale   as in attention_gru
    W_c (M, 3H), W_h (H, 3H), bias_hh (3H,), lengths (B,) or None
    fed     (L, B, E + M)   has x_t, gets c_t
    gates   (4, N, H)       has x's share of r, z, n; gets r, z, n, m
    states  (L + 1, B, H)   has s_0, gets s_t
    weights (L, B, 1, S)    gets a_t

    -> q (L, B, A), the queries of the additive score; for the dot score A = 0
    """
    loop = forward_loop.version(fed.dtype)
    if loop is None:
        return None
    (B, S, M), (L, _, H) = memory.shape, states[1:].shape
    W_q, w_v, scale = additive_part(W_q, w_v, scale, fed.dtype)
    q = np.empty((L, B, w_v.size), fed.dtype)
    spread(
        loop,
        -(-B // EXAMPLES),
        L * B * (MULTIPLY_NS * 3 * H * (H + M) + TANH_NS * (3 * H + S * w_v.size)),
        *contiguous(fed.dtype, memory, keys),
        NO_LENGTHS if lengths is None else np.ascontiguousarray(lengths, np.int64),
        *contiguous(fed.dtype, W_q.T, w_v, W_c, W_h, bias_hh),
        scale,
        fed,
        gates.reshape(4, L, B, H),
        states,
        weights.reshape(L, B, S),
        q,
    )
    return q


def additive_part(W_q, w_v, scale, dtype):
    """W_q, w_v, scale; for the dot score, W_q and w_v with nothing in them."""
    if w_v is None:
        return np.empty((0, 0), dtype), np.empty(0, dtype), scale
    return W_q, w_v, 1.0


def contiguous(dtype, *arrays):
    return [np.ascontiguousarray(array, dtype) for array in arrays]


@kernel
def forward_loop(
    start: int,
    stop: int,
    memory: reads(3),
    keys: reads(3),
    lengths: reads(1, int),
    W_q: reads(2),
    w_v: reads(1),
    W_c: reads(2),
    W_h: reads(2),
    bias_hh: reads(1),
    scale: float,
    fed: writes(3),
    gates: writes(4),
    states: writes(3),
    weights: writes(3),
    q: writes(3),
):
    _, L, B, H = gates.shape
    (_, S, M), A = memory.shape, w_v.size
    E = fed.shape[2] - M
    zero = memory.dtype.type(0)
    contexts = np.empty((EXAMPLES, M), memory.dtype)
    for item in range(start, stop):
        b0 = item * EXAMPLES
        b1 = min(b0 + EXAMPLES, B)
        c = contexts[: b1 - b0]
        for t in range(L):
            s = states[t, b0:b1]
            if A:
                multiply(q[t, b0:b1], s, W_q[:, :A], False)
            for b in range(b0, b1):
                e, s_b = weights[t, b], states[t, b]
                for j in range(S):
                    k_j, e_j = keys[b, j], zero
                    if A:
                        q_b = q[t, b]
                        for a in range(A):
                            e_j += w_v[a] * tanh(q_b[a] + k_j[a])
                    else:
                        for h in range(H):
                            e_j += s_b[h] * k_j[h]
                        e_j *= scale
                    e[j] = e_j
                softmax(e, min(max(lengths[b], 0), S) if lengths.size else S)
                c_b, fed_b = c[b - b0], fed[t, b, E:]
                for i in range(M):
                    c_b[i] = zero
                add_weighted(c_b, e, memory[b])
                for i in range(M):
                    fed_b[i] = c_b[i]
            r, z, n = gates[0, t, b0:b1], gates[1, t, b0:b1], gates[2, t, b0:b1]
            m = gates[3, t, b0:b1]
            multiply(r, c, W_c[:, :H], True)
            multiply(r, s, W_h[:, :H], True)
            multiply(z, c, W_c[:, H : 2 * H], True)
            multiply(z, s, W_h[:, H : 2 * H], True)
            multiply(n, c, W_c[:, 2 * H :], True)
            multiply(m, s, W_h[:, 2 * H :], False)
            sigmoid(r, bias_hh[:H])
            sigmoid(z, bias_hh[H : 2 * H])
            next_state(states[t + 1, b0:b1], s, z, n, r, m, bias_hh[2 * H :])


@Helper
def softmax(e, n):
    """Scores become weights, of which the first n are allowed; as in softmax.py."""
    zero, one = e.dtype.type(0), e.dtype.type(1)
    infinity = e.dtype.type(np.inf)
    m = -infinity
    for j in range(n):
        m = e[j] if e[j] > m else m
    total = zero
    for j in range(n):
        e[j] = exp(e[j] - m) if -infinity < m < infinity else np.exp(e[j])
        total += e[j]
    total = one if total == 0 else total
    for j in range(n):
        e[j] /= total
    for j in range(n, e.size):
        e[j] = zero


@Helper
def add_weighted(c, p, v):
    """c += sum_j p_j v_j, where p_j = 0 keeps v_j out although it be NaN."""
    for j in range(p.size):
        if p[j] != 0:
            p_j, v_j = p[j], v[j]
            for i in range(c.size):
                c[i] += p_j * v_j[i]


@Helper
def sigmoid(a, bias):
    """a = sigmoid(a + bias), in place."""
    half = a.dtype.type(0.5)
    for i in range(a.shape[0]):
        a_i = a[i]
        for h in range(bias.size):
            a_i[h] = half + half * tanh(half * (a_i[h] + bias[h]))


@Helper
def next_state(out, s, z, n, r, m, bias):
    """m += bias;  n = tanh(n + r m);  out = n + z (s - n)."""
    # Few arrays a loop: before it runs, a vectorised loop must find that none overlap.
    for i in range(out.shape[0]):
        out_i, s_i, z_i, n_i, r_i, m_i = out[i], s[i], z[i], n[i], r[i], m[i]
        for h in range(bias.size):
            m_i[h] += bias[h]
        for h in range(bias.size):
            n_i[h] = tanh(n_i[h] + r_i[h] * m_i[h])
        for h in range(bias.size):
            out_i[h] = n_i[h] + z_i[h] * (s_i[h] - n_i[h])
