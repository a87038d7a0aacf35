"""Which positions carry on beyond the trained lengths? The record of lesson 11.

    python lessons/book/11_positions/experiment.py            about 20 minutes
    python lessons/book/11_positions/experiment.py DIR ...    from results.json in them

The five schemes of ``python -m attention extrapolate`` at its defaults, and T5's bias a
second time: once with the buckets of the paper, 32 up to a distance of 128, and once
with 16 up to the trained length, which is what the command has. The second setting was
chosen after the first had been seen; both are kept.
"""

import json
import pathlib
import sys
from dataclasses import replace

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

import numpy as np

from attention.experiments import extrapolation
from attention.tasks.bindings import Bindings
from attention.transformer import DecoderOnly
from lessons.classroom.measured import write_record

PAPER = {"num_buckets": 32, "max_distance": 128}
SMALL, LARGE = "t5, 16 buckets", "t5, 32 buckets"


def with_the_papers_buckets(config):
    """The model of T5's bias, with more buckets than ``extrapolation`` gives it."""
    sizes = replace(extrapolation.model_of(config, "t5").config, **PAPER)
    return DecoderOnly(sizes, np.random.default_rng(config.seed))


def run_all(config):
    runs = []
    for name in (*config.schemes, LARGE):
        scheme = "t5" if name == LARGE else name
        model = with_the_papers_buckets(config) if name == LARGE else None
        one, _ = extrapolation.train(config, scheme, config.seed, model=model)
        found = extrapolation.evaluate(config, scheme, one.model)
        runs.append(
            {"scheme": scheme, "parameters": one.model.num_parameters(), **found}
            | {"losses": one.losses, "seconds": one.seconds}
        )
        print(name, found["accuracy"], flush=True)
    return extrapolation.describe(config), runs


def collected(folders):
    """The config and the runs of finished commands."""
    files = [
        json.loads((pathlib.Path(f) / "results.json").read_text()) for f in folders
    ]
    configs = [{**f["config"], "schemes": None} for f in files]
    if any(config != configs[0] for config in configs):
        raise SystemExit("These runs were made with different settings.")
    return files[0]["config"], [run for f in files for run in f["runs"]]


def main(folders):
    default = extrapolation.Config()
    config, runs = collected(folders) if folders else run_all(default)
    accuracy, loss, parameters, trained = {}, {}, {}, {}
    for run in runs:
        of_t5 = SMALL if run["parameters"] < 26_000 else LARGE
        for row in run["accuracy"]:
            name = of_t5 if row == "t5" else row
            accuracy[name] = list(run["accuracy"][row].values())
            loss[name] = list(run["loss"][row].values())
            parameters[name] = run["parameters"]
            trained[name] = float(np.mean(run["losses"][-100:]))
    config = {**config, "schemes": list(default.schemes)}
    results = {
        "config": config,
        "lengths": list(default.lengths),
        "chance": 1 / Bindings().values,
        "accuracy": accuracy,
        "loss": loss,
        "parameters": parameters,
        "training loss": trained,
        "made by": "finished commands" if folders else "this file",
        "seconds": sum(run["seconds"] for run in runs),
    }
    command = "python lessons/book/11_positions/experiment.py"
    print(write_record("positions", results, command=command, seeds=[config["seed"]]))


if __name__ == "__main__":
    main(sys.argv[1:])
