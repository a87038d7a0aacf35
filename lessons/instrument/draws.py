"""What several studies draw: rows in random orders, one-hot rows, and keys."""

import numpy as np


def shuffled(rng, rows, n):
    """Return (rows, n): the numbers below n, in a random order in each row."""
    return rng.permuted(np.tile(np.arange(n), (rows, 1)), axis=1)


def pick(x, places):
    """x (B, n), places (B, m)  ->  (B, m)"""
    return np.take_along_axis(x, places, 1)


def one_hot(width, *numbers):
    """Return the sum of one-hot rows; a number below 0 adds nothing."""
    return sum(np.eye(width + 1, dtype=np.float32)[i][..., :width] for i in numbers)


def tokens(width, names, values, asked):
    """Return one-hot tokens: names with their values, then the names that are asked."""
    first, none = np.concatenate([names, asked], 1), np.full_like(asked, -1)
    return one_hot(width, first, np.concatenate([values, none], 1))


def pairs_once(n, names, kinds, writes, questions, *key):
    """Draw texts that write names, each once, with values, and then ask for some.

    names, writes   how many names there are, and how many of them are written
    kinds           how many values there are
    questions       how many names are asked

    -> tokens (n, writes + questions, names + kinds), the values that are asked
    (n, questions), and how many pairs stand before each of their pairs
    """
    rng = np.random.default_rng(key)
    written = shuffled(rng, n, names)[:, :writes]
    values = rng.integers(kinds, size=(n, writes))
    place = shuffled(rng, n, writes)[:, :questions]
    x = tokens(names + kinds, written, names + values, pick(written, place))
    return x, pick(values, place), place


def vectors(rng, *shape):
    """Draw random vectors of length sqrt(D), so that the largest score is sqrt(D)."""
    x = rng.standard_normal(shape, np.float32)
    return x * np.sqrt(shape[-1] / (x * x).sum(-1, keepdims=True))
