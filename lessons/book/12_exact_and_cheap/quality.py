"""What do window, BigBird and linear attention lose, and fewer key heads? For lesson 12.

    python lessons/book/12_exact_and_cheap/quality.py

One small language model for each way, three seeds. The task is ``tasks/bindings.py``:
keys are bound to values again and again, and the model says the value that a key had
last. It can be measured how far back that was. Ten minutes on a core.
"""

import pathlib
import sys
from concurrent.futures import ProcessPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

import numpy as np

import minigrad as mg
from attention import MultiHeadAttention, linear_attention, masks
from attention.exact.multihead import heads
from attention.seq2seq.training import Run, fit
from attention.tasks.bindings import NOTHING, Bindings
from attention.transformer import DecoderOnly, TransformerConfig
from lessons.classroom.records import write_record
from minigrad import optim, reshape, swapaxes

TASK = Bindings(keys=8, values=8)
LENGTH, STEPS, BATCH, RATE = 64, 1500, 32, 4e-3
SEEDS = (1, 2, 3)
FARTHEST = (8, 16, 32, LENGTH)  # tokens back: the ends of four ranges
MASKS = {
    "dense": masks.causal(),
    "window": masks.sliding_window(15, 0),
    "BigBird": masks.causal() & masks.bigbird(8, 3, 1, 1, seed=0),
}
WAYS = (*MASKS, "linear", "2 key heads", "1 key head")


class Masked(MultiHeadAttention):
    """Self-attention to the pairs that a mask of ``MASKS`` allows."""

    def forward(self, x, *, mask=None, is_causal=True, cache=None):
        return super().forward(x, mask=MASKS[self.way])


class Linear(MultiHeadAttention):
    """Causal linear attention with the projections of ``MultiHeadAttention``."""

    def forward(self, x, *, mask=None, is_causal=True, cache=None):
        W = self.W_q, self.W_k, self.W_v
        q, k, v = (heads(W_x, x, self.num_heads) for W_x in W)  # (B, H, n, E)
        o = swapaxes(linear_attention(q, k, v, is_causal=True), 1, 2)
        return self.W_o(reshape(o, x.shape))


def model_of(way, seed):
    rng = np.random.default_rng(seed)
    config = TransformerConfig(
        TASK.vocabulary, width=32, heads=4, layers=2, activation="relu", base=100.0,
        key_heads=int(way[0]) if "key head" in way else None,
    )  # fmt: skip
    model = DecoderOnly(config, rng)
    for block in model.decoder.blocks:
        if way in MASKS or way == "linear":
            block.self_attn = (Masked if way in MASKS else Linear)(32, 4, rng=rng)
            block.self_attn.way = way
    return model


def loss_at(model, seed, step):
    """The loss of a batch, of a quarter of the length up to all of it."""
    rng = np.random.default_rng([seed, step])
    length = LENGTH // 4 * int(rng.integers(1, 5))
    ids, targets = TASK.draw(rng, BATCH, length)
    return mg.cross_entropy(model(ids), targets, ignore_index=NOTHING)


def distances(ids):
    """How many tokens back the same id stood last: (B, n), 0 if nowhere."""
    found = np.zeros(ids.shape, int)
    for back in range(ids.shape[1] - 1, 0, -1):
        same = ids[:, back:] == ids[:, :-back]
        found[:, back:][same] = back
    return found


def train(way, seed):
    """{"way", "seed", ..., "accuracy": [all, and of each range of distances]}"""
    model = model_of(way, seed)
    optimizer = optim.Adam(model.parameters(), lr=RATE)
    after = optim.CosineAnnealingLR(optimizer, T_max=STEPS)
    run = Run(model, optimizer, optim.WarmupLR(optimizer, STEPS // 20, after=after))
    fit(run, STEPS, lambda step: loss_at(model, seed, step))
    ids, targets = TASK.draw(np.random.default_rng(97), 400, LENGTH)
    with mg.no_grad():
        right = model.eval()(ids).data.argmax(-1) == targets
    back, asked = distances(ids), targets != NOTHING
    starts = (0, *FARTHEST[:-1])
    accuracy = [right[asked].mean()]
    for low, high in zip(starts, FARTHEST):
        accuracy.append(right[asked & (low < back) & (back <= high)].mean())
    return {
        "way": way, "seed": seed, "parameters": model.num_parameters(),
        "seconds": run.seconds, "loss": np.mean(run.losses[-50:]), "accuracy": accuracy,
    }  # fmt: skip


def main():
    runs, plan = [], [(way, seed) for way in WAYS for seed in SEEDS]
    with ProcessPoolExecutor(2) as workers:
        for one in [workers.submit(train, *each) for each in plan]:
            runs.append(one.result())
            print(*runs[-1].values(), flush=True)
    command = "python lessons/book/12_exact_and_cheap/quality.py"
    shape = {"length": LENGTH, "steps": STEPS, "farthest": FARTHEST}
    shape |= {"keys": TASK.keys, "values": TASK.values}
    print(write_record("quality", shape | {"runs": runs}, command=command, seeds=SEEDS))


if __name__ == "__main__":
    main()
