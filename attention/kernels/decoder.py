"""All steps of a GRU decoder with attention in one loop, forward.

The twin is ``_step_by_step`` in ``attention/seq2seq/attention_gru.py``. That file has
the formulas, and is the one to read. Here a thread takes some examples through all the
steps. Examples meet only in the gradients of the parameters, so no thread waits for
another.

The first axis of an array is the step t and the second the example b, except in
``gates`` (4, L, B, H).
"""

from typing import NamedTuple

import numpy as np

from .cell import EXAMPLES, Cell, Steps, step
from .compiling import Helper, any_order, as_field, kernel, reads, writes
from .elementary import exp, tanh
from .product import aligned, multiply


class Attention(NamedTuple):
    """What the states of the decoder attend to, and how.

    A is the number of hidden units of the additive score. The dot score has A = 0.
    """

    memory: reads(3)  # (B, S, M): the values
    keys: reads(3)  # (B, S, A), or (B, S, H) for the dot score
    lengths: reads(1, int)  # (B,): how many positions are allowed
    W_q: reads(2)  # forward (H, A): W_q^T; backward (A, H)
    w_v: reads(1)  # (A,)
    scale: float  # of the dot score


def run(loop, attention, cell, n_steps, inputs, s0):
    """Run the loop; return the ``Steps``, weights (L, B, S) and queries (L, B, A).

    inputs (L, B, E + M) has x_t; the loop adds the contexts c_t. n_steps (B,) are the
    numbers of steps of the examples. The results of other steps are left as they are,
    or filled with numbers that mean nothing. They take no time if the longest examples
    come first.
    """
    (L, B, _), H, dtype = inputs.shape, s0.shape[1], inputs.dtype
    S, A = attention.keys.shape[1], attention.w_v.size
    gates, states = np.empty((4, L, B, H), dtype), np.zeros((L + 1, B, H), dtype)
    states[0] = s0
    steps = Steps(inputs, gates, states)
    weights, queries = np.empty((L, B, S), dtype), np.empty((L, B, A), dtype)
    n_steps = as_field(n_steps, np.int64)
    loop(-(-B // EXAMPLES), attention, cell, n_steps, *steps, weights, queries)
    return steps, weights, queries


def attention_of(memory, keys, lengths, W_q, w_v, scale):
    """Return the Attention of the arguments of attention_gru."""
    dtype, (B, S, _) = keys.dtype, memory.shape
    if w_v is None:
        W_q, w_v = np.empty((0, 0), dtype), np.empty(0, dtype)
    else:
        W_q, w_v, scale = aligned(W_q, dtype), as_field(w_v, dtype), 1.0
    lengths = np.full(B, S) if lengths is None else lengths
    return Attention(
        as_field(memory, dtype),
        as_field(keys, dtype),
        as_field(lengths, np.int64),
        W_q,
        w_v,
        dtype.type(scale),
    )


@kernel
def forward_loop(
    start: int,
    stop: int,
    attention: Attention,
    cell: Cell,
    n_steps: reads(1, int),
    inputs: writes(3),
    gates: writes(4),
    states: writes(3),
    weights: writes(3),
    queries: writes(3),
):
    """Take the EXAMPLES examples of each work item through all the steps."""
    _, L, B, H = gates.shape
    A, M, S = attention.w_v.size, attention.memory.shape[2], weights.shape[2]
    E = inputs.shape[2] - M
    for item in range(start, stop):
        b0 = item * EXAMPLES
        b1 = min(b0 + EXAMPLES, B)
        for t in range(L):
            while b1 > b0 and n_steps[b1 - 1] <= t:  # the last examples have ended
                b1 -= 1
            if b1 == b0:
                break
            if A:
                multiply(queries[t, b0:b1], states[t, b0:b1], attention.W_q, False)
            for b in range(b0, b1 if S + M > 0 else b0):  # a GRU attends to nothing
                n = max(0, min(attention.lengths[b], S))
                e, c, keys = weights[t, b, :n], inputs[t, b, E:], attention.keys[b]
                weights[t, b, n:] = 0
                if A:
                    additive_scores(e, queries[t, b], keys, attention.w_v)
                else:
                    dot_scores(e, states[t, b], keys, attention.scale)
                normalize(e)
                c[:] = 0
                add_weighted(c, e, attention.memory[b])
            step(inputs[t, b0:b1], cell, gates, states, t, b0, b1)


@any_order
def additive_scores(e: writes(1), q: reads(1), keys: reads(2), w_v: reads(1)):
    """e_j = w_v . tanh(q + k_j)"""
    for j in range(e.size):
        k_j, e_j = keys[j], e.dtype.type(0)
        for a in range(w_v.size):
            e_j += w_v[a] * tanh(q[a] + k_j[a])
        e[j] = e_j


@any_order
def dot_scores(e: writes(1), s: reads(1), keys: reads(2), scale: float):
    """e_j = scale s . k_j"""
    for j in range(e.size):
        k_j, e_j = keys[j], e.dtype.type(0)
        for h in range(s.size):
            e_j += s[h] * k_j[h]
        e[j] = e_j * scale


@any_order
def normalize(p: writes(1)):
    """Turn scores into their weights in place; ``weights_of`` is its twin."""
    infinity, total = p.dtype.type(np.inf), p.dtype.type(0)
    m = -infinity
    for j in range(p.size):
        m = p[j] if p[j] > m else m
    if -infinity < m < infinity:
        for j in range(p.size):
            p[j] = exp(p[j] - m)
            total += p[j]
    else:  # rare, so it may be slow: the C library's exp, for any number
        for j in range(p.size):
            p[j] = np.exp(p[j])
            total += p[j]
    total = p.dtype.type(1) if total == 0 else total
    for j in range(p.size):
        p[j] /= total


@Helper
def add_weighted(c: writes(1), p: reads(1), v: reads(2)):
    """c += sum_j p_j v_j; where p_j = 0, v_j may be NaN and is not read."""
    for j in range(p.size):
        if p[j] != 0:
            p_j, v_j = p[j], v[j]
            for i in range(c.size):
                c[i] += p_j * v_j[i]
