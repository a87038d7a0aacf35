"""What does each attention take, in time and memory? The record of lesson 12.

    python lessons/book/12_exact_and_cheap/experiment.py

The sweep of ``python -m attention bench --rows sweep``: one head of width 64, forward,
float32, compiled kernels, one thread. A few minutes; the machine should have nothing
else to do.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from attention import kernels
from attention.benchmark.sweep import WIDTH, sweep
from lessons.classroom.measured import write_record


def keep(found):
    """The record of what ``sweep`` found."""
    results = {"width": WIDTH, "variants": found}
    command = "python lessons/book/12_exact_and_cheap/experiment.py"
    return write_record("sweep", results, command=command, seeds=[0])


def main():
    kernels.threads(1)
    print(keep(sweep(False, rounds=12, say=lambda text: print(text, flush=True))))


if __name__ == "__main__":
    main()
