"""Count the pairs of query and key that a sparse pattern keeps, without its mask.

    window       i - left <= j <= i + right
    dilated      of those, the pairs with j - i a multiple of the dilation
    strided      the last keys, and every l-th key before them
    chosen       those of some blocks, the query's own among them
    longformer   those of the window, and all pairs with a global query or key
    bigbird      blocks of the window, global blocks and random blocks

for 0 <= i < L and 0 <= j < S; -1 for left or right means no limit. Each function adds
up the keys of every query: L numbers where the mask has L S, so a million tokens take
a few milliseconds. Tests hold the counts equal to the masks.

Beltagy et al. 2020, section 3.1; Zaheer et al. 2020, section 2; Dao 2023 (tiles).
"""

import numpy as np


def window_pairs(L, S, left=-1, right=-1):
    """Count the pairs with i - left <= j <= i + right."""
    low, high = _key_range(np.arange(L), S, left, right)
    return int((high - low).sum())


def dilated_pairs(L, S, left, right, dilation):
    """Count the pairs of a window with j - i a multiple of the dilation."""
    i = np.arange(L)
    low, high = _key_range(i, S, left, right)
    # the multiples of the dilation among the distances low - i, ..., high - 1 - i
    multiples = (high - 1 - i) // dilation - (low - 1 - i) // dilation
    return int(multiples.sum())


def strided_pairs(L, S, stride):
    """Count the pairs of strided attention: the last keys, and multiples before them."""
    i = np.arange(L)
    low, high = _key_range(i, S, stride - 1, 0)
    # the multiples of the stride among the distances from stride, or i - S + 1, to i
    nearest = np.maximum(-(-(i - S + 1) // stride), 1)
    return int((high - low + np.maximum(i // stride - nearest + 1, 0)).sum())


def longformer_pairs(L, S, left, right, global_tokens):
    """Count the pairs of a window, and those with a global query or key."""
    tokens = np.unique(np.asarray(global_tokens, int))
    low, high = _key_range(np.arange(L), S, left, right)
    keys = tokens[tokens < S]
    inside = np.searchsorted(keys, high) - np.searchsorted(keys, low)
    kept = high - low + len(keys) - inside
    kept[tokens[tokens < L]] = S  # a global query attends to every key
    return int(kept.sum())


def chosen_pairs(L, block, best):
    """Count the pairs of the own block, causally, and of best - 1 earlier blocks.

    Also returns the number of earlier blocks of all queries, which are compared.
    """
    i = np.arange(L)
    earlier = i // block
    pairs = np.minimum(earlier, best - 1) * block + i % block + 1
    return int(pairs.sum()), int(earlier.sum())


def bigbird_pairs(L, S, block, window, n_random, n_global):
    """Count the pairs of masks.bigbird: whole blocks of ``block`` x ``block`` pairs."""
    if L % block or S % block:
        raise ValueError(
            f"bigbird: L is {L} and S is {S}; expected whole blocks of {block} tokens."
        )
    rows, columns = L // block, S // block
    i = np.arange(rows)
    first, last = -(-n_global // 2), n_global // 2  # global blocks at start and end
    start, stop = min(first, columns), max(columns - last, min(first, columns))
    low = np.maximum(i - window // 2, start)
    high = np.minimum(i + window // 2 + 1, stop)
    fixed = np.maximum(high - low, 0) + start + columns - stop  # window and global
    kept = np.minimum(fixed + n_random, columns)
    kept[(i < first) | (i >= rows - last)] = columns
    return int(kept.sum()) * block**2


def axial_pairs(L, S, columns):
    """Count the pairs of masks.axial: the own row and the own column."""
    row, column = np.divmod(np.arange(L), columns)
    in_row = np.clip(S - row * columns, 0, columns)
    in_column = (S - column + columns - 1) // columns
    return int((in_row + in_column).sum()) - min(L, S)  # a token itself is in both


def neighbourhood_pairs(L, S, columns, reach):
    """Count the pairs of masks.neighbourhood, one row of keys after the other."""
    row, column = np.divmod(np.arange(L), columns)
    left, right = np.maximum(column - reach, 0), np.minimum(column + reach + 1, columns)
    pairs = 0
    for r in range(-reach, reach + 1):
        start = np.where(row + r < 0, S, (row + r) * columns)  # of the row of keys
        pairs += int((np.minimum(start + right, S) - np.minimum(start + left, S)).sum())
    return pairs


def window_tiles(L, S, left, right, tile):
    """Return {"P", "V"}: the work of tiled attention with a window.

    P    pairs in the tiles that the window touches: whole tiles are computed
    V    the tiles that each query meets, summed over the queries
    """
    start = np.arange(0, L, tile)
    stop = np.minimum(start + tile, L)
    low, _ = _key_range(start, S, left, right)
    _, high = _key_range(stop - 1, S, left, right)
    first = low // tile
    last = np.where(low < high, -(-high // tile), first)
    visits = (stop - start) * (last - first)
    pairs = (stop - start) * (np.minimum(last * tile, S) - np.minimum(first * tile, S))
    return {"P": int(pairs.sum()), "V": int(visits.sum())}


def _key_range(i, S, left, right):
    """Return low and high: query i has the keys low <= j < high of a window."""
    low = np.clip(i - left, 0, S) if left >= 0 else np.zeros_like(i)
    high = np.clip(i + right + 1, 0, S) if right >= 0 else np.full_like(i, S)
    return low, high
