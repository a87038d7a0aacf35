"""Values and gradients beside PyTorch's: ``pip install torch``, then run this file."""

import functools

import numpy as np
import pytest

from .catalogue import FIRST_CASES
from .harness import assert_close, cotangents, through_engine
from .spec import Case, as_tuple, is_input

torch = pytest.importorskip("torch")


def as_torch(a):
    """What is no input, as PyTorch wants it."""
    if is_input(a):
        return a
    if isinstance(a, (list, tuple)) and not all(type(i) is int for i in a):
        return type(a)(as_torch(each) for each in a)
    return torch.tensor(a) if isinstance(a, np.ndarray) else a


@pytest.fixture(autouse=True)
def in_float64():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.mark.filterwarnings("ignore:var.*degrees of freedom")  # of an empty array
@pytest.mark.parametrize(
    "spec, case", [each for each in FIRST_CASES if each.values[0].torch]
)
def test_as_in_torch(spec, case):
    case = spec.case(case)
    inputs = [torch.tensor(a, requires_grad=True) for a in case.inputs()]
    call = Case(tuple(map(as_torch, case.args)), case.options)
    outputs = call.run(functools.partial(spec.torch, torch), inputs)
    outputs = as_tuple(outputs)
    found, gradients = through_engine(spec.op, case)
    assert len(found) == len(outputs)
    for y, theirs in zip(found, outputs):
        assert_close(y, theirs.detach().numpy(), 128)
    torch.autograd.backward(
        outputs, [torch.tensor(g) for g in cotangents(found)], inputs=inputs
    )
    for d, theirs in zip(gradients, inputs):
        assert_close(d, theirs.grad.numpy(), 128)
