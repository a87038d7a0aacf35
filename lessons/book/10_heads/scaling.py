"""Does a Transformer train without the factor 1 / sqrt(d)? A record of lesson 10.

    python -m lessons experiment 10 scaling

Six blocks learn the table of ``experiment.py``, y_t = F[x_t, x_(t-1)], with scaled and
with unscaled scores: four learning rates, five seeds, until they have learned what they
can. A block has one head, so that d_k is the width, 64, as in Vaswani's model and in
BERT. Some 7 minutes on two cores.
"""

from importlib import import_module

from lessons.classroom.studies import study

small = import_module("lessons.book.10_heads.small")
ARMS = {"scaled": {}, "unscaled": {"scale": 1.0}}
WIDTH, LAYERS = 64, 6


def comparison():
    """Return the study of scaled and unscaled blocks.

    Three seeds choose a rate, and show what each rate does.
    """
    return small.Table(
        f"{LAYERS} blocks", f"Do {LAYERS} blocks train without 1 / sqrt(d)?", arms=ARMS,
        size={"width": WIDTH, "hidden": WIDTH, "heads": 1, "layers": LAYERS},
        choosing=(101, 102, 103),
    )  # fmt: skip


if __name__ == "__main__":
    study("scaling", [comparison()])
