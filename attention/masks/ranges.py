"""Key ranges: query i attends to the keys lo[i] <= key < hi[i] and to no others.

The ranges are a pair (lo, hi) of int arrays that broadcast to (B | 1, H | 1, L). A
query without keys has 0, 0. Most masks have such ranges: O(L) numbers instead of an
array of L S. For the other masks, the ranges are None.
"""

import numpy as np


def clip_ranges(lo, hi, S):
    """Return the part of the ranges that lies within the S keys."""
    lo, hi = np.clip(lo, 0, S), np.clip(hi, 0, S)
    some = lo < hi
    return np.where(some, lo, 0), np.where(some, hi, 0)


def intersection(a, b, S):
    """Return the ranges of the keys in both; None if one is unknown."""
    if a is None or b is None:
        return None
    return clip_ranges(np.maximum(a[0], b[0]), np.minimum(a[1], b[1]), S)


def union(a, b, S):
    """Return the ranges of the keys in either; None if there is a gap between two."""
    if a is None or b is None:
        return None
    (lo, hi), (other_lo, other_hi) = a, b
    low, high = np.minimum(lo, other_lo), np.maximum(hi, other_hi)
    gap = np.maximum(lo, other_lo) > np.minimum(hi, other_hi)
    if (gap & (hi > 0) & (other_hi > 0)).any():
        return None
    low = np.where(hi == 0, other_lo, np.where(other_hi == 0, lo, low))
    return low, high


def complement(a, S):
    """Return the ranges of the other keys; None if a range has keys on both sides."""
    if a is None:
        return None
    lo, hi = a
    if not ((lo == 0) | (hi == S)).all():
        return None
    return clip_ranges(np.where(lo == 0, hi, 0), np.where(lo == 0, S, lo), S)
