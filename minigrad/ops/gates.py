"""Functions that GRU and LSTM share.

A GRU has 3 gates and an LSTM has 4, each of width H. They are stacked: a weight has the
shape (gates H, I), and a row of gate values has gates H entries.
"""

import numpy as np


def affine(x, weight, bias):
    """Return x W^T + b: (n, I) -> (n, gates H)."""
    return x @ weight.T if bias is None else x @ weight.T + bias


def project(x, weight, bias, out):
    """Write x W_k^T + b_k for each gate k to ``out``: (N, I) -> (gates, N, H)."""
    gates, _, H = out.shape
    for k in range(gates):
        rows = slice(k * H, (k + 1) * H)
        np.matmul(x, weight[rows].T, out=out[k])
        if bias is not None:
            out[k] += bias[rows]


def by_gate(a, gates):
    """Return a view of rows (n, gates H), gate by gate: (gates, n, H)."""
    n, width = a.shape
    return a.reshape(n, gates, width // gates).swapaxes(0, 1)


def sigmoid(a):
    """Replace a by 1 / (1 + e^-a) = (1 + tanh(a / 2)) / 2, which cannot overflow."""
    a *= 0.5
    np.tanh(a, out=a)
    a *= 0.5
    a += 0.5
