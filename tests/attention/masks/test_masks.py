"""Every mask equals its rule for one pair, in a loop; so do &, | and ~ of masks."""

import html
import pkgutil
import re
import sys
from importlib import import_module

import numpy as np
import pytest

from attention import BlockMask, masks
from attention.masks import (
    Mask,
    bigbird,
    causal,
    dilated,
    document,
    everything,
    from_array,
    mask_mod,
    nothing,
    padding,
    prefix_lm,
    sliding_window,
)

from .mask_cases import EMPTY, NAMES, SIZES, B, H, cases, full, loop


@pytest.mark.parametrize("name", NAMES)
def test_a_mask_is_its_definition(name):
    for L, S in SIZES + EMPTY:
        mask, rule = cases(L, S)[name]
        allowed = loop(rule, L, S)
        np.testing.assert_array_equal(full(mask, L, S), allowed)
        check_key_ranges(mask, allowed, L, S)


def test_every_mask_of_the_package_has_a_case():
    pages = pkgutil.iter_modules(masks.__path__, "attention.masks.")
    found = [x for page in pages for x in vars(import_module(page.name)).values()]
    kinds = {x for x in found if isinstance(x, type) and issubclass(x, Mask)} - {Mask}
    kinds = {kind for kind in kinds if kind.__name__[0] != "_"}
    nameless = {kind for kind in kinds if kind.__repr__ is Mask.__repr__}
    assert not nameless, f"without __repr__: {nameless}"
    tested = {type(mask) for mask, _ in cases(7, 11).values()}
    untested = kinds - tested - {bigbird}  # which has tests of its own below
    assert not untested, f"without a case: {untested}"


@pytest.mark.parametrize("name", [n for n in NAMES if "lower right" not in n])
def test_a_mask_can_be_called_on_one_pair_and_on_any_indices(name):
    L, S = 7, 11
    mask, rule = cases(L, S)[name]
    rng = np.random.default_rng(0)
    b, h, i, j = (rng.integers(0, n, 50) for n in (B, H, L, S))
    want = [bool(rule(*pair)) for pair in zip(b, h, i, j)]
    got = np.broadcast_to(mask(b, h, i, j), 50)
    np.testing.assert_array_equal(got, want)
    got = mask(*(x.astype(np.uint8) for x in (b, h, i, j)))  # i - left may not wrap
    np.testing.assert_array_equal(np.broadcast_to(got, 50), want)
    one = mask(int(b[0]), int(h[0]), int(i[0]), int(j[0]))
    assert one.dtype == bool and bool(one) == want[0]


def check_key_ranges(mask, allowed, L, S):
    """If the mask knows the range of keys of each query, it is exact."""
    ranges = mask.key_ranges(L, S)
    if ranges is None:
        return
    lo, hi = (np.broadcast_to(x, (B, H, L))[..., None] for x in ranges)
    j = np.arange(S)
    np.testing.assert_array_equal((lo <= j) & (j < hi), allowed)
    assert (lo[lo >= hi] == 0).all() and (hi[lo >= hi] == 0).all()


def test_which_masks_know_their_key_ranges():
    known = {n for n, (m, _) in cases(7, 11).items() if m.key_ranges(7, 11) is not None}
    assert known == {
        "causal", "causal - 3", "causal, lower right", "window", "window, left open",
        "window, right open", "window, lower right", "padding", "padding by query",
        "prefix", "prefixes", "everything", "nothing", "and",
    }  # fmt: skip
    both = causal & sliding_window(2, 2) & padding([4, 0, 7])
    assert both.key_ranges(7, 7) is not None


def test_no_examples():
    no_pairs = np.zeros((0, 1, 4, 5), bool)
    ids = document(np.zeros((0, 5), int), np.zeros((0, 4), int))
    for mask in (padding(np.zeros(0, int)), padding(np.zeros((0, 4), int)), ids,
                 prefix_lm([]), from_array(no_pairs)):  # fmt: skip
        assert mask.dense(None, None, 4, 5).shape == (0, 1, 4, 5), mask
        assert (mask & causal).dense(0, 2, 4, 5).shape == (0, 1, 4, 5), mask


# Combinations


def even(b, h, q, kv):
    return kv % 2 == 0


def test_a_function_on_either_side_of_an_operator():
    both, either = (
        full(mask_mod(even) & causal, 4, 5),
        full(mask_mod(even) | causal, 4, 5),
    )
    for found in even & causal, causal & even:
        np.testing.assert_array_equal(full(found, 4, 5), both)
    for found in even | causal, causal | even:
        np.testing.assert_array_equal(full(found, 4, 5), either)


@pytest.mark.parametrize("far", [13, 2**31, sys.maxsize, 10**30])
def test_a_very_wide_window_holds_everything(far):
    def same(a, b):
        np.testing.assert_array_equal(full(a, 13, 13), full(b, 13, 13))

    same(sliding_window(far, far), everything)
    same(sliding_window(far, 0), causal)
    same(dilated(far, 1), everything)
    same(causal(offset=far), everything)
    same(causal(offset=-far), nothing)
    assert (np.array(sliding_window(far, far).key_ranges(13, 13)[1]) == 13).all()


# BigBird


def blocks_of(mask, n, size):
    """Return which blocks a mask holds, after a check that each is full or empty."""
    allowed = mask.dense(1, 1, n, n)[0, 0]
    edges = np.arange(0, n, size)
    some = np.logical_or.reduceat(np.logical_or.reduceat(allowed, edges, 0), edges, 1)
    every = np.logical_and.reduceat(allowed, edges, 0)
    np.testing.assert_array_equal(np.logical_and.reduceat(every, edges, 1), some)
    return some


@pytest.mark.parametrize("n", [64 * 4, 64 * 4 - 3])  # a smaller last block
@pytest.mark.parametrize(
    "window, n_random, n_global", [(3, 2, 2), (1, 5, 3), (5, 0, 1)]
)
def test_bigbird_has_its_window_global_and_random_blocks(n, window, n_random, n_global):
    size, last = 4, 63
    blocks = blocks_of(bigbird(size, window, n_random, n_global, seed=5), n, size)
    first = (n_global + 1) // 2  # 1: first; 2: first, last; 3: two first, last
    of_all = [i < first or i > last - n_global // 2 for i in range(64)]
    assert sum(of_all) == n_global
    for i in range(64):
        fixed = [of_all[i] or of_all[j] or abs(i - j) <= window // 2 for j in range(64)]
        fixed = np.array(fixed)
        assert blocks[i][fixed].all()
        assert blocks[i][~fixed].sum() == (0 if of_all[i] else n_random)
    middle = blocks[10:50].sum(1)
    assert (middle == window + n_random + n_global).all()


def test_the_random_blocks_of_bigbird_come_from_its_seed_and_from_everywhere():
    one, again, other = (bigbird(2, 3, 3, 2, seed) for seed in (7, 7, 8))
    n = 128
    np.testing.assert_array_equal(one.dense(1, 1, n, n), again.dense(1, 1, n, n))
    assert (one.dense(1, 1, n, n) != other.dense(1, 1, n, n)).any()
    drawn = sum(blocks_of(bigbird(2, 1, 3, 0, seed), n, 2) for seed in range(60))
    np.fill_diagonal(drawn, 0)
    assert (drawn.sum(1) == 180).all()
    mean = drawn.sum(0) / 64  # 3 of 63 in 60 draws: 2.9 on average for a pair
    assert 2 < mean.min() and mean.max() < 4


def test_bigbird_of_all_blocks_is_everything():
    for options in (4, 3, 100, 2), (4, 1, 0, 9), (4, 17, 0, 0), (100, 1, 0, 0):
        assert bigbird(*options, seed=0).dense(1, 1, 33, 33).all()


# The interface


def test_a_function_is_called_once_on_arrays_that_broadcast():
    calls = []

    def rule(b, h, q, kv):
        calls.append([x.shape for x in (b, h, q, kv)])
        return (q >= kv) & (b + h > 0)

    mask_mod(rule).dense(B, H, 5, 7)
    (call,) = calls
    assert np.broadcast_shapes(*call) == (B, H, 5, 7)
    assert sum(np.prod(shape) for shape in call) == B + H + 5 + 7


def test_unused_axes_have_size_1():
    examples = mask_mod(lambda b, h, q, kv: b == 0)
    heads = mask_mod(lambda b, h, q, kv: h < 1)
    table = np.ones((B, H, 5, 7), bool)
    for mask, shape in (
        (causal, (1, 1)),
        (padding([1, 2, 3]), (B, 1)),
        (examples, (B, 1)),
        (heads, (1, H)),
        (examples & heads, (B, H)),
        (from_array(table), (B, H)),
        (from_array(table[:1, :, :1]), (1, H)),
        (bigbird(2, 1, 1, 0, 0), (1, 1)),
        (mask_mod(lambda b, h, q, kv: True), (1, 1)),
    ):
        assert mask.dense(B, H, 5, 7).shape == (*shape, 5, 7), mask


def test_a_mask_knows_its_number_of_examples():
    both = causal & padding([1, 2, 3])
    assert both.dense(None, None, 5, 7).shape == (3, 1, 5, 7)
    assert causal.dense(None, None, 5, 7).shape == (1, 1, 5, 7)


def test_a_mask_keeps_its_own_copy():
    lens, table = np.array([1, 2, 3]), np.ones((4, 5), bool)
    kept = padding(lens), from_array(table)
    before = [mask.dense(B, H, 4, 5) for mask in kept]
    lens[:], table[:] = 0, False
    for mask, want in zip(kept, before):
        np.testing.assert_array_equal(mask.dense(B, H, 4, 5), want)


class Checkerboard(Mask):
    def allowed(self, b, h, q, kv):
        return (q + kv) % 2 == 0

    def __repr__(self):
        return "checkerboard"


def test_a_subclass_with_a_definition_is_a_mask():
    mask = Checkerboard() & causal
    assert mask.dense(1, 1, 2, 3).tolist() == [[[[1, 0, 0], [0, 1, 0]]]]
    assert repr(mask) == "checkerboard & causal"


def rule(b, h, q, kv):
    return q == kv


@pytest.mark.parametrize("mask, text", [
    (causal & sliding_window(128, 0), "causal & sliding_window(128, 0)"),
    (causal(offset="lower_right"), "causal(offset='lower_right')"),
    (sliding_window(-1, 2, 1), "sliding_window(-1, 2, offset=1)"),
    (padding([3, 5]), "padding([3, 5])"),
    (padding(np.zeros(64, int)), "padding(array (64,))"),
    (document([0, 1], [1]), "document([0, 1], [1])"),
    (causal & rule, "causal & mask_mod(rule)"),
    (from_array(np.ones((2, 3), bool)), "from_array((1, 1, 2, 3))"),
    (~~causal, "causal"),
    (~(causal | everything), "~(causal | everything)"),
    (causal & (everything & nothing), "causal & everything & nothing"),
    (causal & everything | nothing, "(causal & everything) | nothing"),
])  # fmt: skip
def test_a_mask_prints_as_it_was_written(mask, text):
    assert repr(mask) == text


def allowed_in(shown):
    """Return {(query, key)} of the cells of a picture that have the full colour."""
    marks = re.findall(r'"1\.00"><title>query (\d+), key (\d+): 1<', shown)
    return {(int(i), int(j)) for i, j in marks}


@pytest.mark.parametrize("mask, n", [
    (causal & sliding_window(2, 0), 12),
    (padding([3, 20]), 48),  # it does not fit 12 keys
    (causal & document([0, 0, 1]), 3),
    (mask_mod(lambda b, h, q, kv: (h == 0) & (q != kv)), 12),
    (from_array(np.arange(15).reshape(3, 5) % 2 == 0), None),
], ids=str)  # fmt: skip
def test_a_notebook_shows_the_pairs_that_a_mask_allows(mask, n):
    shown = mask._repr_html_()
    expected = mask.array if n is None else mask.dense(mask.examples or 1, 1, n, n)
    assert allowed_in(shown) == {(i, j) for i, j in np.argwhere(expected[0, 0])}
    assert html.escape(f"{mask}. {expected.shape[2]} queries") in shown


def test_a_notebook_shows_the_tiles_of_a_block_mask():
    tiles = BlockMask.from_mask(causal, 4, 4, block=2)
    assert tiles._repr_html_() == f"<pre>{tiles}</pre>"


def test_a_notebook_shows_the_text_of_a_mask_that_has_no_picture():
    for mask in document([0, 1], [1]), mask_mod(lambda b, h, q, kv: q.no):
        assert mask._repr_html_() is None
