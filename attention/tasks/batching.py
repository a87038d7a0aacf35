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

HELD_OUT = 0.1  # of the pairs: the share for validation, and for the test
WINDOW = 50  # batches that are sorted together, at most a quarter of the epoch


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


def split(pairs, seed):
    """Divide pairs at random: a tenth is for validation, another for the test.

    pairs   a list of (source, target); a source is a string, or a tuple of words

    Pairs with the same source go into the same part: otherwise the test set would hold
    sources that were trained on. So a part may have a few pairs more. Within a part the
    pairs keep their order.
    """
    groups = {}  # source -> numbers of its pairs
    for i, (source, _) in enumerate(pairs):
        groups.setdefault(source, []).append(i)
    groups, n = list(groups.values()), round(HELD_OUT * len(pairs))
    order = np.random.default_rng(whole("split", "seed", seed)).permutation(len(groups))
    train, validation, test = [], [], []
    for g in order.tolist():
        part = test if len(test) < n else validation if len(validation) < n else train
        part += groups[g]
    if not train:
        raise ValueError(
            f"split: {len(pairs)} pairs with {len(groups)} different sources leave 0 "
            "for training; expected more sources."
        )
    parts = (sorted(part) for part in (train, validation, test))
    return Splits(*([pairs[i] for i in part] for part in parts))


class Batches:
    """An endless, repeatable stream of batches of pairs, each pair once an epoch.

        batches[i]      the Batch of step i
        per_epoch       the number of batches of an epoch; one may be smaller

    pairs     (source ids, target ids), as Vocabulary.encode returns them
    size      rows of a batch
    """

    def __init__(self, pairs, size, seed):
        self.size = whole("Batches", "size", size, 1)
        self.seed = whole("Batches", "seed", seed)
        self._pairs = _id_pairs("Batches", pairs)
        self._lengths = np.array([[len(s), len(t)] for s, t in self._pairs])
        self.per_epoch = -(-len(self._pairs) // self.size)
        self.window = max(min(WINDOW, self.per_epoch // 4), 1)
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
