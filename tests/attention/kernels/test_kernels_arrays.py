"""The kernels take arrays of any layout and dtype, and little memory beside them."""

import tracemalloc

import numpy as np
import pytest

from attention import kernels
from attention.kernels import additive, softmax

from .kernel_cases import (
    BACKENDS,
    FLOATS,
    additive_example,
    additive_results,
    close,
    draw,
    running,
    softmax_results,
)


@pytest.fixture(params=BACKENDS)
def backend(request):
    with running(request.param):
        yield request.param


def test_no_array_of_all_pairs_and_hidden_units(backend):
    B, L, S, A = 4, 64, 64, 128
    q, k, w, g = additive_example(B, L, S, A, np.float32)
    additive_results(q, k, w, g)  # compiled
    tracemalloc.start()
    try:
        additive_results(q, k, w, g)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.2 * 4 * B * L * S * A


def test_a_mask_is_not_written_out_for_every_score(backend):
    x = np.zeros((64, 100, 100), np.float32)
    with kernels.backend("numba"):
        softmax.forward(x, None, np.ones((1, 100), bool), 1.0)
        tracemalloc.start()
        try:
            softmax.forward(x, np.full(64, 50), np.ones((1, 100), bool), 1.0)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 1.1 * x.nbytes  # the result; a mask would be another quarter


@pytest.mark.parametrize("dtype", FLOATS)
def test_any_memory_layout(backend, dtype):
    arrays = additive_example(2, 3, 5, 6, dtype)
    wanted = additive_results(*arrays)
    rows = draw((4, 6), (4, 6), dtype=dtype)
    lengths, mask = np.array([6, 3]), np.arange(24).reshape(4, 6) % 3 > 0
    p, dx = softmax_results(*rows, lengths, mask)
    for change in (
        lambda x: np.asfortranarray(x),
        lambda x: np.repeat(x, 2, -1)[..., ::2],
        lambda x: np.flip(np.flip(x).copy()),
        frozen,
    ):
        for got, value in zip(additive_results(*map(change, arrays)), wanted):
            close(got, value, dtype)
        changed = map(change, (*rows, lengths, mask))
        for got, value in zip(softmax_results(*changed), (p, dx)):
            close(got, value, dtype)


def frozen(x):
    x = x.copy()
    x.flags.writeable = False
    return x



def test_dtypes_without_a_kernel(backend):
    exact = additive_example(2, 3, 5, 6, np.float64)
    for dtype, tolerance in ((np.float16, 2e-2), (np.longdouble, 1e-14), (">f4", 1e-5)):
        arrays = [x.astype(dtype) for x in exact]
        for got, wanted in zip(additive_results(*arrays), additive_results(*exact)):
            np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)
        p = softmax.forward(arrays[0], None, None, 1.0)
        assert p.dtype.kind == "f" and p.itemsize == np.dtype(dtype).itemsize
