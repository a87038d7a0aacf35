"""All steps of a GRU decoder with attention, backward: from the last to the first.

``attention_gru`` in ``attention/seq2seq/attention_gru.py`` has the formulas; its twin
is composed of operations, which have their own gradients. A thread takes some examples
back through all the steps, as in ``decoder.py``. The memory and the keys belong to one
example each, and so do their gradients. The gradients of the parameters of the GRU are
sums over groups of examples (``cell.Sums``); those of W_q and w_v are summed after the
loop.
"""

from typing import NamedTuple

import numpy as np

from .cell import (
    DEPTH,
    EXAMPLES,
    Rows,
    Steps,
    Sums,
    add_rows,
    step_back,
)
from .compiling import Helper, any_order, as_field, kernel, reads, writes
from .decoder import Attention, add_weighted
from .elementary import tanh
from .product import aligned, multiply


class Gradients(NamedTuple):
    """The gradients that belong to one example each."""

    inputs: writes(3)  # (L, B, E + M): of [x_t; c_t]
    s: writes(2)  # (B, H): of s_t, at the end of s_0
    memory: writes(3)  # (B, S, M)
    keys: writes(3)  # (B, S, A), or (B, S, H) for the dot score
    queries: writes(3)  # (L, B, A)
    w_v: writes(2)  # (B, A)


def run(loop, attention, weight_ih, weight_hh, n_steps, steps, weights, queries, g):
    """Run the loop; return the ``Gradients`` and the ``Sums``.

    attention   with W_q (A, H), where the forward has its transpose
    g           the gradients of states (L, B, H), contexts (L, B, M) and weights
                (L, B, S); the other arguments are those of ``decoder.run``
    """
    (_, B, A), dtype = queries.shape, queries.dtype
    arrays = steps.x, steps.states[0], attention.memory, attention.keys, queries
    d = Gradients(*map(np.zeros_like, arrays), np.zeros((B, A), dtype))
    sums = Sums.of(B, weight_ih, weight_hh, dtype)
    matrices = aligned(weight_ih, dtype), aligned(weight_hh, dtype)
    forward = as_field(n_steps, np.int64), steps, weights, queries
    g = [as_field(each, dtype) for each in g]
    loop(len(sums.da), attention, *matrices, *forward, *g, d, sums)
    return d, sums


@kernel
def backward_loop(
    start: int,
    stop: int,
    attention: Attention,
    weight_ih: reads(2),
    weight_hh: reads(2),
    n_steps: reads(1, int),  # (B,)
    steps: Steps,
    weights: reads(3),
    queries: reads(3),
    g_states: reads(3),  # (L, B, H), of the outputs
    g_contexts: reads(3),  # (L, B, M)
    g_weights: reads(3),  # (L, B, S)
    d: Gradients,
    sums: Sums,
):
    """Take the groups of examples, the work items, back through all the steps."""
    (L, B, S), M, A = weights.shape, g_contexts.shape[2], attention.w_v.size
    groups, H, I = sums.da.shape[0], d.s.shape[1], d.inputs.shape[2]  # noqa: E741
    dc = np.empty((L, EXAMPLES, M), weights.dtype)
    de = np.empty((L, EXAMPLES, S), weights.dtype)
    rows = Rows(
        np.empty((DEPTH + EXAMPLES, 4 * H), weights.dtype),
        np.empty((DEPTH + EXAMPLES, I), weights.dtype),
        np.empty((DEPTH + EXAMPLES, H), weights.dtype),
    )
    # the number of steps of example b0 + i, or of a later one that has more
    ends = np.empty(EXAMPLES, np.int64)
    for group in range(start, stop):
        n, begun = 0, False
        for b0 in range(group * EXAMPLES, B, groups * EXAMPLES):
            stop_b, most = min(b0 + EXAMPLES, B), 0
            for b in range(stop_b - 1, b0 - 1, -1):
                most = max(most, n_steps[b])
                ends[b - b0] = most
            b1 = b0
            for t in range(most - 1, -1, -1):
                while b1 < stop_b and ends[b1 - b0] > t:
                    b1 += 1
                step_back(
                    g_states, steps, weight_ih, weight_hh, t, b0, b1, n, rows,
                    d.s, d.inputs,
                )  # fmt: skip
                n += b1 - b0
                if n >= DEPTH:
                    add_rows(sums, group, rows, n, begun)
                    n, begun = 0, True
                if S + M == 0:  # a GRU attends to nothing
                    continue
                for b in range(b0, b1):
                    dc_t, de_t = dc[t, b - b0], de[t, b - b0]
                    score_gradient(
                        dc_t, de_t, d.inputs[t, b, I - M :], g_contexts[t, b],
                        g_weights[t, b], attention.memory[b], weights[t, b],
                        attention.scale,
                    )  # fmt: skip
                    if A:
                        additive_back(de_t, queries[t, b], attention, d, t, b)
                    else:
                        add_weighted(d.s[b], de_t, attention.keys[b])
                if A:
                    multiply(d.s[b0:b1], d.queries[t, b0:b1], attention.W_q, True)
            for b in range(b0, b1 if S + M > 0 else b0):
                i, end = b - b0, ends[b - b0]
                # products that sum over the steps
                multiply(d.memory[b], weights[:end, b].T, dc[:end, i], False)
                if A:  # w_v is the same factor in every term of the sum over t
                    for j in range(S):
                        for a in range(A):
                            d.keys[b, j, a] *= attention.w_v[a]
                else:
                    multiply(d.keys[b], de[:end, i].T, steps.states[:end, b], False)
        add_rows(sums, group, rows, n, begun)


@any_order
def score_gradient(
    dc: writes(1),
    de: writes(1),
    dinputs: reads(1),
    g_context: reads(1),
    g_weights: reads(1),
    memory: reads(2),
    p: reads(1),
    scale: float,
):
    """Compute dc_t, and scale de_t; the scale of the additive score is 1."""
    zero = de.dtype.type(0)
    for h in range(dc.size):
        dc[h] = dinputs[h] + g_context[h]
    mean = zero  # sum_i p_i dp_i
    for j in range(de.size):
        if p[j] != 0:  # otherwise de_j = 0
            h_j, dp_j = memory[j], zero
            for h in range(dc.size):
                dp_j += dc[h] * h_j[h]
            dp_j += g_weights[j]
            de[j] = dp_j
            mean += p[j] * dp_j
    for j in range(de.size):
        de[j] = p[j] * (de[j] - mean) * scale if p[j] != 0 else zero


@Helper
def additive_back(
    de: reads(1), q: reads(1), attention: Attention, d: Gradients, t: int, b: int
):
    """Set dq, and add to dkeys (still without the factor w_v) and dw_v."""
    w_v, dq, dw_v = attention.w_v, d.queries[t, b], d.w_v[b]
    for j in range(de.size):
        if de[j] != 0:
            k_j, dk_j, de_j = attention.keys[b, j], d.keys[b, j], de[j]
            for a in range(w_v.size):
                tanh_a = tanh(q[a] + k_j[a])
                dw_v[a] += de_j * tanh_a
                dz = de_j - de_j * tanh_a * tanh_a
                dq[a] += dz
                dk_j[a] += dz
    for a in range(w_v.size):
        dq[a] *= w_v[a]
