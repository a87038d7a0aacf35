"""Split sentence pairs into training, validation and test set, and into batches.

    parts = split(text, seed=1)                 parts.train, .validation, .test
    batches = Batches(ids, 64, seed=1)          batches[0], batches[1], …

A batch is as wide as its longest row; shorter rows are padded, and the work on padding
is wasted. So the pairs of an epoch are shuffled, cut into windows of many batches, and
sorted by length within each window: the rows of a batch then have nearly equal lengths.
Then the batches are shuffled; otherwise the model would read the short sentences first.
A wider window needs less padding. But with a window as wide as the epoch, the lengths
in the batches would be the same in every epoch.

Both shuffles depend only on the seed and the number of the epoch. So batch i depends
only on the seed and i, and a resumed run reads the same batches.
"""

from itertools import islice
from typing import NamedTuple

import numpy as np

from minigrad.arguments import whole

from .batch import EOS, assemble, pad


class Splits(NamedTuple):
    """Three lists of pairs; no source stands in two of them."""

    train: list
    validation: list
    test: list


def take_splits(pairs, sizes):
    """Return ``Splits`` of consecutive pairs: test, then validation, then training set.

    sizes   the numbers of pairs, as ``Splits``
    """
    pairs = iter(pairs)
    test = list(islice(pairs, sizes.test))
    validation = list(islice(pairs, sizes.validation))
    return Splits(list(islice(pairs, sizes.train)), validation, test)


def split(pairs, seed, validation=0.1, test=0.1):
    """Divide pairs into three parts, at random.

    pairs              (source, target), strings or lists of words or of ids
    validation, test   shares of the pairs (floats below 1), or numbers of pairs (ints)

    Pairs with the same source go into the same part: otherwise the test set would hold
    sources that were trained on. So a part may have a few pairs more. Within a part the
    pairs keep their order.
    """
    seed, pairs = whole("split", "seed", seed), list(pairs)
    wanted = {
        "test": _count("test", test, len(pairs)),
        "validation": _count("validation", validation, len(pairs)),
    }
    groups = {}  # source -> numbers of its pairs
    for i, (source, _) in enumerate(pairs):
        key = source if isinstance(source, str) else tuple(source)
        groups.setdefault(key, []).append(i)
    groups = list(groups.values())
    order = iter(np.random.default_rng(seed).permutation(len(groups)).tolist())
    parts = {}
    for name, n in wanted.items():
        part = []
        while len(part) < n and (g := next(order, None)) is not None:
            part += groups[g]
        parts[name] = part
    parts["train"] = [i for g in order for i in groups[g]]
    for name, least in {"train": 1, **wanted}.items():
        if len(parts[name]) < least:
            raise ValueError(
                f"split: {len(pairs)} pairs with {len(groups)} different sources leave "
                f"{len(parts[name])} for {name}, beside {wanted['validation']} for "
                f"validation and {wanted['test']} for test; expected more pairs, or "
                "smaller shares."
            )
    return Splits(**{k: [pairs[i] for i in sorted(v)] for k, v in parts.items()})


class Batches:
    """An endless, repeatable stream of batches of pairs, each pair once an epoch.

        batches[i]      the Batch of step i
        per_epoch       the number of batches of an epoch; one may be smaller

    pairs     (source ids, target ids), as Vocabulary.encode returns them
    size      rows of a batch
    window    batches that are sorted together, at most a quarter of the epoch; 1: rows
              are not sorted
    """

    def __init__(self, pairs, size, seed, window=50):
        self.size = whole("Batches", "size", size, 1)
        self.seed = whole("Batches", "seed", seed)
        self._pairs = _id_pairs("Batches", pairs)
        self._lengths = np.array([[len(s), len(t)] for s, t in self._pairs])
        self.per_epoch = -(-len(self._pairs) // self.size)
        window = whole("Batches", "window", window, 1)
        self.window = max(min(window, self.per_epoch // 4), 1)
        self._epoch, self._batches = None, None  # the epoch in memory

    def __getitem__(self, i):
        epoch, k = divmod(whole("batches[i]", "the step i", i), self.per_epoch)
        if self._epoch != epoch:
            self._epoch, self._batches = epoch, self._shuffled(epoch)
        return _padded([self._pairs[row] for row in self._batches[k]])

    def _shuffled(self, epoch):
        """Return the rows of each batch of an epoch."""
        rng = np.random.default_rng([self.seed, epoch])
        order = rng.permutation(len(self._pairs))
        batches, width = [], self.window * self.size
        for start in range(0, len(order), width):
            rows = order[start : start + width]
            if self.window > 1:
                source, target = self._lengths[rows].T
                rows = rows[np.lexsort((target, source))]  # by source, then by target
            batches += [rows[i : i + self.size] for i in range(0, len(rows), self.size)]
        return [batches[k] for k in rng.permutation(len(batches))]


def in_order(pairs, size):
    """Yield batches of all pairs once, in their order."""
    size, pairs = whole("in_order", "size", size, 1), _id_pairs("in_order", pairs)
    for start in range(0, len(pairs), size):
        yield _padded(pairs[start : start + size])


def _padded(pairs):
    sources, targets = zip(*pairs)
    return assemble(*pad(sources), *pad(targets))


def _id_pairs(name, pairs):
    """Return pairs of arrays of integers, neither of them empty."""
    arrays = []
    for i, (source, target) in enumerate(pairs):
        pair = tuple(np.array(ids) for ids in (source, target))
        for side, ids in zip(("source", "target"), pair):
            if not ids.size or ids.dtype.kind not in "iu" or ids.min() <= EOS:
                raise ValueError(
                    f"{name}: the {side} of pair {i} is {ids.tolist()!r}; expected one "
                    f"id or more, whole numbers from {EOS + 1} up: PAD, SOS and EOS "
                    "are added here."
                )
        arrays.append(pair)
    if not arrays:
        raise ValueError(f"{name}: found no pairs; expected one or more.")
    return arrays


def _count(name, share, n):
    """Return how many of n pairs a share or a number stands for."""
    if isinstance(share, float):
        if not 0 <= share < 1:
            raise ValueError(
                f"split: {name} is {share}; expected a share from 0 up, below 1, or a "
                "whole number of pairs."
            )
        return round(share * n)
    return whole("split", name, share)
