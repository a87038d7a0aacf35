"""E.6  The GRU cell, backward through time  ●●●●  60 min  needs E.1, E.2

One step of a GRU, with the state h before it and the input x (both rows of a batch):

    r  = sigmoid(x W_ir^T + b_ir + h W_hr^T + b_hr)         which of the old to read
    z  = sigmoid(x W_iz^T + b_iz + h W_hz^T + b_hz)         how much of it to keep
    m  = h W_hn^T + b_hn
    n  = tanh(x W_in^T + b_in + r m)                        what could be new
    h' = (1 - z) n + z h

The three parts are stacked, r, z, n, in W_ih (3H, I), W_hh (3H, H), and b_ih and b_hh,
(3H,). The state is used four times within a step, and the weights in every step:
gradients are sums over all uses.
"""

import numpy as np

from lessons import NotWritten


def cell(x, h, W_ih, W_hh, b_ih, b_hh):
    """h' (B, H) for x (B, I) and h (B, H), and what the backward will need."""
    a = x @ W_ih.T + b_ih  # (B, 3H)
    b = h @ W_hh.T + b_hh
    a_r, a_z, a_n = np.split(a, 3, axis=1)
    b_r, b_z, m = np.split(b, 3, axis=1)
    r, z = 1 / (1 + np.exp(-(a_r + b_r))), 1 / (1 + np.exp(-(a_z + b_z)))
    n = np.tanh(a_n + r * m)
    return (1 - z) * n + z * h, (h, r, z, m, n)


def slopes(dh, h, r, z, m, n):
    """From dh = dL/dh' (B, H): the gradients of the sums inside sigmoid and tanh.

    ->  da_r, da_z, da_n, of which da_n is that of x W_in^T + b_in + r m;  dm, that of
        m;  direct, what reaches h by z h alone, past all gates.  Each (B, H)
    """
    raise NotWritten("E.6 slopes")


def gru(xs, h0, W_ih, W_hh, b_ih, b_hh):
    """Run over time: xs (T, B, I), h0 (B, H)  ->  hs (T, B, H), backward.

    backward(g), g (T, B, H) with a gradient for every state, returns those of xs, h0,
    W_ih, W_hh, b_ih and b_hh.
    """
    hs, seen, h = [], [], h0
    for x in xs:
        h, kept = cell(x, h, W_ih, W_hh, b_ih, b_hh)
        hs.append(h)
        seen.append(kept)

    def backward(g):
        raise NotWritten("E.6 gru")

    return np.array(hs), backward
