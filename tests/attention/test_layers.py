"""The layers: parameters, gradients, dropout and the weights of the last call."""

import math

import numpy as np
import pytest

from attention.template import attend
from attention.layers import AdditiveAttention, DotProductAttention, GeneralAttention
from attention.scores import additive, general, scaled_dot
from attention.variants.luong import LuongAttention
from minigrad import Tensor

B, L, S, Dq, Dk, A, Ev = 2, 3, 5, 7, 4, 6, 11
close = {"rtol": 1e-5, "atol": 1e-6}  # float32 sums of some numbers near 1

LAYERS = {
    "dot": lambda **options: DotProductAttention(**options),
    "general": lambda **options: GeneralAttention(Dq, Dk, **options),
    "additive": lambda **options: AdditiveAttention(Dq, Dk, A, **options),
}


def inputs(kind, seed=0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    shapes = (B, L, Dq), (B, S, Dq if kind == "dot" else Dk), (B, S, Ev)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def layer(kind, **options):
    return LAYERS[kind](rng=np.random.default_rng(0), **options)


def test_parameters_have_the_names_and_shapes_of_the_equations():
    shapes = {
        kind: {name: p.shape for name, p in layer(kind).named_parameters()}
        for kind in LAYERS
    }
    assert shapes == {
        "dot": {},
        "general": {"W_a": (Dq, Dk)},
        "additive": {"W_q": (A, Dq), "W_k": (A, Dk), "w_v": (A,)},
    }


@pytest.mark.parametrize("kind", LAYERS)
def test_a_layer_is_the_template_with_its_score(kind):
    module = layer(kind)
    score = {
        "dot": scaled_dot,
        "general": lambda q, k: general(q, k, module.W_a),
        "additive": lambda q, k: additive(q, k, module.W_q, module.W_k, module.w_v),
    }[kind]
    query, keys, values = inputs(kind)
    assert module.attention_weights is None
    context = module(query, keys, Tensor(values, requires_grad=True), [2, 5])
    assert context.requires_grad and not module.attention_weights.requires_grad
    expected, weights = attend(query, keys, values, score, valid_lens=[2, 5])
    np.testing.assert_allclose(context.data, expected.data, **close)
    np.testing.assert_allclose(module.attention_weights.data, weights.data, **close)


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
    query, keys, values = inputs("additive")
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
    assert repr(layer("dot")) == "DotProductAttention(dropout=0.0)"
    assert repr(layer("general")) == "GeneralAttention(7, 4, dropout=0.0)"
