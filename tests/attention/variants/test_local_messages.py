"""Local attention: what it says of wrong options, arguments and centres."""

import numpy as np
import pytest

from .local_cases import B, Dk, Dq, Ev, L, S, example, layer, reversal

BAD = [
    (
        {"kind": "monotonic"},
        ValueError,
        "LocalAttention: kind is 'monotonic'; expected 'm' or 'p'.",
    ),
    (
        {"D": 2.5},
        TypeError,
        "LocalAttention: D is 2.5; expected a whole number.",
    ),
    (
        {"kind": "p", "D": 0},
        ValueError,
        "LocalAttention: D is 0; expected a whole number, 1 or more.",
    ),
    (
        {"score": "additive"},
        ValueError,
        "LocalAttention: score is 'additive'; expected 'dot', 'general', 'concat', or "
        "an attention layer, such as AdditiveAttention(…).",
    ),
    (
        {"score": "dot"},
        ValueError,
        "LuongAttention: 'dot' needs queries and keys of one width; found query_size 5 "
        "and key_size 3: use 'general' or 'concat'.",
    ),
    (
        {"kind": "p", "centre": reversal},
        ValueError,
        "LocalAttention: kind 'p' predicts its centres; a function for them, centre, "
        "belongs to kind 'm'.",
    ),
    (
        {"centre": 3},
        TypeError,
        "LocalAttention: centre is 3; expected a function of (t, length).",
    ),
    (
        {"renormalize": True},
        ValueError,
        "LocalAttention: renormalize belongs to kind 'p'; the weights of kind 'm' sum "
        "to 1 as they are.",
    ),
]


@pytest.mark.parametrize("options, kind, message", BAD)
def test_what_a_layer_is_not_made_of(options, kind, message):
    with pytest.raises(kind) as error:
        layer(**options)
    assert str(error.value) == message


BAD_CALLS = [
    (
        {"queries": np.zeros((B, L, 4))},
        ValueError,
        "LocalAttention: queries has shape (2, 4, 4); expected (…, L, Dq), the last "
        "axis of 5.",
    ),
    (
        {"queries": np.zeros(Dq)},
        ValueError,
        "LocalAttention: queries has shape (5,); expected (…, L, Dq), the last axis of "
        "5.",
    ),
    (
        {"keys": np.zeros((B, S, Dk), int)},
        TypeError,
        "LocalAttention: keys is int64; expected floating-point numbers.",
    ),
    (
        {"values": np.zeros((B, 8, Ev))},
        ValueError,
        "LocalAttention: queries (2, 4, 5), keys (2, 9, 3) and values (2, 8, 6) do not "
        "fit; expected (…, L, Dq), (…, S, Dk) and (…, S, Ev) with the same leading "
        "axes, and one value for each key.",
    ),
    (
        {"keys": np.zeros((1, S, Dk))},
        ValueError,
        "LocalAttention: queries (2, 4, 5), keys (1, 9, 3) and values (2, 9, 6) do not "
        "fit; expected (…, L, Dq), (…, S, Dk) and (…, S, Ev) with the same leading "
        "axes, and one value for each key.",
    ),
    (
        {"valid_lens": [9, 5, 1]},
        ValueError,
        "LocalAttention: valid_lens have shape (3,); expected (B,) or (B, L) for "
        "weights of shape (2, 4, 9), (B, …, L, S).",
    ),
    (
        {"valid_lens": [9, 10]},
        ValueError,
        "LocalAttention: valid_lens holds 10; expected numbers from 0 to 9, the number "
        "of keys.",
    ),
    (
        {"valid_lens": [9.0, 5.0]},
        TypeError,
        "LocalAttention: valid_lens holds float64; expected whole numbers.",
    ),
    (
        {"start": -1},
        ValueError,
        "LocalAttention: start is -1; expected a whole number, 0 or more.",
    ),
]


@pytest.mark.parametrize("change, kind, message", BAD_CALLS)
def test_what_a_call_refuses(change, kind, message):
    good = dict(zip(("queries", "keys", "values"), example()))
    with pytest.raises(kind) as error:
        layer()(**{**good, **change})
    assert str(error.value) == message


@pytest.mark.parametrize(
    "centre, message",
    [
        (
            lambda t, length: t * np.nan,
            "LocalAttention: centre gave NaN or infinity; expected numbers, the middle "
            "of each window.",
        ),
        (
            lambda t, length: "middle",
            "LocalAttention: centre gave an array of <U6; expected numbers, the middle "
            "of each window.",
        ),
        (
            lambda t, length: np.arange(3),
            "LocalAttention: centre gave shape (3,); expected one that broadcasts to "
            "(2, 4), a number for each query.",
        ),
    ],
)
def test_what_a_centre_may_not_be(centre, message):
    with pytest.raises(ValueError) as error:
        layer(centre=centre)(*example())
    assert str(error.value) == message
