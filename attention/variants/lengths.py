"""Lay masks and ``lengths`` over keys: refuse an axis that has two meanings."""

import numpy as np

from minigrad.arguments import between, plain


def row_lengths(name, lengths, rows, S):
    """Return the number of allowed keys of each row of scores: ints, shape ``rows``.

    lengths      (B,), one for each example; or (B, L), one for each query
    rows         (B, ..., L), the shape of the scores without the axis of the keys
    S            the number of keys
    """
    expected = rows[:1] if lengths.ndim == 1 else (*rows[:1], *rows[-1:])
    if lengths.shape != expected or len(rows) < lengths.ndim:
        raise ValueError(
            f"{name}: lengths have shape {lengths.shape}; expected (B,) or "
            f"(B, L), for rows of scores (B, ..., L) = {rows}."
        )
    between(name, "lengths", lengths, 0, S, "the number of keys")
    B, *others = lengths.shape
    ones = (1,) * (len(rows) - lengths.ndim)
    return np.broadcast_to(lengths.reshape(B, *ones, *others), rows)


def for_each_key(name, argument, mask, *arrays, axes=1):
    """Return ``mask`` if it has no leading axes, or as many as the arrays (..., n, E).

    Anything between is ambiguous: laid over q (B, H, L, E), a mask (B, S) would be one
    for each head. Leading axes of length 1 are the same for all.

    axes   of the mask that are not leading: 1 for (S,), 2 for (L, S)
    """
    if mask is None:
        return None
    shape = plain(mask).shape
    leading, n = shape[:-axes], max(x.ndim - 2 for x in arrays)
    if max(leading, default=1) != 1 and len(leading) != n:
        raise ValueError(
            f"{name}: {argument} has shape {shape}; expected {axes} axes, or "
            f"{n + axes}, of which the first {n} are those of examples and heads. If "
            f"the first axis counts examples, pass {argument}[:, None]."
        )
    return mask
