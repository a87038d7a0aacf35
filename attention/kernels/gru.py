"""The compiled form of ``minigrad.gru``: the decoder's loops without attention.

The twin is ``minigrad/ops/recurrent.py``. A decoder with an empty source, of no
positions, is a GRU over its inputs: its loops take some examples through all the steps.
Arrays are in order of time: t first, then the examples, the longest first, so that the
examples which are still running at a step are the first few.
"""

import numpy as np

from minigrad.ops.packing import check_lengths

from . import decoder, decoder_backward
from .cell import cell_of
from .choice import EXP
from .compiling import as_field


def gru(
    x,
    h0,
    weight_ih,
    weight_hh,
    bias_ih=None,
    bias_hh=None,
    lengths=None,
    reverse=False,
    *,
    needs=(True,) * 8,
):
    """Compute ``minigrad.gru``; return NotImplemented if its taught form should run.

    Each thread takes some examples through all the steps.
    """
    (B, T, I), H = x.shape, h0.shape[1]  # noqa: E741
    n_tokens = check_lengths("gru", B, T, lengths)
    work = T * B * H * 3 * (I + H + EXP)
    loop = decoder.forward_loop.on_threads(x.dtype, work)
    if loop is None or not isinstance(reverse, bool):
        return NotImplemented
    if any(needs):  # without gradients, as under no_grad, it is not compiled
        back = decoder_backward.backward_loop.on_threads(x.dtype, 2 * work)
    order = np.argsort(-n_tokens, kind="stable")  # the longest example first
    n_tokens, steps = n_tokens[order].astype(np.int64), np.arange(T)[:, None]
    # at step t, the b-th longest example reads the token at tokens[t, b], and after its
    # last token the padding; % T turns -1, -2, ... into the positions of the padding
    tokens = (n_tokens - 1 - steps) % T if reverse else steps  # (T, B) or (T, 1)

    def by_time(a):
        """Reorder (B, T, F) to (T, B, F)."""
        if lengths is None and not reverse:
            return np.ascontiguousarray(a.swapaxes(0, 1))  # the same, in less time
        return a[order, tokens]

    def by_example(a):
        """Reorder (T, B, F) to (B, T, F)."""
        if lengths is None and not reverse:
            return np.ascontiguousarray(a.swapaxes(0, 1))
        out = np.empty((B, T, a.shape[2]), a.dtype)
        out[order, tokens] = a
        return out

    dtype = x.dtype
    keys, nothing = np.empty((B, 0, H), dtype), np.empty((B, 0, 0), dtype)
    source = decoder.attention_of(nothing, keys, None, None, None, 1)
    cell = cell_of(weight_ih, weight_hh, bias_ih, bias_hh, dtype)
    inputs = as_field(by_time(x), dtype)
    forward = decoder.run(loop, source, cell, n_tokens, inputs, h0[order])
    states = forward[0].states

    def backward(g):
        g_states = np.array(by_time(g[0]), dtype)
        g_states[steps >= n_tokens] = 0
        g_states[n_tokens - 1, np.arange(B)] += g[1][order]  # h_n is the last state
        g = g_states, *forward[1:]  # without numbers
        d, sums = decoder_backward.run(
            back, source, weight_ih, weight_hh, n_tokens, *forward, g
        )
        dh0 = np.empty_like(d.s)
        dh0[order] = d.s
        dx = by_example(d.inputs) if needs[0] else None
        return dx, dh0, *sums.gradients()

    h_n = np.empty((B, H), dtype)
    h_n[order] = states[n_tokens, np.arange(B)]
    return (by_example(states[1:]), h_n), backward
