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


def split(x, H):
    """(n, D)  ->  (H, n, D / H), a head first."""
    # BEGIN SOLUTION
    n, D = x.shape
    return x.reshape(n, H, D // H).transpose(1, 0, 2)
    # END SOLUTION


def join(x):
    """(H, n, E)  ->  (n, H E): what split has taken apart."""
    # BEGIN SOLUTION
    H, n, E = x.shape
    return x.transpose(1, 0, 2).reshape(n, H * E)
    # END SOLUTION


def attention(q, k, v):
    """softmax(q k^T / sqrt(E)) v for each head; the backward returns (dq, dk, dv).

    q (H, L, E), k (H, S, E), v (H, S, E)  ->  o (H, L, E), backward
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
    """Z (L, D), backward;  backward(g) returns (dX, dY, dW_q, dW_k, dW_v, dW_o)."""
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

HINTS = {
    "": [
        "reshape reads numbers in the order in which they lie. Which axis may be cut "
        "in two without moving a number, and which axes are then exchanged?",
        "y = x W^T hands back g W to x and g^T x to W. Backwards: the output's "
        "weights, split, the heads, join, the three projections. In a head: v, p, s, "
        "then q and k, and the scale is a factor of both.",
        "split: (n, H, E), then transpose to (H, n, E); join undoes the two in the "
        "other order. ds = p (dp - the mean of dp under p), dq = scale ds @ k and dk = "
        "scale ds^T @ q. In multihead dO = g @ W_o, split; join dq, dk, dv; Y collects "
        "dk @ W_k and dv @ W_v.",
    ],
    "heads-mixed": [
        "Head 0 has the first E numbers of every row. Does yours?",
        "reshape(H, n, E) gives head 0 the first rows, and not the first columns.",
    ],
    "interleaved": ["Head h has the entries from h E on, side by side."],
    "join": ["What split does and what join does, one after the other, is nothing."],
    "no-centre": ["Raising one score lowers the other weights of its row."],
    "W_o-turned": ["Z = O W_o^T. With indices: which of W_o's two is summed with g?"],
    "one-use": ["Y was used for the keys and for the values."],
}

MUTANTS = [
    (
        "x.reshape(n, H, D // H).transpose(1, 0, 2)",
        "x.reshape(H, n, D // H)",
        "heads-mixed",
    ),
    (
        "x.reshape(n, H, D // H).transpose(1, 0, 2)",
        "x.reshape(n, D // H, H).transpose(2, 0, 1)",
        "interleaved",
    ),
    ("x.transpose(1, 0, 2).reshape(n, H * E)", "x.reshape(n, H * E)", "join"),
    ("ds = p * (dp - (p * dp).sum(-1, keepdims=True))", "ds = p * dp", "no-centre"),
    ("(p * dp).sum(-1, keepdims=True)", "(p * dp).sum(1, keepdims=True)", "wrong-axis"),
    ("return scale * (ds @ k)", "return ds @ k", "scale:sqrt(5)"),
    (
        "scale * (ds.swapaxes(1, 2) @ q), dv",
        "scale * scale * (ds.swapaxes(1, 2) @ q), dv",
        "scale:1/sqrt(5)",
    ),
    (
        "dp = g @ v.swapaxes(1, 2)",
        "dp = g @ v.swapaxes(1, 2) / p.shape[1]",
        "scale:1/3",
    ),
    ("dW_o = g.T @ O", "dW_o = O.T @ g", "transpose"),
    ("dY = dk @ W_k + dv @ W_v", "dY = dv @ W_v", "one-use"),
    ("dY = dk @ W_k + dv @ W_v", "dY = dk @ W_k", "one-use"),
    (
        "of_attention(split(g @ W_o, H))",
        "of_attention(split(g @ W_o.T, H))",
        "W_o-turned",
    ),
]
