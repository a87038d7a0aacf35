"""Pairs of sentences to batches: three parts that share no source, rows of one length.

    parts = split(text, seed=1)                 parts.train, .validation, .test
    batches = Batches(ids, 64, seed=1)          batches[0], batches[1], …

A batch is as wide as its longest row, and what is shorter is padded, computed, and
thrown away. So the examples of an epoch are shuffled, taken by the window, and sorted
by length within it: rows of a batch are then of nearly one length. The batches are
shuffled again, or the model would see the short ones first. The wider the window, the
less is padded, and the less it is left to chance who stands with whom: in one that is
as wide as the epoch, the same rows would meet in every epoch.

Both shuffles are drawn from the seed and the epoch's number, so batch i depends on the
seed and on i alone, and a run that is resumed sees what it would have seen.
"""

from dataclasses import dataclass

import numpy as np

from ..checks import whole
from .batch import EOS, assemble


@dataclass(frozen=True)
class Split:
    """Three lists of pairs, none with a source that another has."""

    train: list
    validation: list
    test: list


def split(pairs, seed, validation=0.1, test=0.1):
    """Divide pairs into three parts, at random.

    pairs              (source, target), strings or lists of words or of ids
    validation, test   shares of the pairs, from 0 to 1, or numbers of pairs

    Pairs with the same source stay together: a sentence with five translations would
    else be tested on what was learned. So a part may get a few pairs more than asked.
    Within a part the pairs keep their order.

    Raises ValueError where too little is left for a part.
    """
    seed, pairs = whole("split", "seed", seed), list(pairs)
    wanted = {
        "test": _count("test", test, len(pairs)),
        "validation": _count("validation", validation, len(pairs)),
    }
    groups = {}
    for i, pair in enumerate(pairs):
        source, _ = _checked_pair("split", i, pair, "(source, target)")
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
    asked = {"train": 1, **wanted}
    for name in ("train", "validation", "test"):
        if len(parts[name]) < asked[name]:
            raise ValueError(
                f"split: {len(pairs)} pair{'s' * (len(pairs) != 1)} with "
                f"{len(groups)} different sources leave {len(parts[name])} for {name}, "
                f"beside {wanted['validation']} for validation and {wanted['test']} "
                "for test; expected more pairs, or smaller shares."
            )
    return Split(**{k: [pairs[i] for i in sorted(v)] for k, v in parts.items()})


class Batches:
    """An endless, repeatable stream of batches of pairs, each pair once an epoch.

        batches[i]      the Batch of step i
        per_epoch       how many there are of one pass; the last may be smaller

    pairs     (source ids, target ids), from Vocabulary.encode: neither SOS nor EOS
    size      rows of a batch
    window    batches that are sorted together, at most a quarter of the epoch; with 1,
              rows are not sorted at all
    """

    def __init__(self, pairs, size, seed, window=50):
        self.size = whole("Batches", "size", size, 1)
        self.seed = whole("Batches", "seed", seed)
        self._pairs = _checked_pairs("Batches", pairs)
        self._lengths = np.array([[len(s), len(t)] for s, t in self._pairs])
        self.per_epoch = -(-len(self._pairs) // self.size)
        window = whole("Batches", "window", window, 1)
        self.window = max(min(window, self.per_epoch // 4), 1)
        self._planned = None, None

    def __getitem__(self, i):
        i = whole("batches[i]", "the step i", i)
        epoch, place = divmod(i, self.per_epoch)
        if self._planned[0] != epoch:
            self._planned = epoch, self._plan(epoch)
        return _padded([self._pairs[row] for row in self._planned[1][place]])

    def _plan(self, epoch):
        """Which rows stand together in each batch of an epoch."""
        rng = np.random.default_rng([self.seed, epoch])
        order = rng.permutation(len(self._pairs))
        batches, wide = [], self.window * self.size
        for start in range(0, len(order), wide):
            rows = order[start : start + wide]
            if self.window > 1:
                source, target = self._lengths[rows].T
                rows = rows[np.lexsort((target, source))]  # by source, then by target
            batches += [rows[i : i + self.size] for i in range(0, len(rows), self.size)]
        return [batches[k] for k in rng.permutation(len(batches))]


def in_order(pairs, size):
    """Batches of all pairs as they stand, once: what is said lines up with them."""
    size, pairs = whole("in_order", "size", size, 1), _checked_pairs("in_order", pairs)
    for start in range(0, len(pairs), size):
        yield _padded(pairs[start : start + size])


def _padded(pairs):
    """A Batch of pairs of int arrays."""
    sides = []
    for rows in zip(*pairs):
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        wide = np.zeros((len(rows), lengths.max()), dtype=np.int64)
        wide[np.arange(wide.shape[1]) < lengths[:, None]] = np.concatenate(rows)
        sides += [wide, lengths]
    return assemble(*sides)


def _checked_pairs(name, pairs):
    """Pairs of int64 arrays."""
    checked = []
    for i, pair in enumerate(pairs):
        pair = _checked_pair(name, i, pair, "(source ids, target ids)")
        checked.append(
            tuple(
                _checked_ids(f"{name}: the {side} of pair {i}", ids)
                for side, ids in zip(("source", "target"), pair)
            )
        )
    if not checked:
        raise ValueError(f"{name}: there are no pairs; expected one or more.")
    return checked


def _checked_pair(name, i, pair, expected):
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ValueError(f"{name}: pair {i} is {pair!r}; expected {expected}.")
    return pair


def _checked_ids(which, ids):
    ids = np.asarray(ids)
    if not ids.size:
        raise ValueError(f"{which} is empty; expected one id or more.")
    if ids.dtype.kind not in "iu" or ids.ndim != 1:
        raise TypeError(
            f"{which} is {ids.dtype} of shape {ids.shape}; expected a list of ids, "
            "whole numbers. Vocabulary.encode makes them of words."
        )
    if ids.min() <= EOS:
        raise ValueError(
            f"{which} holds {ids.min()}; expected ids from {EOS + 1} up, for PAD, SOS "
            "and EOS are put in here."
        )
    return ids.astype(np.int64)


def _count(name, share, n):
    """How many of n pairs a share or a number stands for."""
    if isinstance(share, (bool, np.bool_)) or not isinstance(
        share, (int, float, np.integer, np.floating)
    ):
        raise TypeError(
            f"split: {name} is {share!r}; expected a share from 0 to 1, or a number of "
            "pairs."
        )
    if isinstance(share, (int, np.integer)):
        return whole("split", name, share)
    if not 0 <= share < 1:
        raise ValueError(
            f"split: {name} is {share}; expected a share from 0 to 1, 1 left out, or a "
            "whole number of pairs."
        )
    return round(float(share) * n)
