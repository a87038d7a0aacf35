"""The layers: subclasses, initial values, and the weights of the last call."""

import math

import numpy as np
import pytest

from attention.layers import AdditiveAttention, DotProductAttention, GeneralAttention
from attention.variants.luong import LuongAttention
from minigrad import Tensor

from ..minigrad.array_cases import draw

B, L, S, Dq, Dk, A, Ev = 2, 3, 5, 7, 4, 6, 11
close = {"rtol": 1e-5, "atol": 1e-6}  # float32 sums of some numbers near 1


def test_the_weights_of_the_last_call_are_kept_without_their_graph():
    module = DotProductAttention()
    assert module.attention_weights is None
    q, k, v = draw((B, L, Dq), (B, S, Dq), (B, S, Ev))
    context = module(q, k, Tensor(v, requires_grad=True), [2, 5])
    assert context.requires_grad and not module.attention_weights.requires_grad
    np.testing.assert_allclose(module.attention_weights.data @ v, context.data)


def thrice(name):
    """Return a mixin that multiplies the result of a method by 3."""

    def method(self, *arguments):
        return getattr(super(mixin, self), name)(*arguments) * 3.0

    mixin = type("Mixin", (), {name: method})
    return mixin


@pytest.mark.parametrize("name", ["score", "project", "score_projected"])
@pytest.mark.parametrize("base", [
    lambda *mixin: type("Mine", (*mixin, AdditiveAttention), {})(Dq, Dk, A),
    lambda *mixin: type("Mine", (*mixin, GeneralAttention), {})(Dq, Dk),
    lambda *mixin: type("Mine", (*mixin, LuongAttention), {})("general", Dq, Dk),
    lambda *mixin: type("Mine", (*mixin, LuongAttention), {})("concat", Dq, Dk),
])  # fmt: skip
def test_one_overridden_method_counts_with_and_without_precompute(base, name):
    query, keys, values = draw((B, L, Dq), (B, S, Dk), (B, S, Ev), dtype=np.float32)
    mine, parent = base(thrice(name)), base()
    parent.load_state_dict(mine.state_dict())
    context = mine(query, keys, values)
    np.testing.assert_allclose(
        mine(query, mine.precompute(keys), values).data, context.data, **close
    )
    assert abs(parent(query, keys, values).data - context.data).max() > 0.01


def test_xavier_uniform_fills_its_interval():
    """U(-a, a) with a = sqrt(6 / (in + out)); w_v maps to one number, so out = 1."""
    rng = np.random.default_rng(0)
    additive = AdditiveAttention(300, 200, 100, rng=rng)
    small = [AdditiveAttention(2, 2, 1, rng=rng).w_v.data for _ in range(1000)]
    for drawn, fans in (
        (additive.W_q.data, 300 + 100),
        (additive.W_k.data, 200 + 100),
        (GeneralAttention(300, 200, rng=rng).W_a.data, 300 + 200),
        (np.array(small), 1 + 1),
    ):
        a = math.sqrt(6 / fans)
        # n >= 1000 draws all miss the outer hundredth with probability < 0.99^n, 4e-5
        assert 0.99 * a < np.abs(drawn).max() <= a
        # their mean has the deviation a / sqrt(3 n)
        assert abs(drawn.mean()) < 4 * a / math.sqrt(3 * drawn.size)


def test_a_layer_prints_its_sizes():
    assert repr(DotProductAttention()) == "DotProductAttention(dropout=0.0)"
    assert repr(GeneralAttention(7, 4)) == "GeneralAttention(7, 4, dropout=0.0)"
