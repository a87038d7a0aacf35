"""Train the additive score with many seeds, attending to padding. Lesson 07's record.

    python lessons/book/07_reversal/seeds.py

The other settings are those of ``experiment.py``. Some minutes on two cores.
"""

import pathlib
import sys
from concurrent.futures import ProcessPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from attention.app.experiments.reversal import Config, evaluate, train
from lessons.classroom.records import write_record

CONFIG = {"preset": "book", "kinds": ("additive",), "lengths": (3, 5, 7, 8, 10)}
SEEDS = tuple(range(1, 13))


def measure(seed):
    """Return the share of letters that are right, for each length."""
    config = Config(**CONFIG)
    run, _ = train(config, "additive", seed)
    accuracy = evaluate(config, run.model)["accuracy"]
    return [accuracy[str(n)] for n in config.lengths]


def main():
    with ProcessPoolExecutor() as pool:
        accuracy = list(pool.map(measure, SEEDS))
    results = {"lengths": CONFIG["lengths"], "accuracy": accuracy}
    command = "python lessons/book/07_reversal/seeds.py"
    print(write_record("reversal_seeds", results, command=command, seeds=SEEDS))


if __name__ == "__main__":
    main()
