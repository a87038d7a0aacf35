"""Which memories overwrite, forget, and hold many names? The record of lesson 18.

    python -m lessons experiment 18

One layer reads pairs of a name and a value, each as one token, then names alone, and
says the value of each. The arms differ in how the layer remembers:

    names     8 names are written 24 times; the last value of a name counts
    reset     a sign says that all before it counts no longer
    capacity  16 names, each written once, in states of 8 and of 16 rows
    blocks    48 names, each written once, and blocks of 8 tokens chosen by content

Three learning rates, five seeds. Then the times of chosen blocks, on one thread. Some
eight minutes on two cores.
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
BLOCK = 8  # tokens of a block
GATES = {"decay": 1, "vector": 0, "delta, gate": 1, "forgetting": 1}  # 0: one each E


class Memory(nn.Module):
    """x (B, n, inputs), one-hot  ->  logits of the last tokens (B, questions, answers)

    q, k and v of each head are linear maps of a token; the logits are a linear map of
    what the heads return. There is nothing else, but for the gates of an arm.
    """

    def __init__(self, arm, inputs, answers, questions, rng, H=2, E=16, Ev=16):
        self.arm, self.H, self.best, self.questions = arm, H, None, questions
        if arm.startswith(("blocks", "NSA")):
            self.arm, self.best = arm.split()[0], int(arm.split()[1])
        self.W_q, self.W_k = (
            nn.Linear(inputs, H * E, bias=False, rng=rng) for _ in "qk"
        )
        self.W_v = nn.Linear(inputs, H * Ev, bias=False, rng=rng)
        self.output = nn.Linear(H * Ev, answers, rng=rng)
        self.W_a = self.W_b = None
        if self.arm == "NSA":
            self.W_g = nn.Linear(inputs, H * 3, rng=rng)  # a gate for each branch
        if arm in GATES:
            self.W_a = nn.Linear(inputs, H * (GATES[arm] or E), rng=rng)
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
        if arm == "blocks":
            return attention.block_attention(q, k, v, BLOCK, self.best)
        if arm == "NSA":
            gates = sigmoid(heads(self.W_g, x, self.H))  # (B, H, n, 3)
            return attention.native_sparse(q, k, v, gates, BLOCK, self.best, BLOCK)
        if arm == "forgetting":
            f = heads(self.W_a, x, self.H)[..., 0]
            return attention.forgetting_attention(q, k, v, f)
        k = k / mg.sqrt((k * k).sum(-1, keepdims=True) + 1e-6)  # of length 1
        log_a = np.zeros((self.H, 1), np.float32)
        if arm == "RetNet":
            log_a = attention.retnet_log_decay(self.H).astype(np.float32)
        if self.W_a is not None:
            log_a = -softplus(-heads(self.W_a, x, self.H))  # (B, H, n, 1 | E)
            if arm == "vector":
                return attention.gated_linear_attention(q, k, v, log_a)[0]
            log_a = log_a[..., 0]
        if self.W_b is None:
            return attention.decay_attention(q, k, v, log_a)[0]
        b = sigmoid(swapaxes(self.W_b(x), 1, 2))  # (B, H, n)
        return attention.delta_rule(q, k, v, b, log_a)[0]


class Reading(fair.Study):
    """Read writes, answer questions; a subclass draws them.

    draw(n, *key)   x (n, tokens, D), answers (n, questions), and {name: of each answer}.
                    An answer of -1 does not count.
    """

    chance = 1 / VALUES
    rates, every, warmup = (0.005, 0.015, 0.05), 20, 20
    batch, held_out = 16, (200, 1000)
    inputs, ignored = 1, -1
    budget, least = 1200, 480
    names = questions = 0
    answers = VALUES
    signs = 0  # tokens that are neither name nor value

    def model(self, arm, rng):
        inputs = self.names + VALUES + self.signs
        return Memory(arm, inputs, self.answers, self.questions, rng)

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
        "sum", "RetNet", "decay", "vector", "delta", "delta, gate", "softmax",
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
            "since": (self.writes - 1 - last) // 3 * 3,  # writes since then, from here
            "once, since": np.where(times == 1, (self.writes - 1 - last) // 6 * 6, -1),
        }  # fmt: skip


class Reset(Reading):
    """In each part between two signs a name is written once at most."""

    name, question = "reset", "Which memories forget at a sign?"
    arms = ("sum", "decay", "delta", "delta, gate", "forgetting")
    names = questions = 8
    writes, signs = 24, 1
    answers = VALUES + 1  # the last is "not written since the sign"
    trivial = 0.65  # always the last answer; the page computes it

    def draw(self, n, *key):
        rng, rows, N = np.random.default_rng(key), np.arange(n), self.names
        orders = rng.permuted(
            np.tile(np.arange(N), (n, self.writes + 1, 1)), axis=2
        )  # of each part
        part, used = np.zeros(n, int), np.zeros(n, int)
        now = np.full((n, N), VALUES)  # the answers after each token
        before = np.zeros((n, N), bool)  # was it written before the last sign?
        first, second = [], []
        for _ in range(self.writes):
            sign = (rng.random(n) < 1 / 6) | (used == N)
            before[sign] |= now[sign] < VALUES
            now[sign] = VALUES
            part, used = part + sign, np.where(sign, 0, used)
            written = orders[rows, part, used % N]
            values = rng.integers(VALUES, size=n)
            now[rows[~sign], written[~sign]] = values[~sign]
            first.append(np.where(sign, N + VALUES, written))
            second.append(np.where(sign, -1, N + values))
            used = used + ~sign
        asked = shuffled(rng, n, N)
        x = tokens(N + VALUES + 1, np.stack(first, 1), np.stack(second, 1), asked)
        y, old = pick(now, asked), pick(before, asked)
        kind = np.where(y < VALUES, 0, np.where(old, 1, 2))  # since, before, never
        return x, y, {"kind": kind}


class Capacity(Reading):
    """16 names, each written once, in a state of E rows."""

    name, question = "capacity", "How many names does a state of E rows hold?"
    arms = ("sum 8", "delta 8", "softmax 8", "sum 16", "delta 16")
    names = questions = 16

    def draw(self, n, *key):
        N = self.names
        x, y, place = pairs_once(n, N, VALUES, N, N, *key)
        return x, y, {"since": N - 1 - place}

    def model(self, arm, rng):
        arm, E = arm.split()
        return Memory(arm, self.names + VALUES, VALUES, self.questions, rng, 1, int(E))


class Blocks(Reading):
    """48 names, each written once, and 16 questions, in blocks of 8 tokens."""

    name, question = "blocks", "How many blocks does a query have to read?"
    arms = ("blocks 2", "blocks 3", "blocks 5", "softmax", "NSA 2", "NSA 3")
    names, questions, writes = 64, 16, 48

    def draw(self, n, *key):
        sizes = self.names, VALUES, self.writes, self.questions
        x, y, place = pairs_once(n, *sizes, *key)
        back = self.writes + np.arange(self.questions) - place  # tokens
        return x, y, {"back": (back - 1) // 8 * 8}


LENGTH, WIDE, ROUNDS = 8192, 64, 7  # tokens, keys of a block, turns of each call
CHOSEN = (1, 2, 4, 8, 16, 32, 64, 128)  # blocks that a query reads; the last is all
LENGTHS = (1024, 2048, 4096, 8192, 16_384)  # for 4 blocks


def drawn(n, alike):
    """Draw q, k and v (1, 1, n, 64); all queries of a tile are alike, or no two are."""
    rng = np.random.default_rng(n)
    q, k, v = rng.standard_normal((3, 1, 1, n, WIDE), np.float32)
    if alike:
        q = q[:, :, ::TILE].repeat(TILE, 2)
    return [mg.Tensor(x) for x in (q, k, v)]


def ways(qkv, chosen, dense):
    """Return {name: a function without arguments}: chosen blocks, and all causal keys."""
    calls = {
        str(n): functools.partial(attention.block_attention, *qkv, WIDE, n)
        for n in chosen
    }
    q, k, _ = (x.data for x in qkv)
    calls["the choice"] = functools.partial(choose_blocks, q, k, WIDE, 4)
    for path in ("tiled", "dense") if dense else ("tiled",):
        calls[path] = functools.partial(
            scaled_dot_product_attention, *qkv, is_causal=True, path=path
        )
    return calls


def times():
    """Return the processor seconds of each turn of chosen blocks, tiles and dense."""
    kernels.threads(1)
    found = {"length": LENGTH, "block": WIDE, "chosen": list(CHOSEN), "tile": TILE}
    found["lengths"] = {}
    with mg.no_grad(), nothing_old_collected(), kernels.backend("numba"):
        for name, alike in ("alike", True), ("independent", False):
            q, k, v = drawn(LENGTH, alike)
            masks = [choose_blocks(q.data, k.data, WIDE, n) for n in CHOSEN]
            found[name] = {
                "seconds": in_turns(ways((q, k, v), CHOSEN, False), ROUNDS),
                "tiles": [tiles_read(mask) for mask in masks],
            }
        for n in LENGTHS:
            calls = ways(drawn(n, True), (4,), dense=n <= 4096)
            found["lengths"][str(n)] = in_turns(calls, ROUNDS)
    return {"times": found}


def tiles_read(mask):
    """Return the number of tiles of which some query has chosen the block."""
    tiles = BlockMask.from_mask(mask, LENGTH, LENGTH, block=(TILE, WIDE))
    return int((tiles.kinds != EMPTY).sum())


if __name__ == "__main__":
    study("memories", [Names(), Reset(), Capacity(), Blocks()], times)
