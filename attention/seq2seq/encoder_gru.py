"""A GRU over time with a compiled loop, for long training runs.

``minigrad/ops/recurrent.py`` has the formulas and the backward pass. The compiled loop
(``attention/kernels/gru.py``) divides the examples among the threads, and each thread
computes all steps of its examples. On two cores this takes 0.6 of the time of
``minigrad.gru`` (B = 64, T = 8, H = 96). Where there is no compiled loop,
``minigrad.gru`` is called. A test checks that both give the same results.
"""

import numpy as np

from minigrad import differentiable, nn
from minigrad.ops.packing import check_lengths
from minigrad.ops.recurrent import gru
from minigrad.shapes import shapes

from ..kernels import gru as kernel


@shapes
@differentiable
def encoder_gru(
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
    """Return the states of a GRU over time. The arguments are as in ``minigrad.gru``.

    x (B, T, I), h0 (B, H), weight_ih (3H, I), weight_hh (3H, H), bias_ih? (3H,),
    bias_hh? (3H,), lengths? (B,) int  ->  output (B, T, H), h_n (B, H)
    """
    (B, T, _), H = x.shape, h0.shape[1]
    n_tokens = check_lengths("encoder_gru", B, T, lengths)
    order = np.argsort(-n_tokens, kind="stable")  # the longest example first
    n_tokens, steps = n_tokens[order], np.arange(T)[:, None]
    # at step t, the b-th longest example reads the token at tokens[t, b], and after its
    # last token the padding; % T turns -1, -2, ... into the positions of the padding
    tokens = (n_tokens - 1 - steps) % T if reverse else steps  # (T, B) or (T, 1)

    def by_time(a):
        """Reorder (B, T, F) to (T, B, F)."""
        return a[order, tokens]

    def by_example(a):
        """Reorder (T, B, F) to (B, T, F)."""
        out = np.empty((B, T, a.shape[2]), a.dtype)
        out[order, tokens] = a
        return out

    weights = weight_ih, weight_hh, bias_ih, bias_hh
    inputs = by_time(x)
    gates, states = np.empty((4, T, B, H), x.dtype), np.zeros((T + 1, B, H), x.dtype)
    states[0] = h0[order]
    if not kernel.forward(inputs, n_tokens, *weights, gates, states):
        return gru.raw(x, h0, *weights, lengths, reverse, needs=needs)

    def backward(g):
        found = kernel.backward(
            by_time(g[0]), g[1][order], n_tokens, *weights[:2], inputs, gates, states
        )
        if found is None:  # there is no compiled loop now
            return gru.raw(x, h0, *weights, lengths, reverse, needs=needs)[1](g)
        dx, ds, *dweights = found
        dh0 = np.empty_like(ds)
        dh0[order] = ds
        dx = by_example(dx) if needs[0] else None
        return dx, dh0, *dweights

    h_n = np.empty((B, H), x.dtype)
    h_n[order] = states[n_tokens, np.arange(B)]
    return (by_example(states[1:]), h_n), backward


class EncoderGRU(nn.GRU):
    """``nn.GRU`` with compiled loops. Parameters and results are the same."""

    op = staticmethod(encoder_gru.unchecked)  # nn.GRU checks the shapes
