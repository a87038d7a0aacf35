"""All steps of a GRU decoder with attention, backward: from the last to the first.

A thread takes some examples back through all the steps, as in ``decoder.py``. What is
a sum over the examples, the gradients of the weights, is left to NumPy; the memory and
the keys belong to one example each, and so do their gradients.
"""

import numpy as np

from .compiling import Helper, kernel, reads, writes
from .decoder import add_weighted, additive_part, contiguous
from .elementary import tanh
from .gru import (
    DEPTH,
    EXAMPLES,
    MULTIPLY_NS,
    TANH_NS,
    Sums,
    add_up,
    put,
    step_back,
    through_gates,
)
from .pool import spread
from .product import aligned, multiply


def backward(
    memory, keys, W_q, w_v, scale,
    weight_ih, weight_hh, bias_ih, bias_hh, g, fed, gates, states, weights, q,
):  # fmt: skip
    """dx (L, B, E), ds_0, dmemory, dkeys, dW_ih, dW_hh, db_ih, db_hh, dW_q, dw_v.

    g   the gradients of states (B, L, H), contexts (B, L, M) and weights (B, L, S)

    The others are the arguments of the forward, and what it has made of them. None when
    NumPy's loop is to run.
    """
    dtype, additive = states.dtype, w_v is not None
    loop = backward_loop.version(dtype)
    if loop is None:
        return None
    (L, B, I), (_, S, M), H = fed.shape, memory.shape, states.shape[2]  # noqa: E741
    W_q, w_v, scale = additive_part(W_q, w_v, scale, dtype)
    dfed, ds = np.empty(fed.shape, dtype), np.zeros((B, H), dtype)
    dmemory, dkeys = np.empty(memory.shape, dtype), np.zeros(keys.shape, dtype)
    dq, dw = np.zeros_like(q), np.zeros((B, w_v.size), dtype)
    sums = Sums(B, weight_ih, weight_hh, dtype)
    spread(
        loop,
        sums.groups,
        L * B * (MULTIPLY_NS * 6 * H * (H + I) + 2 * TANH_NS * S * w_v.size),
        *contiguous(dtype, *g, memory, keys, W_q, w_v),
        aligned(weight_ih, dtype),
        aligned(weight_hh, dtype),
        scale,
        fed,
        gates.reshape(4, L, B, H),
        states,
        weights.reshape(L, B, S),
        q,
        dfed,
        ds,
        dmemory,
        dkeys,
        dq,
        dw,
        *sums.arrays,
    )
    dW_q = dw_v = None
    if additive:
        dW_q = dq.reshape(L * B, w_v.size).T @ states[:L].reshape(L * B, H)
        dw_v = dw.sum(0)
    return dfed[:, :, : I - M], ds, dmemory, dkeys, *sums.gradients(), dW_q, dw_v


@kernel
def backward_loop(
    start: int,
    stop: int,
    g_states: reads(3),
    g_contexts: reads(3),
    g_weights: reads(3),
    memory: reads(3),
    keys: reads(3),
    W_q: reads(2),
    w_v: reads(1),
    weight_ih: reads(2),
    weight_hh: reads(2),
    scale: float,
    fed: reads(3),
    gates: reads(4),
    states: reads(3),
    weights: reads(3),
    q: reads(3),
    dfed: writes(3),
    ds: writes(2),
    dmemory: writes(3),
    dkeys: writes(3),
    dq: writes(3),
    dw: writes(2),
    dW_ih: writes(3),
    dW_hh: writes(3),
    total: writes(2),
):
    (_, L, B, H), (_, S, M), A = gates.shape, memory.shape, w_v.size
    groups, _, I = dW_ih.shape  # noqa: E741
    dcs = np.empty((L, EXAMPLES, M), memory.dtype)
    des = np.empty((L, EXAMPLES, S), memory.dtype)
    da = np.empty((DEPTH + EXAMPLES, 4 * H), memory.dtype)
    x = np.empty((DEPTH + EXAMPLES, I), memory.dtype)
    before = np.empty((DEPTH + EXAMPLES, H), memory.dtype)
    for group in range(start, stop):
        rows, more = 0, False
        for b0 in range(group * EXAMPLES, B, groups * EXAMPLES):
            b1 = min(b0 + EXAMPLES, B)
            arrived = False
            for t in range(L - 1, -1, -1):
                for b in range(b0, b1):
                    if not arrived:
                        arrived = any_in(g_states[b, t]) or any_in(g_contexts[b, t])
                        arrived = arrived or any_in(g_weights[b, t])
                if not arrived:  # padding of the target: no gradient comes from there
                    for b in range(b0, b1):
                        clear(dfed[t, b])
                        clear(dcs[t, b - b0])
                        clear(des[t, b - b0])
                    continue
                for b in range(b0, b1):
                    through_gates(
                        ds[b], g_states[b, t],
                        gates[0, t, b], gates[1, t, b], gates[2, t, b], gates[3, t, b],
                        states[t, b], da[rows + b - b0],
                    )  # fmt: skip
                da_t = da[rows : rows + b1 - b0]
                step_back(ds[b0:b1], dfed[t, b0:b1], da_t, weight_ih, weight_hh)
                put(x, rows, fed[t, b0:b1])
                put(before, rows, states[t, b0:b1])
                rows += b1 - b0
                if rows >= DEPTH:
                    add_up(
                        dW_ih[group], dW_hh[group], total[group],
                        da[:rows], x[:rows], before[:rows], more,
                    )  # fmt: skip
                    rows, more = 0, True
                for b in range(b0, b1):
                    i = b - b0
                    dc, de = dcs[t, i], des[t, i]
                    through_score(
                        dc, de, dfed[t, b, I - M :], g_contexts[b, t], g_weights[b, t],
                        memory[b], weights[t, b], scale,
                    )  # fmt: skip
                    if A:
                        additive_back(
                            de, q[t, b], keys[b], w_v, dq[t, b], dkeys[b], dw[b]
                        )
                    else:
                        add_weighted(ds[b], de, keys[b])
                if A:
                    multiply(ds[b0:b1], dq[t, b0:b1, :A], W_q[:, :H], True)
            for b in range(b0, b1):
                i = b - b0
                multiply(dmemory[b], weights[:, b].T, dcs[:, i], False)  # over t
                if A:  # w_v is the same factor in every term of the sum over t
                    for j in range(S):
                        dk_j = dkeys[b, j]
                        for a in range(A):
                            dk_j[a] *= w_v[a]
                else:
                    multiply(dkeys[b], des[:, i].T, states[:L, b], False)  # over t
        add_up(
            dW_ih[group], dW_hh[group], total[group],
            da[:rows], x[:rows], before[:rows], more,
        )  # fmt: skip


@Helper
def any_in(g):
    """Whether a number is not 0."""
    count = 0
    for h in range(g.size):
        count += g[h] != 0
    return count > 0


@Helper
def clear(x):
    for h in range(x.size):
        x[h] = 0


@Helper
def through_score(dc, de, through_x, g_context, g_weights, memory, p, scale):
    """dc, the gradient of the context, and de, that of the scores before the scale."""
    for h in range(dc.size):
        dc[h] = through_x[h] + g_context[h]
    for j in range(de.size):
        h_j, dp_j = memory[j], dc.dtype.type(0)
        for h in range(dc.size):
            dp_j += dc[h] * h_j[h]
        de[j] = dp_j + g_weights[j]
    softmax_back(de, p, scale)


@Helper
def softmax_back(g, p, scale):
    """g, the gradient of the weights p, becomes that of the scores, times ``scale``."""
    zero = g.dtype.type(0)
    mean = zero
    for j in range(p.size):
        mean += p[j] * g[j] if p[j] != 0 else zero
    for j in range(p.size):
        g[j] = p[j] * (g[j] - mean) * scale if p[j] != 0 else zero


@Helper
def additive_back(g, q, keys, w_v, dq, dkeys, dw):
    """dq, and what this query adds to dkeys (without the factor w_v) and to dw."""
    for j in range(g.size):
        if g[j] != 0:
            k_j, dk_j, g_j = keys[j], dkeys[j], g[j]
            for a in range(w_v.size):
                tanh_a = tanh(q[a] + k_j[a])
                dw[a] += g_j * tanh_a
                dz = g_j - g_j * tanh_a * tanh_a
                dq[a] += dz
                dk_j[a] += dz
    for a in range(w_v.size):
        dq[a] *= w_v[a]
