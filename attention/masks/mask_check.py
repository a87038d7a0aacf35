"""Compare the key ranges of your own mask with its definition.

    check_mask(mask, L=300, S=200)

Attention in tiles reads the ranges and skips the other keys. A wrong one changes
results without an error.
"""

import numpy as np

from minigrad.arguments import whole

from .algebra import as_mask


def check_mask(mask, L, S, B=None, H=None):
    """Compare the array of a mask, made from its ranges, with its ``allowed``.

    mask   a mask, or a function (b, h, q_idx, kv_idx) -> bool
    L, S   the numbers of queries and keys
    B, H   the numbers of examples and heads; None if the mask has them, or is the same
           for all

    Raises ValueError for the first difference. It evaluates all L S pairs, one query at
    a time: a definition must not depend on where an index stands in its array.
    """
    L, S = whole("check_mask", "L", L), whole("check_mask", "S", S)
    mask = as_mask(mask)
    found = mask.dense(B, H, L, S)  # (B | 1, H | 1, L, S)
    what = "allowed" if mask.key_ranges(L, S) is None else "key_ranges"
    b, h = np.arange(len(found)).reshape(-1, 1, 1, 1), np.arange(found.shape[1])
    for i in range(L):
        q = np.array([[i]])
        expected = mask.allowed(b, h.reshape(-1, 1, 1), q, np.arange(S))
        expected = np.broadcast_to(expected, (*found.shape[:2], 1, S))
        wrong = np.argwhere(found[:, :, i : i + 1] != expected)
        if len(wrong):
            example, head, _, key = wrong[0].tolist()
            raise ValueError(
                f"check_mask: {mask}: {what} gives {found[example, head, i, key]} for "
                f"query {i} and key {key}, example {example}, head {head}; expected "
                f"{expected[example, head, 0, key]}, which allowed gives for query {i}."
            )
