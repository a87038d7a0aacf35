"""Functions that GRU and LSTM share.

The candidate counts as a gate here: a GRU has K = 3 gates and an LSTM K = 4, each of
width H. They are stacked, so a weight has the shape (K H, I), and a row of values has K
H entries.
"""

import numpy as np


def affine(x, weight, bias):
    """Return x W^T + b: (n, I) -> (n, K H)."""
    return x @ weight.T if bias is None else x @ weight.T + bias


def affine_back(da, x, weight, bias, need_x, need_weight):
    """Return dx, dW and db from da (n, K H) and x (n, I); the sums run over the rows.

    dx = W^T da,      dW = sum da x^T,      db = sum da
    """
    dx = da @ weight if need_x else None
    dW = da.T @ x if need_weight else None
    return dx, dW, None if bias is None else da.sum(0)


def project(x, weight, bias, out):
    """Write x W_k^T + b_k for each gate k to the k-th array (N, H) of ``out``."""
    for k, out_k in enumerate(out):
        H = out_k.shape[1]
        rows = slice(k * H, (k + 1) * H)
        np.matmul(x, weight[rows].T, out=out_k)
        if bias is not None:
            out_k += bias[rows]


def by_gate(a, K):
    """Return a view of rows (n, K H), gate by gate: (K, n, H)."""
    n, width = a.shape
    return a.reshape(n, K, width // K).swapaxes(0, 1)


def sigmoid(a):
    """Replace a by 1 / (1 + e^-a) = (1 + tanh(a / 2)) / 2, which cannot overflow."""
    a *= 0.5
    np.tanh(a, out=a)
    a *= 0.5
    a += 0.5
