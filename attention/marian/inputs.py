"""What a caller passes to a Marian model, checked at the door."""

import numpy as np


def as_ids(name, ids, words):
    """ids as an array (B, n) of numbers below ``words``."""
    try:
        ids = np.asarray(ids)
    except ValueError:
        raise ValueError(
            f"Marian: {name} has rows of several lengths; expected (B, n), filled up "
            "with padding."
        ) from None
    if ids.ndim != 2 or not ids.shape[1]:
        raise ValueError(
            f"Marian: {name} has shape {ids.shape}; expected (B, n), a row of one or "
            "more ids for each sentence."
        )
    if ids.dtype.kind not in "iu":
        raise TypeError(f"Marian: {name} holds {ids.dtype}; expected whole numbers.")
    if ids.size and not (0 <= ids.min() and ids.max() < words):
        wrong = ids[(ids < 0) | (ids >= words)][0]
        raise ValueError(
            f"Marian: {name} holds {wrong}; expected ids from 0 to {words - 1}."
        )
    return ids.astype(np.int64)


def as_mask(mask, shape):
    """mask as a boolean array of that shape, (B, S); None is all True."""
    if mask is None:
        return np.ones(shape, bool)
    mask = np.asarray(mask)
    if mask.dtype != bool:
        raise TypeError(
            f"Marian: source_mask holds {mask.dtype}; expected bool, True = a word."
        )
    if mask.shape != shape:
        raise ValueError(
            f"Marian: source_mask has shape {mask.shape}; expected {shape}, that of "
            "source_ids."
        )
    return mask


def as_count(name, value):
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"Marian: {name} is {value!r}; expected a whole number.")
    if value < 1:
        raise ValueError(f"Marian: {name} is {value}; expected 1 or more.")
    return int(value)
