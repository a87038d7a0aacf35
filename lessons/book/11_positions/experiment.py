"""Which positions carry on beyond the trained lengths? The record of lesson 11.

    python lessons/book/11_positions/experiment.py

The five schemes of ``python -m attention extrapolate`` at its defaults, three seeds
each, and T5's bias twice: with 16 buckets up to the trained length, which is what the
command has, and with those of the paper, 32 up to a distance of 128. The first setting
was chosen after the second had been seen; both are kept. Twelve minutes on one core.
"""

import pathlib
import sys
import time
from dataclasses import asdict, replace

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

import numpy as np

from attention.app.experiments import extrapolation
from attention.tasks.bindings import Bindings
from attention.transformer import DecoderOnly
from lessons.classroom.records import write_record

PAPER = {"num_buckets": 32, "max_distance": 128}
SMALL, LARGE = "t5, 16 buckets", "t5, 32 buckets"
SEEDS = 3


def with_the_papers_buckets(config, seed):
    """The model of T5's bias, with more buckets than ``extrapolation`` gives it."""
    sizes = replace(extrapolation.model_of(config, "t5").config, **PAPER)
    return DecoderOnly(sizes, np.random.default_rng(seed))


def run(config, name, seed):
    """Train one model; {row: what is kept of it}, by the names of the table."""
    scheme = "t5" if name in (SMALL, LARGE) else name
    model = with_the_papers_buckets(config, seed) if name == LARGE else None
    one, _ = extrapolation.train(config, scheme, seed, model=model)
    found = extrapolation.evaluate(config, scheme, one.model)
    shared = {
        "parameters": one.model.num_parameters(),
        "training loss": float(np.mean(one.losses[-100:])),
    }
    return {
        name if row == scheme else row: shared
        | {what: list(found[what][row].values()) for what in ("accuracy", "loss")}
        for row in found["accuracy"]
    }


def main():
    config, begun = extrapolation.Config(seeds=SEEDS), time.perf_counter()
    names = [SMALL if name == "t5" else name for name in config.schemes]
    names.insert(names.index(SMALL) + 1, LARGE)
    seeds = [config.seed + k for k in range(SEEDS)]
    rows = {}  # name: what each seed has found
    for seed in seeds:
        for name in names:
            for row, found in run(config, name, seed).items():
                rows.setdefault(row, []).append(found)
                print(seed, row, np.round(found["accuracy"], 3), flush=True)
    results = {
        "config": asdict(config),
        "lengths": list(config.lengths),
        "chance": 1 / Bindings().values,
        **{
            what: {row: [one[what] for one in found] for row, found in rows.items()}
            for what in ("accuracy", "loss", "training loss")  # a row for each seed
        },
        "parameters": {row: found[0]["parameters"] for row, found in rows.items()},
        "seconds": time.perf_counter() - begun,
    }
    command = "python lessons/book/11_positions/experiment.py"
    print(write_record("positions", results, command=command, seeds=seeds))


if __name__ == "__main__":
    main()
