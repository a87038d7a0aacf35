"""What do cheaper forms of attention lose in quality? A record of lesson 12.

    python lessons/book/12_exact_and_cheap/quality.py

A small causal Transformer for each form, three seeds: dense, window, BigBird, linear,
and dense with fewer key heads. It reads pairs of a key and a value, each as one token,
then keys alone, and says the value of each. So it is known how many tokens back the
answer stands. Six minutes on a core.
"""

import pathlib
import sys
from concurrent.futures import ProcessPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

import numpy as np

import minigrad as mg
from attention import MultiHeadAttention, linear_attention, masks
from attention.exact.multihead import heads
from attention.training import Run, fit
from attention.transformer import Block, TransformerConfig
from attention.transformer.schemes import Scheme
from lessons.classroom.records import write_record
from minigrad import nn, optim, reshape, swapaxes

PAIRS, KEYS, VALUES = 24, 40, 8
STEPS, BATCH, RATE, SEEDS = 400, 32, 4e-3, (1, 2, 3)
FARTHEST = (8, 16, 32, 2 * PAIRS)  # tokens back: the ends of four ranges
MASKS = {
    "dense": masks.causal(),
    "window": masks.sliding_window(15, 0),
    "BigBird": masks.causal() & masks.bigbird(8, 1, 1, 1, seed=0),
}
FORMS = (*MASKS, "linear", "2 key heads", "1 key head")
WIDTH, HEADS, LAYERS = 32, 4, 2


class Masked(MultiHeadAttention):
    """Self-attention to the pairs that a mask of ``MASKS`` allows."""

    def forward(self, x, **unused):
        return super().forward(x, mask=MASKS[self.form])


class Linear(MultiHeadAttention):
    """Causal linear attention with the projections of ``MultiHeadAttention``."""

    def forward(self, x, **unused):
        W = self.W_q, self.W_k, self.W_v
        q, k, v = (heads(W_x, x, self.num_heads) for W_x in W)  # (B, H, n, E)
        o = swapaxes(linear_attention(q, k, v, is_causal=True), 1, 2)
        return self.W_o(reshape(o, x.shape))


class Model(nn.Module):
    """One-hot keys and values (B, n, KEYS + VALUES)  ->  logits (B, n, VALUES)."""

    def __init__(self, form, rng):
        config = TransformerConfig(
            KEYS, width=WIDTH, heads=HEADS, positions="none", activation="relu",
            key_heads=int(form[0]) if "key head" in form else None,
        )  # fmt: skip
        self.scheme = Scheme(config, True, rng)
        self.embedding = nn.Linear(KEYS + VALUES, WIDTH, rng=rng)
        self.blocks = [
            Block(config, self.scheme, causal=True, rng=rng) for _ in range(LAYERS)
        ]
        for block in self.blocks:
            if form in MASKS or form == "linear":
                layer = Masked if form in MASKS else Linear
                block.self_attn = layer(WIDTH, HEADS, rng=rng)
                block.self_attn.form = form
        self.norm = nn.LayerNorm(WIDTH)
        self.output = nn.Linear(WIDTH, VALUES, rng=rng)

    def forward(self, x):
        x = self.embedding(x)
        for block in self.blocks:
            x, _ = block(x, scheme=self.scheme)
        return self.output(self.norm(x))


def draw(rng, n):
    """Return x (n, 2 P, KEYS + VALUES), values (n, P), distances (n, P) in tokens.

    First P pairs of different keys, then the same keys in another order, alone.
    """
    P, rows = PAIRS, np.arange(n)[:, None]
    keys = rng.permuted(np.tile(np.arange(KEYS), (n, 1)), axis=1)[:, :P]
    values = rng.integers(VALUES, size=(n, P))
    order = rng.permuted(np.tile(np.arange(P), (n, 1)), axis=1)
    x = np.zeros((n, 2 * P, KEYS + VALUES), np.float32)
    x[rows, np.arange(P), keys] = x[rows, np.arange(P), KEYS + values] = 1
    x[rows, P + np.arange(P), keys[rows, order]] = 1
    return x, values[rows, order], P + np.arange(P) - order


def train(form, seed):
    """{"form", "seed", ..., "accuracy": [all, and of each range of distances]}"""
    model = Model(form, np.random.default_rng(seed))
    optimizer = optim.Adam(model.parameters(), lr=RATE)
    after = optim.CosineAnnealingLR(optimizer, T_max=STEPS)
    run = Run(model, optimizer, optim.WarmupLR(optimizer, STEPS // 20, after=after))

    def loss_at(step):
        x, y, _ = draw(np.random.default_rng([seed, step]), BATCH)
        return mg.cross_entropy(model(x)[:, PAIRS:], y)

    fit(run, STEPS, loss_at)
    x, y, back = draw(np.random.default_rng(97), 400)
    with mg.no_grad():
        right = model(x).data[:, PAIRS:].argmax(-1) == y
    accuracy = [right.mean()]
    for low, high in zip((0, *FARTHEST), FARTHEST):
        accuracy.append(right[(low < back) & (back <= high)].mean())
    return {
        "form": form, "seed": seed, "parameters": model.num_parameters(),
        "loss": np.mean(run.losses[-20:]), "accuracy": accuracy,
    }  # fmt: skip


def main():
    runs, plan = [], [(form, seed) for seed in SEEDS for form in FORMS]
    with ProcessPoolExecutor(2) as workers:
        for one in [workers.submit(train, *each) for each in plan]:
            runs.append(one.result())
            print(*runs[-1].values(), flush=True)
    shape = {"pairs": PAIRS, "keys": KEYS, "values": VALUES, "steps": STEPS}
    shape |= {"width": WIDTH, "heads": HEADS, "layers": LAYERS, "farthest": FARTHEST}
    command = "python lessons/book/12_exact_and_cheap/quality.py"
    print(write_record("quality", shape | {"runs": runs}, command=command, seeds=SEEDS))


if __name__ == "__main__":
    main()
