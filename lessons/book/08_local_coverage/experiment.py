"""The experiments of lesson 08: windows, and coverage.

What does a window lose and save in training? A record of lesson 08.

    python -m lessons experiment 8 local

Global attention, no attention, local-m and local-p (general score, Luong's decoder,
windows of several widths) learn to copy a string, to reverse it, and to translate 500
pairs of English and German: five seeds, four learning rates, until they have learned
what they can. And one call of each layer for longer and longer sources, forward and
backward, in processor time. Some 20 minutes on two cores.

Does coverage keep a trained decoder from repeating itself? A record of lesson 08.

    python -m lessons experiment 8 repeating

Two tasks in which the attention must not return: to copy a list without its
repetitions, and to write the letters of a list in a random order. The decoders are
small, so that they make mistakes. Additive attention without coverage, with
coverage in the score, also in the loss, and with both in the last phase alone: five
seeds, three learning rates, until they have learned what they can. They answer lists as
long as those of the training, and longer ones. Some 15 minutes on two cores.
"""

import functools
import time
from collections import Counter

import numpy as np

import minigrad as mg
from attention import GeneralAttention, LocalAttention, coverage_loss
from attention.app.experiments import scoring, translation
from attention.app.experiments.translation_data import Data
from attention.tasks.algorithmic import Copy
from attention.tasks.batch import PAD
from attention.tasks.questions import splits
from attention.tasks.vocabulary import Vocabulary
from lessons.classroom.records import one_of
from lessons.classroom.studies import study
from lessons.instrument.translating import Translating
from minigrad import Tensor

STRINGS = {"lengths": (5, 12), "pairs": 20_000, "batch": 50}
LENGTHS, WIDTH, ROUNDS = (20, 50, 100, 200, 500), 64, 3


def window(kind, D):
    return {f"local-{kind}, D = {D}": {"local": kind, "window": D}}


class Windows(Translating):
    """One task. "back" is the share of steps at which the attention goes back."""

    rates, every = (7e-4, 2e-3, 6e-3, 18e-3), 100
    options = {
        "attention": "luong", "score": "general", "hidden": 64, "embedding": 32,
        "bidirectional": False,
    }  # fmt: skip

    def __init__(self, task, windows, budget, **options):
        self.name, self.question = task, f"Is a window enough for {task}?"
        self.arms = {"global": {}, "none": {"attention": "none"}, **windows}
        self.options, self.budget = {"task": task, **self.options, **options}, budget
        words = task == "en-de"
        self.measure = "BLEU" if words else "share of right strings"
        self.resolution = 1.0 if words else 0.01
        self.least = budget if words else 0  # BLEU of few sentences is noisy

    def test(self, arm, model):
        """Return the scores, and how often the attention goes back by half a word."""
        translator = translation.translator(model, self.data)
        weights = scoring.reference_weights(translator, self.data.test)
        found = {**super().test(arm, model), "back": None}
        if weights is not None:  # the model has attention
            found["back"] = float(np.concatenate(list(map(backwards, weights))).mean())
        return found


def backwards(w):
    """w (T, S)  ->  (T - 1,): whether the mean place of the weights goes back."""
    place = (w * np.arange(w.shape[1])).sum(1) / np.maximum(w.sum(1), 1e-9)
    return np.diff(place) < -0.5


def one_call(kind, S):
    """The least processor seconds of forward and backward: S queries, S keys."""
    rng, times = np.random.default_rng(0), []
    if kind == "global":
        layer = GeneralAttention(WIDTH, WIDTH, rng=rng)
    else:
        layer = LocalAttention(WIDTH, WIDTH, 10, kind[-1], rng=rng)
    q, K = rng.normal(size=(2, 1, S, WIDTH)).astype(np.float32)
    for _ in range(ROUNDS + 1):  # the first may compile
        began = time.process_time()
        layer(Tensor(q, requires_grad=True), K, K).sum().backward()
        times.append(time.process_time() - began)
    return min(times[1:])


def calls():
    """Return the seconds of one call of each layer, by length."""
    kinds = "global", "local-m", "local-p"
    return {
        "lengths": LENGTHS, "D": 10,
        "calls": {kind: [one_call(kind, S) for S in LENGTHS] for kind in kinds},
    }  # fmt: skip


def tasks():
    """Return the comparisons, each with windows whose width could matter."""
    m, p = window("m", 3), window("p", 3)
    narrow, wide = window("m", 1), window("m", 6)
    return [
        Windows("copy", m | p | narrow, 3600, **STRINGS),
        Windows("reversal", m | p | wide | window("p", 1), 6000, **STRINGS),
        Windows("en-de", m | p | wide, 4800),
    ]


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


LISTS = (5, 12), (16, 24)
TASKS = (
    Repeating(
        "once", "Does coverage help to copy a list once?", Once, *LISTS, 12, 3000
    ),
    Repeating(
        "any order", "Does coverage help to write a list in any order?", AnyOrder,
        *LISTS, 26, 4000,
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
    one_of(
        local=lambda: study("local", tasks(), calls),
        repeating=lambda: study("repeating", TASKS, baselines),
    )
