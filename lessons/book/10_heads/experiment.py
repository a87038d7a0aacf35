"""What does a Transformer's block need in order to train? The record of lesson 10.

    python lessons/book/10_heads/experiment.py

An encoder of pre-norm blocks learns a table of two entries: of the token at a place and
of the one before it, y_t = F[x_t, x_(t-1)]. Whole, and without each of the four things
that the sidebar of section 6.4.4 calls necessary. Some minutes.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

import numpy as np

import minigrad as mg
from attention import MultiHeadAttention, sinusoidal
from attention.transformer import FeedForward, TransformerConfig
from lessons.classroom.records import write_record
from minigrad import nn

V, T = 8, 8  # symbols, and places
CONFIG = TransformerConfig(V, width=32, heads=4)
WITHOUT = ("nothing", "positions", "feed-forward", "residual", "norm")
LAYERS, SEEDS = (2, 4, 8), (0, 1, 2)
STEPS, BATCH, RATE = 500, 32, 2e-3
TABLE = np.random.default_rng(42).integers(V, size=(V, V))  # F


class Encoder(nn.Module):
    """One-hot x (B, T, V)  ->  logits (B, T, V); ``without`` leaves one thing out."""

    def __init__(self, without, layers, rng):
        D = CONFIG.width
        self.without = without
        self.embedding, self.output = nn.Linear(V, D, rng=rng), nn.Linear(D, V, rng=rng)
        self.parts = []
        for _ in range(layers):
            self.parts.append(MultiHeadAttention(D, CONFIG.heads, rng=rng))
            if without != "feed-forward":
                self.parts.append(FeedForward(CONFIG, rng))
        self.norms = [nn.LayerNorm(D) for _ in range(len(self.parts) + 1)]
        self.places = sinusoidal(T, D)

    def forward(self, x):
        x = self.embedding(x)  # (B, T, D)
        if self.without != "positions":
            x = x + self.places
        for f, norm in zip(self.parts, self.norms):
            y = f(x if self.without == "norm" else norm(x))
            x = y if self.without == "residual" else x + y
        return self.output(x if self.without == "norm" else self.norms[-1](x))


def draw(rng, n):
    x = rng.integers(V, size=(n, T))
    return np.eye(V, dtype=np.float32)[x], TABLE[x, np.roll(x, 1, 1)]  # in a ring


def train(without, layers, seed):
    """{"without", "layers", "seed", "loss": of the last 20 steps, "accuracy"}"""
    model = Encoder(without, layers, np.random.default_rng(seed))
    optimizer = mg.optim.Adam(model.parameters(), lr=RATE)
    rng, losses = np.random.default_rng(100 + seed), []
    for _ in range(STEPS):
        x, y = draw(rng, BATCH)
        loss = mg.cross_entropy(model(x).reshape(-1, V), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    x, y = draw(np.random.default_rng(1000), 500)
    with mg.no_grad():
        right = model(x).data.argmax(-1) == y
    named = {"without": without, "layers": layers, "seed": seed}
    return named | {"loss": np.mean(losses[-20:]), "accuracy": right.mean()}


def keep(runs):
    """The record of what ``train`` found."""
    results = {"steps": STEPS, "symbols": V, "runs": runs}
    command = "python lessons/book/10_heads/experiment.py"
    return write_record("transformer", results, command=command, seeds=SEEDS)


def main():
    runs = []
    for layers in LAYERS:
        for without in WITHOUT:
            for seed in SEEDS:
                runs.append(train(without, layers, seed))
                print(*runs[-1].values(), flush=True)
    print(keep(runs))


if __name__ == "__main__":
    main()
