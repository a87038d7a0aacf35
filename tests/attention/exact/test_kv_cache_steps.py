"""Steps with a cache are the rows of one pass over the whole sequence."""

import functools

import numpy as np
import pytest

from attention import masks
from attention.exact.kv_cache import KVCache
from attention.positions import T5RelativeBias, alibi_by_offset, rope
from minigrad import Tensor, concat, no_grad

from ...minigrad.array_cases import draw
from .kv_cache_cases import B, D, T, close, layer
from .multihead_cases import H


def step_by_step(module, x, cache, cuts=range(1, T), **options):
    """The outputs for the tokens between the cuts, one call after the other."""
    ends = [0, *cuts, x.shape[1]]
    return [
        module(x[:, begin:end], is_causal=True, cache=cache, **options)
        for begin, end in zip(ends, ends[1:])
    ]


T5 = T5RelativeBias(H, num_buckets=8, max_distance=20, bidirectional=False)
T5.table.data = draw(T5.table.shape, seed=7)[0]
OPTIONS = {
    "plain": {},
    "lengths": {"valid_lens": [9, 4, 0]},
    "rope": {"rotate": rope},
    "t5": {"bias": T5},
    "t5 by offset": {"bias": T5.by_offset},
    "alibi": {"bias": functools.partial(alibi_by_offset, H)},
    "window": {"mask": masks.sliding_window(2, 0, "lower_right")},
    "all": {"rotate": rope, "bias": T5, "valid_lens": np.array([2, 9, 5])},
}
CUTS = {"tokens": range(1, T), "a prompt, then tokens": [4, 5, 6, 7, 8], "halves": [5]}


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("num_kv_heads", [4, 2, 1])
def test_steps_are_rows_of_one_causal_pass(num_kv_heads, options, cuts, grad):
    module, (x, g) = layer(num_kv_heads), draw((B, T, D), (B, T, D))
    options, cache = OPTIONS[options], KVCache(capacity=2)  # must grow, and again
    if not grad:
        with no_grad():
            whole = module(x, is_causal=True, **options)
            steps = step_by_step(module, x, cache, CUTS[cuts], **options)
        found = np.concatenate([y.data for y in steps], 1)
        np.testing.assert_allclose(found, whole.data, **close)
        assert not cache.key.requires_grad
    else:
        results = []
        for function in (
            lambda x: module(x, is_causal=True, **options),
            lambda x: concat(step_by_step(module, x, cache, CUTS[cuts], **options), 1),
        ):
            module.zero_grad()
            leaf = Tensor(x, requires_grad=True)
            y = function(leaf)
            y.backward(g)
            results.append([y.data, leaf.grad, *(p.grad for p in module.parameters())])
        for one, other in zip(*results):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)
    assert cache.length == T
    assert cache.key.shape == cache.value.shape == (B, num_kv_heads, T, D // H)


def test_gradients_may_come_and_go():
    """Tokens written into the room, then joined, then written again."""
    module, (x,) = layer(2), draw((B, T, D))
    whole, cache = module(x, is_causal=True).data, KVCache()
    for t in range(T):
        if t in (3, 4, 7):
            y = module(x[:, t : t + 1], cache=cache)
            assert cache.key.requires_grad
        else:
            with no_grad():
                y = module(x[:, t : t + 1], cache=cache)
        np.testing.assert_allclose(y.data[:, 0], whole[:, t], **close)


def test_lengths_of_each_query_are_of_those_in_the_call():
    module, (x,) = layer(2), draw((B, T, D))
    lens = np.random.default_rng(0).integers(0, T + 1, (B, T))
    whole = module(x, is_causal=True, valid_lens=lens).data
    cache = KVCache()
    for t in range(T):
        y = module(x[:, t : t + 1], cache=cache, valid_lens=lens[:, t : t + 1])
        np.testing.assert_allclose(y.data[:, 0], whole[:, t], **close)


def test_an_array_is_for_all_keys_so_far():
    """Prompts of several lengths, padded, and what is said after them."""
    module, (x,) = layer(2), draw((B, T, D))
    lens, prompt = np.array([4, 2, 3]), 4
    j, i = np.arange(T), np.arange(T)[:, None]
    mask = ((j < lens[:, None, None]) | (j >= prompt)) & (j <= i)  # (B, T, T)
    whole = module(x, mask=mask[:, None]).data
    cache = KVCache()
    for begin, end in zip([0, *range(prompt, T)], range(prompt, T + 1)):
        now = mask[:, None, begin:end, :end]
        y = module(x[:, begin:end], mask=now, cache=cache, is_causal=True)
        np.testing.assert_allclose(y.data, whole[:, begin:end], **close)


def test_padding_may_be_nan_and_stays_where_it_is():
    module, (x,) = layer(2), draw((B, T, D))
    lens = np.array([9, 4, 6])
    clean = step_by_step(module, x, KVCache(), valid_lens=lens)
    x[1, 4:] = x[2, 6:] = np.nan
    with no_grad():
        found = step_by_step(module, x, KVCache(), valid_lens=lens)
    for t, (a, b) in enumerate(zip(clean, found)):
        some = t < lens
        np.testing.assert_allclose(b.data[some], a.data[some], **close)
        assert np.isnan(b.data[~some]).all()


def test_positions_go_on_and_may_be_given():
    module, (x,) = layer(2), draw((B, T, D))
    at = np.array([[0], [3], [11]]) + np.arange(T)  # each example from its own
    whole = module(x, is_causal=True, rotate=rope, positions=at).data
    cache = KVCache()
    for t in range(T):
        y = module(
            x[:, t : t + 1], cache=cache, rotate=rope, positions=at[:, t : t + 1]
        )
        np.testing.assert_allclose(y.data[:, 0], whole[:, t], **close)
    relative = module(x, is_causal=True, rotate=rope).data
    np.testing.assert_allclose(whole, relative, **close)


def test_weights_and_one_example_alone():
    module, (x,) = layer(2), draw((T, D))
    whole, weights = module(x, is_causal=True, need_weights=True)
    cache = KVCache()
    for t in range(T):
        y, w = module(x[t : t + 1], cache=cache, need_weights=True)
        assert w.shape == (H, 1, t + 1)
        np.testing.assert_allclose(y.data[0], whole.data[t], **close)
        np.testing.assert_allclose(w.data[:, 0], weights.data[:, t, : t + 1], **close)
