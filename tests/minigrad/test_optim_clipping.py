"""Clipping scales gradients to their joint norm, or refuses."""

import numpy as np
import pytest

from minigrad import optim
from minigrad.tensor import Tensor



def test_clipping_scales_to_the_joint_norm_and_returns_the_norm_before():
    a, b = Tensor(np.zeros(1), True), Tensor(np.zeros((1, 2)), True)
    a.grad, b.grad = np.array([6.0]), np.array([[0.0, 8.0]])
    arrays = a.grad, b.grad
    assert optim.clip_grad_norm_([a, b], 5.0) == 10.0
    scale = 5.0 / (10.0 + 1e-6)
    np.testing.assert_allclose(a.grad, [6 * scale], rtol=1e-15)
    np.testing.assert_allclose(b.grad, [[0, 8 * scale]], rtol=1e-15)
    assert a.grad is arrays[0] and b.grad is arrays[1]


def test_clipping_leaves_short_and_missing_gradients_alone():
    a, b = Tensor(np.zeros(2), True), Tensor(np.zeros(2), True)
    assert optim.clip_grad_norm_([a, b], 1.0) == 0.0
    a.grad = np.array([0.3, 0.4])
    assert optim.clip_grad_norm_(iter([a, b]), 1.0) == pytest.approx(0.5)
    np.testing.assert_array_equal(a.grad, [0.3, 0.4])
    assert optim.clip_grad_norm_(a, 0.05) == pytest.approx(0.5)
    np.testing.assert_allclose(a.grad, [0.03, 0.04], rtol=1e-4)  # the 1e-6 shows here


def test_clipping_gradients_whose_squares_overflow():
    a = Tensor(np.zeros(2, np.float32), True)
    a.grad = np.array([3e30, 4e30], np.float32)
    assert optim.clip_grad_norm_([a], 1.0) == pytest.approx(5e30)
    np.testing.assert_allclose(a.grad, [0.6, 0.8], rtol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_clipping_refuses_nan_and_infinity_and_changes_nothing(bad):
    a, b, unused = (Tensor(np.zeros(2), True) for _ in range(3))
    a.grad, b.grad = np.array([30.0, 40.0]), np.array([1.0, bad])
    with pytest.raises(FloatingPointError, match=r"of params \[2\] hold NaN or inf"):
        optim.clip_grad_norm_([a, unused, b], 1.0)
    np.testing.assert_array_equal(a.grad, [30.0, 40.0])
    np.testing.assert_array_equal(b.grad, [1.0, bad])
