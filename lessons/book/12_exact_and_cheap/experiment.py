"""What does each attention take, in time and memory? The record of lesson 12.

    python -m lessons experiment 12

The sweep of ``lessons/instrument/sweep.py``: one head of width 64, forward,
float32. And self-attention beside a recurrence, both with their projections. Two sides
that are compared are both compiled or both NumPy, and take turns in one process, on one
thread. A time is the least processor time of several calls, and five processes give
five of them. Some 3 minutes; the machine should have nothing else to do.
"""

import functools
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from attention import MultiHeadAttention, kernels
from attention.kernels.memory import keep_freed_memory
from lessons.classroom.records import write_record
from lessons.instrument.sweep import (
    LENGTHS,
    in_turns,
    nothing_old_collected,
    sweep,
)
from minigrad import Tensor, nn, no_grad

RUNS, ROUNDS = 5, 3
SWEPT = [n for n in LENGTHS if n <= 8192]
PAIR = "dense", "tiled"  # are swept in NumPy, too, from 512 to 4096 tokens
SEQUENCES = 64, 256, 1024, 4096  # tokens that self-attention and the recurrence read
WIDTHS = {"compiled": (64, 512), "NumPy": (64,)}  # of both; a head has a width of 64


def against_a_recurrence(width):
    """Return {"n": lengths, "GRU": least seconds, "self-attention": least seconds}."""
    rng = np.random.default_rng(0)
    sides = {"GRU": nn.GRU(width, width, rng=rng)}
    sides["self-attention"] = MultiHeadAttention(width, width // 64, rng=rng)
    found = {"n": list(SEQUENCES)} | {name: [] for name in sides}
    for n in SEQUENCES:
        x = Tensor(rng.normal(size=(1, n, width)).astype(np.float32))
        calls = {name: functools.partial(side, x) for name, side in sides.items()}
        for name, taken in in_turns(calls, ROUNDS).items():
            found[name].append(min(taken))
    return found


def one_run(number):
    """Return what one process has measured: {"compiled" or "NumPy": its figures}."""
    kernels.threads(1)
    keep_freed_memory()
    found = {}
    with no_grad(), nothing_old_collected():
        for kind, widths in WIDTHS.items():
            with kernels.backend("numba" if kind == "compiled" else "numpy"):
                if kind == "compiled":
                    ways = sweep(ROUNDS, lambda text: None, SWEPT)
                else:
                    some = [n for n in SWEPT if 512 <= n <= 4096]
                    ways = sweep(ROUNDS, lambda text: None, some, variants=PAIR)
                recurrence = {str(d): against_a_recurrence(d) for d in widths}
            found[kind] = {"variants": ways, "recurrence": recurrence}
    return found


def main():
    runs, fresh = [], multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, fresh, max_tasks_per_child=1) as process:
        for found in process.map(one_run, range(RUNS)):
            runs.append(found)
            print(f"run {len(runs)} of {RUNS}", flush=True)
    results = {"rounds": ROUNDS, "runs": runs}
    print(write_record("sweep", results, seeds=[0]))


if __name__ == "__main__":
    main()
