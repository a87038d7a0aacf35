"""The kernels of scores and softmax: memory, and the precision of exp and tanh."""

import tracemalloc

import numpy as np
import pytest

from attention import kernels
from attention.kernels import softmax
from attention.kernels.compiling import kernel, reads, writes
from attention.kernels.elementary import tanh

from .kernel_cases import additive_example, additive_results


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


def test_a_mask_is_not_written_out_for_every_score():
    pytest.importorskip("numba")
    x = np.zeros((64, 100, 100), np.float32)
    with kernels.backend("numba"):
        softmax.forward(x, np.ones((1, 100), bool), 1.0)
        tracemalloc.start()
        try:
            softmax.forward(x, np.ones((1, 100), bool), 1.0)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 1.1 * x.nbytes  # the result; a mask would be another quarter


# Relative errors of the polynomials: a little more than 2 units in the last place in
# tanh, 1 in exp.


@kernel
def tanh_loop(start: int, stop: int, x: reads(1), y: writes(1)):
    for i in range(start, stop):
        y[i] = tanh(x[i])


@pytest.mark.parametrize("dtype, bound", [(np.float32, 3e-7), (np.float64, 5e-16)])
def test_tanh_over_all_magnitudes(dtype, bound):
    pytest.importorskip("numba")
    x = np.concatenate([np.linspace(0, 25, 40_001), 10.0 ** np.linspace(-30, 0, 999)])
    x = np.concatenate([x, -x]).astype(dtype)
    t = np.empty_like(x)
    with kernels.backend("numba"):
        tanh_loop.version(x.dtype)(0, len(x), x, t)
    exact = np.tanh(x.astype(np.longdouble))
    np.testing.assert_array_less(np.abs(t - exact), bound * np.abs(exact) + 1e-300)
    assert np.abs(t).max() == 1


@pytest.mark.parametrize("dtype, bound", [(np.float32, 2e-7), (np.float64, 3e-16)])
def test_exp_over_all_magnitudes(dtype, bound):
    """p_1 / p_0 = exp(x), where x is the lesser score."""
    pytest.importorskip("numba")
    x = -np.concatenate([np.linspace(0, 86, 20_001), 10.0 ** np.linspace(-9, 0, 999)])
    with kernels.backend("numba"):
        for width in (2, 40):  # without and with vector instructions
            scores = np.full((len(x), width), -np.inf, dtype)
            scores[:, 0], scores[:, 1] = 0, x
            p = softmax.forward(scores, None, 1.0).astype(np.longdouble)
            exact = np.exp(scores[:, 1].astype(np.longdouble))
            assert np.abs(p[:, 1] / p[:, 0] / exact - 1).max() < bound
        scores = np.array([[0, -120, -800, -np.inf]], dtype)
        assert softmax.forward(scores, None, 1.0)[0, 2:].tolist() == [0, 0]
