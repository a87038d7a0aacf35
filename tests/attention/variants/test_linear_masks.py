"""Linear attention: masks, the future and NaN reach what they should, no more."""

import numpy as np
import pytest

import minigrad as mg
from attention.variants.linear import elu_plus_one, linear_attention

from ...minigrad.array_cases import draw
from ..kernels.kernel_cases import BACKENDS, running
from .linear_cases import (
    CHUNK,
    B,
    E,
    Ev,
    H,
    S,
    both,
    by_pairs,
    close,
    example,
    run,
)


@pytest.fixture(params=BACKENDS)
def backend(request):
    with running(request.param):
        yield request.param


@both
def test_masks_of_keys_and_lengths(backend, is_causal):
    arrays = example(is_causal)
    lengths, keys = np.array([5, 7]), np.arange(S) != 1
    expected = run(
        *arrays, is_causal, by_pairs,
        keep=((np.arange(S) < lengths[:, None]) & keys)[:, None],
    )  # fmt: skip
    close(run(*arrays, is_causal, valid_lens=lengths, key_mask=keys), expected)
    each = np.broadcast_to(keys, (1, H, S))
    close(run(*arrays, is_causal, valid_lens=lengths, key_mask=each), expected)


@both
@pytest.mark.parametrize("filling", [7.0, np.nan, np.inf])
def test_what_is_masked_may_hold_anything(backend, is_causal, filling):
    q, k, v, g = example(is_causal, 70)
    keep = np.random.default_rng(1).random((B, H, 70)) < 0.5
    keep[0, 0] = False
    for options in ({}, {"feature_map": lambda x: elu_plus_one(x)}):
        clean = run(q, k, v, g, is_causal, key_mask=keep, **options)
        assert (clean[0][0, 0] == 0).all() and (clean[1][0, 0] == 0).all()
        assert (clean[2][~keep] == 0).all() and (clean[3][~keep] == 0).all()
        dirty_k, dirty_v = k.copy(), v.copy()
        dirty_k[~keep], dirty_v[~keep] = filling, filling
        dirty = run(q, dirty_k, dirty_v, g, is_causal, key_mask=keep, **options)
        for x, y in zip(dirty, clean):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("place", [0, 3, CHUNK - 1, CHUNK, 100])
def test_the_future_changes_nothing(backend, place):
    """Not a bit, in the outputs before it and in their gradients; nor if it is NaN."""
    q, k, v, g = example(True, 130)
    g[..., place:, :] = 0
    expected = run(q, k, v, g, True)
    for filling in (3.0, np.nan, np.inf):
        changed = [x.copy() for x in (q, k, v)]
        for x in changed:
            x[..., place:, :] = filling
        found = run(*changed, g, True)
        for x, y in zip(found, expected):
            np.testing.assert_array_equal(x[..., :place, :], y[..., :place, :])
        if np.isnan(filling):
            assert np.isnan(found[0][..., place:, :]).all()


@pytest.mark.parametrize("which", [0, 1, 2])
def test_nan_reaches_the_queries_that_attend_to_it(backend, which):
    arrays = example(True, 130)
    arrays[which][0, 0, 70, 1] = np.nan
    o = linear_attention(*arrays[:3], True).data
    bad = np.isnan(o)
    later = np.arange(130) == 70 if which == 0 else np.arange(130) >= 70
    assert (bad[0, 0].any(-1) == later).all() and not bad[0, 1:].any()
    assert not bad[1].any()
    arrays = example(False, 130)
    arrays[which][0, 0, 70, 1] = np.nan
    bad = np.isnan(linear_attention(*arrays[:3]).data).any(-1)
    assert bad[0, 0, 70] and bad.sum() == (1 if which == 0 else 133)


@both
def test_a_query_that_nobody_asked_takes_part_in_nothing(backend, is_causal):
    """Padding among the queries may be NaN, where the loss does not look at it."""
    q, k, v, g = example(is_causal, 70)
    g[0, :, 20:] = 0
    expected = run(q, k, v, g, is_causal)
    q[0, :, 20:] = np.nan
    for x, y in zip(run(q, k, v, g, is_causal)[1:], expected[1:]):
        np.testing.assert_array_equal(x, y)


def test_nan_in_a_query_reaches_the_gradients_of_its_own_keys_alone(backend):
    *arrays, g = example(True, 130)
    keep = np.arange(130) != 66
    expected = run(*arrays, g, True, key_mask=keep)
    arrays[0][0, 0, 70] = np.nan
    _, *found = run(*arrays, g, True, key_mask=keep)
    spoilt = np.zeros((3, B, H, 130), bool)
    spoilt[0, 0, 0, 70] = True
    spoilt[1:, 0, 0, :71] = keep[:71]
    for x, y, bad in zip(found, expected[1:], spoilt):
        np.testing.assert_array_equal(np.isnan(x).all(-1), bad)
        np.testing.assert_array_equal(x[~bad], y[~bad])


@both
@pytest.mark.parametrize("eps", [0, 1e-6])
def test_a_query_without_keys(backend, is_causal, eps):
    q, k, v, g = example(is_causal, 70)
    found = run(q, k, v, g, is_causal, valid_lens=[0, 70], eps=eps)
    for x in found:
        assert (x[0] == 0).all() and np.isfinite(x).all() and (x[1] != 0).any()
    nothing = run(q, k[..., :0, :], v[..., :0, :], g, eps=eps)
    assert (nothing[0] == 0).all() and (nothing[1] == 0).all()


@both
def test_features_of_nothing(backend, is_causal):
    """phi = 0 everywhere: a denominator of 0 that no mask announces."""
    q, k, v, g = example(is_causal)
    found = run(q, -abs(k), v, g, is_causal, feature_map=mg.relu, eps=0)
    assert all(np.isfinite(x).all() for x in found) and (found[0] == 0).all()


@both
@pytest.mark.parametrize(
    "shapes",
    [((0, S, E), (0, S, E), (0, S, Ev)), ((2, 0, E), (2, 0, E), (2, 0, Ev))]
    + [((S, 0), (S, 0), (S, Ev)), ((S, E), (S, E), (S, 0))],
)
def test_nothing_at_all(backend, shapes, is_causal):
    arrays = draw(*shapes)
    g = np.ones((*shapes[0][:-1], shapes[2][-1]))
    found = run(*arrays, g, is_causal)
    for x, shape in zip(found, (g.shape, *shapes)):
        assert x.shape == shape and (x == 0).all()
