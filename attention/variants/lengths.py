"""Turn ``valid_lens`` into the number of allowed keys of each row of scores."""

import numpy as np

from minigrad.arguments import between


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
