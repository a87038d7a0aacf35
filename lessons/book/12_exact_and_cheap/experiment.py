"""The experiments of lesson 12: what each attention takes, and what it loses.

What does each attention take, in time and memory? The record of lesson 12.

    python -m lessons experiment 12

The sweep of ``lessons/instrument/sweep.py``: one head of width 64, forward,
float32. And self-attention beside a recurrence, both with their projections. Two sides
that are compared are both compiled or both NumPy, and take turns in one process, on one
thread. A time is the least processor time of several calls, and five processes give
five of them. Some 3 minutes; the machine should have nothing else to do.

What do cheaper forms of attention lose in quality? A record of lesson 12.

    python -m lessons experiment 12 quality

A small causal Transformer for each form: dense, window, linear, and dense with one key
head. It reads pairs of a key and a value, each as one token, then keys alone, and says
the value of each. So it is known how many tokens back the answer stands. Three learning
rates, five seeds. Some eight minutes on two cores.
"""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from attention import (
    MultiHeadAttention,
    kernels,
    linear_attention,
    masks,
    scaled_dot_product_attention,
)
from attention.kernels.memory import keep_freed_memory
from attention.positions.scheme import Scheme
from attention.transformer import Block, TransformerConfig
from lessons.classroom.records import one_of, write_record
from lessons.classroom.studies import study
from lessons.instrument.draws import pairs_once
from lessons.instrument.fair import Study
from lessons.instrument.layers import Heads
from lessons.instrument.sweep import in_turns, nothing_old_collected, sweep
from minigrad import Tensor, nn, no_grad

RUNS, ROUNDS = 5, 3
SWEPT = [2**k for k in range(4, 14)]  # tokens
PAIR = "dense", "tiled"  # are swept in NumPy, too, from 512 to 4096 tokens
SEQUENCES = 64, 256, 1024, 4096  # tokens that self-attention and the recurrence read
WIDTHS = {"compiled": (64, 512), "NumPy": (64,)}  # of both; a head has a width of 64


def against_a_recurrence(width):
    """Return {"n": lengths, "GRU": least seconds, "self-attention": least seconds}."""
    rng = np.random.default_rng(0)
    sides = {"GRU": nn.GRU(width, width, rng=rng)}
    sides["self-attention"] = MultiHeadAttention(width, width // 64, rng=rng)
    found = {"n": list(SEQUENCES)} | {name: [] for name in sides}
    for n in SEQUENCES:
        x = Tensor(rng.normal(size=(1, n, width)).astype(np.float32))
        calls = {name: partial(side, x) for name, side in sides.items()}
        for name, taken in in_turns(calls, ROUNDS).items():
            found[name].append(min(taken))
    return found


def one_run(number):
    """Return what one process has measured: {"compiled" or "NumPy": its figures}."""
    kernels.threads(1)
    keep_freed_memory()
    found = {}
    with no_grad(), nothing_old_collected():
        for kind, widths in WIDTHS.items():
            with kernels.backend("numba" if kind == "compiled" else "numpy"):
                if kind == "compiled":
                    ways = sweep(ROUNDS, SWEPT)
                else:
                    some = [n for n in SWEPT if 512 <= n <= 4096]
                    ways = sweep(ROUNDS, some, variants=PAIR)
                recurrence = {str(d): against_a_recurrence(d) for d in widths}
            found[kind] = {"variants": ways, "recurrence": recurrence}
    return found


def taken():
    runs, fresh = [], multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, fresh, max_tasks_per_child=1) as process:
        for found in process.map(one_run, range(RUNS)):
            runs.append(found)
            print(f"run {len(runs)} of {RUNS}", flush=True)
    print(write_record("sweep", {"runs": runs}, seeds=[0]))


PAIRS, KEYS, VALUES = 12, 16, 8
WIDTH, HEADS, LAYERS = 16, 4, 2
REACH = 8  # tokens that the window has before the query
FARTHEST = REACH, 2 * REACH, 2 * PAIRS  # tokens back: the ends of three ranges
CONTEXTS = {  # of the arms whose layers are not those of the library's Transformer
    "window": partial(
        scaled_dot_product_attention, attn_mask=masks.sliding_window(REACH, 0)
    ),
    "linear": partial(linear_attention, is_causal=True),
}


class Model(nn.Module):
    """One-hot keys and values (B, 2 P, KEYS + VALUES)  ->  logits (B, P, VALUES)."""

    def __init__(self, arm, rng):
        config = TransformerConfig(
            KEYS, width=WIDTH, heads=HEADS, positions="none", activation="relu",
            key_heads=1 if arm == "1 key head" else None,
        )  # fmt: skip
        self.scheme = Scheme(config, True, rng)
        self.embedding = nn.Linear(KEYS + VALUES, WIDTH, rng=rng)
        self.blocks = [
            Block(config, self.scheme, causal=True, rng=rng) for _ in range(LAYERS)
        ]
        if arm in CONTEXTS:
            for block in self.blocks:
                block.self_attn = Heads(WIDTH, HEADS, CONTEXTS[arm], rng)
        self.norm = nn.LayerNorm(WIDTH)
        self.output = nn.Linear(WIDTH, VALUES, rng=rng)

    def forward(self, x):
        x = self.embedding(x)
        for block in self.blocks:
            x, _ = block(x, scheme=self.scheme)
        return self.output(self.norm(x))[:, PAIRS:]


def draw(n, *key):
    """Return x (n, 2 P, KEYS + VALUES), values (n, P), distances (n, P) in tokens.

    First P pairs of different keys, then the same keys in another order, alone.
    """
    x, values, place = pairs_once(n, KEYS, VALUES, PAIRS, PAIRS, *key)
    return x, values, PAIRS + np.arange(PAIRS) - place


class Quality(Study):
    """All forms in one task. "by distance" has the share of each range."""

    name, question = "forms", "What do cheaper forms of attention lose in quality?"
    measure, chance = "share of right values", 1 / VALUES
    arms = "dense", "window", "linear", "1 key head"
    rates, every, budget = (1e-3, 3e-3, 1e-2), 100, 1600
    model, draw, inputs = Model, staticmethod(draw), 1
    held_out, held_keys = (200, 400), (98, 97)

    def test(self, arm, model):
        """Return shares of right answers, of all and of each range of distances."""
        right, back = self.right(model, *self.held[1]), self.held[1][-1].ravel()
        ranges = zip((0, *FARTHEST), FARTHEST)
        of = [float(right[(a < back) & (back <= b)].mean()) for a, b in ranges]
        return {"figure": float(right.mean()), "by distance": of}


def task():
    """Return the sizes of the task and of the models."""
    sizes = {"pairs": PAIRS, "reach": REACH, "farthest": FARTHEST}
    return {**sizes, "width": WIDTH, "heads": HEADS}


if __name__ == "__main__":
    one_of(experiment=taken, quality=lambda: study("quality", [Quality()], task))
