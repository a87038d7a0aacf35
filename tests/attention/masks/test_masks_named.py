"""and_masks and or_masks are & and | of any number of masks, or of none."""

import functools
import operator

import numpy as np
import pytest

from attention.masks import (
    Mask,
    and_masks,
    causal,
    document,
    everything,
    global_tokens,
    nothing,
    or_masks,
    padding,
    sliding_window,
)
from attention.masks.block_mask import BlockMask

from .mask_cases import NAMES, SIZES, A, C, cases, full, loop

NAMED = [
    (and_masks, operator.and_, all, everything),
    (or_masks, operator.or_, any, nothing),
]


def even(b, h, q, kv):
    return kv % 2 == 0


@pytest.mark.parametrize("named, operate, every, of_none", NAMED)
@pytest.mark.parametrize("L, S", SIZES)
def test_they_combine_all_masks(named, operate, every, of_none, L, S):
    rng = np.random.default_rng(L)
    for n in range(1, 5):
        chosen = [cases(L, S)[NAMES[i]] for i in rng.integers(len(NAMES), size=n)]
        found = named(*(mask for mask, _ in chosen))
        wanted = loop(lambda *pair: every(rule(*pair) for _, rule in chosen), L, S)
        np.testing.assert_array_equal(full(found, L, S), wanted)


@pytest.mark.parametrize("named, operate, every, of_none", NAMED)
def test_they_are_the_operators(named, operate, every, of_none):
    some = causal, A, padding([2, 7, 0]), C
    found, wanted = named(*some), functools.reduce(operate, some)
    assert repr(found) == repr(wanted)
    np.testing.assert_array_equal(full(found, 7, 7), full(wanted, 7, 7))
    assert found.examples == 3
    nested = named(named(some[0], some[1]), named(*some[2:]))
    np.testing.assert_array_equal(full(nested, 7, 7), full(wanted, 7, 7))


@pytest.mark.parametrize("named, operate, every, of_none", NAMED)
def test_of_many(named, operate, every, of_none):
    """More of them than calls can stand in one another."""
    rows = [sliding_window(i % 7, -1) for i in range(3000)]
    found = named(*rows).dense(1, 1, 9, 9)
    wanted = every == all
    np.testing.assert_array_equal(
        found[0, 0], full(sliding_window(0 if wanted else 6, -1), 9, 9)[0, 0]
    )


@pytest.mark.parametrize("named, operate, every, of_none", NAMED)
def test_of_one_and_of_none(named, operate, every, of_none):
    assert named() is of_none
    assert named(causal) is causal
    assert isinstance(named(even), Mask)  # a function becomes one
    for mask in (causal, A, even):
        neutral = full(named(mask, named()), 4, 5)
        np.testing.assert_array_equal(neutral, full(named(mask), 4, 5))


@pytest.mark.parametrize("named, operate, every, of_none", NAMED)
def test_functions_stand_anywhere_also_alone(named, operate, every, of_none):
    def third(b, h, q, kv):
        return (q + kv) % 3 == 0

    rules = (even, third)
    wanted = loop(lambda *pair: every(rule(*pair) for rule in rules), 4, 5)
    np.testing.assert_array_equal(full(named(even, third), 4, 5), wanted)
    window = sliding_window(1, 1)
    for order in ((even, third, window), (window, even, third), (even, window, third)):
        found = full(named(*order), 4, 5)
        both = operate(wanted, full(window, 4, 5))
        np.testing.assert_array_equal(found, both)


def test_what_is_known_of_the_parts_is_known_of_the_whole():
    known = and_masks(causal, sliding_window(2, 2), padding([4, 0, 7]))
    assert known.key_ranges(7, 7) is not None
    longformer = or_masks(sliding_window(8, 8), global_tokens([0]))
    tiles = BlockMask.from_mask(longformer, 256, 256, block=32)
    i, j = np.arange(8)[:, None], np.arange(8)
    empty = (abs(i - j) > 1) & (i > 0) & (j > 0)
    np.testing.assert_array_equal(tiles.kinds[0, 0] == 0, empty)
    packed = and_masks(document([0, 0, 1, 1, 1, 2, 2]), causal)
    ids = np.array([0, 0, 1, 1, 1, 2, 2])
    wanted = (ids[:, None] == ids) & np.tri(7, dtype=bool)
    np.testing.assert_array_equal(packed.dense(1, 1, 7, 7)[0, 0], wanted)
