"""Generate different sentence pairs: a training, a validation and a test set.

    generate(task, n, seed)     n pairs, a third in each of three ranges of lengths
    splits(task, ...)           training, validation and test set
    by_length(pairs)            {"5-7": [...], "8-10": [...], "11-15": [...]}

A source has 5 to 15 tokens, a German target 4 to 18, a French target 5 to 19 (measured
over MOST pairs of one seed).

No sentence of the test set stands in the training set, neither as source nor as target.
All randomness is one numpy Generator: a seed always gives the same data set.
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from minigrad.arguments import one_of, whole

from ..batching import Splits, take_splits
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
GRAMMARS = {"en-de": "english-german", "en-fr": "english-french"}  # names of commands


def generate(task, n, seed=0):
    """Return a list of ``n`` different pairs: no source twice, and no target.

    task   "english-german" or "english-french"
    n      from 0 to MOST
    seed   a whole number, 0 or more

    The length of pair i is in bucket i modulo 3, so each bucket has a third of the
    pairs. The first 100 of 500 pairs are the 100 pairs of the same seed.
    """
    return _distinct("generate", task, whole("generate", "n", n), seed)


def splits(task, train=500, validation=100, test=200, seed=0):
    """Return ``Splits`` of these numbers of pairs, at most MOST in all.

    The test set is drawn first, and the validation set next: neither depends on the
    size of the training set. So models trained on 500 and on 5000 pairs are compared on
    the same test set. The other arguments are those of ``generate``.
    """
    sizes = Splits(train, validation, test)
    n = sum(whole("splits", *item) for item in sizes._asdict().items())
    return take_splits(_distinct("splits", task, n, seed), sizes)


def by_length(pairs):
    """Return {"5-7": pairs, "8-10": pairs, "11-15": pairs}, by the source's length."""
    buckets = {f"{low}-{high}": [] for low, high in BUCKETS}
    for pair in pairs:
        low, high = BUCKETS[_bucket(len(pair.source))]
        buckets[f"{low}-{high}"].append(pair)
    return buckets


def _distinct(name, task, n, seed):
    one_of(name, "task", task, tuple(TASKS))
    if n > MOST:
        raise ValueError(
            f"{name}: found {n} pairs; there are at most {MOST} pairs of one seed. Use "
            "fewer."
        )
    task, rng = TASKS[task], np.random.default_rng(whole(name, "seed", seed))
    drawer = Drawer(task.lexicon, rng)
    queues = [deque() for _ in BUCKETS]  # pairs drawn while another length was due
    sources, targets, found = set(), set(), []
    while len(found) < n:
        due = len(found) % len(BUCKETS)
        if queues[due]:
            found.append(queues[due].popleft())
            continue
        meaning = drawer.sentence(ONE_CLAUSE[due])
        source = english.sentence(meaning)
        bucket = _bucket(len(source))
        if bucket is None:
            continue
        pair = Pair.of(source, task.sentence(meaning))
        if pair.source not in sources and pair.target not in targets:
            sources.add(pair.source)
            targets.add(pair.target)
            queues[bucket].append(pair)
    return found


def _bucket(length):
    """Return the number of the bucket of a length, or None."""
    return next((i for i, (a, b) in enumerate(BUCKETS) if a <= length <= b), None)
