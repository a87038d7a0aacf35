"""How many pairs of query and key a pattern keeps, told without looking at them.

    window       i - left <= j <= i + right
    dilated      of those, the pairs with j - i a multiple of the dilation
    longformer   those of the window, and all pairs with a global query or key
    bigbird      blocks of the window, global ones and random ones

for 0 <= i < L and 0 <= j < S. The masks of these names (attention/masks) say which
pairs they are, a byte for each in an array; here it takes a few sums, and at most a
number for each distance, query or block. So a million tokens cost next to nothing.

Beltagy et al. 2020, section 3.1; Zaheer et al. 2020, section 2.
"""

import numpy as np


def pairs_kept(variant, L, S, window, dilation, global_tokens, blocks):
    """The pairs of one head of which a score is computed."""
    if variant == "window":
        return pairs_within(L, S, *window)
    if variant == "dilated":
        return pairs_dilated(L, S, *window, dilation)
    if variant == "longformer":
        return pairs_longformer(L, S, *window, global_tokens)
    if variant == "bigbird":
        return bigbird_blocks(L, S, *blocks) * blocks[0] ** 2
    return L * S


def pairs_within(L, S, left=-1, right=-1):
    """How many pairs (i, j) have i - left <= j <= i + right; -1 for no limit.

    0 <= i < L and 0 <= j < S. The pairs with j - i <= r are  sum_i clip(i + r + 1, 0,
    S), a difference of two sums over all clipped integers up to a number.
    """

    def clipped(m):  # the sum of clip(x, 0, S) over the integers x <= m
        m = max(m, 0)
        return m * (m + 1) // 2 if m <= S else S * (S + 1) // 2 + (m - S) * S

    def up_to(r):
        return clipped(r + L) - clipped(r)

    above = up_to(right if right >= 0 else S)
    return above - (up_to(-left - 1) if left >= 0 else 0)


def pairs_dilated(L, S, left, right, dilation):
    """How many of them have j - i a multiple of the dilation, 1 or more.

    Those at one distance d = j - i are a diagonal: i from max(0, -d) to min(L, S - d).
    """
    left, right = reach(L, S, left, right)
    d = np.arange(-(left // dilation) * dilation, right + 1, dilation)
    return int((np.minimum(L, S - d) - np.maximum(0, -d)).sum())


def pairs_longformer(L, S, left, right, tokens):
    """How many pairs a window and global tokens keep together.

    The rows of global queries and the columns of global keys hold n_q S + L n_k - n_q
    n_k pairs. To those come the window's, but for the ones that it has in these rows
    and columns: they have been counted.
    """
    tokens = np.unique(np.asarray(tokens, int))
    i, j = tokens[tokens < L], tokens[tokens < S]
    both = pairs_within(L, S, left, right)
    left, right = reach(L, S, left, right)
    in_rows = _between(i - left, i + right, S).sum()
    in_columns = _between(j - right, j + left, L).sum()
    distance = j - i[:, None]
    twice = ((-left <= distance) & (distance <= right)).sum()
    crosses = len(i) * S + L * len(j) - len(i) * len(j)
    return both + crosses - int(in_rows + in_columns - twice)


def bigbird_blocks(L, S, block, window, n_random, n_global):
    """The blocks of pairs: those of the window, global ones and random ones."""
    i, columns = np.arange(L // block), S // block
    first, last = -(-n_global // 2), n_global // 2
    low = np.clip(i - window // 2, 0, columns)
    high = np.clip(i + window // 2 + 1, 0, columns)
    # the window's blocks between the global columns at the start and at the end
    start, stop = min(first, columns), max(columns - last, min(first, columns))
    own = np.maximum(np.minimum(high, stop) - np.maximum(low, start), 0)
    own = own + start + columns - stop
    drawn = np.minimum(n_random, columns - own)
    everything = (i < first) | (i >= len(i) - last)
    return int(np.where(everything, columns, own + drawn).sum())


def reach(L, S, left, right):
    """(left, right) with the distances of the farthest pairs for -1, and no more."""
    most = L - 1, S - 1
    return tuple(m if n < 0 else min(n, m) for n, m in zip((left, right), most))


def _between(low, high, n):
    """How many of the numbers 0 to n - 1 are from low to high, both included."""
    return np.maximum(np.minimum(high, n - 1) - np.maximum(low, 0) + 1, 0)
