"""The experiments of lesson 08: windows, and coverage.

What does a window lose in training? A record of lesson 08.

    python -m lessons experiment 8 local

Global attention, no attention, local-m and local-p (general score, Luong's decoder,
windows of seven letters) learn to copy a string and to reverse it: five seeds. Some
5 minutes on two cores.

Does coverage keep a trained decoder from repeating itself? A record of lesson 08.

    python -m lessons experiment 8 repeating

Decoders sort strings of four letters, so each letter has to be written several times.
They are small and see few strings, so that they make mistakes. Additive attention
without coverage, with coverage in the score, and also in the loss, with two factors:
five seeds, three learning rates. Some 5 minutes on two cores.
"""

import functools
from collections import Counter

import numpy as np

import minigrad as mg
from attention import coverage_loss
from attention.app.experiments import scoring, translation
from attention.app.experiments.translation_data import Data
from attention.tasks.algorithmic import Sort
from attention.tasks.batch import PAD
from attention.tasks.questions import splits
from attention.tasks.vocabulary import Vocabulary
from lessons.classroom.records import one_of
from lessons.classroom.studies import study
from lessons.instrument.translating import Translating


class Windows(Translating):
    """Copy a string, or reverse it."""

    measure, ceiling = "share of right strings", 1.0
    arms = {
        "none": {"attention": "none"},
        "global": {},
        "local-m": {"local": "m", "window": 3},
        "local-p": {"local": "p", "window": 3},
    }
    rates, budget, every = (3e-3, 1e-2), 2000, 200

    def __init__(self, task):
        self.name, self.question = task, f"Is a window enough for {task}?"
        self.options = {
            "task": task, "lengths": (6, 12), "pairs": 20_000, "test": 400,
            "attention": "luong", "score": "general", "bidirectional": False,
            "hidden": 32, "embedding": 16, "batch": 32,
        }  # fmt: skip

    def test(self, arm, model):
        """Return the scores, and how often the attention goes back by half a word."""
        translator = translation.translator(model, self.data)
        weights = scoring.reference_weights(translator, self.data.test)
        found = {"figure": self.figure_of(self.scores(model, self.data.test))}
        if weights is not None:  # the model has attention
            found["back"] = float(np.concatenate(list(map(backwards, weights))).mean())
        return found


def backwards(w):
    """w (T, S)  ->  (T - 1,): whether the mean place of the weights goes back."""
    place = (w * np.arange(w.shape[1])).sum(1) / np.maximum(w.sum(1), 1e-9)
    return np.diff(place) < -0.5


class Sorting(Translating):
    """Sort strings of four letters, after training on 100 of them.

    factors   of the coverage loss, by arm
    """

    name, question = "sorting", "Does coverage keep a decoder from repeating itself?"
    measure, ceiling = "share of right strings", 1.0
    factors = {"score and loss, 0.1": 0.1, "score and loss, 1": 1.0}
    arms = {
        "without": {},
        "in the score": {"coverage": True},
        **dict.fromkeys(factors, {"coverage": True}),
    }
    rates, budget, every = (4e-3, 8e-3, 16e-3), 1600, 200
    options = {
        "hidden": 16, "embedding": 16, "bidirectional": False, "dropout": 0.0,
        "batch": 32,
    }  # fmt: skip

    @functools.cached_property
    def data(self):
        """The strings of the training, the validation and the test."""
        task = Sort(8, 16, letters=4)
        symbols = Vocabulary(list(task.symbols.characters))
        return Data(*splits(task, 100, 200, 400), symbols, symbols, questions=task)

    def loss_at(self, arm, run, seed, step):
        batch = run.batches[step]
        out = run.model.forced(batch.source, batch.target_in, batch.lengths)
        loss = mg.cross_entropy(out.logits, batch.target_out, ignore_index=PAD)
        if arm in self.factors:
            repetition = coverage_loss(out.weights, out.coverages, batch.target_lengths)
            loss = loss + self.factors[arm] * repetition
        return loss

    def test(self, arm, model):
        """Return the figure, and the share of letters that are written too often."""
        scores = self.scores(model, self.data.test)
        return {
            "figure": self.figure_of(scores),
            "repeated": repeated(scores["said"], self.data.test),
        }


def repeated(said, pairs):
    """Return the share of letters that an answer has more often than the right one."""
    surplus = sum(
        (Counter(mine) - Counter(pair.target)).total()
        for mine, pair in zip(said, pairs)
    )
    return surplus / max(sum(map(len, said)), 1)


if __name__ == "__main__":
    one_of(
        local=lambda: study("local", [Windows("copy"), Windows("reversal")]),
        repeating=lambda: study("repeating", [Sorting()]),
    )
