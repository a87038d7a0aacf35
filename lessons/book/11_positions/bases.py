"""Train sines and RoPE with base 10000, for a comparison with base 100 in lesson 11.

    python lessons/book/11_positions/bases.py

The other settings and the seeds are those of ``experiment.py``, which trains all
schemes with base 100. Five minutes on one core.
"""

import pathlib
import sys
from dataclasses import asdict

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

import numpy as np

from attention.app.experiments import extrapolation
from lessons.classroom.records import write_record

BASE = 10000.0
SEEDS = 3


def main():
    config = extrapolation.Config(
        seeds=SEEDS, base=BASE, schemes=("sinusoidal", "rope")
    )
    seeds = [config.seed + k for k in range(SEEDS)]
    accuracy, loss = {}, {}  # name: a row for each seed
    for seed in seeds:
        for scheme in config.schemes:
            run, _ = extrapolation.train(config, scheme, seed)
            found = extrapolation.evaluate(config, scheme, run.model)["accuracy"]
            for name, right in found.items():
                accuracy.setdefault(name, []).append(list(right.values()))
                loss.setdefault(name, []).append(float(np.mean(run.losses[-100:])))
                print(seed, name, np.round(accuracy[name][-1], 3), flush=True)
    results = {
        "config": asdict(config),
        "lengths": list(config.lengths),
        "accuracy": accuracy,
        "training loss": loss,
    }
    command = "python lessons/book/11_positions/bases.py"
    print(write_record("positions_base", results, command=command, seeds=seeds))


if __name__ == "__main__":
    main()
