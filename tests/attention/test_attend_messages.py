"""The template of attention: what it says of wrong arguments."""

import numpy as np
import pytest

from attention.attend import attend

from ..minigrad.array_cases import draw
from .attend_cases import B, Ev, L, S


def ok():
    return dict(
        zip(("query", "keys", "values"), draw((B, L, 6), (B, S, 6), (B, S, Ev)))
    )


BAD = [
    (
        {"query": np.zeros((B, L, 6), int)},
        TypeError,
        "attend: query is int64; expected floating-point numbers. Write 1.0 for 1, or "
        "use .astype(np.float32).",
    ),
    (
        {"keys": np.zeros(6)},
        ValueError,
        "attend: keys has shape (6,); expected (..., S, Dk). A single vector x is "
        "x[None, :], one row.",
    ),
    (
        {"values": np.zeros((B, 3, Ev))},
        ValueError,
        "attend: keys has shape (2, 5, 6) and values has shape (2, 3, 11); expected "
        "(..., S, Dk) and (..., S, Ev), one value for each key.",
    ),
    (
        {"values": np.zeros((3, S, Ev))},
        ValueError,
        "attend: query (2, 3, 6), keys (2, 5, 6) and values (3, 5, 11) differ before "
        "their last two axes; expected the same leading axes (batch, heads), or 1, or "
        "none.",
    ),
    (
        {"score": "additive"},
        TypeError,
        "attend: score is 'additive'; expected a function (query, keys) -> scores, or "
        "one of the names 'dot', 'scaled_dot'. A score with parameters is a function "
        "that binds them: lambda q, k: general(q, k, W_a).",
    ),
    (
        {"score": lambda q, k: k @ q.swapaxes(-1, -2)},
        ValueError,
        "attend: score gave shape (2, 5, 3); expected a Tensor of shape (2, 3, 5), a "
        "number for each query of (2, 3, 6) and each key of (2, 5, 6).",
    ),
    (
        {"score": lambda q, k: q.data @ k.data.swapaxes(-1, -2)},
        ValueError,
        "attend: score gave a ndarray; expected a Tensor of shape (2, 3, 5), a number "
        "for each query of (2, 3, 6) and each key of (2, 5, 6).",
    ),
    (
        {"bias": np.ones((L, S), bool)},
        TypeError,
        "attend: bias is bool; expected floating-point numbers, which are added to the "
        "scores. What may attend to what is a boolean mask=.",
    ),
    (
        {"bias": np.zeros((4, B, L, S))},
        ValueError,
        "attend: bias has shape (4, 2, 3, 5); expected one that broadcasts to the "
        "scores, (2, 3, 5).",
    ),
    (
        {"bias": np.zeros(L)},
        ValueError,
        "attend: bias has shape (3,); expected one that broadcasts to the scores, "
        "(2, 3, 5).",
    ),
    (
        {"dropout_p": 1.5, "training": False},
        ValueError,
        "dropout: p is 1.5; expected a probability, from 0 to 1.",
    ),
]


@pytest.mark.parametrize("change, kind, message", BAD)
def test_messages(change, kind, message):
    with pytest.raises(kind) as error:
        attend(**{**ok(), **change})
    assert str(error.value) == message


@pytest.mark.parametrize(
    "change, kind, names",
    [
        ({"mask": np.ones((L, S), int)}, TypeError, ["mask", "int64"]),
        ({"mask": np.ones((L, 4), bool)}, ValueError, ["mask", "(3, 4)", "(2, 3, 5)"]),
        ({"valid_lens": [2, 6]}, ValueError, ["valid_lens", "6", "5"]),
        ({"valid_lens": [2, 5, 1]}, ValueError, ["valid_lens", "(3,)"]),
        ({"keys": np.zeros((B, S, 4))}, ValueError, ["(2, 3, 6)", "(2, 5, 4)"]),
        ({"temperature": 0.0}, ValueError, ["temperature"]),
    ],
)
def test_what_the_parts_refuse_the_template_refuses(change, kind, names):
    with pytest.raises(kind) as error:
        attend(**{**ok(), **change})
    assert all(name in str(error.value) for name in names), str(error.value)
