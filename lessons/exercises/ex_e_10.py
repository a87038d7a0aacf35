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

from lessons import NotWritten


def split(x, H):
    """Return x (n, D) divided into heads, (H, n, D / H)."""
    raise NotWritten("E.10 split")


def join(x):
    """Return the heads x (H, n, E) side by side, (n, H E): the inverse of split."""
    raise NotWritten("E.10 join")


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
        raise NotWritten("E.10 attention")

    return p @ v, backward


def multihead(X, Y, W_q, W_k, W_v, W_o, H):
    """Return Z (L, D), backward; backward(g) is (dX, dY, dW_q, dW_k, dW_v, dW_o)."""
    Q, K, V = (split(x @ W.T, H) for x, W in ((X, W_q), (Y, W_k), (Y, W_v)))
    o, of_attention = attention(Q, K, V)
    O = join(o)  # noqa: E741

    def backward(g):
        raise NotWritten("E.10 multihead")

    return O @ W_o.T, backward
