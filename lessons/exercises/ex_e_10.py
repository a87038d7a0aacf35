"""E.10  Many heads, and the way back  ●●●●  60 min  needs E.2, E.7

H heads attend side by side, each with E = D / H of the D numbers of a row:

    Q = X W_q^T,  K = Y W_k^T,  V = Y W_v^T           (L, D), (S, D), (S, D)
    P_h = softmax(Q_h K_h^T / sqrt(E))               head h: entries h E, …, h E + E - 1
    O = [P_0 V_0, …]                                  side by side, (L, D)
    Z = O W_o^T

X (L, D) asks, Y (S, D) is asked; for self-attention they are the same rows, and what
they receive as X and as Y adds up. All weights are (D, D), out by in.
"""

import numpy as np

from lessons import NotWritten


def split(x, H):
    """(n, D)  ->  (H, n, D / H), a head first."""
    raise NotWritten("E.10 split")


def join(x):
    """(H, n, E)  ->  (n, H E): what split has taken apart."""
    raise NotWritten("E.10 join")


def attention(q, k, v):
    """softmax(q k^T / sqrt(E)) v for each head; the backward returns (dq, dk, dv).

    q (H, L, E), k (H, S, E), v (H, S, E)  ->  o (H, L, E), backward
    """
    scale = 1 / np.sqrt(q.shape[-1])
    s = scale * (q @ k.swapaxes(1, 2))  # (H, L, S)
    p = np.exp(s - s.max(-1, keepdims=True))
    p = p / p.sum(-1, keepdims=True)

    def backward(g):
        raise NotWritten("E.10 attention")

    return p @ v, backward


def multihead(X, Y, W_q, W_k, W_v, W_o, H):
    """Z (L, D), backward;  backward(g) returns (dX, dY, dW_q, dW_k, dW_v, dW_o)."""
    Q, K, V = (split(x @ W.T, H) for x, W in ((X, W_q), (Y, W_k), (Y, W_v)))
    o, of_attention = attention(Q, K, V)
    O = join(o)  # noqa: E741

    def backward(g):
        raise NotWritten("E.10 multihead")

    return O @ W_o.T, backward
