"""Lay masks and ``valid_lens`` over keys: refuse what could be of examples or heads."""

import numpy as np

from minigrad.arguments import between, plain


def row_lengths(name, valid_lens, rows, S):
    """Return the number of allowed keys of each row of scores: ints, shape ``rows``.

    valid_lens   (B,), one for each example; or (B, L), one for each query
    rows         (B, ..., L), the shape of the scores without the axis of the keys
    S            the number of keys
    """
    expected = rows[:1] if valid_lens.ndim == 1 else (*rows[:1], *rows[-1:])
    if valid_lens.shape != expected or len(rows) < valid_lens.ndim:
        raise ValueError(
            f"{name}: valid_lens have shape {valid_lens.shape}; expected (B,) or "
            f"(B, L), for rows of scores (B, ..., L) = {rows}."
        )
    between(name, "valid_lens", valid_lens, 0, S, "the number of keys")
    B, *others = valid_lens.shape
    ones = (1,) * (len(rows) - valid_lens.ndim)
    return np.broadcast_to(valid_lens.reshape(B, *ones, *others), rows)


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
