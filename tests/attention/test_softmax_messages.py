"""Masked softmax: what it says of wrong arguments."""

import numpy as np
import pytest

from attention import masks
from attention.softmax import masked_softmax
from minigrad import Tensor

from .kernels.kernel_cases import BACKENDS, running
from .softmax_cases import B, L, S, draw

BAD = [
    (
        {"scores": np.zeros((B, L, S), int)},
        TypeError,
        "masked_softmax: scores are int64; expected floating-point numbers. Write 1.0 "
        "for 1, or use .astype(np.float32).",
    ),
    (
        {"mask": np.ones((L, S), int)},
        TypeError,
        "masked_softmax: mask is int64; expected bool, where True = may attend, or "
        "float, which is added. Ones and zeros could be meant either way: write mask "
        "== 1 to allow the ones.",
    ),
    (
        {"mask": masks.causal},
        TypeError,
        "masked_softmax: mask is causal; expected an array of bool or float. A mask of "
        "attention.masks gives one: mask.dense(1, 1, L, S)[0, 0].",
    ),
    (
        {"mask": np.ones((L, S + 1), bool)},
        ValueError,
        "masked_softmax: mask has shape (4, 6); expected one that broadcasts to the "
        "scores, (2, 4, 5).",
    ),
    (
        {"mask": np.zeros((3, 1, L, S))},
        ValueError,
        "masked_softmax: mask has shape (3, 1, 4, 5); expected one that broadcasts to "
        "the scores, (2, 4, 5).",
    ),
    (
        {"valid_lens": [2, 6]},
        ValueError,
        "masked_softmax: valid_lens contain 6; expected lengths from 0 to 5, the "
        "number of keys in scores of shape (2, 4, 5).",
    ),
    (
        {"valid_lens": [-1, 3]},
        ValueError,
        "masked_softmax: valid_lens contain -1; expected lengths from 0 to 5, the "
        "number of keys in scores of shape (2, 4, 5).",
    ),
    (
        {"valid_lens": [2.0, 3.0]},
        TypeError,
        "masked_softmax: valid_lens are float64; expected whole numbers, how many keys "
        "may be attended to.",
    ),
    (
        {"valid_lens": [True, False]},
        TypeError,
        "masked_softmax: valid_lens are bool; expected whole numbers, how many keys "
        "may be attended to.",
    ),
    (
        {"valid_lens": [2, 3, 4]},
        ValueError,
        "masked_softmax: valid_lens have shape (3,) and scores (2, 4, 5); expected "
        "(B,) for scores (B, …, S), one for each example, or (B, L) for scores (B, …, "
        "L, S), one for each query.",
    ),
    (
        {"valid_lens": np.zeros((B, S), int)},
        ValueError,
        "masked_softmax: valid_lens have shape (2, 5) and scores (2, 4, 5); expected "
        "(B,) for scores (B, …, S), one for each example, or (B, L) for scores (B, …, "
        "L, S), one for each query.",
    ),
    (
        {"temperature": 0.0},
        ValueError,
        "masked_softmax: temperature is 0.0; expected a positive number, from 1e-30 "
        "to 1e30.",
    ),
    (
        {"temperature": float("nan")},
        ValueError,
        "masked_softmax: temperature is nan; expected a positive number, from 1e-30 "
        "to 1e30.",
    ),
    (
        {"temperature": Tensor(1.0)},
        TypeError,
        "masked_softmax: temperature is a Tensor; expected a number. To learn it, "
        "divide the scores by it.",
    ),
    (
        {"axis": 3},
        ValueError,
        "masked_softmax: there is no axis 3 in scores of shape (2, 4, 5).",
    ),
    (
        {"axis": None},
        TypeError,
        "masked_softmax: axis is None; expected the whole number of one axis.",
    ),
]


@pytest.fixture(params=BACKENDS, autouse=True)
def backend(request):
    with running(request.param):
        yield


@pytest.mark.parametrize("change, kind, message", BAD)
def test_messages(change, kind, message):
    with pytest.raises(kind) as error:
        masked_softmax(**{"scores": draw(B, L, S), **change})
    assert str(error.value) == message


@pytest.mark.parametrize("shape, lens", [((S,), [3]), ((B, S), [[1], [2]])])
def test_too_few_axes_for_the_lengths(shape, lens):
    with pytest.raises(ValueError, match=r"valid_lens have shape \(.*\) and scores"):
        masked_softmax(draw(*shape), lens)
