"""Train DeBERTa's disentangled attention on the task of lesson 11.

    python lessons/book/11_positions/deberta.py

The settings and the seeds are those of ``experiment.py``. Two tables: one with a row
for every distance of the training, and one whose last row begins at half of them, so
that training reaches it often. Some ten minutes on one core.
"""

import pathlib
import sys
from dataclasses import asdict, replace

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

import numpy as np

from attention.app.experiments import extrapolation
from attention.transformer import DecoderOnly
from lessons.classroom.records import write_record

SCHEME, SEEDS = "disentangled", 3
FARTHEST = {"deberta, 32 distances": 32, "deberta, 16 distances": 16}  # name: k


def run(config, farthest, seed):
    """Train one model; return what is kept of it."""
    sizes = replace(config.sizes(SCHEME), max_distance=farthest)
    model = DecoderOnly(sizes, np.random.default_rng(seed))
    done, _ = extrapolation.train(config, SCHEME, seed, model=model)
    found = extrapolation.evaluate(config, SCHEME, done.model)
    return {
        "accuracy": list(found["accuracy"][SCHEME].values()),
        "training loss": float(np.mean(done.losses[-100:])),
        "parameters": model.num_parameters(),
    }


def main():
    config = extrapolation.Config(seeds=SEEDS, schemes=(SCHEME,))
    seeds = [config.seed + k for k in range(SEEDS)]
    rows = {}  # name: what each seed has found
    for seed in seeds:
        for name, farthest in FARTHEST.items():
            rows.setdefault(name, []).append(run(config, farthest, seed))
            print(seed, name, rows[name][-1], flush=True)
    results = {
        "config": asdict(config),
        "lengths": list(config.lengths),
        **{
            what: {name: [one[what] for one in found] for name, found in rows.items()}
            for what in ("accuracy", "training loss")  # a row for each seed
        },
        "parameters": {name: found[0]["parameters"] for name, found in rows.items()},
    }
    command = "python lessons/book/11_positions/deberta.py"
    print(write_record("positions_deberta", results, command=command, seeds=seeds))


if __name__ == "__main__":
    main()
