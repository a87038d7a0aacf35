"""The tiles of pairs that the kernels go through, and the bytes of what lists them.

    a tile    size queries by size keys; smaller at the ends
    a plan    ranges of keys, 16 bytes a query, where a query has one range;
              else a list: 16 bytes a tile, and for each tile with pairs that may not
              attend a bit a pair, in numbers of 8 bytes a key

A window has ranges (kernels/tile_plan.py, ``of_ranges``). Dilation, global tokens and random
blocks make a list (``of_tiles``), found by way of a BlockMask, which has a byte for
each tile there could be. What is counted here is found from distances alone: a tile has
pairs (i, j) at all distances j - i from its last query and first key to its first query
and last key.

Dao 2023, algorithm 1; Dong et al. 2024 (BlockMask).
"""

import numpy as np

from .pair_counts import bigbird_blocks, reach


def tiled_work(L, S, window, size):
    """(pairs, visits) of one head: scores computed, and tiles that each query meets."""
    left, right = window
    pairs = visits = 0
    for start in range(0, L, size):
        stop = min(start + size, L)
        low = max(start - left, 0) if left >= 0 else 0
        high = min(stop + right, S) if right >= 0 else S
        if low < high:
            first, last = low // size, -(-high // size)
            pairs += (stop - start) * (min(last * size, S) - first * size)
            visits += (stop - start) * (last - first)
    return pairs, visits


def listed_tiles(L, S, window, dilation, tokens, size):
    """(tiles, partial) of one head: those kept, and those that need a bit a pair.

    Kept are those with a pair in the window at a multiple of the dilation, or with a
    global token. Tiles of whole blocks without such tokens are alike if b - a is, for
    block a of queries and b of keys: one stands for all. The others are looked at in
    turn. Where two patterns fill a tile only together, it is counted as partial.
    """
    left, right = reach(L, S, *window)
    (plain, asks, all_ask), (plain_keys, seen, all_seen) = (
        _blocks(tokens, n, size) for n in (L, S)
    )

    def kinds(low, high):  # of tiles with the distances low to high: (kept, full)
        low_in, high_in = np.maximum(low, -left), np.minimum(high, right)
        multiples = high_in // dilation - (low_in - 1) // dilation
        hits = np.where(low_in <= high_in, multiples, 0)
        return hits > 0, hits == high - low + 1

    def look(a, b):
        q1, k1 = np.minimum(a * size + size, L), np.minimum(b * size + size, S)
        kept, full = kinds(b * size - (q1 - 1), k1 - 1 - a * size)
        kept, full = kept | asks[a] | seen[b], full | all_ask[a] | all_seen[b]
        return np.array([kept.sum(), (kept & ~full).sum()])

    alike = np.correlate(plain_keys, plain, "full")  # how many tiles, at each b - a
    apart = np.arange(1 - len(plain), len(plain_keys)) * size
    kept, full = kinds(apart - (size - 1), apart + size - 1)
    found = np.array([alike[kept].sum(), alike[kept & ~full].sum()], int)
    for a in np.flatnonzero(plain == 0):
        found += look(a, np.arange(len(plain_keys)))
    for b in np.flatnonzero(plain_keys == 0):
        found += look(np.flatnonzero(plain), b)
    return tuple(map(int, found))


def plan_bytes(variant, N, L, S, window, dilation, global_tokens, blocks, size):
    """What says which tiles there are: 16 bytes a query, and 8 a head and block.

    Of tiles that are listed: one byte for each that there could be, 16 for each that is
    kept, and the bits. BigBird's blocks are taken to be tiles, and are full.
    """
    rows, columns = -(-L // size), -(-S // size)
    held = 16 * L + (16 + 8 * N) * rows + 16 * columns
    if variant == "bigbird":
        tiles, partial = bigbird_blocks(L, S, *blocks), 0
    elif variant == "longformer":
        tiles, partial = listed_tiles(L, S, window, 1, global_tokens, size)
    elif variant == "dilated" and dilation > 1:
        tiles, partial = listed_tiles(L, S, window, dilation, (), size)
    else:
        return held
    return held + rows * columns + 16 * tiles + 8 * size * partial


def _blocks(tokens, n, size):
    """(plain, some, every), for each block of n tokens: what it has of global ones.

    plain   1.0 for a whole block with none of them, else 0.0
    """
    tokens, blocks = np.unique(np.asarray(tokens, int)), -(-n // size)
    marked = np.bincount(tokens[tokens < n] // size, minlength=blocks)
    held = np.minimum(n - size * np.arange(blocks), size)
    return 1.0 * ((marked == 0) & (held == size)), marked > 0, marked == held
