"""What does a Transformer's block need in order to train? The record of lesson 10.

    python lessons/book/10_heads/experiment.py

Pre-norm blocks learn a table of two entries: of the token at a place and of the one
before it, y_t = F[x_t, x_(t-1)]. Whole, and without each of the four things that the
sidebar of section 6.4.4 calls necessary: two and six blocks, four learning rates, five
seeds, until they have learned what they can. Some 15 minutes on two cores.
"""

import os
import pathlib
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # each process; NumPy reads this once
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from importlib import import_module

from lessons.classroom.studies import study

small = import_module("lessons.book.10_heads.small")
ARMS = {"nothing": {}} | {
    part: {"without": part}
    for part in ("positions", "feed-forward", "residual", "norm")
}
DEPTHS = 2, 6


def comparison(layers):
    """Return the comparison of blocks without each of the parts."""
    question = f"What do {layers} blocks need?"
    size = {"width": 32, "heads": 4, "layers": layers}
    return small.Table(f"{layers} blocks", question, ARMS, **size)


if __name__ == "__main__":
    depths = [comparison(layers) for layers in DEPTHS]
    sys.exit(study("transformer", depths, __file__))
