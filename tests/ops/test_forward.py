"""Values: equal to the definition, in both precisions, for every kind of array."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.registry import OPS

from .catalogue import EVERY_CASE, FIRST_CASES, REGISTERED
from .harness import assert_close, awkward
from .spec import as_tuple

SUMS = 64  # roundings: sums of up to some hundred entries, in another order


def test_the_operations_of_minigrad_are_public():
    for name in REGISTERED:
        if OPS[name].__module__.startswith("minigrad"):
            public = getattr(mg, name)
            assert getattr(public, "unchecked", public) is OPS[name]  # within @shapes


@pytest.mark.parametrize("spec, case", EVERY_CASE)
def test_forward_equals_the_definition(spec, case):
    case = spec.case(case)
    expected = as_tuple(case.run(spec.reference))
    with mg.no_grad():
        outputs = as_tuple(case.run(spec.op))
    assert len(outputs) == len(expected)
    for y, reference in zip(outputs, expected):
        assert isinstance(y, mg.Tensor) and not y.requires_grad
        assert y.dtype == np.float64
        assert_close(y.data, reference, SUMS)


@pytest.mark.parametrize("spec, case", FIRST_CASES)
def test_views_that_are_read_only(spec, case):
    """The same values; gradcheck tries other layouts for gradients, and finds writes."""
    case = spec.case(case)
    outputs, _ = case.run(spec.op.raw)
    views, _ = case.map(awkward).run(spec.op.raw)
    for y, other in zip(as_tuple(outputs), as_tuple(views)):
        assert_close(other, y, SUMS)
