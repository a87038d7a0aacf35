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
from .gru import EXAMPLES, MULTIPLY_NS, TANH_NS, biases, step
from .pool import spread
from .product import aligned, multiply
from .softmax import NO_LENGTHS


def forward(
    memory, keys, W_q, w_v, scale,
    weight_ih, weight_hh, bias_ih, bias_hh, lengths, fed, gates, states, weights,
):  # fmt: skip
    """Fill contexts, gates, states and weights as NumPy's loop would; None: let it run.

    The arguments are those of attention_gru; and
    fed     (L, B, E + M)   has x_t, gets c_t
    gates   (4, N, H)       gets r, z, n, m
    states  (L + 1, B, H)   has s_0, gets s_t
    weights (L, B, 1, S)    gets a_t

    -> q (L, B, A), the queries of the additive score; for the dot score A = 0
    """
    loop = forward_loop.version(fed.dtype)
    if loop is None:
        return None
    (L, B, I), H, S = fed.shape, states.shape[2], memory.shape[1]  # noqa: E741
    W_q, w_v, scale = additive_part(W_q, w_v, scale, fed.dtype)
    q = np.empty((L, B, w_v.size), fed.dtype)
    spread(
        loop,
        -(-B // EXAMPLES),
        L * B * (MULTIPLY_NS * 3 * H * (H + I) + TANH_NS * (3 * H + S * w_v.size)),
        *contiguous(fed.dtype, memory, keys),
        NO_LENGTHS if lengths is None else np.ascontiguousarray(lengths, np.int64),
        aligned(W_q.T, fed.dtype),
        np.ascontiguousarray(w_v, fed.dtype),
        aligned(weight_ih.T, fed.dtype),
        aligned(weight_hh.T, fed.dtype),
        biases(bias_ih, bias_hh, H, fed.dtype),
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
    W_x: reads(2),
    W_h: reads(2),
    bias: reads(2),
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
    for item in range(start, stop):
        b0 = item * EXAMPLES
        b1 = min(b0 + EXAMPLES, B)
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
                c_b = fed[t, b, E:]
                for i in range(M):
                    c_b[i] = zero
                add_weighted(c_b, e, memory[b])
            step(
                fed[t, b0:b1], s, states[t + 1, b0:b1],
                gates[0, t, b0:b1], gates[1, t, b0:b1], gates[2, t, b0:b1],
                gates[3, t, b0:b1], W_x, W_h, bias,
            )  # fmt: skip


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
