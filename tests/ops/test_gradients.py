"""Gradients: equal to finite differences, and of the right dtype and memory."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import minigrad as mg
from minigrad.overwriting import saved_arrays

from .catalogue import CHECKED_CASES, FIRST_CASES
from .harness import assert_close, awkward, cotangents, pull, through_engine
from .spec import Case, as_tuple


@pytest.mark.parametrize("spec, case", CHECKED_CASES)
def test_gradcheck(spec, case):
    case = spec.case(case)
    result = mg.gradcheck(lambda *t: case.run(spec.op, t), case.inputs())
    assert result.ok, result.message


@pytest.mark.parametrize("dtype", [np.float32, np.longdouble])
@pytest.mark.parametrize("spec, case", FIRST_CASES)
def test_another_precision(spec, case, dtype):
    """Values and gradients as in float64, and of that dtype; sums of hundreds of terms.

    float32 has half the digits of float64, and longdouble at least as many.
    """
    case = spec.case(case).map(lambda a: a.astype(np.float32).astype(dtype))
    if spec.name == "astype":
        pytest.skip("astype changes the dtype; see test_engine_arrays.py")
    values, gradients = through_engine(spec.op, case)
    found, found_gradients = through_engine(spec.op, case, dtype)
    for d, reference in zip(found + found_gradients, values + gradients, strict=True):
        assert d.dtype == dtype and d.shape == reference.shape
        if dtype is np.longdouble:
            d = d.astype(np.float64)
        assert_close(d, reference, 128)


@pytest.mark.parametrize("spec, case", FIRST_CASES)
def test_a_backward_in_float32_computes_in_float32(spec, case):
    """The engine would convert its gradients: no result shows the float64 between."""
    case = spec.case(case).map(lambda a: a.astype(np.float32))
    if spec.name == "astype":
        pytest.skip("astype changes the dtype")
    outputs, backward = case.run(spec.op.raw)
    gradients = pull(case, outputs, backward, cotangents(as_tuple(outputs)))
    assert {d.dtype for d in gradients if d is not None} <= {np.dtype(np.float32)}


@pytest.mark.parametrize("spec, case", FIRST_CASES)
def test_gradients_are_nobody_elses(spec, case):
    """New arrays, or g, or views of g: never an input, a saved array, or each other."""
    case = spec.case(case)
    outputs, backward = case.run(spec.op.raw)
    g = [awkward(each) for each in cotangents(as_tuple(outputs))]
    gradients = [d for d in pull(case, outputs, backward, g) if d is not None]
    kept = saved_arrays(SimpleNamespace(backward=backward))
    for i, d in enumerate(gradients):
        if any(np.may_share_memory(d, each) for each in g):
            continue
        for name, others in {
            "an input": case.inputs(),
            "an output": as_tuple(outputs),
            "a saved array": kept,
            "another gradient": gradients[:i],
        }.items():
            assert not any(np.may_share_memory(d, other) for other in others), name


@pytest.mark.parametrize("spec, case", FIRST_CASES)
def test_a_finite_value_of_large_numbers_has_no_gradient_of_nan(spec, case):
    """Of 1e4 in any input, and of infinity in an only one."""
    case = spec.case(case)
    inputs = case.inputs()
    numbers = (1e4, -1e4) + (np.inf, -np.inf) * (len(inputs) == 1)
    for number, i in itertools.product(numbers, range(len(inputs))):
        if not inputs[i].size:
            continue
        large = [x.copy() for x in inputs]
        large[i][(0,) * large[i].ndim] = number
        with np.errstate(all="ignore"):
            found, gradients = through_engine(
                spec.op, Case(tuple(case.with_inputs(large)), case.options)
            )
        if all(np.isfinite(y).all() for y in found):
            assert not any(np.isnan(d).any() for d in gradients), (number, i)
