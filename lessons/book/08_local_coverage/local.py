"""What does a window lose and save in training? A record of lesson 08.

    python lessons/book/08_local_coverage/local.py

Global attention, local-m and local-p (general score, D = 3, Luong's decoder) learn to
copy a string, to reverse it, and to translate 500 pairs of English and German: three
seeds. And one call of each layer for longer and longer sources, forward and backward,
in processor time. A minute on two cores.
"""

import os
import pathlib
import sys
import time
from concurrent.futures import ProcessPoolExecutor

# Each worker computes with one thread; NumPy reads this when it is imported.
os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

import numpy as np

from attention import GeneralAttention, LocalAttention
from attention.app.experiments import scoring, translation
from lessons.classroom.records import write_record
from minigrad import Tensor

KINDS = {
    "global": {},
    "local-m": {"local": "m", "window": 3},
    "local-p": {"local": "p", "window": 3},
}
STRINGS = {"lengths": (5, 12), "pairs": 20_000, "batch": 50, "steps": 300}
TASKS = {"copy": STRINGS, "reversal": STRINGS, "en-de": {"steps": 300}}
SEEDS = (1, 2, 3)
LENGTHS, WIDTH, ROUNDS = (20, 50, 100, 200, 500), 64, 3


def train(task, kind, seed):
    """Train one model; return {"task", "kind", "seed", ...}.

    "cpu" is the processor seconds of a step. The score is the share of whole strings
    that are right, or BLEU. "back" is the share of steps at which the attention goes
    back by more than half a word.
    """
    config = translation.Config(
        task=task, attention="luong", score="general", bidirectional=False, seed=seed,
        hidden=64, embedding=32, patience=1000, **TASKS[task], **KINDS[kind],
    )  # fmt: skip
    data = translation.load(config)
    began = time.process_time()
    run, _ = translation.train(config, data)
    cpu = (time.process_time() - began) / run.steps
    translator = translation.translator_of(config, data, run)
    report = scoring.score(translator, data.test)
    score = report["bleu" if task == "en-de" else "exact"]["all"]
    steps = [backwards(w) for w in scoring.reference_weights(translator, data.test)]
    return {
        "task": task, "kind": kind, "seed": seed, "score": score,
        "validation": run.best["loss"], "cpu": cpu,
        "back": float(np.mean(np.concatenate(steps))),
    }  # fmt: skip


def backwards(w):
    """w (T, S)  ->  (T - 1,): whether the mean place of the weights goes back."""
    place = (w * np.arange(w.shape[1])).sum(1) / np.maximum(w.sum(1), 1e-9)
    return np.diff(place) < -0.5


def layer_of(kind, rng):
    if kind == "global":
        return GeneralAttention(WIDTH, WIDTH, rng=rng)
    return LocalAttention(WIDTH, WIDTH, 10, kind[-1], rng=rng)


def one_call(kind, S):
    """The least processor seconds of forward and backward: S queries, S keys."""
    rng, times = np.random.default_rng(0), []
    layer = layer_of(kind, rng)
    q, K = rng.normal(size=(2, 1, S, WIDTH)).astype(np.float32)
    for _ in range(ROUNDS + 1):  # the first may compile
        began = time.process_time()
        layer(Tensor(q, requires_grad=True), K, K).sum().backward()
        times.append(time.process_time() - began)
    return min(times[1:])


def main():
    calls = {kind: [one_call(kind, S) for S in LENGTHS] for kind in KINDS}
    print(calls, flush=True)
    plan = [(task, kind, s) for task in TASKS for kind in KINDS for s in SEEDS]
    runs = []
    with ProcessPoolExecutor(2) as workers:
        for one in [workers.submit(train, *each) for each in plan]:
            runs.append(one.result())
            print(*runs[-1].values(), flush=True)
    found = {"runs": runs, "lengths": LENGTHS, "D": 10, "calls": calls}
    command = "python lessons/book/08_local_coverage/local.py"
    print(write_record("local", found, command=command, seeds=SEEDS))


if __name__ == "__main__":
    main()
