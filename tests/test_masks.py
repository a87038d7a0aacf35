"""Every mask against its definition as a loop over (b, h, i, j); the laws; messages."""

import sys

import numpy as np
import pytest

from attention import masks
from attention.masks import (
    bigbird,
    causal,
    dilated,
    document,
    everything,
    from_array,
    global_tokens,
    local,
    mask_mod,
    nothing,
    padding,
    prefix_lm,
    sliding_window,
)

B, H = 3, 2
SIZES = [(7, 11), (11, 7), (9, 9), (1, 13), (13, 1), (1, 1)]


def loop(rule, L, S):
    """The definition: one question for every example, head, query and key."""
    allowed = np.zeros((B, H, L, S), bool)
    for b, h, i, j in np.ndindex(allowed.shape):
        allowed[b, h, i, j] = rule(b, h, i, j)
    return allowed


def full(mask, L, S):
    return np.broadcast_to(mask.dense(B, H, L, S), (B, H, L, S))


def cases(L, S):
    """{name: (mask, its rule for one pair)}; the axes in use are checked elsewhere."""
    rng = np.random.default_rng(L * 100 + S)
    d = S - L
    lens = rng.integers(0, S + 1, B)
    lens[0] = 0  # an example without keys
    lens_2d = rng.integers(0, S + 1, (B, L))
    ids, query_ids = rng.integers(0, 3, S), rng.integers(0, 4, L)
    packed, packed_queries = np.sort(ids), np.sort(query_ids)[::-1].copy()
    ids_2d, query_ids_2d = rng.integers(0, 3, (B, S)), rng.integers(0, 3, (B, L))
    p, p_2d = rng.normal(S / 2, S, L), rng.normal(S / 2, S, (B, L))
    table = rng.random((B, H, L, S)) < 0.5
    n = lens.max()
    return {
        "causal": (causal, lambda b, h, i, j: j <= i),
        "causal, called": (causal(), lambda b, h, i, j: j <= i),
        "causal + 2": (causal(offset=2), lambda b, h, i, j: j <= i + 2),
        "causal - 3": (causal(offset=-3), lambda b, h, i, j: j <= i - 3),
        "causal, upper left": (
            causal(offset="upper_left"),
            lambda b, h, i, j: j <= i,
        ),
        "causal, lower right": (
            causal(offset="lower_right"),
            lambda b, h, i, j: j <= i + d,
        ),
        "window": (
            sliding_window(2, 1),
            lambda b, h, i, j: i - 2 <= j <= i + 1,
        ),
        "window, left open": (sliding_window(-1, 2), lambda b, h, i, j: j <= i + 2),
        "window, right open": (sliding_window(1, -1), lambda b, h, i, j: i - 1 <= j),
        "window, lower right": (
            sliding_window(3, 0, offset="lower_right"),
            lambda b, h, i, j: i + d - 3 <= j <= i + d,
        ),
        "window of one": (sliding_window(0, 0), lambda b, h, i, j: i == j),
        "dilated": (
            dilated(5, 2),
            lambda b, h, i, j: abs(i - j) <= 5 and (i - j) % 2 == 0,
        ),
        "dilated by 1": (dilated(4, 1), lambda b, h, i, j: abs(i - j) <= 4),
        "dilated past itself": (dilated(3, 5), lambda b, h, i, j: i == j),
        "dilated, lower right": (
            dilated(4, 3, offset="lower_right"),
            lambda b, h, i, j: abs(i + d - j) <= 4 and (i + d - j) % 3 == 0,
        ),
        "padding": (padding(lens), lambda b, h, i, j: j < lens[b]),
        "padding by query": (
            padding(lens_2d),
            lambda b, h, i, j: j < lens_2d[b, i],
        ),
        "prefix": (prefix_lm(n), lambda b, h, i, j: j < n or j <= i),
        "prefixes": (prefix_lm(lens), lambda b, h, i, j: j < lens[b] or j <= i),
        "document": (
            document(ids, query_ids),
            lambda b, h, i, j: ids[j] == query_ids[i],
        ),
        "packed documents": (
            document(packed, packed_queries),
            lambda b, h, i, j: packed[j] == packed_queries[i],
        ),
        "documents of examples": (
            document(ids_2d, query_ids_2d),
            lambda b, h, i, j: ids_2d[b, j] == query_ids_2d[b, i],
        ),
        "global": (
            global_tokens([0, max(L, S) - 1]),
            lambda b, h, i, j: {i, j} & {0, max(L, S) - 1},
        ),
        "no global": (global_tokens([]), lambda b, h, i, j: False),
        "local-m": (local(lambda i: i, 2), lambda b, h, i, j: abs(j - i) <= 2),
        "local, reversed": (
            local(lambda i: S - 1 - i, 1),
            lambda b, h, i, j: abs(j - (S - 1 - i)) <= 1,
        ),
        "local, between keys": (
            local(lambda i: 1.3 * i - 0.4, 2.5),
            lambda b, h, i, j: abs(j - (1.3 * i - 0.4)) <= 2.5,
        ),
        "local, all the same": (
            local(lambda i: 2.5, 1),
            lambda b, h, i, j: j in (2, 3),
        ),
        "local-p": (local(p, 2), lambda b, h, i, j: abs(j - p[i]) <= 2),
        "local-p of examples": (
            local(p_2d, 1.5),
            lambda b, h, i, j: abs(j - p_2d[b, i]) <= 1.5,
        ),
        "mask_mod": (
            mask_mod(lambda b, h, q, kv: (q + 2 * kv + h) % 3 == 0),
            lambda b, h, i, j: (i + 2 * j + h) % 3 == 0,
        ),
        "array": (from_array(table), lambda b, h, i, j: table[b, h, i, j]),
        "array of keys": (
            from_array(table[:, :1, :1]),
            lambda b, h, i, j: table[b, 0, 0, j],
        ),
        "array of examples": (
            from_array(table[:, 0]),
            lambda b, h, i, j: table[b, 0, i, j],
        ),
        "everything": (everything, lambda b, h, i, j: True),
        "nothing": (nothing, lambda b, h, i, j: False),
        "and": (
            causal & sliding_window(3, -1),
            lambda b, h, i, j: i - 3 <= j <= i,
        ),
        "or": (
            sliding_window(1, 1) | global_tokens([0]),
            lambda b, h, i, j: abs(i - j) <= 1 or 0 in (i, j),
        ),
        "not": (~causal, lambda b, h, i, j: j > i),
        "not, up to a key": (~sliding_window(1, -1), lambda b, h, i, j: j < i - 1),
        "all three": (
            ~(padding(lens) & dilated(4, 2)) | document(ids_2d, query_ids_2d),
            lambda b, h, i, j: (
                not (j < lens[b] and abs(i - j) <= 4 and (i - j) % 2 == 0)
                or ids_2d[b, j] == query_ids_2d[b, i]
            ),
        ),
    }


NAMES = list(cases(7, 11))


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


# Laws of the algebra, on masks that look at examples, at heads, and at neither.
A = mask_mod(lambda b, h, q, kv: (b + q * kv) % 2 == 0)
C = mask_mod(lambda b, h, q, kv: (h + q + kv) % 3 == 0)
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
@pytest.mark.parametrize("seed", range(8))
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


@pytest.mark.parametrize("left, right", [(0, 0), (3, 0), (0, 2), (4, 1)])
def test_a_window_holds_left_1_right_keys(left, right):
    n = 20
    count = sliding_window(left, right).dense(1, 1, n, n)[0, 0].sum(-1)
    assert (count[left : n - right] == left + 1 + right).all()
    assert count[0] == 1 + right and count[-1] == left + 1


@pytest.mark.parametrize("window, dilation", [(6, 2), (7, 2), (5, 3), (2, 4), (0, 1)])
def test_a_dilated_window_holds_as_many_keys_as_it_says(window, dilation):
    count = dilated(window, dilation).dense(1, 1, 31, 31)[0, 0].sum(-1)
    assert count[15] == 2 * (window // dilation) + 1 == count.max()


def test_a_local_window_holds_2_D_plus_1_keys_or_2_D_between_two():
    D, S = 3, 30
    for centre, keys in (
        (15, 2 * D + 1),
        (15.5, 2 * D),
        (0, D + 1),
        (S, D),
        (S + D, 0),
    ):
        assert local(lambda i: centre + 0 * i, D).dense(1, 1, 1, S).sum() == keys


def test_lower_right_with_more_queries_than_keys_leaves_empty_rows():
    allowed = causal(offset="lower_right").dense(1, 1, 5, 3)[0, 0]
    assert allowed.sum(-1).tolist() == [0, 0, 1, 2, 3]


@pytest.mark.parametrize(
    "make",
    [
        causal,
        lambda offset: sliding_window(3, 0, offset),
        lambda offset: dilated(4, 2, offset) & causal(offset=offset),
    ],
)
def test_a_step_with_a_cache_is_the_last_row_of_the_whole(make):
    whole = make(offset=0).dense(1, 1, 9, 9)[0, 0]
    for t in range(9):
        step = make(offset="lower_right").dense(1, 1, 1, t + 1)[0, 0, 0]
        np.testing.assert_array_equal(step, whole[t, : t + 1])
        step = make(offset=t).dense(1, 1, 1, 9)[0, 0, 0]  # keys to come are there
        np.testing.assert_array_equal(step, whole[t])


def test_global_tokens_attend_to_all_and_all_attend_to_them():
    allowed = (sliding_window(1, 1) | global_tokens([2, 7])).dense(1, 1, 9, 9)[0, 0]
    assert allowed[[2, 7]].all() and allowed[:, [2, 7]].all()
    np.testing.assert_array_equal(allowed, allowed.T)
    assert allowed[5].sum() == 3 + 2


def blocks_of(mask, n, size):
    """The blocks of a mask, bool, after a check that no block is cut."""
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
    np.random.seed(0)  # nothing but the seed counts
    np.testing.assert_array_equal(one.dense(1, 1, n, n), again.dense(1, 1, n, n))
    drawn = sum(blocks_of(bigbird(2, 1, 3, 0, seed), n, 2) for seed in range(60))
    np.fill_diagonal(drawn, 0)
    assert (drawn.sum(1) == 180).all()
    # 3 of 63 in 60 draws: 2.9 on average for a pair, and no column without its share
    share = drawn.sum(0) / 64
    assert 2 < share.min() and share.max() < 4


@pytest.mark.parametrize(
    "mask",
    [
        bigbird(4, 3, 100, 2, seed=0),
        bigbird(4, 1, 0, 9, seed=0),
        bigbird(4, 17, 0, 0, seed=0),
        bigbird(100, 1, 0, 0, seed=0),
    ],
)
def test_bigbird_of_all_blocks_is_everything(mask):
    assert mask.dense(1, 1, 33, 33).all()


def test_bigbird_with_more_queries_than_keys_and_fewer():
    for L, S in ((30, 50), (50, 30)):
        allowed = bigbird(10, 1, 1, 2, seed=0).dense(1, 1, L, S)[0, 0]
        assert allowed[:10].all() and allowed[-10:].all()
        assert allowed[:, :10].all() and allowed[:, -10:].all()
    assert bigbird(10, 1, 1, 0, seed=0).dense(1, 1, 50, 30)[0, 0, 40:].sum() == 100


def test_a_function_is_called_once_on_arrays_that_broadcast():
    calls = []

    def rule(b, h, q, kv):
        calls.append([x.shape for x in (b, h, q, kv)])
        return (q >= kv) & (b + h > 0)

    mask_mod(rule).dense(B, H, 5, 7)
    probe, call = calls  # the probe asks whether examples and heads differ
    assert np.broadcast_shapes(*call) == (B, H, 5, 7)
    assert sum(np.prod(shape) for shape in call) == B + H + 5 + 7
    assert np.broadcast_shapes(*probe) == (2, 2, 1, 1)


def test_the_axes_that_a_mask_does_not_look_at_are_1():
    examples = mask_mod(lambda b, h, q, kv: b == 0)
    heads = mask_mod(lambda b, h, q, kv: h < 1)
    table = np.ones((B, H, 5, 7), bool)
    for mask, shape in (
        (causal, (1, 1)),
        (padding([1, 2, 3]), (B, 1)),
        (examples, (B, 1)),
        (heads, (1, H)),
        (examples & heads, (B, H)),
        (~heads | causal, (1, H)),
        (from_array(table), (B, H)),
        (from_array(table[:, :1]), (B, 1)),
        (from_array(table[:1, :, :1]), (1, H)),
        (bigbird(2, 1, 1, 0, 0), (1, 1)),
        (mask_mod(lambda b, h, q, kv: True), (1, 1)),
    ):
        assert mask.dense(B, H, 5, 7).shape == (*shape, 5, 7), mask
        assert mask.sized(5, 7).extent(B, H, 5, 7) == shape


def test_sizes_that_a_mask_knows_need_not_be_given():
    assert padding([1, 2, 3]).dense(None, None, 5, 7).shape == (3, 1, 5, 7)
    both = causal & padding([1, 2, 3])
    assert both.dense(None, None, 5, 7).shape == (3, 1, 5, 7)
    assert causal.dense(None, None, 5, 7).shape == (1, 1, 5, 7)


@pytest.mark.parametrize("L, S", [(0, 5), (5, 0), (0, 0)])
def test_no_queries_or_no_keys(L, S):
    ids = document(np.zeros(S, int), np.zeros(L, int))
    for mask in (causal, ~causal, dilated(3, 2), padding([0, 0, 0]), prefix_lm(0), ids,
                 local(lambda i: i, 2), bigbird(2, 1, 1, 1, 0),
                 global_tokens([]) | causal):  # fmt: skip
        assert full(mask, L, S).shape == (B, H, L, S)


def test_no_examples():
    nobody = np.zeros((0, 1, 4, 5), bool)
    for mask in (padding(np.zeros(0, int)), padding(np.zeros((0, 4))), prefix_lm([]),
                 local(np.zeros((0, 4)), 1), document(np.zeros((0, 5), int),
                 np.zeros((0, 4), int)), from_array(nobody)):  # fmt: skip
        assert mask.dense(None, None, 4, 5).shape == (0, 1, 4, 5), mask
        assert (mask & causal).dense(0, 2, 4, 5).shape == (0, 1, 4, 5), mask


def test_a_mask_keeps_its_own_copy():
    lens, table, p = np.array([1, 2, 3]), np.ones((4, 5), bool), np.ones(4)
    kept = padding(lens), from_array(table), local(p, 1)
    before = [mask.dense(B, H, 4, 5) for mask in kept]
    lens[:], table[:], p[:] = 0, False, 9
    for mask, want in zip(kept, before):
        np.testing.assert_array_equal(mask.dense(B, H, 4, 5), want)


def test_tensors_are_taken_for_arrays():
    from minigrad import Tensor

    p = Tensor(np.array([0.5, 2.0]), requires_grad=True)
    assert local(p * 1.0, 1).dense(1, 1, 2, 5).sum() == 2 + 3


def test_causal_is_a_mask_and_gives_others():
    assert causal() is causal
    assert causal(b=0, h=0, q_idx=1, kv_idx=1) and not causal(0, 0, 1, kv_idx=2)
    assert causal(0, 0, 1, 2, offset=1) and not causal(0, 0, 1, 3, offset=1)
    assert causal(offset=1)(0, 0, 1, 2) and not causal(offset=1)(0, 0, 1, 3)


class Checkerboard(masks.Mask):
    """A mask of one's own needs its definition and nothing else."""

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


@pytest.mark.parametrize(
    "mask, text",
    [
        (causal & sliding_window(128, 0), "causal & sliding_window(128, 0)"),
        (causal(), "causal"),
        (causal(offset=3), "causal(offset=3)"),
        (causal(offset="upper_left"), "causal"),
        (causal(offset="lower_right"), "causal(offset='lower_right')"),
        (causal(offset="lower_right").sized(4, 9), "causal(offset=5)"),
        (sliding_window(-1, 2, 1), "sliding_window(-1, 2, offset=1)"),
        (dilated(8, 2), "dilated(8, 2)"),
        (padding([3, 5]), "padding([3, 5])"),
        (padding(np.zeros(64, int)), "padding(array (64,))"),
        (padding([[1, 2]]), "padding(array (1, 2))"),
        (prefix_lm(4), "prefix_lm(4)"),
        (prefix_lm([4, 5]), "prefix_lm([4, 5])"),
        (document([0, 0, 1]), "document([0, 0, 1])"),
        (document([0, 1], [1]), "document([0, 1], [1])"),
        (global_tokens([0]), "global_tokens([0])"),
        (bigbird(64, 3, 3, 2, 0), "bigbird(64, 3, 3, 2, 0)"),
        (local(rule, 3), "local(rule, 3)"),
        (local(np.ones(4), 3), "local(array (4,), 3)"),
        (mask_mod(rule), "mask_mod(rule)"),
        (causal & rule, "causal & mask_mod(rule)"),
        (from_array(np.ones((2, 3), bool)), "from_array((1, 1, 2, 3))"),
        (everything, "everything"),
        (nothing, "nothing"),
        (~causal, "~causal"),
        (~~causal, "causal"),
        (~(causal | everything), "~(causal | everything)"),
        (causal & everything & nothing, "causal & everything & nothing"),
        (causal & (everything & nothing), "causal & everything & nothing"),
        (causal & (everything | nothing), "causal & (everything | nothing)"),
        (causal & everything | nothing, "(causal & everything) | nothing"),
        (~causal & ~(nothing & causal), "~causal & ~(nothing & causal)"),
    ],
)
def test_a_mask_prints_as_it_was_written(mask, text):
    assert repr(mask) == text


def call(mask, **sizes):
    return lambda: mask.dense(*{"B": None, "H": None, "L": 4, "S": 5, **sizes}.values())


two = mask_mod(lambda b, h, q, kv: np.ones(2, bool))
ints = mask_mod(lambda b, h, q, kv: q + kv)
branch = mask_mod(lambda b, h, q, kv: q > kv and kv > 1)
many = mask_mod(lambda b, h, q, kv: np.ones((1, 2, 2, 4, 5), bool))
table = np.ones((3, 4))
lens = "expected (B,), one for each example, or (B, L), one for each query."


@pytest.mark.parametrize(
    "error, what, message",
    [
        (
            ValueError,
            lambda: sliding_window(-2, 0),
            "sliding_window: left is -2; expected a whole number, -1 or more.",
        ),
        (
            TypeError,
            lambda: sliding_window(1, 2.0),
            "sliding_window: right is 2.0; expected a whole number.",
        ),
        (
            TypeError,
            lambda: sliding_window(True, 0),
            "sliding_window: left is True; expected a whole number.",
        ),
        (
            ValueError,
            lambda: sliding_window(1, 1, "left"),
            "sliding_window: offset is 'left'; expected a whole number, 'upper_left' "
            "or 'lower_right'.",
        ),
        (
            TypeError,
            lambda: causal(offset=0.5),
            "causal: offset is 0.5; expected a whole number.",
        ),
        (
            TypeError,
            lambda: causal("lower_right"),
            "causal: expected causal(b, h, q_idx, kv_idx), a mask already; found 1 of "
            "these 4. An offset has a name: causal(offset=3).",
        ),
        (
            ValueError,
            lambda: dilated(-1, 2),
            "dilated: window is -1; expected a whole number, 0 or more.",
        ),
        (
            ValueError,
            lambda: dilated(4, 0),
            "dilated: dilation is 0; expected a whole number, 1 or more.",
        ),
        (
            TypeError,
            lambda: padding([1.5]),
            "padding: valid_lens holds float64; expected whole numbers.",
        ),
        (
            ValueError,
            lambda: padding(3),
            f"padding: valid_lens has shape (); {lens}",
        ),
        (
            ValueError,
            call(padding([2, 6])),
            "padding: valid_lens holds 6; expected numbers from 0 to 5, the number of "
            "keys.",
        ),
        (
            ValueError,
            call(padding([-1, 9])),
            "padding: valid_lens holds -1; expected numbers from 0 to 5, the number "
            "of keys.",
        ),
        (
            ValueError,
            call(padding([[1, 2, 3]])),
            "padding: valid_lens has shape (1, 3); expected one length for each of 4 "
            "queries.",
        ),
        (
            ValueError,
            call(padding([1, 2]), B=3),
            "padding([1, 2]): made for 2 examples; found B = 3.",
        ),
        (
            ValueError,
            call(prefix_lm(6)),
            "prefix_lm: n holds 6; expected numbers from 0 to 5, the number of keys.",
        ),
        (
            ValueError,
            lambda: prefix_lm([[1]]),
            "prefix_lm: n has shape (1, 1); expected one whole number, or (B,), one "
            "for each example.",
        ),
        (
            ValueError,
            call(document([1, 2, 3])),
            "document: made for 3 queries and 3 keys; found 4 queries and 5 keys. "
            "Where the two differ, give ids of the keys and query_ids.",
        ),
        (
            TypeError,
            lambda: document(["a"]),
            "document: ids holds <U1; expected whole numbers.",
        ),
        (
            ValueError,
            lambda: document([1, 2], [[1]]),
            "document: query_ids has shape (1, 1); expected (L,).",
        ),
        (
            ValueError,
            lambda: document([[1, 2]], [[1], [2]]),
            "document: query_ids has shape (2, 1) and ids (1, 2); expected as many "
            "examples in both.",
        ),
        (
            ValueError,
            lambda: global_tokens([3, -1]),
            "global_tokens: idx holds -1; expected positions, counted from 0.",
        ),
        (
            ValueError,
            call(global_tokens([5])),
            "global_tokens: idx holds 5; expected numbers from 0 to 4, positions of "
            "tokens.",
        ),
        (
            TypeError,
            lambda: global_tokens([True]),
            "global_tokens: idx holds bool; expected whole numbers.",
        ),
        (
            ValueError,
            lambda: bigbird(4, 2, 1, 1, 0),
            "bigbird: window is 2; expected an odd number of blocks, as many before a "
            "block as after it.",
        ),
        (
            ValueError,
            lambda: bigbird(0, 3, 1, 1, 0),
            "bigbird: block is 0; expected a whole number, 1 or more.",
        ),
        (
            TypeError,
            lambda: bigbird(4, 3, 1, 1, None),
            "bigbird: seed is None; expected a whole number.",
        ),
        (
            ValueError,
            lambda: bigbird(4, 3, 1, 1, 0)(0, 0, 0, 0),
            "bigbird(4, 3, 1, 1, 0): depends on L and S, which a call does not say. "
            "Use .dense or BlockMask.from_mask, or call mask.sized(L, S).",
        ),
        (
            ValueError,
            lambda: causal(offset="lower_right")(0, 0, 0, 0),
            "causal(offset='lower_right'): depends on L and S, which a call does not "
            "say. Use .dense or BlockMask.from_mask, or call mask.sized(L, S).",
        ),
        (
            ValueError,
            lambda: local(lambda i: i, -1),
            "local: D is -1; expected a finite number, 0 or more.",
        ),
        (
            ValueError,
            lambda: local(lambda i: i, np.nan),
            "local: D is nan; expected a finite number, 0 or more.",
        ),
        (
            TypeError,
            lambda: local(lambda i: i, "3"),
            "local: D is '3'; expected a number.",
        ),
        (
            ValueError,
            lambda: local(3.0, 1),
            "local: centre has shape (); expected (L,), or (B, L), or a function of "
            "q_idx.",
        ),
        (
            ValueError,
            call(local(np.ones(3), 1)),
            "local: centre has shape (3,); expected one for each of 4 queries.",
        ),
        (
            ValueError,
            call(local(np.array([0, np.nan, 0, 0]), 1)),
            "local(array (4,), 1): a centre is NaN or infinite.",
        ),
        (
            TypeError,
            call(local(lambda i: i > 1, 1)),
            "local(<lambda>, 1): the centres are bool; expected real numbers.",
        ),
        (
            ValueError,
            call(local(lambda i: np.ones(9), 1)),
            "local(<lambda>, 1): centre gives shape (9,) for queries of shape (1, 1); "
            "expected a number for each.",
        ),
        (
            TypeError,
            lambda: from_array(table),
            "from_array: array is float64; expected bool, True = may attend. Ones and "
            "zeros could be meant either way: write array == 1 to allow the ones.",
        ),
        (
            TypeError,
            lambda: from_array(table.astype(int)),
            "from_array: array is int64; expected bool, True = may attend. Ones and "
            "zeros could be meant either way: write array == 1 to allow the ones.",
        ),
        (
            ValueError,
            lambda: from_array(table[0] > 0),
            "from_array: array has shape (4,); expected (L, S), (B, L, S) or (B, H, "
            "L, S).",
        ),
        (
            ValueError,
            call(from_array(table > 0)),
            "from_array((1, 1, 3, 4)): found 4 queries and 5 keys; expected as many "
            "as the last two axes say, unless they are 1.",
        ),
        (
            ValueError,
            call(from_array(np.ones((2, 3, 1, 1)) > 0), H=2),
            "from_array((2, 3, 1, 1)): made for 3 heads; found H = 2.",
        ),
        (
            TypeError,
            lambda: mask_mod(3),
            "mask_mod: found int; expected a function of (b, h, q_idx, kv_idx). A "
            "bool array is from_array(array).",
        ),
        (
            TypeError,
            call(ints),
            "mask_mod(<lambda>): the function gives int64; expected bool, True = may "
            "attend.",
        ),
        (
            ValueError,
            call(two),
            "mask_mod(<lambda>): the function gives shape (2,); expected one that "
            "broadcasts to (2, 2, 1, 1), as its arguments do.",
        ),
        (
            ValueError,
            call(many),
            "mask_mod(<lambda>): the function gives shape (1, 2, 2, 4, 5); expected "
            "one that broadcasts to (2, 2, 1, 1), as its arguments do.",
        ),
        (
            ValueError,
            lambda: branch(0, 0, np.arange(3), np.arange(3)),
            "mask_mod(<lambda>): the function asks whether an array is true. It is "
            "called once, on arrays: write &, |, ~ for `and`, `or`, `not`, and "
            "np.where for `if`.",
        ),
        (
            ValueError,
            call(A),
            "mask_mod(<lambda>): is not the same for all; expected the number of "
            "examples, B.",
        ),
        (
            ValueError,
            call(C),
            "mask_mod(<lambda>): is not the same for all; expected the number of "
            "heads, H.",
        ),
        (
            ValueError,
            lambda: padding([1]) & padding([1, 2]),
            "padding([1]) & padding([1, 2]): the left side has B = 1 examples, the "
            "right side 2; expected the same.",
        ),
        (
            TypeError,
            lambda: causal and everything,
            "causal: a mask is neither true nor false. Combine masks by &, | and ~; "
            "`and`, `or` and `not` would want one answer for all pairs.",
        ),
        (
            TypeError,
            lambda: causal & (table > 0),
            "&, |: found ndarray beside a mask; expected a mask, or a function of (b, "
            "h, q_idx, kv_idx). A bool array is from_array(array).",
        ),
        (
            TypeError,
            lambda: (table > 0) & causal,
            "&, |: found ndarray beside a mask; expected a mask, or a function of (b, "
            "h, q_idx, kv_idx). A bool array is from_array(array).",
        ),
        (
            TypeError,
            lambda: causal | None,
            "&, |: found NoneType beside a mask; expected a mask, or a function of "
            "(b, h, q_idx, kv_idx). A bool array is from_array(array).",
        ),
        (
            TypeError,
            lambda: causal(0, 0, 1.0, 2),
            "causal: q_idx is float64; expected whole numbers, positions counted from "
            "0.",
        ),
        (
            TypeError,
            call(causal, L=4.0),
            "dense: L is 4.0; expected a whole number.",
        ),
        (
            ValueError,
            call(causal, S=-1),
            "dense: S is -1; expected a whole number, 0 or more.",
        ),
    ],
)
def test_the_messages(error, what, message):
    with pytest.raises(error) as raised:
        what()
    assert str(raised.value) == message


def test_an_error_inside_a_function_is_its_own():
    def broken(b, h, q, kv):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="^mine$"):
        mask_mod(broken).dense(1, 1, 2, 2)
