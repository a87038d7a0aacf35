"""The laws of the algebra: &, | and ~ of masks mean what they mean of arrays."""

import sys

import numpy as np
import pytest

from attention.masks import (
    causal,
    dilated,
    document,
    everything,
    global_tokens,
    local,
    nothing,
    padding,
    prefix_lm,
    sliding_window,
)

from .mask_cases import SIZES, A, B, C, H, cases, full, loop

# Laws of the algebra, on masks that look at examples, at heads, and at neither.
TRIPLES = [
    (causal, sliding_window(2, 1), global_tokens([3])),
    (A, padding([2, 7, 0]), C),
    (dilated(5, 2), ~causal, local(lambda i: 0.7 * i, 1.5)),
]


@pytest.mark.parametrize("x, y, z", TRIPLES)
@pytest.mark.parametrize("L, S", SIZES[:3])
def test_the_laws_of_the_algebra(x, y, z, L, S):
    def same(a, b):
        np.testing.assert_array_equal(full(a, L, S), full(b, L, S))

    same(~(x & y), ~x | ~y)  # De Morgan
    same(~(x | y), ~x & ~y)
    same(~~x, x)
    same(x & x, x)
    same(x | x, x)
    same(x & y, y & x)
    same(x | y, y | x)
    same((x & y) & z, x & (y & z))
    same((x | y) | z, x | (y | z))
    same(x & (y | z), (x & y) | (x & z))
    same(x | (y & z), (x | y) & (x | z))
    same(x | (x & y), x)  # absorption
    same(x & everything, x)
    same(x | nothing, x)
    same(x & nothing, nothing)
    same(x | everything, everything)
    same(x & ~x, nothing)
    same(x | ~x, everything)
    same(~everything, nothing)


@pytest.mark.parametrize("L, S", SIZES)
@pytest.mark.parametrize("seed", range(3))
def test_any_formula_means_what_its_parts_mean(L, S, seed):
    rng = np.random.default_rng(seed)
    parts = list(cases(L, S).values())

    def formula(depth):
        """A random formula, and the array that it should be."""
        if depth == 0:
            mask, rule = parts[rng.integers(len(parts))]
            return mask, loop(rule, L, S)
        (x, a), kind = formula(depth - 1), rng.integers(3)
        if kind == 2:
            return ~x, ~a
        y, b = formula(depth - 1)
        return (x & y, a & b) if kind else (x | y, a | b)

    mask, want = formula(3)
    np.testing.assert_array_equal(full(mask, L, S), want)
    ranges = mask.sized(L, S).key_ranges(L, S)
    if ranges is not None:
        lo, hi = (np.broadcast_to(x, (B, H, L))[..., None] for x in ranges)
        j = np.arange(S)
        np.testing.assert_array_equal((lo <= j) & (j < hi), want)


def test_a_function_stands_on_either_side_of_an_operator():
    def even(b, h, q, kv):
        return kv % 2 == 0

    want = [True, False, True, False, False]
    for mask in (even & causal, causal & even):
        assert mask.dense(1, 1, 4, 5)[0, 0, 3].tolist() == want
    for mask in (even | causal, causal | even):
        assert mask.dense(1, 1, 4, 5)[0, 0, 0].tolist() == [1, 0, 1, 0, 1]


@pytest.mark.parametrize("n", [1, 8, 13])
def test_windows_that_hold_everything_and_the_window_that_is_causal(n):
    def same(a, b):
        np.testing.assert_array_equal(full(a, n, n), full(b, n, n))

    for far in (n, n - 1, -1, 2**31, sys.maxsize, 10**30):
        same(sliding_window(far, far), everything)
        same(sliding_window(far, 0), causal)
        assert (np.array(sliding_window(far, far).key_ranges(n, n)[1]) == n).all()
        if far >= 0:
            same(dilated(far, 1), everything)
    same(sliding_window(0, -1) & causal, sliding_window(0, 0))
    same(local(lambda i: i, n), everything)
    same(prefix_lm(n), everything)
    same(prefix_lm(0), causal)
    same(padding([n] * B), everything)
    same(document([5] * n), everything)
    same(global_tokens(range(n)), everything)
    for offset in (-(10**30), 10**30):
        same(causal(offset=offset), everything if offset > 0 else nothing)
