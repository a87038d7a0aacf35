"""Dropout by a seed and the position of a weight, so that the backward can repeat it.

    z_ij = 0 with probability p, else 1 / (1 - p)

The backward of tiled attention computes each tile again, in another order. With a
generator that draws one number after the other, it would have to keep all L S numbers
of a head. So z is a function of a seed and of the weight's position,

    a_i = 32 bits made of the seed, the head and the query i
    b_j = 32 bits made of the seed and the key j
    z_ij = 0 where mix(a_i xor b_j) < p 2^32

and only N L + S numbers are kept, for N heads. When one bit of its argument changes,
about half of the bits of ``mix`` change. It takes about ten operations for each weight.

Salmon et al. 2011 (counters for generators). mix is the last step of Appleby's
MurmurHash3; a and b come from the generator of Steele, Lea and Flood 2014 (SplitMix64).
"""

import functools
from typing import NamedTuple

import numpy as np

from .compiling import Helper, as_field, reads
from .tile_plan import SIZE


class Draws(NamedTuple):
    """For N heads of L queries and S keys. If ``drop`` is 0, there is no dropout."""

    drop: int  # p 2^32; z is 0 where mix < drop
    keep: float  # 1 / (1 - p), z elsewhere
    queries: reads(2, int)  # (N, L): a
    keys: reads(1, int)  # (S,): b


def draws(p, seed, N, L, S, dtype):
    """Return the Draws of a probability p from 0 to 1, and a ``seed`` below 2^64."""
    drop = max(round(p * 2**32), int(p > 0))  # p > 0 may drop, however small p is
    seed, key_seed = (int(x) for x in _bits(seed, 2))  # so that a and b differ
    queries = _bits(seed, N * L).reshape(N, L) >> np.uint64(32)
    keys = _bits(key_seed, S) >> np.uint64(32)
    keep = 1 / (1 - p) if p < 1 else 0
    numbers = (as_field(x, np.int64) for x in (queries, keys))
    return Draws(drop, dtype.type(keep), *numbers)


@functools.cache
def none(dtype):
    """Return the Draws that drop nothing."""
    return draws(0, 0, 0, 0, 0, dtype)


def factors(draws, n, i, j):
    """Return z of heads ``n``, queries ``i`` and keys ``j``.

    n   a number or a slice; i, j slices of Tq queries and Tk keys  ->  (..., Tq, Tk)
    """
    a, b = draws.queries[n, i], draws.keys[j]
    bits = _mix((a[..., None] ^ b).astype(np.uint32))
    zero = draws.keep * 0  # of the dtype of keep
    return np.where(bits < draws.drop, zero, draws.keep)


def _mix(x):
    """Map 32 bits to 32 bits, one to one."""
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x85EBCA6B)
    x ^= x >> np.uint32(13)
    x *= np.uint32(0xC2B2AE35)
    return x ^ (x >> np.uint32(16))


def _bits(seed, count):
    """Return the first ``count`` numbers of SplitMix64: 64 bits each."""
    step = np.uint64(0x9E3779B97F4A7C15)
    x = np.uint64(seed) + step * np.arange(1, count + 1, dtype=np.uint64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@Helper
def read_draws(a, draws, n, q0, q1):
    """Read the numbers a of queries q0 to q1; without dropout, read nothing."""
    if draws.drop > 0:
        for q in range(SIZE):
            a[q] = np.uint32(draws.queries[n, q0 + q]) if q < q1 - q0 else np.uint32(0)


@Helper
def drop_out(tile, draws, a, k0):
    """tile[k, q] *= z of query q and key k0 + k; a dropped NaN becomes 0 as well."""
    zero = tile.dtype.type(0)
    last = np.uint32(draws.drop - 1)
    for k in range(tile.shape[0]):
        b = np.uint32(draws.keys[k0 + k])
        for q in range(SIZE):
            x = np.uint32(a[q] ^ b)  # numba widens every operation to 64 bits
            x = np.uint32(x ^ (x >> np.uint32(16)))
            x = np.uint32(x * np.uint32(0x85EBCA6B))
            x = np.uint32(x ^ (x >> np.uint32(13)))
            x = np.uint32(x * np.uint32(0xC2B2AE35))
            x = np.uint32(x ^ (x >> np.uint32(16)))
            tile[k, q] = tile[k, q] * draws.keep if x > last else zero
