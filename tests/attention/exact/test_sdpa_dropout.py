"""Dropout of attention: every path drops the same weights, independently."""

import numpy as np
import pytest

from attention import kernels, masks
from attention.kernels import dropout
from minigrad import Tensor

from ...memory import peak_bytes
from ...minigrad.array_cases import draw
from .paths import dense_attention, tiled_attention

EVERY = slice(None), slice(None), slice(None)


def drawn(p, seed, N, L, S):
    """Which weights are dropped: bool (N, L, S)."""
    draws = dropout.draws(p, seed, N, L, S, np.dtype(np.float64))
    return dropout.factors(draws, *EVERY) == 0


def run(attention, inputs, g, backend="numba", **options):
    """Output and gradients."""
    tensors = [Tensor(x, requires_grad=True) for x in inputs]
    with kernels.backend(backend):
        o = attention(
            *tensors, enable_gqa=True, rng=np.random.default_rng(3), **options
        )
        o.backward(g)
    return [o.data, *(t.grad for t in tensors)]


@pytest.mark.parametrize("options", [
    {"attn_mask": masks.causal(offset="lower_right")},
    {"attn_mask": masks.sliding_window(9, 20)},
    {"attn_mask": lambda b, h, q, k: (q + k + h) % 3 != 0},
], ids=["causal", "window", "function"])  # fmt: skip
@pytest.mark.parametrize("p", [1e-12, 0.3, 1.0])
def test_every_path_drops_the_same_weights(p, options):
    *inputs, g = draw((2, 4, 70, 5), (2, 2, 90, 5), (2, 2, 90, 4), (2, 4, 70, 4))
    dense = run(dense_attention, inputs, g, dropout_p=p, **options)
    for backend in ("numba", "numpy"):
        tiled = run(tiled_attention, inputs, g, backend, dropout_p=p, **options)
        for found, expected in zip(tiled, dense):
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)
    without = run(tiled_attention, inputs, g, **options)
    assert (p == 1e-12) == np.allclose(dense[0], without[0])
    assert p < 1 or not any(x.any() for x in dense)


@pytest.mark.parametrize("p", [0.02, 0.5])
def test_the_share_of_dropped_weights(p):
    """In all, in each query and for each key: within six standard errors."""
    dropped = drawn(p, 0, 4, 256, 300)
    for axes in ((0, 1, 2), (2,), (1,), (0,)):
        count = np.prod([dropped.shape[axis] for axis in axes])
        error = 6 * np.sqrt(p * (1 - p) / count) + 1e-12
        if axes != (0,):  # four heads are too few for one weight
            assert abs(dropped.mean(axes) - p).max() < error


def test_weights_are_dropped_independently():
    """No two queries, keys or heads drop alike, nor in a pattern of four.

    The mean of products of n signs of mean 0 has the standard error 1 / sqrt(n).
    """
    sign = np.where(drawn(0.5, 1, 6, 128, 128), 1.0, -1.0)
    rows = sign.reshape(-1, 128)  # queries of all heads
    apart = ~np.eye(len(rows), dtype=bool)
    assert abs((rows @ rows.T)[apart]).max() < 6.5 * np.sqrt(128)
    for head in sign:
        alike = (head.T @ head)[~np.eye(128, dtype=bool)]
        assert abs(alike).max() < 6.5 * np.sqrt(128)
        assert abs((head * head.T).mean()) < 6 * np.sqrt(2) / 128  # nor its transpose
    for step in (1, 2, 64):
        four = sign * np.roll(sign, step, 1)
        four = four * np.roll(four, step, 2)  # the corners of a rectangle
        assert abs(four.mean()) < 6 / np.sqrt(sign.size)
        for axis in (0, 1, 2):
            two = sign * np.roll(sign, step, axis) if step < sign.shape[axis] else 0
            assert abs(np.mean(two)) < 6 / np.sqrt(sign.size)


def test_seeds_differ():
    one, two = drawn(0.5, 1, 2, 100, 100), drawn(0.5, 2, 2, 100, 100)
    assert abs((one == two).mean() - 0.5) < 6 * 0.5 / np.sqrt(one.size)
    np.testing.assert_array_equal(one, drawn(0.5, 1, 2, 100, 100))


def test_tiles_need_no_array_of_all_pairs():
    n = 1024
    q, k, v = (Tensor(x, requires_grad=True) for x in draw((n, 8), (n, 8), (n, 8)))

    def call():
        tiled_attention(q, k, v, dropout_p=0.5).sum().backward()

    assert peak_bytes(call) < 0.1 * 8 * n * n
