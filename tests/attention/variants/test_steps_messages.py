"""Luong's attention, projected keys and decoder steps: what they refuse."""

import numpy as np
import pytest

from attention.variants.coverage import CoverageAttention
from attention.variants.luong import LuongAttention
from attention.variants.steps import BahdanauStep, LuongStep

from ...minigrad.array_cases import draw
from .steps_cases import A, B, E, H, M, S, T, made


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ("additive", 4, 4),
            "LuongAttention: kind is 'additive'; expected 'dot', 'general' or "
            "'concat'.",
        ),
        (
            ("dot", 4, 6),
            "LuongAttention: 'dot' needs queries and keys of one width; found "
            "query_size 4 and key_size 6: use 'general' or 'concat'.",
        ),
        (
            ("general", 4, 6, 8),
            "LuongAttention: num_hiddens is 8, which 'general' has no use for; it "
            "belongs to 'concat'.",
        ),
    ],
)
def test_what_luong_attention_is_not_made_of(arguments, message):
    with pytest.raises(ValueError) as error:
        LuongAttention(*arguments)
    assert str(error.value) == message


@pytest.mark.parametrize("step", [BahdanauStep, LuongStep])
def test_a_step_is_given_a_layer(step):
    with pytest.raises(TypeError) as error:
        step(E, H, M, "dot")
    assert str(error.value) == (
        f"{step.__name__}: attention is 'dot'; expected a layer, such as "
        "DotProductAttention()."
    )


def test_what_a_step_refuses():
    x, h, memory = draw((B, E), (B, H), (B, S, M))
    bahdanau, luong = made("bahdanau"), made("luong")
    coverage = made("bahdanau", attention=CoverageAttention(H, M, A))
    for step, x_, state, kind, message in [
        (
            bahdanau,
            np.zeros((B, 9)),
            h,
            ValueError,
            "BahdanauStep: x has shape (2, 9); expected (B, input_size) with "
            "input_size = 2.",
        ),
        (
            luong,
            np.zeros((B, T, E)),
            luong.start(h),
            ValueError,
            "LuongStep: x has shape (2, 3, 2); expected (B, input_size) with "
            "input_size = 2.",
        ),
        (
            bahdanau,
            np.zeros((B, E), int),
            h,
            TypeError,
            "BahdanauStep: x is int64; expected floating-point numbers.",
        ),
        (
            bahdanau,
            x,
            None,
            TypeError,
            "BahdanauStep: the state is None; expected h (B, hidden_size), or (h, c) "
            "of an LSTM; zeros, if there is no encoder.",
        ),
        (
            luong,
            x,
            h,
            TypeError,
            "LuongStep: the state is a ndarray; expected the pair that start(h), or "
            "the step before, has returned.",
        ),
        (
            coverage,
            x,
            h,
            TypeError,
            "BahdanauStep: CoverageAttention returned a tuple; expected a context "
            "alone. CoverageAttention has a sum to be carried from step to step: call "
            "its method step in a loop of your own.",
        ),
    ]:
        with pytest.raises(kind) as error:
            step(x_, state, memory, memory)
        assert str(error.value) == message
    for step, state in (bahdanau, h), (luong, luong.start(h)):
        with pytest.raises(ValueError) as error:
            step(x, state, memory, memory[..., :3])
        assert str(error.value) == (
            f"{type(step).__name__}: values of width 3; expected (B, S, value_size) "
            "with value_size = 7."
        )
    with pytest.raises(TypeError) as error:
        luong.start(None)
    assert str(error.value) == (
        "LuongStep: the state is None; expected h (B, hidden_size), or (h, c) of an "
        "LSTM; zeros, if there is no encoder."
    )
