"""All steps of a GRU decoder with attention, backward: from the last to the first.

A thread takes some examples back through all the steps, as in ``decoder.py``. What is
a sum over the examples, the gradients of the weights, is left to NumPy; the memory and
the keys belong to one example each, and so do their gradients.
"""

import numpy as np

from .compiling import Helper, kernel, reads, writes
from .decoder import (
    EXAMPLES,
    MULTIPLY_NS,
    TANH_NS,
    add_weighted,
    additive_part,
    contiguous,
)
from .elementary import tanh
from .pool import spread
from .product import multiply


def backward(
    memory, keys, W_q, w_v, scale,
    weight_ih, weight_hh, g, gates, states, weights, q,
):  # fmt: skip
    """da (N, 4H), ds_0 (B, H), dmemory, dkeys, dq (L, B, A), dw_v (A,).

    g   the gradients of states (B, L, H), contexts (B, L, M) and weights (B, L, S)

    The others are the arguments of the forward, and what it has made of them. None when
    NumPy's loop is to run.
    """
    dtype = states.dtype
    loop = backward_loop.version(dtype)
    if loop is None:
        return None
    (B, S, M), (L, _, H) = memory.shape, states[1:].shape
    W_q, w_v, scale = additive_part(W_q, w_v, scale, dtype)
    da, ds = np.empty((L, B, 4 * H), dtype), np.empty((B, H), dtype)
    dmemory, dkeys = np.empty(memory.shape, dtype), np.zeros(keys.shape, dtype)
    dq, dw = np.zeros_like(q), np.zeros((B, w_v.size), dtype)
    spread(
        loop,
        -(-B // EXAMPLES),
        L * B * (MULTIPLY_NS * 3 * H * (H + M) + 2 * TANH_NS * S * w_v.size),
        *contiguous(dtype, *g, memory, keys, W_q, w_v, weight_ih, weight_hh),
        scale,
        gates.reshape(4, L, B, H),
        states,
        weights.reshape(L, B, S),
        q,
        da,
        ds,
        dmemory,
        dkeys,
        dq,
        dw,
    )
    return da.reshape(L * B, 4 * H), ds, dmemory, dkeys, dq, dw.sum(0)


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
    gates: reads(4),
    states: reads(3),
    weights: reads(3),
    q: reads(3),
    da: writes(3),
    ds_0: writes(2),
    dmemory: writes(3),
    dkeys: writes(3),
    dq: writes(3),
    dw: writes(2),
):
    _, L, B, H = gates.shape
    (_, S, M), A = memory.shape, w_v.size
    E = weight_ih.shape[1] - M
    zero = memory.dtype.type(0)
    dcs = np.empty((L, EXAMPLES, M), memory.dtype)
    des = np.empty((L, EXAMPLES, S), memory.dtype)
    for item in range(start, stop):
        b0 = item * EXAMPLES
        b1 = min(b0 + EXAMPLES, B)
        ds = ds_0[b0:b1]
        for i in range(b1 - b0):
            for h in range(H):
                ds[i, h] = zero
        for t in range(L - 1, -1, -1):
            for b in range(b0, b1):
                r, z, n, m = (
                    gates[0, t, b],
                    gates[1, t, b],
                    gates[2, t, b],
                    gates[3, t, b],
                )
                through_gates(
                    ds_0[b], g_states[b, t], r, z, n, m, states[t, b], da[t, b]
                )
            da_t, dc = da[t, b0:b1], dcs[t, : b1 - b0]
            multiply(ds, da_t[:, : 3 * H], weight_hh[:, :H], True)
            # into n the context goes directly, not through m
            multiply(dc, da_t[:, : 2 * H], weight_ih[: 2 * H, E:], False)
            multiply(dc, da_t[:, 3 * H :], weight_ih[2 * H :, E:], True)
            for b in range(b0, b1):
                i = b - b0
                dc_b, g_b, de = dcs[t, i], g_contexts[b, t], des[t, i]
                for h in range(M):
                    dc_b[h] += g_b[h]
                for j in range(S):
                    h_j, dw_j = memory[b, j], zero
                    for h in range(M):
                        dw_j += dc_b[h] * h_j[h]
                    de[j] = dw_j + g_weights[b, t, j]
                softmax_back(de, weights[t, b], scale)
                if A:
                    additive_back(de, q[t, b], keys[b], w_v, dq[t, b], dkeys[b], dw[b])
                else:
                    add_weighted(ds_0[b], de, keys[b])
            if A:
                multiply(ds, dq[t, b0:b1, :A], W_q[:, :H], True)
        for b in range(b0, b1):
            i = b - b0
            multiply(dmemory[b], weights[:, b].T, dcs[:, i], False)  # summed over t
            if A:  # w_v is the same factor in every term of the sum over t
                for j in range(S):
                    dk_j = dkeys[b, j]
                    for a in range(A):
                        dk_j[a] *= w_v[a]
            else:
                multiply(dkeys[b], des[:, i].T, states[:L, b], False)  # over t


@Helper
def through_gates(ds, g, r, z, n, m, s, da):
    """ds += g;  da = da_r, da_z, dm, da_n, as in ``gru``;  ds = ds z."""
    one, H = s.dtype.type(1), s.size
    da_r, da_z, dm, da_n = da[:H], da[H : 2 * H], da[2 * H : 3 * H], da[3 * H :]
    for h in range(H):
        ds[h] += g[h]
    for h in range(H):
        da_n[h] = ds[h] * (one - z[h]) * (one - n[h] * n[h])
    for h in range(H):
        dm[h] = da_n[h] * r[h]
    for h in range(H):
        da_r[h] = dm[h] * m[h] * (one - r[h])
    for h in range(H):
        da_z[h] = ds[h] * z[h] * (one - z[h]) * (s[h] - n[h])
    for h in range(H):
        ds[h] *= z[h]


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
