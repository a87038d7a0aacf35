"""How many keys a window, a step with a cache, global tokens and BigBird hold."""

import numpy as np
import pytest

from attention.masks import (
    bigbird,
    causal,
    dilated,
    global_tokens,
    local,
    sliding_window,
)


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
