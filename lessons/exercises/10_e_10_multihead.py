"""E.10  Multi-head attention and its backward  ●●●●  60 min  needs E.2, E.7

H heads attend independently, each with E = D / H of the D entries of a row:

    Q = X W_q^T,  K = Y W_k^T,  V = Y W_v^T           (L, D), (S, D), (S, D)
    P_h = softmax(Q_h K_h^T / sqrt(E))               head h: entries h E, …, h E + E - 1
    O = [P_0 V_0, …]                                  side by side, (L, D)
    Z = O W_o^T

X (L, D) gives the queries, Y (S, D) the keys and values. In self-attention X and Y are
the same array; the backward still returns two gradients, which the caller adds. All
weights are (D, D), with one row for each output. ``python -m lessons experiment E.10``
then trains a block with your heads, which learns to reverse strings.
"""

import numpy as np


def split(x, H):
    """Return x (n, D) divided into heads, (H, n, D / H)."""
    n, D = x.shape
    return x.reshape(n, H, D // H).transpose(1, 0, 2)  #? Which entries of every row has head 0? reshape keeps the order in memory.
    #= return np.stack(np.split(x, H, 1))
    #! return x.reshape(H, n, D // H)  | the entries divided into heads row after row
    #! return np.stack([x[:, : D // H]] * H)  | head 0 in the place of every head


def join(x):
    """Return the heads x (H, n, E) side by side, (n, H E): the inverse of split."""
    H, n, E = x.shape
    return x.transpose(1, 0, 2).reshape(n, H * E)  #? join after split changes nothing. Which axes does it exchange, and when?
    #= return np.concatenate(x, 1)
    #! return x.reshape(n, H * E)  | the entries in memory order, divided into rows
    #! return np.tile(x[0], H)  | head 0 in the place of every head


def attention(q, k, v):
    """Return softmax(q k^T / sqrt(E)) v for each head.

    q (H, L, E), k (H, S, E), v (H, S, E)  ->  o (H, L, E), backward;  backward(g)
    returns (dq, dk, dv)
    """
    scale = 1 / np.sqrt(q.shape[-1])
    #! scale = 1 / np.sqrt(k.shape[1])  | the output with scores / sqrt(S), the number of keys
    s = scale * (q @ k.swapaxes(1, 2))  # (H, L, S)
    p = np.exp(s - s.max(-1, keepdims=True))
    p = p / p.sum(-1, keepdims=True)

    def backward(g):
        dv = p.swapaxes(1, 2) @ g  #? o = p v: which factor has v, in each head?
        #! dv = p[0].T @ g  | the gradient with the weights of head 0
        dp = g @ v.swapaxes(1, 2)  #? o = p v: what is the gradient of p?
        ds = p * (dp - (p * dp).sum(-1, keepdims=True))  #? If one score of a row rises, the other weights of the row fall. Over which axis is the sum, and of what?
        #! ds = dp - p * (p * dp).sum(-1, keepdims=True)  | the gradient with ds = dp - p sum(p dp), without p in the first term
        #! ds = p * dp - (p * dp).sum(-1, keepdims=True)  | the gradient with ds = p dp - sum(p dp), without p in the second term
        #! ds = p * (dp - dp.mean(-1, keepdims=True))  | the gradient with ds = p (dp - mean(dp)), the mean without weights
        #! ds = p[0] * (dp - (p[0] * dp).sum(-1, keepdims=True))  | the gradient with the weights of head 0
        dq = scale * (ds @ k)  #? s = scale q k^T: which factors has the gradient of q?
        dk = scale * (ds.swapaxes(1, 2) @ q)  #? s = scale q k^T: which factors has the gradient of k, and is one transposed?
        return dq, dk, dv

    return p @ v, backward


def multihead(X, Y, W_q, W_k, W_v, W_o, H):
    """Return Z and its backward.

    X (L, D), Y (S, D), W_q, W_k, W_v, W_o (D, D)  ->  Z (L, D), backward;  backward(g)
    returns (dX, dY, dW_q, dW_k, dW_v, dW_o)
    """
    Q, K, V = (split(x @ W.T, H) for x, W in ((X, W_q), (Y, W_k), (Y, W_v)))
    o, of_attention = attention(Q, K, V)
    O = join(o)  # noqa: E741

    def backward(g):
        dW_o = g.T @ O  #? Which array does W_o multiply?
        #! dW_o = g.T @ (O @ W_o.T)  | g^T Z, with Z = O W_o^T for O
        #! dW_o = (g @ W_o).T @ O  | (g W_o)^T O, with g W_o for g
        dO = split(g @ W_o, H)  #? Z = O W_o^T: over which index of W_o is the sum with g? Which columns has each head?
        #! dO = (g @ W_o).reshape(H, len(g), -1)  | the gradient with g W_o, divided into heads row after row
        #! dO = split(g @ W_o, H) * (np.arange(H) == 0)[:, None, None]  | the gradient through head 0 alone
        dq, dk, dv = (join(d) for d in of_attention(dO))  #? Each head has its own entries and gradients. How do they become rows again?
        #! dq, dk, dv = (np.tile(d[0], H) for d in of_attention(dO))  | the gradient with that of head 0 for every head
        dX = dq @ W_q  #? Q = X W_q^T, and X gives the queries alone. Over which index of W_q is the sum?
        #! dX = dq @ W_q + (dk @ W_k + dv @ W_v if X is Y else 0)  | dX + dY, because X is Y
        dY = dk @ W_k + dv @ W_v  #? Y is used for the keys and for the values: what happens to the gradients of two uses?
        #! dY = dk @ W_v + dv @ W_k  | the gradient with W_v for W_k, W_k for W_v
        #! dY = dk @ W_k + dv @ W_v + (dX if X is Y else 0)  | dX + dY, because X is Y
        dW_q = dq.T @ X  #? Which weights multiply X, and which multiply Y?
        #! dW_q = dq.T @ (Y if X.shape == Y.shape else X)  | the gradient of W_q with Y for X
        dW_k = dk.T @ Y  #? K = Y W_k^T: what is the gradient of W_k?
        #! dW_k = dk.T @ (X if X.shape == Y.shape else Y)  | the gradient of W_k with X for Y
        dW_v = dv.T @ Y  #? V = Y W_v^T: what is the gradient of W_v?
        #! dW_v = dv.T @ (X if X.shape == Y.shape else Y)  | the gradient of W_v with X for Y
        return dX, dY, dW_q, dW_k, dW_v, dW_o

    return O @ W_o.T, backward


# ---- THE CHECK: each call of my.f is compared with the function above

from lessons.course.training import experiment  # noqa: F401


def draw(rng, L=3, S=4, D=6):
    """Return X (L, D), Y (S, D) and four weights (D, D)."""
    weights = rng.normal(size=(4, D, D)) / 2
    return [rng.normal(size=(L, D)), rng.normal(size=(S, D)), *weights]


def heads(my, rng):
    """rows divided into heads"""
    for n, D, H in ((5, 21, 3), (3, 9, 3), (5, 6, 1), (5, 6, 6)):
        my.split(rng.normal(size=(n, D)), H)


def rows(my, rng):
    """heads side by side"""
    for H, n, E in ((3, 5, 7), (3, 3, 3), (1, 5, 6), (6, 5, 1)):
        my.join(rng.normal(size=(H, n, E)))


def of_a_head(my, rng):
    """the gradients of two heads, of three with equal sizes, and of a single key"""
    for H, L, S, E in ((2, 3, 4, 5), (3, 3, 3, 3), (3, 2, 7, 5), (2, 3, 1, 5)):
        my.attention(*(rng.normal(size=(H, n, E)) for n in (L, S, S)))


def of_all(my, rng):
    """the gradients of all weights, with 2 heads and with 3, and where X is Y"""
    for H, *sizes in ((2, 3, 5, 4), (3, 3, 3, 3), (2, 5, 7, 6)):
        my.multihead(*draw(rng, *sizes), H)
    X, _, *weights = draw(rng)
    X.flags.writeable = False  # such an array is passed as it is: X is Y
    my.multihead(X, X, *weights, 2)


HINTS = """
1  reshape reads numbers in memory order. Which axis can you divide in two without moving
   a number, and which axes do you exchange then?
2  For y = x W^T, the gradient of x is g W and that of W is g^T x. Backwards: W_o, split,
   the heads, join, the three projections. In a head: v, p, s, then q and k, and the scale
   is a factor of both.
3  split: (n, H, E), then transpose to (H, n, E); join undoes the two in the other order.
   ds = p (dp - sum(p dp) over the keys), dq = scale ds @ k and dk = scale ds^T @ q. In
   multihead dO = g @ W_o, split; join dq, dk, dv; dY is dk @ W_k plus dv @ W_v.
"""
WHY = """Heads do not mix before W_o, so the backward of join is split, and each head has the
backward of a single attention. X is used for the queries only, and Y for keys and values,
so dY is a sum of two terms."""
