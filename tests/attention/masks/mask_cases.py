"""Masks, each with its rule for one pair."""

import numpy as np

from attention import definitions
from attention.masks import (
    axial,
    causal,
    dilated,
    document,
    everything,
    from_array,
    global_tokens,
    mask_mod,
    neighbourhood,
    nothing,
    padding,
    prefix_lm,
    sliding_window,
)

B, H = 3, 2
SIZES = [(7, 11), (11, 7), (9, 9), (1, 13), (13, 1), (1, 1)]
EMPTY = [(0, 5), (5, 0), (0, 0)]


def loop(rule, L, S):
    """The definition: the rule for every example, head, query and key."""
    allowed = np.zeros((B, H, L, S), bool)
    for b, h, i, j in np.ndindex(allowed.shape):
        allowed[b, h, i, j] = rule(b, h, i, j)
    return allowed


def full(mask, L, S):
    """The mask as an array (B, H, L, S)."""
    return np.broadcast_to(mask.dense(B, H, L, S), (B, H, L, S))


def cases(L, S):
    """Return {name: (mask, its rule for one pair)}."""
    rng = np.random.default_rng(L * 100 + S)
    d = S - L
    lens = rng.integers(0, S + 1, B)
    lens[0] = 0  # an example without keys
    lens_2d = rng.integers(0, S + 1, (B, L))
    packed = np.sort(rng.integers(0, 3, S))
    packed_queries = np.sort(rng.integers(0, 4, L))[::-1].copy()
    ids_2d, query_ids_2d = rng.integers(0, 3, (B, S)), rng.integers(0, 3, (B, L))
    table = rng.random((B, H, L, S)) < 0.5
    n, ends = lens.max(), [0, max(L, S) - 1][: max(L, S)]
    return {
        "causal": (causal, lambda b, h, i, j: definitions.causal(i, j)),
        "causal - 3": (causal(offset=-3), lambda b, h, i, j: j <= i - 3),
        "causal, lower right": (
            causal(offset="lower_right"),
            lambda b, h, i, j: j <= i + d,
        ),
        "window": (
            sliding_window(2, 1), lambda b, h, i, j: definitions.window(i, j, 2, 1)
        ),
        "window, left open": (sliding_window(-1, 2), lambda b, h, i, j: j <= i + 2),
        "window, right open": (sliding_window(1, -1), lambda b, h, i, j: i - 1 <= j),
        "window, lower right": (
            sliding_window(3, 0, offset="lower_right"),
            lambda b, h, i, j: i + d - 3 <= j <= i + d,
        ),
        "dilated": (
            dilated(5, 2),
            lambda b, h, i, j: definitions.dilated(i, j, 5, 2),
        ),
        "dilated past itself": (dilated(3, 5), lambda b, h, i, j: i == j),
        "dilated, lower right": (
            dilated(4, 3, offset="lower_right"),
            lambda b, h, i, j: abs(i + d - j) <= 4 and (i + d - j) % 3 == 0,
        ),
        "axial": (axial(4), lambda b, h, i, j: i // 4 == j // 4 or i % 4 == j % 4),
        "neighbourhood": (
            neighbourhood(4, 1),
            lambda b, h, i, j: max(abs(i // 4 - j // 4), abs(i % 4 - j % 4)) <= 1,
        ),
        "padding": (padding(lens), lambda b, h, i, j: j < lens[b]),
        "padding by query": (padding(lens_2d), lambda b, h, i, j: j < lens_2d[b, i]),
        "prefix": (prefix_lm(n), lambda b, h, i, j: j < n or j <= i),
        "prefixes": (prefix_lm(lens), lambda b, h, i, j: j < lens[b] or j <= i),
        "packed documents": (
            document(packed, packed_queries),
            lambda b, h, i, j: packed[j] == packed_queries[i],
        ),
        "documents of examples": (
            document(ids_2d, query_ids_2d),
            lambda b, h, i, j: ids_2d[b, j] == query_ids_2d[b, i],
        ),
        "global": (
            global_tokens(ends), lambda b, h, i, j: definitions.global_tokens(i, j, ends)
        ),
        "no global": (global_tokens([]), lambda b, h, i, j: False),
        "mask_mod": (
            mask_mod(lambda b, h, q, kv: (q + 2 * kv + h) % 3 == 0),
            lambda b, h, i, j: (i + 2 * j + h) % 3 == 0,
        ),
        "array": (from_array(table), lambda b, h, i, j: table[b, h, i, j]),
        "array of keys": (
            from_array(table[:, :1, :1]),
            lambda b, h, i, j: table[b, 0, 0, j],
        ),
        "everything": (everything, lambda b, h, i, j: True),
        "nothing": (nothing, lambda b, h, i, j: False),
        "and": (causal & sliding_window(3, -1), lambda b, h, i, j: i - 3 <= j <= i),
        "or": (
            sliding_window(1, 1) | global_tokens(ends[:1]),
            lambda b, h, i, j: abs(i - j) <= 1 or 0 in (i, j),
        ),
        "not": (~causal, lambda b, h, i, j: j > i),
        "all three": (
            ~(padding(lens) & dilated(4, 2)) | document(ids_2d, query_ids_2d),
            lambda b, h, i, j: (
                not (j < lens[b] and abs(i - j) <= 4 and (i - j) % 2 == 0)
                or ids_2d[b, j] == query_ids_2d[b, i]
            ),
        ),
    }


NAMES = list(cases(7, 11))

# A depends on the example, C on the head.
A = mask_mod(lambda b, h, q, kv: (b + q * kv) % 2 == 0)
C = mask_mod(lambda b, h, q, kv: (h + q + kv) % 3 == 0)
