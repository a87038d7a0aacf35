"""Does a Transformer train without the factor 1 / sqrt(d)? A record of lesson 10.

    python lessons/book/10_heads/scaling.py

Encoders of two widths and two depths learn the table of ``experiment.py``,
y_t = F[x_t, x_(t-1)], with scaled and with unscaled scores. A block has one head, so
that d_k is the width: 64 is that of Vaswani's model and of BERT.
Some minutes.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from importlib import import_module

import numpy as np

import minigrad as mg
from attention.metrics.alignment import attention_entropy
from attention.transformer import TransformerConfig
from lessons.classroom.records import write_record

Transformer = import_module("lessons.book.10_heads.small").Transformer
V, T = 8, 8  # symbols, and places
WIDTHS, LAYERS, SEEDS = (16, 64), (2, 6), (0, 1, 2)
STEPS, BATCH, RATE, WARMUP = 500, 16, 2e-3, 30
LOOKS = (0, 10, 30, 100, 200, 300, 500)  # steps at which the entropy is measured
TABLE = np.random.default_rng(42).integers(V, size=(V, V))  # F


def draw(rng, n):
    x = rng.integers(V, size=(n, T))
    return x, TABLE[x, np.roll(x, 1, 1)]  # in a ring


def train(width, layers, scaled, seed):
    """Train one model; return its losses, accuracy and entropy of its weights."""
    config = TransformerConfig(V, width=width, heads=1, layers=layers, hidden=width)
    rng = np.random.default_rng(seed)
    model = Transformer(config, False, None if scaled else 1.0, rng)
    optimizer = mg.optim.Adam(model.parameters(), lr=RATE)
    schedule = mg.optim.WarmupLR(optimizer, WARMUP)
    rng, losses, entropy = np.random.default_rng(100 + seed), [], []
    x_test, y_test = draw(np.random.default_rng(1000), 300)
    for step in range(STEPS + 1):
        if step in LOOKS:
            with mg.no_grad():
                logits, weights = model(x_test)
            entropy.append([attention_entropy(p).mean() for p in weights])  # (layers,)
        x, y = draw(rng, BATCH)
        loss = mg.cross_entropy(model(x)[0].reshape(-1, V), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        mg.optim.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return {
        "width": width,
        "layers": layers,
        "scaled": scaled,
        "seed": seed,
        "curve": np.reshape(losses[:STEPS], (-1, 10)).mean(1).round(4),
        "entropy": np.round(entropy, 4),
        "accuracy": (logits.data.argmax(-1) == y_test).mean(),
    }


def main():
    runs = []
    for width in WIDTHS:
        for layers in LAYERS:
            for scaled in (True, False):
                for seed in SEEDS:
                    runs.append(found := train(width, layers, scaled, seed))
                    print(width, layers, scaled, seed, found["accuracy"], end=" ")
                    print(found["curve"][-1], found["entropy"][[0, -1]].mean(1))
                    sys.stdout.flush()
    results = {"steps": STEPS, "looks": LOOKS, "places": T, "symbols": V, "runs": runs}
    command = "python lessons/book/10_heads/scaling.py"
    print(write_record("scaling", results, command=command, seeds=SEEDS))


if __name__ == "__main__":
    main()
