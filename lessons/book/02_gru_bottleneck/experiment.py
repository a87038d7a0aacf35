"""How long a string can be reversed from one vector? The record of lesson 02.

    python -m lessons experiment 2

Encoder-decoders of one GRU each, without attention and with it, learn to reverse random
strings of 1 to 32 letters, every batch new. What they get right is then measured length
by length, up to 48, and letter by letter. Three seeds, a quarter of an hour.
"""

import numpy as np

import minigrad as mg
from attention.seq2seq.config import Seq2SeqConfig
from attention.seq2seq.model import Seq2Seq
from attention.tasks.reversal import PAD, VOCABULARY, Batches, random_batch
from attention.training import Run
from lessons.classroom.records import write_record
from minigrad import optim

RUNS = (("none", 32), ("none", 64), ("none", 128), ("bahdanau", 32))
STEPS, LONGEST, SEEDS = 1500, 32, (1, 2, 3)
LENGTHS = (1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32, 40, 48)
LOOKED_AT = 16  # the length of which every place is kept


def train(attention, hidden, seed):
    rng = np.random.default_rng(seed)
    config = Seq2SeqConfig(
        VOCABULARY, VOCABULARY, embedding=32, hidden=hidden, attention=attention
    )
    model = Seq2Seq(config, rng)
    optimizer = optim.Adam(list(model.parameters()), lr=3e-3)
    run = Run(model, optimizer, optim.CosineAnnealingLR(optimizer, STEPS))
    batches = Batches(seed, 64, 1, LONGEST)
    for step in range(STEPS):
        batch = batches[step]
        logits = model(batch.source, batch.target_in, batch.lengths)
        run.descend(mg.cross_entropy(logits, batch.target_out, ignore_index=PAD))
    return run


def evaluate(model):
    """Shares of letters and of whole strings that are right, by length; by place."""
    found = {"letters": [], "strings": []}
    model.eval()
    for length in LENGTHS:
        rng = np.random.default_rng([97, length])  # the same strings for all
        batch = random_batch(rng, 400, length, length)
        with mg.no_grad():
            logits = model(batch.source, batch.target_in, batch.lengths).numpy()
        right = logits.argmax(-1) == batch.target_out  # (400, length + 1)
        found["letters"].append(float(right[:, :length].mean()))
        found["strings"].append(float(right.all(1).mean()))
        if length == LOOKED_AT:
            found["places"] = right[:, :length].mean(0).tolist()
    return found


def main():
    runs = []
    for attention, hidden in RUNS:
        trained = [train(attention, hidden, seed) for seed in SEEDS]
        found = [evaluate(run.model) for run in trained]
        runs.append(
            {
                "attention": attention,
                "hidden": hidden,
                "parameters": trained[0].model.num_parameters(),
                "losses": [float(np.mean(run.losses[-50:])) for run in trained],
                **{key: [each[key] for each in found] for key in found[0]},
            }
        )
        print(attention, hidden, runs[-1]["losses"], flush=True)
    results = {
        "steps": STEPS,
        "batch": 64,
        "longest": LONGEST,
        "lengths": LENGTHS,
        "looked_at": LOOKED_AT,
        "runs": runs,
    }
    write_record("bottleneck", results, seeds=SEEDS)


if __name__ == "__main__":
    main()
