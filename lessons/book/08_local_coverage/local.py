"""What does a window lose and save in training? A record of lesson 08.

    python -m lessons experiment 8 local

Global attention, no attention, local-m and local-p (general score, Luong's decoder,
windows of several widths) learn to copy a string, to reverse it, and to translate 500
pairs of English and German: five seeds, four learning rates, until they have learned
what they can. And one call of each layer for longer and longer sources, forward and
backward, in processor time. Some 20 minutes on two cores.
"""

import time

import numpy as np

from attention import GeneralAttention, LocalAttention
from attention.app.experiments import scoring, translation
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
        if weights is None:  # the model has no attention
            return {**super().test(arm, model), "back": None}
        back = np.concatenate([backwards(w) for w in weights])
        return {**super().test(arm, model), "back": float(back.mean())}


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


if __name__ == "__main__":
    study("local", tasks(), calls)
