"""Arrays for the loops and their twins, and what comes of them."""

import contextlib
import warnings

import numpy as np
import pytest

from attention import kernels
from attention.kernels import additive, softmax

from ...minigrad.array_cases import draw

FLOATS = [np.float32, np.float64]
BACKENDS = ["numba", "numpy"]
TANH_ERROR = 4e-7  # of additive_product.py, absolute


@contextlib.contextmanager
def running(backend):
    """In that backend, with every warning an error."""
    if backend == "numba":
        pytest.importorskip("numba")
    with kernels.backend(backend), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def close(value, exact, dtype):
    """Equal up to some ten roundings of numbers of the size of the largest one."""
    assert value.dtype == dtype and value.shape == exact.shape
    finite = np.abs(exact[np.isfinite(exact)])
    atol = 20 * np.finfo(dtype).eps * finite.max(initial=1)
    np.testing.assert_allclose(value, exact, rtol=0, atol=atol)


def additive_example(B, L, S, A, dtype, seed=0):
    return draw((B, L, A), (B, S, A), (A,), (B, L, S), dtype=dtype, seed=seed)


def additive_results(q, k, w, g):
    return [additive.forward(q, k, w), *additive.backward(q, k, w, g)]


def softmax_results(x, g, lengths=None, mask=None, temperature=1.0):
    p = softmax.forward(x, lengths, mask, temperature)
    return p, softmax.backward(p, g, temperature)
