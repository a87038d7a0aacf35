"""What does each attention take, in time and memory? The record of lesson 12.

    python lessons/book/12_exact_and_cheap/experiment.py

The sweep of ``attention/app/benchmark/sweep.py``: one head of width 64, forward,
float32, compiled kernels, one thread. And a recurrence beside self-attention, both with
their projections. A few minutes; the machine should have nothing else to do.
"""

import os
import pathlib
import sys

os.environ["OMP_NUM_THREADS"] = "1"  # of the BLAS, before NumPy is there
os.environ["OPENBLAS_NUM_THREADS"] = "1"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

import numpy as np

from attention import MultiHeadAttention, kernels
from attention.app.benchmark.sweep import WIDTH, sweep
from attention.app.benchmark.timing import nothing_old_collected, rotated, timed
from lessons.classroom.records import write_record
from minigrad import Tensor, nn, no_grad

LENGTHS = (100, 1000, 4000)
ROUNDS = 12


def against_a_recurrence(rounds=ROUNDS):
    """{"T": lengths, "GRU": least seconds, "self-attention": least seconds}"""
    rng = np.random.default_rng(0)
    sides = {"GRU": nn.GRU(WIDTH, WIDTH, rng=rng)}
    sides["self-attention"] = MultiHeadAttention(WIDTH, 1, rng=rng)
    found = {"T": list(LENGTHS)} | {name: [] for name in sides}
    for T in LENGTHS:
        x = Tensor(rng.normal(size=(1, T, WIDTH)).astype(np.float32))
        times = {name: [] for name in sides}
        for turn in range(rounds + 1):  # the first compiles, and does not count
            for name in rotated(sides, turn):
                took = timed(lambda layer=sides[name]: layer(x))
                times[name] += [took] if turn else []
        for name, all_of_them in times.items():
            found[name].append(min(all_of_them))
    return found


def keep(found, recurrence):
    """The record of what ``sweep`` and ``against_a_recurrence`` found."""
    results = {"width": WIDTH, "variants": found, "recurrence": recurrence}
    command = "python lessons/book/12_exact_and_cheap/experiment.py"
    return write_record("sweep", results, command=command, seeds=[0])


def main():
    kernels.threads(1)
    with no_grad(), nothing_old_collected():
        recurrence = against_a_recurrence()
    print(recurrence, flush=True)
    found = sweep(ROUNDS, say=lambda text: print(text, flush=True))
    print(keep(found, recurrence))


if __name__ == "__main__":
    main()
