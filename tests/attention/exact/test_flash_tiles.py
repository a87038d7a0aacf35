"""Tiles of any size, width, layout, dtype and number of threads give the same."""

import numpy as np
import pytest

from attention import kernels, masks
from attention.exact.flash import flash_attention
from attention.kernels import pool, tiled_backward, tiled_forward
from attention.kernels.tile_plan import tile_plan
from minigrad import Tensor

from ...minigrad.array_cases import draw
from ..kernels.kernel_cases import BACKENDS, running
from .flash_cases import PATTERNS, run


@pytest.fixture(params=BACKENDS)
def backend(request):
    with running(request.param):
        yield request.param


@pytest.mark.parametrize("size", [1, 3, 16, 50, 64])
@pytest.mark.parametrize("name", PATTERNS)
def test_any_size_of_tiles_gives_the_same(name, size):
    q, k, v = draw((2, 3, 13, 4), (2, 3, 17, 4), (2, 3, 17, 2))
    expected = run(q, k, v, tile_plan(PATTERNS[name], 2, 3, 13, 17))
    with kernels.backend("numpy"):
        found = run(q, k, v, tile_plan(PATTERNS[name], 2, 3, 13, 17, size=size))
    for x, y in zip(found, expected):
        np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-13)


@pytest.mark.deep
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 3, 16, 31, 64, 65, 100, 129])
def test_products_of_any_width(width, dtype):
    """Every way to cut a product into blocks, through o = p v and s = q k."""
    pytest.importorskip("numba")
    for n in (1, 5, 66):
        arrays = draw((1, n, width), (1, n, 7), (1, n, width), dtype=dtype)
        for q, k, v in (
            (arrays[1], arrays[1], arrays[0]),
            (arrays[0], arrays[2], arrays[1]),
        ):
            tiles = tile_plan(None, 1, 1, n, n)
            with kernels.backend("numba"):
                found = run(q, k, v, tiles)
            with kernels.backend("numpy"):
                expected = run(q, k, v, tiles)
            for x, y in zip(found, expected):
                atol = 40 * np.finfo(dtype).eps * np.abs(y).max(initial=1)
                np.testing.assert_allclose(x, y, rtol=0, atol=atol)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_memory_layout(backend, dtype):
    arrays = draw((2, 70, 4), (2, 90, 4), (2, 90, 3), dtype=dtype)
    tiles = tile_plan(masks.causal, 1, 2, 70, 90)
    expected = run(*arrays, tiles)
    for change in (
        np.asfortranarray,
        lambda x: np.repeat(x, 2, -1)[..., ::2],
        lambda x: x.transpose(1, 0, 2).copy().transpose(1, 0, 2),
        frozen,
    ):
        for x, y in zip(run(*map(change, arrays), tiles), expected):
            np.testing.assert_array_equal(x, y)
    bias, mask = draw((2, 159), (70, 90), dtype=dtype)
    expected = run(*arrays, tiles, offset=bias, added=mask)
    found = run(*arrays, tiles, offset=frozen(bias), added=np.asfortranarray(mask))
    for x, y in zip(found, expected):
        np.testing.assert_array_equal(x, y)


def frozen(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def test_one_version_for_each_dtype():
    pytest.importorskip("numba")
    for kernel in tiled_forward.forward_loop, tiled_backward.backward_loop:
        with kernels.backend("numba"):
            loop = kernel.version(np.dtype(np.float32))
        assert len(loop.signatures) == 1 and not loop._can_compile


@pytest.mark.parametrize("heads", [1, 3, 9])
def test_the_same_bits_with_any_number_of_threads(monkeypatch, heads):
    pytest.importorskip("numba")
    monkeypatch.setattr(pool, "WORTH_A_THREAD", 0)
    n = 330
    q, k, v = draw((2 * heads, n, 8), (heads, n, 8), (heads, n, 5), dtype=np.float32)
    tiles = tile_plan(masks.causal, 1, 2 * heads, n, n)
    bias = draw((2 * heads, 2 * n - 1), dtype=np.float32)[0]
    before = kernels.threads()
    try:
        with kernels.backend("numba"):
            kernels.threads(1)
            expected = gradients(q, k, v, bias, tiles)
            for threads in (1, 2, 3, 5):
                kernels.threads(threads)
                for x, y in zip(gradients(q, k, v, bias, tiles), expected):
                    np.testing.assert_array_equal(x, y)
    finally:
        kernels.threads(before)


def gradients(q, k, v, bias, tiles):
    tensors = [Tensor(x, requires_grad=True) for x in (q, k, v, bias)]
    mask = Tensor(np.zeros(q.shape[1], np.float32), requires_grad=True)
    o, lse = flash_attention(*tensors, mask, plan=tiles, scale=0.3)
    o.backward(np.cos(np.arange(o.size)).reshape(o.shape))
    return [o.data, lse.data, *(t.grad for t in (*tensors, mask))]
