"""E.10  Multi-head attention and its backward  ●●●●  60 min  needs E.2, E.7

H heads attend independently, each with E = D / H of the D entries of a row:

    Q = X W_q^T,  K = Y W_k^T,  V = Y W_v^T           (L, D), (S, D), (S, D)
    P_h = softmax(Q_h K_h^T / sqrt(E))               head h: entries h E, …, h E + E - 1
    O = [P_0 V_0, …]                                  side by side, (L, D)
    Z = O W_o^T

X (L, D) gives the queries, Y (S, D) the keys and values. In self-attention X and Y are
the same array; the backward still returns two gradients, which the caller adds. All
weights are (D, D), with one row for each output.
"""

import numpy as np


def split(x, H):
    """Return x (n, D) divided into heads, (H, n, D / H)."""
    # BEGIN SOLUTION
    n, D = x.shape
    return x.reshape(n, H, D // H).transpose(1, 0, 2)
    # END SOLUTION


def join(x):
    """Return the heads x (H, n, E) side by side, (n, H E): the inverse of split."""
    # BEGIN SOLUTION
    H, n, E = x.shape
    return x.transpose(1, 0, 2).reshape(n, H * E)
    # END SOLUTION


def attention(q, k, v):
    """Return softmax(q k^T / sqrt(E)) v for each head.

    q (H, L, E), k (H, S, E), v (H, S, E)  ->  o (H, L, E), backward;  backward(g)
    returns (dq, dk, dv)
    """
    scale = 1 / np.sqrt(q.shape[-1])
    s = scale * (q @ k.swapaxes(1, 2))  # (H, L, S)
    p = np.exp(s - s.max(-1, keepdims=True))
    p = p / p.sum(-1, keepdims=True)

    def backward(g):
        # BEGIN SOLUTION
        dv = p.swapaxes(1, 2) @ g
        dp = g @ v.swapaxes(1, 2)  # (H, L, S)
        ds = p * (dp - (p * dp).sum(-1, keepdims=True))
        return scale * (ds @ k), scale * (ds.swapaxes(1, 2) @ q), dv
        # END SOLUTION

    return p @ v, backward


def multihead(X, Y, W_q, W_k, W_v, W_o, H):
    """Return Z (L, D), backward; backward(g) is (dX, dY, dW_q, dW_k, dW_v, dW_o)."""
    Q, K, V = (split(x @ W.T, H) for x, W in ((X, W_q), (Y, W_k), (Y, W_v)))
    o, of_attention = attention(Q, K, V)
    O = join(o)  # noqa: E741

    def backward(g):
        # BEGIN SOLUTION
        dW_o = g.T @ O
        dq, dk, dv = (join(d) for d in of_attention(split(g @ W_o, H)))
        dX = dq @ W_q
        dY = dk @ W_k + dv @ W_v  # Y has two uses
        return dX, dY, dq.T @ X, dk.T @ Y, dv.T @ Y, dW_o
        # END SOLUTION

    return O @ W_o.T, backward


# FOR THE CHECK

WHY = (
    "Heads do not mix before W_o, so the backward of join is split, and each head has "
    "the backward of a single attention. X is used for the queries only, and Y for "
    "keys and values, so dY is a sum of two terms."
)

MUTANTS = [  # that no line of the exercise in loops names
    ("return scale * (ds @ k)", "return ds @ k", "scale:sqrt(5)"),
    ("ds.swapaxes(1, 2) @ q", "ds.swapaxes(1, 2) @ q * scale", "scale:1/sqrt(5)"),
    ("g @ v.swapaxes(1, 2)", "g @ v.swapaxes(1, 2) / p.shape[1]", "scale:1/3"),
    ("dW_o = g.T @ O", "dW_o = O.T @ g", "transpose"),
]
