"""Does coverage keep a trained decoder from repeating itself? A record of lesson 08.

    python -m lessons experiment 8 repeating

Two tasks in which the attention must not return: to copy a list without its
repetitions, and to write the letters of a list in a random order. The decoders are
small, so that they make mistakes. Additive attention without coverage, with
coverage in the score, also in the loss, and with both in the last phase alone: five
seeds, three learning rates, until they have learned what they can. They answer lists as
long as those of the training, and longer ones. Some 15 minutes on two cores.
"""

import functools
from collections import Counter

import numpy as np

import minigrad as mg
from attention import coverage_loss
from attention.app.experiments.translation_data import Data
from attention.tasks.algorithmic import Copy
from attention.tasks.batch import PAD
from attention.tasks.questions import splits
from attention.tasks.vocabulary import Vocabulary
from lessons.classroom.studies import study
from lessons.instrument.translating import Translating


class Once(Copy):
    """Copy each letter once, in the order of the first occurrences: abbac -> abc."""

    def answer(self, text):
        """Return the different letters of a string."""
        return "".join(dict.fromkeys(text))

    def is_right(self, said, wanted):
        """Return whether an answer is right."""
        return said == wanted

    def alignment(self, text):
        """Link each letter to its first occurrence; the others are possible."""
        answer = self.answer(text)
        sure = {(t, text.index(c)) for t, c in enumerate(answer)}
        return sure, {(answer.index(c), s) for s, c in enumerate(text)}


class AnyOrder(Once):
    """Write different letters in an order that nothing predicts: abc -> cab."""

    def questions(self, rng, n):
        """Return n strings of different letters."""
        lengths = rng.integers(self.min_length, self.max_length + 1, n)
        letters = self.symbols.characters[: self.letters]
        return ["".join(rng.permutation(list(letters))[:m]) for m in lengths]

    def answer(self, text):
        """Return the letters in a random order, which is the same at each call."""
        order = np.random.default_rng([ord(c) for c in text]).permutation(len(text))
        return "".join(text[i] for i in order)

    def is_right(self, said, wanted):
        """Return whether an answer has each letter once, in whatever order."""
        return sorted(said) == sorted(wanted)


class Repeating(Translating):
    """One task: lists of the lengths of the training, and longer ones.

    The figure is the share of right answers to the first.
    """

    measure = "share of right answers"
    arms = {
        "without": {},
        "in the score": {"coverage": True},
        "score and loss": {"coverage": True},
        "at the end": {"coverage": True},
    }
    rates, every = (4e-3, 8e-3, 16e-3), 100
    options = {"hidden": 16, "embedding": 16, "bidirectional": False, "dropout": 0.0}

    def __init__(self, name, question, task, lengths, longer, letters, budget):
        self.name, self.question, self.budget = name, question, budget
        self.task, self.longer_task = task(*lengths, letters), task(*longer, letters)

    @functools.cached_property
    def data(self):
        """The lists of the training and the validation, and those of a test."""
        symbols = Vocabulary(list(self.task.symbols.characters))
        parts = splits(self.task, 20_000, 200, 400)
        return Data(*parts, symbols, symbols, questions=self.task)

    @functools.cached_property
    def tests(self):
        """The lists of both tests."""
        longer = splits(self.longer_task, 0, 0, 400).test
        return {"trained": self.data.test, "longer": longer}

    def loss_at(self, arm, run, seed, step):
        batch = run.batches[step]
        is_last = run.schedule.falls_at is not None
        if arm == "at the end":  # before, w_c is 0 and the coverage has no effect
            run.model.decoder.order.attention.w_c.requires_grad = is_last
        out = run.model.forced(batch.source, batch.target_in, batch.lengths)
        loss = mg.cross_entropy(out.logits, batch.target_out, ignore_index=PAD)
        if arm == "score and loss" or (arm == "at the end" and is_last):
            lengths = batch.target_lengths
            loss = loss + coverage_loss(out.weights, out.coverages, lengths)
        return loss

    def scores(self, model, pairs):
        found = super().scores(model, pairs)
        answers = zip(found["said"], pairs)
        right = [self.task.is_right(said, list(pair.target)) for said, pair in answers]
        return {**found, "right": float(np.mean(right))}

    def figure_of(self, scores):
        return scores["right"]

    def test(self, arm, model):
        """Return the shares of right answers and of repeated letters, of both tests."""
        found = {}
        for name, pairs in self.tests.items():
            scores = self.scores(model, pairs)
            found[name] = {
                "right": scores["right"],
                "repeated": repeated(scores["said"], pairs),
                "said": ["".join(said) for said in scores["said"][:4]],
            }
        return {"figure": found["trained"]["right"], **found}


def repeated(said, pairs):
    """The share of letters that an answer has more often than the right one has them.

    Letters that the right answer does not have are not counted.
    """
    surplus = 0
    for answer, pair in zip(said, pairs):
        mine, right = Counter(answer), Counter(pair.target)
        surplus += sum(max(mine[c] - right[c], 0) for c in right)
    return surplus / max(sum(map(len, said)), 1)


LENGTHS = (5, 12), (16, 24)
TASKS = (
    Repeating(
        "once", "Does coverage help to copy a list once?", Once, *LENGTHS, 12, 3000
    ),
    Repeating(
        "any order", "Does coverage help to write a list in any order?", AnyOrder,
        *LENGTHS, 26, 4000,
    ),
)  # fmt: skip


def baselines():
    """Return the lists of the tests, and what needs no training.

    no memory   the share of repeated letters if each letter is drawn from the whole
                list, as many as the right answer has
    copied      the share of right answers if the list itself is the answer
    """
    found, rng = {}, np.random.default_rng(0)
    for each in TASKS:
        for name, pairs in each.tests.items():
            drawn = [rng.choice(pair.source, len(pair.target)) for pair in pairs]
            copied = [each.task.is_right(list(p.source), list(p.target)) for p in pairs]
            found.setdefault(each.name, {})[name] = {
                "no memory": repeated(drawn, pairs),
                "copied": float(np.mean(copied)),
                "lists": ["".join(pair.source) for pair in pairs[:4]],
                "answers": ["".join(pair.target) for pair in pairs[:4]],
            }
    return {"baselines": found}


if __name__ == "__main__":
    study("repeating", TASKS, baselines)
