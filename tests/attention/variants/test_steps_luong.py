"""Luong's attention is the score of each of his names."""

import math

import numpy as np
import pytest

import minigrad as mg
from attention.layers import GeneralAttention
from attention.scores import concat, dot, general
from attention.variants.luong import LuongAttention
from minigrad import Tensor

from ...minigrad.array_cases import draw
from .steps_cases import SIZES, A, B, E, H, M, S, T, generator, luong


@pytest.mark.parametrize("kind", SIZES)
def test_luong_attention_is_the_score_of_that_name(kind):
    module = luong(kind, **({"num_hiddens": A} if kind == "concat" else {}))
    Dq, Dk = SIZES[kind]
    q, k = draw((B, T, Dq), (B, S, Dk), dtype=np.float32)
    expected = {
        "dot": lambda: dot(q, k),
        "general": lambda: general(q, k, module.W_a),
        "concat": lambda: concat(q, k, module.W_a, module.v_a),
    }[kind]()
    np.testing.assert_array_equal(
        module.score(Tensor(q), Tensor(k)).data, expected.data
    )
    shapes = {
        "dot": {},
        "general": {"W_a": (H, M)},
        "concat": {"W_a": (A, H + M), "v_a": (A,)},
    }
    assert {n: p.shape for n, p in module.named_parameters()} == shapes[kind]


@pytest.mark.parametrize("kind", SIZES)
def test_gradients_of_luong_attention(kind):
    Dq, Dk = SIZES[kind]
    arrays = draw((B, T, Dq), (B, S, Dk), (B, S, E))
    assert mg.gradcheck_module(luong(kind), *arrays, [2, 5]).ok


def test_general_has_a_layer_of_its_own():
    one, other = luong("general"), GeneralAttention(H, M, rng=generator())
    arrays = draw((B, T, H), (B, S, M), (B, S, E))
    np.testing.assert_array_equal(one(*arrays).data, other(*arrays).data)


def test_concat_draws_within_xaviers_bounds():
    module = LuongAttention("concat", 100, 200, 300, rng=generator())
    for parameter, fans in (module.W_a, 600), (module.v_a, 301):
        a, drawn = math.sqrt(6 / fans), abs(parameter.data)
        assert 0.95 * a < drawn.max() <= a  # 300 draws all miss that: 0.95^300 = 2e-7
    assert len(LuongAttention("concat", 10, 20).v_a) == 10


def test_luong_attention_says_what_it_is():
    assert repr(luong("concat")) == "LuongAttention('concat', 4, 7, 4, dropout=0.0)"
    assert repr(luong("dot", dropout=0.1)) == "LuongAttention('dot', 4, 4, dropout=0.1)"
