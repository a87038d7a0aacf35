"""Any number of pairs, no two alike, and their division into three sets.

    generate(task, n, seed)     n pairs, of every length as many
    splits(task, ...)           training, validation and test set
    by_length(pairs)            {"5-7": [...], "8-10": [...], "11-15": [...]}

A source has 5 to 15 tokens, and its target about as many: a German one 4 to 18, and a
French one 5 to 19. These are the shortest and the longest of MOST pairs of one seed.

A sentence that is to be translated in the test has been seen neither as source nor as
target before. All randomness is one numpy Generator: a seed is a data set, for good.
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...checks import whole
from . import english, french, german, lexicon_french, lexicon_german
from .draw import Drawer
from .meaning import Lexicon
from .pairs import Pair

BUCKETS = ((5, 7), (8, 10), (11, 15))  # the lengths of sources, of exercise 6.9
ALONE = (1.0, 0.6, 0.3)  # of each, the share to be drawn as one clause
MOST = 50_000  # pairs of one seed; a test makes as many


class Task(NamedTuple):
    """A language pair: its words, and what says a sentence in the target language."""

    lexicon: Lexicon
    say: Callable


TASKS = {
    "english-german": Task(lexicon_german.LEXICON, german.sentence),
    "english-french": Task(lexicon_french.LEXICON, french.sentence),
}


class Splits(NamedTuple):
    """Three lists of pairs, no source and no target of which is in another one."""

    train: list
    validation: list
    test: list


def generate(task, n, seed=0):
    """A list of ``n`` different pairs: no source twice, and no target.

    task   "english-german" or "english-french"
    n      from 0 to MOST
    seed   a whole number, 0 or more

    Pair i has a length of bucket i modulo 3, so that each has a third of any number.
    What n is does not change a pair: the first 100 of 500 are those of 100.

    Raises TypeError and ValueError, in a sentence, for arguments that do not fit.
    """
    task = _checked_task("generate", task)
    n, seed = whole("generate", "n", n), whole("generate", "seed", seed)
    _checked_number("generate: n is", n)
    return _distinct(task, n, seed)


def splits(task, train=500, validation=100, test=200, seed=0):
    """``Splits`` of so many pairs each, MOST in all, of the task's name.

    See ``generate``. The test set is drawn first, and the validation set next: neither
    depends on how many pairs there are to train on, so that what was learned from 500
    and from 5000 is measured on the same ones.
    """
    task = _checked_task("splits", task)
    sizes = {"test": test, "validation": validation, "train": train}
    sizes = {name: whole("splits", name, size) for name, size in sizes.items()}
    seed = whole("splits", "seed", seed)
    _checked_number(
        f"splits: train is {sizes['train']}, which with {sizes['validation']} for "
        f"validation and {sizes['test']} for test is",
        sum(sizes.values()),
    )
    pairs = iter(_distinct(task, sum(sizes.values()), seed))
    sets = {name: [next(pairs) for _ in range(n)] for name, n in sizes.items()}
    return Splits(**sets)


def by_length(pairs):
    """{"5-7": pairs, "8-10": pairs, "11-15": pairs}, by the tokens of the source.

    Raises ValueError for a pair that is in no bucket.
    """
    buckets = {f"{low}-{high}": [] for low, high in BUCKETS}
    for pair in pairs:
        low, high = BUCKETS[_bucket(len(pair.source))]
        buckets[f"{low}-{high}"].append(pair)
    return buckets


def vocabularies(pairs):
    """The words of all sources, and those of all targets: two sorted tuples."""
    sources = {word for pair in pairs for word in pair.source}
    targets = {word for pair in pairs for word in pair.target}
    return tuple(sorted(sources)), tuple(sorted(targets))


def _distinct(task, n, seed):
    drawer = Drawer(task.lexicon, np.random.default_rng(seed))
    waiting = [deque() for _ in BUCKETS]  # drawn, while another length was wanted
    sources, targets, found = set(), set(), []
    while len(found) < n:
        wanted = len(found) % len(BUCKETS)
        if waiting[wanted]:
            found.append(waiting[wanted].popleft())
            continue
        meaning = drawer.sentence(ALONE[wanted])
        source = english.sentence(meaning)
        bucket = _bucket(len(source), None)
        if bucket is None:
            continue
        pair = Pair.of(source, task.say(meaning, task.lexicon))
        if pair.source not in sources and pair.target not in targets:
            sources.add(pair.source)
            targets.add(pair.target)
            waiting[bucket].append(pair)
    return found


def _bucket(length, *default):
    for i, (low, high) in enumerate(BUCKETS):
        if low <= length <= high:
            return i
    if default:
        return default[0]
    raise ValueError(
        f"by_length: a source has {length} tokens; expected from {BUCKETS[0][0]} to "
        f"{BUCKETS[-1][1]}."
    )


def _checked_task(name, task):
    if not isinstance(task, str) or task not in TASKS:
        raise ValueError(
            f"{name}: task is {task!r}; expected one of {', '.join(map(repr, TASKS))}."
        )
    return TASKS[task]


def _checked_number(said, n):
    if n > MOST:
        raise ValueError(
            f"{said} {n}; there are at most {MOST} pairs of one seed. Ask for fewer."
        )
