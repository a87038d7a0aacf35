"""Can a model focus on one word without a softmax? A record of lesson 03.

    python -m lessons experiment 3

A model sees ten pairs of a key and a value, and the key of one of them, and has to
name its value. Its weights are a softmax of the scores, or the scores divided by the
sum of their absolute values, or their absolute values divided by it. The scores are
additive, or dot products of 4 numbers. Some 3 minutes on two cores.
"""

from importlib import import_module

import numpy as np

import minigrad as mg
from lessons.classroom.studies import study

task = import_module("lessons.book.14_checks_the_book.experiment")
SMALL = 1e-6  # so that scores of 0 are not divided by 0


def softmax(scores, allowed):
    """Return exp(e_j) / sum_l exp(e_l)."""
    return mg.softmax(scores)


def signed(scores, allowed):
    """Return e_j / sum_l |e_l|."""
    return scores / (mg.abs(scores).sum(-1, keepdims=True) + SMALL)


def absolute(scores, allowed):
    """Return |e_j| / sum_l |e_l|."""
    return mg.abs(signed(scores, allowed))


NORMALIZERS = {"softmax": softmax, "absolute": absolute, "signed": signed}


def hardened(normalize):
    """Return a normalizer that puts all weight on the key with the largest weight."""

    def hard(scores, allowed):
        weights = normalize(scores, allowed).numpy()
        largest = np.abs(weights).argmax(-1)[..., None]
        one = np.zeros_like(weights)
        np.put_along_axis(one, largest, 1, -1)
        return mg.Tensor(one * np.sign(weights))

    return hard


class Lookups(task.Scores):
    """A softmax beside two divisions by a sum of absolute values."""

    arms, held_out = tuple(NORMALIZERS), (500, 2000)

    def __init__(self, score):
        self.name = self.score = score
        self.question = f"Which weights look up, with {score} scores?"

    @property
    def trivial(self):
        """The figure of the most frequent of the ten values."""
        _, _, values, answers = self.draw(2000, 0)
        often = [np.bincount(row).argmax() for row in values]
        return float((often == answers).mean())

    def model(self, arm, rng):
        return task.Lookup(self.score, rng, NORMALIZERS[arm])

    def test(self, arm, model):
        """Return the figure, and what it is if the largest weight becomes 1.

        largest   the mean size of the largest weight
        meant     the mean weight of the key that is asked for
        """
        examples = asked, keys, *_ = self.held[1]
        figure = self.figure(model, *examples)
        weights = model.attention.attention_weights.data[:, 0]  # (n, 10)
        model.normalize = hardened(NORMALIZERS[arm])
        hard = self.figure(model, *examples)
        model.normalize = NORMALIZERS[arm]
        return {
            "figure": figure, "hard": hard,
            "largest": float(np.abs(weights).max(-1).mean()),
            "meant": float(weights[keys == asked].mean()),
        }  # fmt: skip


if __name__ == "__main__":
    study("normalizers", [Lookups("additive"), Lookups("dot")])
