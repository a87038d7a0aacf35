"""Two heads that begin alike: what lesson 10 trains, and how.

    y_t = (x_(t-1), x_(t-2))        squared error, Adam

Each output wants two tokens from two places, which takes two heads.
"""

import numpy as np

import minigrad as mg
from attention import MultiHeadAttention


def draw(rng, n):
    """Tokens and positions, one-hot (n, 8, 14); what is wanted (n, 6, 12)."""
    x = np.eye(6)[rng.integers(6, size=(n, 8))]
    past = [np.roll(x, k, 1)[:, 2:] for k in (1, 2)]
    where = np.broadcast_to(np.eye(8), (n, 8, 8))
    return np.concatenate([x, where], -1), np.concatenate(past, -1)


def begin(twins, apart):
    layer = MultiHeadAttention(14, 2, bias=False, rng=np.random.default_rng(1))
    for m in (layer.W_q, layer.W_k, layer.W_v, layer.W_o):
        W = np.float64(m.weight.data)  # 7 rows a head; of W_o, 7 columns
        if twins:  # head 1 begins as a copy of head 0
            W = np.tile(W[:, :7], (1, 2)) if m is layer.W_o else np.tile(W[:7], (2, 1))
        m.weight.data = W + apart * np.random.default_rng(2).normal(size=W.shape)
    return layer


def train(layer, rng):
    optimizer, losses = mg.optim.Adam(layer.parameters(), lr=3e-2), []
    for _ in range(140):
        x, y = draw(rng, 16)
        loss = ((layer(x)[:, 2:, :12] - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.array(losses)


def cosine(layer):
    """Between the parameters of head 0 and those of head 1."""
    W = [m.weight.data.reshape(2, -1) for m in (layer.W_q, layer.W_k, layer.W_v)]
    out = layer.W_o.weight.data.reshape(14, 2, -1).swapaxes(0, 1).reshape(2, -1)
    a, b = np.concatenate([*W, out], 1)  # the numbers of each head, side by side
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)
