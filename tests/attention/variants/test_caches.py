"""Heads and small caches: laws that the definitions do not state."""

import numpy as np
import pytest

import attention as A
from attention import masks

from ...minigrad.array_cases import draw, in_float64

rng = np.random.default_rng
CLOSE = dict(rtol=1e-10, atol=1e-12)


# -- latent attention ------------------------------------------------------------------


def test_a_cache_of_latent_vectors_is_small():
    (x,), cache = draw((2, 6, 8), dtype=np.float32), A.KVCache()
    A.LatentAttention(8, 2, latent=5, rotated=4)(x, is_causal=True, cache=cache)
    sizes = cache.key.shape[-1] + cache.value.shape[-1]
    assert cache.length == 6 and sizes == 5 + 4  # R + F, and not 2 D = 16


# -- differential attention ------------------------------------------------------------


def test_lambda_grows_with_the_layer():
    layer = A.DifferentialAttention(8, 2, layer=1, rng=rng(0))
    assert layer.lambda_init == pytest.approx(0.3555, abs=1e-4)


# -- heads and layers that share -------------------------------------------------------


ONES = np.ones((3, 3, 4, 5))  # as many examples as heads
ONES32 = np.ones((3, 4, 15), np.float32)


@pytest.mark.parametrize("attend", [
    lambda mask: A.talking_heads(*[ONES] * 3, *[np.eye(3)] * 2, mask),
    lambda mask: A.linear_attention(*[ONES] * 3, mask=mask),
    lambda mask: A.performer_attention(*[ONES] * 3, np.ones((2, 5)), mask=mask),
    lambda mask: A.linformer_attention(*[ONES] * 3, *np.ones((2, 2, 4)), mask),
    lambda mask: A.MultiHeadAttention(15, 3)(ONES32, mask=mask),
    lambda mask: A.LatentAttention(15, 3, 4, 2)(ONES32, mask=mask),
    lambda mask: A.Pointer(5, 5, 2)(ONES, ONES, mask),
])  # fmt: skip
def test_a_mask_that_could_be_of_examples_or_of_heads_is_refused(attend):
    for leading in (), (1,), (3, 1), (1, 3), (3, 3):
        attend(np.ones((*leading, 4, 4), bool))
    with pytest.raises(ValueError, match=r"shape \(3, 4, 4\); .*mask\[:, None\]"):
        attend(np.ones((3, 4, 4), bool))


def test_a_layer_with_its_own_matrices_that_shares_keys_is_the_layer_itself():
    layer, (x,) = A.MultiHeadAttention(8, 4, 2, bias=False, rng=rng(0)), draw((2, 5, 8))
    layer, cache = in_float64(layer), A.KVCache()
    wanted = layer(x, is_causal=True, cache=cache)
    matrices = layer.W_q.weight, layer.W_o.weight
    found = A.shared_attention(x, cache.key, cache.value, *matrices, 4, is_causal=True)
    np.testing.assert_allclose(found.data, wanted.data, **CLOSE)
    last = A.shared_attention(
        x[:, -1:], cache.key, cache.value, *matrices, 4, is_causal=True
    )
    np.testing.assert_allclose(last.data, wanted.data[:, -1:], **CLOSE)


# -- caches of a fixed size ------------------------------------------------------------


def contexts(cache, arrays):
    """Return the contexts (H, T, Ev) of a cache, token by token."""
    steps = [cache.step(*(x[:, t] for x in arrays))[0] for t in range(12)]
    return np.stack([o.data for o in steps], 1)


ARRAYS = draw((2, 12, 4), (2, 12, 4), (2, 12, 3), seed=2)


@pytest.mark.parametrize(
    "options, mask",
    [
        (dict(budget=12, recent=1), masks.causal()),  # nothing is removed
        (dict(budget=4, recent=4), masks.sliding_window(4, 0)),
        (
            dict(budget=5, recent=3, sinks=2),
            masks.causal() & (masks.sliding_window(3, 0) | masks.global_tokens([0, 1])),
        ),
    ],
)
def test_a_small_cache_is_attention_with_a_mask(options, mask):
    found = contexts(A.SmallCache(**options), ARRAYS)
    allowed = mask.dense(1, 1, 12, 12)[0, 0]
    for h in range(2):
        q, k, v = (x[h] for x in ARRAYS)
        wanted = A.definitions.scaled_dot_attention(q, k, v, allowed)
        np.testing.assert_allclose(found[h], wanted, **CLOSE)


def test_each_head_keeps_what_it_has_read_most():
    """One key of each head fits all queries; it stays, however old it gets."""
    q, k, v = (x.copy() for x in ARRAYS)
    q[:] = 3.0
    k *= 0.1
    k[0, 2] = k[1, 4] = 1.0
    cache = A.SmallCache(budget=4, recent=2)
    contexts(cache, (q, k, v))
    for h, best in enumerate([2, 4]):
        assert (cache.value.data[h] == v[h, best]).all(-1).any()
    assert cache.length == 4


def test_positions_are_counted_inside_the_cache():
    """A stream that goes on for ever has no distance longer than its cache."""
    seen = []

    def rotate(x, positions):
        seen.append(positions.max())
        return A.rope(x, positions)

    cache = A.SmallCache(budget=5, recent=3, sinks=2, rotate=rotate)
    contexts(cache, ARRAYS)
    assert max(seen) == 5 == cache.length


def test_eight_bits_err_by_half_a_scale_and_keys_need_their_channels():
    x = rng(0).normal(size=(50, 8))
    x[:, 3] *= 100  # a channel with large numbers
    errors = {}
    for axis in -2, -1:
        codes, scale, zero = A.quantize(x, axis)
        assert codes.dtype == np.uint8
        found = A.dequantize(codes, scale, zero)
        assert (np.abs(found - x) <= scale / 2 * (1 + 1e-9)).all()
        errors[axis] = np.abs(found - x)[:, :3].mean()
    assert errors[-2] < errors[-1] / 10
    codes, scale, zero = A.quantize(np.full((3, 2), 7.0), -1)
    np.testing.assert_array_equal(A.dequantize(codes, scale, zero), 7)
    smallest = np.finfo(np.float32).smallest_subnormal  # the scale is rounded to it
    codes, _, _ = A.quantize(smallest * np.arange(300, dtype=np.float32), 0)
    assert (np.diff(codes.astype(int)) >= 0).all() and codes[-1] == 255
