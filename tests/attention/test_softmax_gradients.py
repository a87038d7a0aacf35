"""Masked softmax has the gradients of its definition, and leaves inputs alone."""

import numpy as np
import pytest

import minigrad as mg
from attention.softmax import masked_softmax
from minigrad import Tensor

from .kernels.kernel_cases import BACKENDS, running
from .softmax_cases import B, L, S, draw, masks


@pytest.fixture(params=BACKENDS, autouse=True)
def backend(request):
    with running(request.param):
        yield


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"valid_lens": [2, 5]},
        {"valid_lens": [[5, 2, 0, 3], [1, 5, 4, 5]]},
        {"mask": masks()["full"][:, 0]},
        {"mask": masks()["pairs"], "valid_lens": [4, 3], "temperature": 0.4},
        {"axis": 0},
        {"axis": 1, "valid_lens": [3, 2], "temperature": 2.0},
    ],
    ids=lambda options: "-".join(options) or "free",
)
def test_gradient(options):
    assert mg.gradcheck(lambda s: masked_softmax(s, **options), [draw(B, L, S)]).ok


@pytest.mark.parametrize("shape", [(B, L, S), (L, S), (B, 1, S)], ids=str)
def test_gradient_into_a_float_mask(shape):
    def function(scores, bias):
        return masked_softmax(scores, [3, 5], bias, temperature=0.6)

    assert mg.gradcheck(function, [draw(B, L, S), draw(*shape, seed=1)]).ok


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes_are_kept(dtype):
    leaf = Tensor(draw(B, L, S), requires_grad=True).detach().astype(dtype)
    leaf.requires_grad_()
    p = masked_softmax(leaf, [3, 5], temperature=np.float64(2))
    p.backward(draw(B, L, S, dtype=dtype))
    assert p.dtype == leaf.grad.dtype == dtype


def test_inputs_are_left_alone():
    scores, mask = draw(B, L, S), masks()["pairs"]
    lens = np.array([2, 5])
    for array in (scores, mask, lens):
        array.flags.writeable = False
    leaf = Tensor(scores, requires_grad=True)
    p = masked_softmax(leaf, lens, mask)
    p.backward(draw(B, L, S))
    np.testing.assert_array_equal(leaf.data, scores)
