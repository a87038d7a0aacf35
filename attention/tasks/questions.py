"""Data sets of different questions and answers, of the algorithmic tasks.

    parts = splits(Sort(3, 8), 20_000, 100, 200, seed=0)
    parts.train[0]     Pair(source=("d", "o", "g"), target=("d", "g", "o"), ...)

A token is a character. No question occurs twice, so no test question is in the training
set; two questions may have the same answer. As in the grammars, the test set is drawn
first and the validation set next: neither depends on the size of the training set.
There are few short questions (100 sums of two digits), so their share is smaller in a
larger set.
"""

import numpy as np

from minigrad.arguments import whole

from .batching import Splits, take_splits
from .grammar import Pair

DRAWN = 1000  # questions drawn at once; another number gives other questions
PATIENCE = 20  # after so many draws without a new question, there are no others


def splits(task, train=50_000, validation=100, test=200, seed=0):
    """Return ``Splits`` of these numbers of pairs, with the alignments of the task.

    task   of algorithmic.py, such as Copy(3, 8)
    """
    sizes = Splits(train, validation, test)
    n = sum(whole("splits", *item) for item in sizes._asdict().items())
    pairs = []
    for text in _distinct(task, n, whole("splits", "seed", seed)):
        sure, possible = map(frozenset, task.alignment(text))
        pairs.append(Pair(tuple(text), tuple(task.answer(text)), sure, possible))
    return take_splits(pairs, sizes)


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
