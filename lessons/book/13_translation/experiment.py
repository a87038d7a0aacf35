"""Translation with attention and without it: the record of lesson 13.

    python lessons/book/13_translation/experiment.py

Exercise 6.9, as ``python -m attention compare`` runs it: 500 pairs of English and
German, three seeds; and once more with 4000 pairs and one seed. Half an hour on a core.
"""

import pathlib
import sys
from dataclasses import asdict

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from attention.app.experiments import compare, translation
from lessons.classroom.records import write_record

SIZES = {
    "500": compare.Config(),
    "4000": compare.Config(pairs=4000, steps=2500, seeds=1, dropout=0.2),
}
KEPT = ("kind", "seed", "parameters", "validation", "bleu", "exact", "aer")


def measure(config):
    """What there is to keep of one size: config, runs, summary."""
    data = translation.load(config.translation("none", config.seed))
    runs = []
    for kind, seed in config.plan():
        run, _ = compare.train(config, kind, seed, data)
        runs.append(compare.result(config, kind, seed, data, run))
        print(kind, seed, runs[-1]["bleu"], flush=True)
    return brief(asdict(config), runs, compare.summary(config, runs, data))


def brief(config, runs, summary):
    """The same without the translations, but for the first of the test set."""
    said = {run["kind"]: run["said"][:20] for run in runs if run["seed"] == 1}
    runs = [{key: run[key] for key in KEPT} for run in runs]
    return {"config": config, "runs": runs, "summary": summary, "said": said}


def keep(found):
    command = "python lessons/book/13_translation/experiment.py"
    return write_record("translation", found, command=command, seeds=[1, 2, 3])


def main():
    print(keep({name: measure(config) for name, config in SIZES.items()}))


if __name__ == "__main__":
    main()
