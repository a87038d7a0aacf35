"""One rule for integers and booleans, in every operation.

A function whose values are real numbers computes in float64, for an integer of any
size. A sum, a product or a choice of integers follows NumPy and keeps integers. An
operation that refuses integers refuses all of them.
"""

import sys

import numpy as np
import pytest

import minigrad as mg

from .catalogue import FIRST_CASES
from .spec import as_tuple

PUBLIC = {  # operation: the function with its shape line, which may refuse integers
    function.unchecked: function
    for module in list(sys.modules.values())
    if module.__name__.startswith(("minigrad", "attention"))
    for function in vars(module).values()
    if hasattr(function, "unchecked")
}
SMALL = [bool, np.uint8, np.int8, np.uint16, np.int16, np.int32]


def outputs(spec, case, dtype, largest):
    """Return the results for whole numbers up to ``largest``; None for a refusal."""
    case = case.map(lambda a: np.abs(np.round(2 * a)).clip(0, largest).astype(dtype))
    with np.errstate(all="ignore"):
        try:
            return [y.data for y in as_tuple(case.run(PUBLIC.get(spec.op, spec.op)))]
        except (TypeError, ValueError, OverflowError):
            return None


@pytest.mark.parametrize("spec, case", FIRST_CASES)
def test_small_integers(spec, case):
    case = spec.case(case)
    for dtype in SMALL:
        largest = 1 if dtype is bool else 3
        assert outputs(spec, case, float, largest) is not None
        found = outputs(spec, case, dtype, largest)
        expected = outputs(spec, case, np.int64, largest)
        if found is None and dtype is bool:
            continue  # NumPy has no difference and no negative of booleans
        assert (found is None) == (expected is None), dtype
        for y, reference in zip(found or (), expected or ()):
            if y.dtype.kind == "f" and spec.name != "astype":
                assert y.dtype == reference.dtype == np.float64, dtype
                np.testing.assert_allclose(y, reference, rtol=1e-12)
            else:
                np.testing.assert_array_equal(y, reference.astype(y.dtype))


@pytest.mark.parametrize("dtype", [*SMALL, np.int64])
def test_a_loss_of_integers_is_computed_in_float64(dtype):
    y, target = np.array([0, 1, 1, 0], dtype), np.array([1, 0, 1, 0], dtype)
    for loss in mg.mse_loss(y, target), mg.mse_loss(mg.Tensor(y), target):
        assert loss.dtype == np.float64 and loss.item() == 0.5
    assert mg.mse_loss(np.uint8([200]), np.uint8([0])).item() == 40000
    assert mg.mse_loss(mg.Tensor(np.float32([2])), np.uint8([3])).dtype == np.float32


def test_the_slope_of_a_power_of_a_small_integer():
    b = mg.Tensor([2.0, 3.0], requires_grad=True)
    mg.pow(np.int8([3, 5]), b).sum().backward()
    np.testing.assert_allclose(b.grad, [9 * np.log(3), 125 * np.log(5)], rtol=1e-12)


def test_sums_and_products_of_small_integers_follow_numpy():
    a = np.array([200, 3], np.uint8)
    assert mg.mul(a, a).dtype == np.uint8
    assert mg.mul(a, a).tolist() == (a * a).tolist()
    assert mg.sum(a).item() == 203
