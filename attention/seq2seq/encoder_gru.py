"""A GRU over time with a compiled loop: ``minigrad.gru`` for long training runs.

The formulas and the backward pass stand in ``minigrad/ops/recurrent.py``. Here each
thread takes some examples through all steps (``attention/kernels/gru.py``), so that no
step waits for a call from Python and all cores work: on two cores it takes about 0.6
of the time (B = 64, T = 8, H = 96). Without numba this is ``minigrad.gru`` itself; a
test holds the two equal.
"""

import numpy as np

from minigrad import differentiable, nn
from minigrad.ops.packing import Packing
from minigrad.ops.recurrent import gru
from minigrad.shapes import shapes

from ..kernels import gru as kernel


@shapes
@differentiable
def encoder_gru(
    x, h0, weight_ih, weight_hh, bias_ih=None, bias_hh=None, lengths=None, reverse=False
):
    """Return the states of a GRU over time; everything is as in ``minigrad.gru``.

    x (B, T, I), h0 (B, H), weight_ih (3H, I), weight_hh (3H, H), bias_ih? (3H,),
    bias_hh? (3H,), lengths? (B,) int  ->  output (B, T, H), h_n (B, H)
    """
    (B, T, _), H = x.shape, h0.shape[1]
    packing = Packing("encoder_gru", B, T, lengths, reverse)
    order, own = packing.order, np.full(B, T)  # own: the number of tokens
    if packing.lengths is not None:
        own = packing.lengths[order]  # the longest first
    # the position of the token that each example reads at step t
    last = own - 1 if reverse else np.zeros_like(own)
    time = abs(last - np.arange(T)[:, None]) % T  # (T, B)
    running = np.arange(T)[:, None] < own

    def by_time(a):
        """(B, T, F) -> (T, B, F), zero in the padding."""
        if packing.lengths is None:
            return np.ascontiguousarray(a[:, :: -1 if reverse else 1].swapaxes(0, 1))
        return np.where(running[..., None], a[np.arange(B)[order], time], 0)

    def by_example(a):
        """(T, B, F) -> (B, T, F), zero in the padding."""
        if packing.lengths is None:
            return np.ascontiguousarray(a.swapaxes(0, 1)[:, :: -1 if reverse else 1])
        out = np.zeros((B, T, a.shape[2]), a.dtype)
        t, b = np.nonzero(running)
        out[order[b], time[t, b]] = a[t, b]
        return out

    weights = weight_ih, weight_hh, bias_ih, bias_hh
    inputs = by_time(x)
    gates, states = np.empty((4, T, B, H), x.dtype), np.zeros((T + 1, B, H), x.dtype)
    states[0] = h0[order]
    if not kernel.forward(inputs, own, *weights, gates, states):
        return gru.raw(x, h0, *weights, lengths, reverse)

    def backward(g, needs):
        g, g_last = by_time(g[0]), g[1][order]
        dx, ds, *dweights = kernel.backward(
            g, g_last, own, *weights[:2], inputs, gates, states
        )
        dh0 = np.empty_like(ds)
        dh0[order] = ds
        dx = by_example(dx) if needs[0] else None
        return dx, dh0, *dweights

    h_n = np.empty((B, H), x.dtype)
    h_n[order] = states[own, np.arange(B)]
    return (by_example(states[1:]), h_n), backward


class EncoderGRU(nn.GRU):
    """``nn.GRU`` with compiled loops: the same parameters, the same numbers."""

    op = staticmethod(encoder_gru.unchecked)  # nn.GRU checks the shapes
