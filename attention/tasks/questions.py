"""Questions of the algorithmic tasks as sentence pairs, all different, in three sets.

    parts = splits(Sort(3, 8), 20_000, 100, 200, seed=0)
    parts.train[0]     Pair(source=("d", "o", "g"), target=("d", "g", "o"), ...)

A token is a character. No question stands twice, so that no test question was trained
on; an answer may, if several questions have it. As in the grammars, the test set is
drawn first and the validation set next: neither depends on the size of the training
set. There are few short questions (100 sums of two digits): the larger a set, the
smaller their share in it.
"""

import numpy as np

from minigrad.checks import whole

from .grammar import Pair, Splits

DRAWN = 1000  # questions drawn at once; another number gives other questions
PATIENCE = 20  # draws in a row without a new question: there are no others


def splits(task, train=50_000, validation=100, test=200, seed=0):
    """Return ``Splits`` of so many pairs, with the alignments that the task knows.

    task   of algorithmic.py, such as Copy(3, 8)
    """
    sizes = {"test": test, "validation": validation, "train": train}
    sizes = {name: whole("splits", name, size) for name, size in sizes.items()}
    texts = iter(_distinct(task, sum(sizes.values()), whole("splits", "seed", seed)))
    sets = {n: [pair_of(task, next(texts)) for _ in range(k)] for n, k in sizes.items()}
    return Splits(**sets)


def pair_of(task, text):
    """Return the Pair of a question and its answer."""
    sure, possible = map(frozenset, task.alignment(text))
    return Pair(tuple(text), tuple(task.answer(text)), sure, possible)


def _distinct(task, n, seed):
    """Return the first n different questions that a seed draws."""
    questions, draw, unsuccessful = {}, 0, 0  # a dict keeps the order
    while len(questions) < n:
        before, rng = len(questions), np.random.default_rng([seed, draw])
        questions.update(dict.fromkeys(task.questions(rng, DRAWN)))
        draw, unsuccessful = draw + 1, unsuccessful + 1
        if len(questions) > before:
            unsuccessful = 0
        if unsuccessful == PATIENCE:
            low, high = task.lengths
            raise ValueError(
                f"splits: found {len(questions)} different questions of "
                f"{type(task).__name__} with lengths from {low} to {high}; expected "
                f"{n}. Use fewer pairs, or longer questions."
            )
    return list(questions)[:n]
