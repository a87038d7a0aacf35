"""Exercise 6.9 as its text has it: 2 layers of LSTM, 20 epochs, 500 pairs. Lesson 13.

    python lessons/book/13_translation/as_posed.py

English to German, with Bahdanau's attention and without, three seeds. The text gives no
width, batch or dropout: 128, 50 and none here. Four minutes on a core.
"""

import pathlib
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from attention.app.experiments import compare, translation
from lessons.classroom.records import write_record

EPOCHS = 20
CONFIG = compare.Config(
    cell="lstm", layers=2, dropout=0.0, steps=EPOCHS * 500 // 50, seeds=3,
    kinds=("none", "bahdanau"),
)  # fmt: skip
KEPT = ("kind", "seed", "parameters", "validation", "bleu", "exact", "aer")


def train(kind, seed, data):
    run, _ = compare.train(CONFIG, kind, seed, data)
    return compare.result(CONFIG, kind, seed, data, run)


def main():
    data = translation.load(CONFIG.translation("none", CONFIG.seed))
    with ProcessPoolExecutor(2) as workers:
        plan = [workers.submit(train, *one, data) for one in CONFIG.plan()]
        runs = [one.result() for one in plan]
    summary = compare.summary(CONFIG, runs, data)
    print(summary["statement"])
    found = {"config": asdict(CONFIG), "epochs": EPOCHS, "summary": summary}
    found["said"] = {run["kind"]: run["said"][:6] for run in runs if run["seed"] == 1}
    found["runs"] = [{key: run[key] for key in KEPT} for run in runs]
    command = "python lessons/book/13_translation/as_posed.py"
    path = write_record("translation_posed", found, command=command, seeds=[1, 2, 3])
    print(path)


if __name__ == "__main__":
    main()
