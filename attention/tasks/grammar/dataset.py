"""Any number of different sentence pairs, and their division into three sets.

    generate(task, n, seed)     n pairs, as many of each length
    splits(task, ...)           training, validation and test set
    by_length(pairs)            {"5-7": [...], "8-10": [...], "11-15": [...]}

A source has 5 to 15 tokens, and its target about as many: a German one 4 to 18, and a
French one 5 to 19. These are the shortest and the longest of MOST pairs of one seed.

No sentence of the test set stands in the training set, neither as source nor as target.
All randomness is one numpy Generator: a seed always gives the same data set.
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from minigrad.checks import one_of, whole

from . import english, french, german, lexicon_french, lexicon_german
from .draw import Drawer
from .meaning import Lexicon
from .sentence_pairs import Pair

BUCKETS = ((5, 7), (8, 10), (11, 15))  # the lengths of sources, of exercise 6.9
ONE_CLAUSE = (1.0, 0.6, 0.3)  # the probability of one clause, by bucket
MOST = 50_000  # pairs of one seed; a test generates as many


class Task(NamedTuple):
    """A language pair: its words, and the function that writes the target sentence."""

    lexicon: Lexicon
    sentence: Callable


TASKS = {
    "english-german": Task(lexicon_german.LEXICON, german.sentence),
    "english-french": Task(lexicon_french.LEXICON, french.sentence),
}


class Splits(NamedTuple):
    """Three lists of pairs without a common source or target."""

    train: list
    validation: list
    test: list


def generate(task, n, seed=0):
    """Return a list of ``n`` different pairs: no source twice, and no target.

    task   "english-german" or "english-french"
    n      from 0 to MOST
    seed   a whole number, 0 or more

    Pair i has a length of bucket i modulo 3, so that each bucket has a third. The first
    100 of 500 pairs are the 100 pairs of the same seed.
    """
    n = _pair_count("generate: n is", whole("generate", "n", n))
    return _distinct("generate", task, n, seed)


def splits(task, train=500, validation=100, test=200, seed=0):
    """Return ``Splits`` of so many pairs each, MOST in all, of the task's name.

    The test set is drawn first, and the validation set next: neither depends on the
    size of the training set, so that models trained on 500 and on 5000 pairs are
    measured on the same ones. See ``generate``.
    """
    sizes = {"test": test, "validation": validation, "train": train}
    sizes = {name: whole("splits", name, size) for name, size in sizes.items()}
    n = _pair_count(
        f"splits: train is {train}, which with {validation} for validation and {test} "
        "for test is",
        sum(sizes.values()),
    )
    pairs = iter(_distinct("splits", task, n, seed))
    sets = {name: [next(pairs) for _ in range(n)] for name, n in sizes.items()}
    return Splits(**sets)


def by_length(pairs):
    """Return {"5-7": pairs, "8-10": pairs, "11-15": pairs}, by the source's length."""
    buckets = {f"{low}-{high}": [] for low, high in BUCKETS}
    for pair in pairs:
        low, high = BUCKETS[_bucket(len(pair.source))]
        buckets[f"{low}-{high}"].append(pair)
    return buckets


def _distinct(name, task, n, seed):
    one_of(name, "task", task, tuple(TASKS))
    task, rng = TASKS[task], np.random.default_rng(whole(name, "seed", seed))
    drawer = Drawer(task.lexicon, rng)
    waiting = [deque() for _ in BUCKETS]  # drawn while another length was due
    sources, targets, found = set(), set(), []
    while len(found) < n:
        due = len(found) % len(BUCKETS)
        if waiting[due]:
            found.append(waiting[due].popleft())
            continue
        meaning = drawer.sentence(ONE_CLAUSE[due])
        source = english.sentence(meaning)
        bucket = _bucket(len(source))
        if bucket is None:
            continue
        pair = Pair.of(source, task.sentence(meaning, task.lexicon))
        if pair.source not in sources and pair.target not in targets:
            sources.add(pair.source)
            targets.add(pair.target)
            waiting[bucket].append(pair)
    return found


def _bucket(length):
    """Return the number of the bucket of a length, or None."""
    return next((i for i, (a, b) in enumerate(BUCKETS) if a <= length <= b), None)


def _pair_count(sentence, n):
    if n > MOST:
        raise ValueError(
            f"{sentence} {n}; there are at most {MOST} pairs of one seed. Use fewer."
        )
    return n
