"""The reversal experiment of chapter 38.6, and the controlled one. Lesson 07's record.

    python -m lessons experiment 7

Four scores, three set-ups, three seeds (the last set-up has one): each model is trained
once, as ``python -m attention reversal`` trains it, and then looked at from several
sides, which that command does one at a time. Some tens of minutes on two cores.

    book             the chapter's: padding is encoded and attended to like any letter
    masked           the same, but padding has no weight
    masked, encoder  and the decoder starts from the encoder's last state, not from zero
"""

from dataclasses import replace

import numpy as np

import minigrad as mg
from attention.app.experiments.reversal import KINDS, Config, alignment, evaluate, train
from attention.tasks.reversal import random_batch
from lessons.classroom.records import write_record

SETUPS = {
    "book": {"preset": "book"},
    "masked": {"preset": "masked"},
    "masked, encoder": {"preset": "masked", "decoder_init": "encoder"},
}
SEEDS = (1, 2, 3)
LENGTHS = (3, 5, 7, 8, 10)  # of the strings that are evaluated
WIDTHS = {3: range(3, 13), 5: range(5, 13), 7: range(7, 13)}  # and padded to
EVERY = 20  # steps between two kept losses, each a mean of so many


def measure(setup, kind, seed):
    """Train one model; return what it gets right, padded or not, and where it looks."""
    config = Config(**SETUPS[setup], lengths=LENGTHS)
    run, _ = train(config, kind, seed)
    unpadded = evaluate(config, run.model)
    widths = {}
    for length, padded_to in WIDTHS.items():
        for width in padded_to:
            told = replace(config, lengths=(length,), pad_eval=width)
            right = evaluate(told, run.model)["accuracy"]
            widths.setdefault(str(length), []).append(right[str(length)])
    return {
        "setup": setup,
        "kind": kind,
        "seed": seed,
        "last_loss": run.losses[-1],
        "loss": np.mean(run.losses[-50:]),
        "curve": np.reshape(run.losses, (-1, EVERY)).mean(1).round(5),
        "accuracy": [unpadded["accuracy"][str(n)] for n in LENGTHS],
        "exact_match": [unpadded["exact_match"][str(n)] for n in LENGTHS],
        "widths": widths,
        "on_padding": on_padding(run.model),
        "alignment": np.round(alignment(run.model)["weights"], 4),
    }


def on_padding(model, length=5, width=8):
    """The weight that lies on padding, by output step: mean over 500 strings."""
    batch = random_batch(
        np.random.default_rng([97, length]), 500, length, length, width
    )
    with mg.no_grad():
        output = model.forced(batch.source, batch.target_in, batch.lengths)
    weights = output.weights.numpy()  # (500, L + 1, 8)
    return weights[:, :length, length:].sum(-1).mean(0).round(4)


def keep(runs):
    """The record of these runs."""
    results = {
        "lengths": LENGTHS,
        "widths": {str(n): list(padded_to) for n, padded_to in WIDTHS.items()},
        "every": EVERY,
        "word": "reversal",
        "runs": runs,
    }
    return write_record("reversal", results, seeds=SEEDS)


def main():
    runs = []
    for seed in SEEDS:
        for setup in SETUPS:
            if setup == "masked, encoder" and seed != SEEDS[0]:
                continue  # one seed will do, where there is nothing to rank
            for kind in KINDS:
                runs.append(measure(setup, kind, seed))
                found = runs[-1]
                print(setup, kind, seed, found["loss"], found["accuracy"], flush=True)
    print(keep(runs))


if __name__ == "__main__":
    main()
