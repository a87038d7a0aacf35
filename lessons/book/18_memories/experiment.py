"""Which memories overwrite, and how many names do they hold? The record of lesson 18.

    python -m lessons experiment 18

One layer reads pairs of a name and a value, each as one token, then names alone, and
says the value of each. The arms differ in how the layer remembers:

    names     8 names are written 24 times; the last value of a name counts
    capacity  16 names, each written once, in a state of 4 rows

Three learning rates, five seeds. Then the times of blocks chosen by content, on one
thread. Some four minutes on two cores.
"""

import functools

import numpy as np

import attention
import minigrad as mg
from attention import kernels, scaled_dot_product_attention
from attention.exact.multihead import heads, side_by_side
from attention.kernels.tile_plan import SIZE as TILE
from attention.masks.block_mask import BlockMask
from attention.masks.tiling import EMPTY
from attention.variants.chosen_blocks import choose_blocks
from lessons.classroom.studies import study
from lessons.instrument import fair
from lessons.instrument.draws import pairs_once, pick, shuffled, tokens
from lessons.instrument.sweep import in_turns, nothing_old_collected
from minigrad import nn, sigmoid, softplus, swapaxes

VALUES = 8


class Memory(nn.Module):
    """x (B, n, inputs), one-hot  ->  logits of the last tokens (B, questions, VALUES)

    q, k and v of each head are linear maps of a token; the logits are a linear map of
    what the heads return. There is nothing else, but for the gates of an arm.
    """

    def __init__(self, arm, inputs, questions, rng, H=2, E=16, Ev=16):
        self.arm, self.H, self.questions = arm, H, questions
        self.W_q, self.W_k = (
            nn.Linear(inputs, H * E, bias=False, rng=rng) for _ in "qk"
        )
        self.W_v = nn.Linear(inputs, H * Ev, bias=False, rng=rng)
        self.output = nn.Linear(H * Ev, VALUES, rng=rng)
        self.W_a = self.W_b = None
        if arm in ("decay", "forgetting"):
            self.W_a = nn.Linear(inputs, H, rng=rng)
            self.W_a.bias.data += np.float32(3)  # little is forgotten at first
        if arm.startswith("delta"):
            self.W_b = nn.Linear(inputs, H, rng=rng)

    def forward(self, x):
        q, k, v = (heads(W, x, self.H) for W in (self.W_q, self.W_k, self.W_v))
        return self.output(side_by_side(self.read(x, q, k, v)))[:, -self.questions :]

    def read(self, x, q, k, v):
        """x (B, n, D), q and k (B, H, n, E), v (B, H, n, Ev)  ->  o (B, H, n, Ev)"""
        arm = self.arm
        if arm == "softmax":
            return scaled_dot_product_attention(q, k, v, is_causal=True)
        if arm == "forgetting":
            f = heads(self.W_a, x, self.H)[..., 0]
            return attention.forgetting_attention(q, k, v, f)
        k = k / mg.sqrt((k * k).sum(-1, keepdims=True) + 1e-6)  # of length 1
        if self.W_b is not None:
            b = sigmoid(swapaxes(self.W_b(x), 1, 2))  # (B, H, n)
            return attention.delta_rule(q, k, v, b)[0]
        log_a = np.zeros((self.H, 1), np.float32)
        if arm == "RetNet":
            log_a = attention.retnet_log_decay(self.H).astype(np.float32)
        if arm.startswith("fixed"):  # "fixed .8 .9": a number for each head
            log_a = np.log(np.array(arm.split()[1:], np.float32))[:, None]
        if self.W_a is not None:
            log_a = -softplus(-heads(self.W_a, x, self.H))[..., 0]  # (B, H, n)
        return attention.decay_attention(q, k, v, log_a)[0]


class Reading(fair.Study):
    """Read writes, answer questions; a subclass draws them.

    draw(n, *key)   x (n, tokens, D), answers (n, questions), and {name: of each
                    answer}. An answer of -1 does not count.
    """

    chance = 1 / VALUES
    rates, budget, every, warmup = (0.005, 0.015, 0.05), 600, 50, 20
    batch, held_out = 16, (200, 1000)
    inputs, ignored = 1, -1
    names = questions = 0

    def model(self, arm, rng):
        return Memory(arm, self.names + VALUES, self.questions, rng)

    def test(self, arm, model):
        """Return the share of right answers, of all and by what else is drawn."""
        x, y, more = self.held[1]
        right = self.right(model, x, y)
        result = {"figure": float(right.mean())}
        for name, of in more.items():
            of = of[y >= 0]
            result[name] = {str(i): float(right[of == i].mean()) for i in np.unique(of)}
        return result


class Names(Reading):
    """8 names, 24 writes, the last value of each name is wanted."""

    name, question = "names", "Which memories replace a value?"
    arms = (
        "sum", "softmax", "RetNet", "fixed .9 .95", "fixed .8 .9", "decay", "delta",
        "forgetting",
    )  # fmt: skip
    names = questions = 8
    writes = 24

    def draw(self, n, *key):
        rng, N = np.random.default_rng(key), self.names
        written = rng.integers(N, size=(n, self.writes))
        values = rng.integers(VALUES, size=(n, self.writes))
        asked = shuffled(rng, n, N)
        x = tokens(N + VALUES, written, N + values, asked)
        same = asked[:, :, None] == written[:, None]  # (n, questions, writes)
        times = same.sum(-1)
        last = np.where(same, np.arange(self.writes), -1).max(-1)
        y = np.where(times > 0, pick(values, last), -1)
        return x, y, {
            "times": np.minimum(times, 6),
            "once, since": np.where(times == 1, (self.writes - 1 - last) // 6 * 6, -1),
        }  # fmt: skip


class Capacity(Reading):
    """16 names, each written once, in a state of E rows."""

    name, question = "capacity", "How many names does a state of E rows hold?"
    arms, budget, E = ("sum", "delta"), 1000, 4
    names = questions = 16

    def draw(self, n, *key):
        N = self.names
        x, y, place = pairs_once(n, N, VALUES, N, N, *key)
        return x, y, {"since": N - 1 - place}

    def model(self, arm, rng):
        return Memory(arm, self.names + VALUES, self.questions, rng, H=1, E=self.E)


LENGTH, WIDE, ROUNDS = 8192, 64, 7  # tokens, keys of a block, turns of each call
CHOSEN = (1, 4, 16, 64, 128)  # blocks that a query reads; the last is all


def drawn(alike):
    """Draw q, k and v (1, 1, n, 64); all queries of a tile are alike, or no two are."""
    rng = np.random.default_rng(LENGTH)
    q, k, v = rng.standard_normal((3, 1, 1, LENGTH, WIDE), np.float32)
    if alike:
        q = q[:, :, ::TILE].repeat(TILE, 2)
    return [mg.Tensor(x) for x in (q, k, v)]


def times():
    """Return the processor seconds of each turn of chosen blocks, and of all keys."""
    kernels.threads(1)
    found = {"length": LENGTH, "block": WIDE, "chosen": list(CHOSEN), "tile": TILE}
    with mg.no_grad(), nothing_old_collected(), kernels.backend("numba"):
        for name, alike in ("alike", True), ("independent", False):
            q, k, v = drawn(alike)
            calls = {
                str(n): functools.partial(attention.block_attention, q, k, v, WIDE, n)
                for n in CHOSEN
            }
            calls["the choice"] = functools.partial(
                choose_blocks, q.data, k.data, WIDE, 4
            )
            calls["tiled"] = functools.partial(
                scaled_dot_product_attention, q, k, v, is_causal=True, path="tiled"
            )
            masks = [choose_blocks(q.data, k.data, WIDE, n) for n in CHOSEN]
            found[name] = {
                "seconds": in_turns(calls, ROUNDS),
                "tiles": [tiles_read(mask) for mask in masks],
            }
    return {"times": found}


def tiles_read(mask):
    """Return the number of tiles of which some query has chosen the block."""
    tiles = BlockMask.from_mask(mask, LENGTH, LENGTH, block=(TILE, WIDE))
    return int((tiles.kinds != EMPTY).sum())


if __name__ == "__main__":
    study("memories", [Names(), Capacity()], times)
