"""The Gaussian score and its layer: definition, gradients, precision, memory."""

import numpy as np
import pytest

from attention import GaussianAttention, gaussian
from attention.variants.gaussian import squared_distance
from minigrad import Tensor

from ...memory import peak_bytes
from ...minigrad.array_cases import draw

B, L, S, D, Ev = 2, 3, 5, 4, 6


def test_near_points_far_from_the_origin():
    """|q|^2 - 2 q.k + |k|^2 would give a multiple of 16 in float32, not 0.0625."""
    q = np.float32([[12345.0, -9876.0]])
    k = q + np.float32([[0.0, 0.25]])
    d = squared_distance(q, k).data
    np.testing.assert_array_equal(d, [[0.0625]])
    assert d.dtype == np.float32


def test_memory_has_no_array_of_pairs_and_coordinates():
    L, S, D = 60, 70, 80
    q, k = (Tensor(a) for a in draw((L, D), (S, D)))
    # an array (L, S, D) is 80 (L, S)
    assert peak_bytes(lambda: squared_distance(q, k)) < 8 * L * S * 8


def test_the_result_has_the_dtype_of_queries_and_keys():
    q, k = draw((B, L, D), (B, S, D), dtype=np.float32)
    for h in 2, np.full((B, 1, 1), 2.0), Tensor(np.array(2.0), requires_grad=True):
        assert gaussian(q, k, h).dtype == np.float32
    q = Tensor(q, requires_grad=True)
    gaussian(q, k, h).backward(np.ones((B, L, S)))
    assert q.grad.dtype == np.float32 and h.grad.dtype == np.float64


# the layer


@pytest.mark.parametrize("far", [-1e4, 1e4])
def test_an_extreme_parameter_gives_finite_contexts(far):
    layer = GaussianAttention()
    layer.log_bandwidth.data = np.float32(far)
    arrays = draw((B, L, D), (B, S, D), (B, S, Ev))
    assert np.isfinite(layer(*arrays).data).all()
    assert repr(GaussianAttention(0.5)).startswith("GaussianAttention(bandwidth=0.5,")
