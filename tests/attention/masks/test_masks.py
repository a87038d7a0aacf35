"""Every mask against its definition as a loop over (b, h, i, j), down to no pairs."""

import numpy as np
import pytest

from attention.masks import (
    bigbird,
    causal,
    dilated,
    document,
    from_array,
    global_tokens,
    local,
    nothing,
    padding,
    prefix_lm,
    sliding_window,
)

from .mask_cases import NAMES, SIZES, B, H, cases, full, loop


@pytest.mark.parametrize("L, S", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_a_mask_is_its_definition(name, L, S):
    mask, rule = cases(L, S)[name]
    np.testing.assert_array_equal(full(mask, L, S), loop(rule, L, S))


@pytest.mark.parametrize("name", NAMES)
def test_a_mask_can_be_called_on_one_pair_and_on_any_indices(name):
    L, S = 7, 11
    mask, rule = cases(L, S)[name]
    mask = mask.sized(L, S)
    rng = np.random.default_rng(0)
    b, h, i, j = (rng.integers(0, n, 50) for n in (B, H, L, S))
    want = [bool(rule(*pair)) for pair in zip(b, h, i, j)]
    got = np.broadcast_to(mask(b, h, i, j), 50)
    np.testing.assert_array_equal(got, want)
    got = mask(*(x.astype(np.uint8) for x in (b, h, i, j)))  # i - left may not wrap
    np.testing.assert_array_equal(np.broadcast_to(got, 50), want)
    one = mask(int(b[0]), int(h[0]), int(i[0]), int(j[0]))
    assert one.dtype == bool and bool(one) == want[0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("L, S", SIZES)
def test_key_ranges_of_a_definition_are_exact(name, L, S):
    mask, rule = cases(L, S)[name]
    ranges = mask.sized(L, S).key_ranges(L, S)
    if ranges is None:
        return
    lo, hi = (np.broadcast_to(x, (B, H, L))[..., None] for x in ranges)
    j = np.arange(S)
    np.testing.assert_array_equal((lo <= j) & (j < hi), loop(rule, L, S))
    assert (lo[lo >= hi] == 0).all() and (hi[lo >= hi] == 0).all()


def test_which_masks_know_their_key_ranges():
    known = {
        name for name, (m, _) in cases(7, 11).items()
        if m.sized(7, 11).key_ranges(7, 11) is not None
    }  # fmt: skip
    assert set(NAMES) - known == {
        "dilated", "dilated past itself", "dilated, lower right", "document",
        "documents of examples", "global", "no global", "mask_mod", "array",
        "array of keys", "array of examples", "or", "all three",
    }  # fmt: skip
    lens = padding([4, 0, 7])
    for joined in (
        causal & sliding_window(2, 2) & lens,
        sliding_window(3, -1) | sliding_window(0, 5),
        causal | lens,
        ~causal,
        ~(causal | lens),
        ~nothing & ~~lens,
        document([0, 0, 1, 1, 1, 2, 2]) & causal,
    ):
        assert joined.key_ranges(7, 7) is not None, joined
    gap = sliding_window(0, 0) | (sliding_window(-1, 3) & ~sliding_window(-1, 2))
    for not_one in (~sliding_window(1, 1), gap):
        assert not_one.key_ranges(7, 7) is None, not_one


@pytest.mark.parametrize("L, S", [(0, 5), (5, 0), (0, 0)])
def test_no_queries_or_no_keys(L, S):
    ids = document(np.zeros(S, int), np.zeros(L, int))
    for mask in (causal, ~causal, dilated(3, 2), padding([0, 0, 0]), prefix_lm(0), ids,
                 local(lambda i: i, 2), bigbird(2, 1, 1, 1, 0),
                 global_tokens([]) | causal):  # fmt: skip
        assert full(mask, L, S).shape == (B, H, L, S)


def test_no_examples():
    nobody = np.zeros((0, 1, 4, 5), bool)
    for mask in (padding(np.zeros(0, int)), padding(np.zeros((0, 4), int)), prefix_lm([]),
                 local(np.zeros((0, 4)), 1), document(np.zeros((0, 5), int),
                 np.zeros((0, 4), int)), from_array(nobody)):  # fmt: skip
        assert mask.dense(None, None, 4, 5).shape == (0, 1, 4, 5), mask
        assert (mask & causal).dense(0, 2, 4, 5).shape == (0, 1, 4, 5), mask
