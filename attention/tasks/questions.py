"""Questions of ``algorithmic.py`` as pairs of tokens, no two alike, in three sets.

    parts = splits(Sort(3, 8), 20_000, 100, 200, seed=0)
    parts.train[0]     Pair(source=("d", "o", "g"), target=("d", "g", "o"), ...)

A token is a character. No question stands twice, so none of the test was trained on;
an answer may, where many questions have the same. As of the grammars, the test set is
drawn first and the validation set next: neither depends on how many there are to train
on. Of short questions there are few (100 sums of two digits): the longer a set is, the
smaller their share of it.
"""

import numpy as np

from ..checks import whole
from .algorithmic import Task
from .grammar import Pair, Splits

AT_ONCE = 1000  # questions that are drawn together; another number, other questions
MOST = 20_000_000  # symbols of all questions together: some gigabytes
PATIENCE = 20  # of a draw, so many in turn without a new question: there are no more


def splits(task, train=50_000, validation=100, test=200, seed=0):
    """``Splits`` of so many pairs each; a Pair has the links that the task knows.

    task   of algorithmic.py, such as Copy(3, 8)

    Raises TypeError and ValueError, in a sentence, for arguments that do not fit, where
    there are not as many questions, and where they would hold more than MOST symbols.
    """
    if not isinstance(task, Task):
        raise TypeError(f"splits: task is {task!r}; expected one such as Copy(3, 8).")
    sizes = {"test": test, "validation": validation, "train": train}
    sizes = {name: whole("splits", name, size) for name, size in sizes.items()}
    n = sum(sizes.values())
    if n * task.lengths[1] > MOST:
        raise ValueError(
            f"splits: {n} questions with lengths up to {task.lengths[1]} would fill "
            f"the memory; expected {MOST // task.lengths[1]} or fewer pairs in all, or "
            "shorter questions."
        )
    texts = iter(_distinct(task, n, whole("splits", "seed", seed)))
    sets = {n: [pair_of(task, next(texts)) for _ in range(k)] for n, k in sizes.items()}
    return Splits(**sets)


def pair_of(task, text):
    """The Pair of a question and its answer."""
    sure, possible = map(frozenset, task.alignment(text))
    return Pair(tuple(text), tuple(task.answer(text)), sure, possible)


def _distinct(task, n, seed):
    """The first n different questions of those that a seed draws."""
    found, draw, in_vain = {}, 0, 0  # a dict keeps the order
    while len(found) < n:
        before, rng = len(found), np.random.default_rng([seed, draw])
        found.update(dict.fromkeys(task.questions(rng, AT_ONCE)))
        draw, in_vain = draw + 1, 0 if len(found) > before else in_vain + 1
        if in_vain == PATIENCE:
            raise ValueError(
                f"splits: {n} different questions are asked for, and {draw * AT_ONCE} "
                f"that were drawn of {type(task).__name__}, with lengths from "
                f"{task.lengths[0]} to {task.lengths[1]}, hold {len(found)}; expected "
                "fewer pairs, or longer questions."
            )
    return list(found)[:n]
