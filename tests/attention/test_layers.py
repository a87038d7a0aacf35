"""The layers: parameters, dropout, the weights they keep, and what they refuse."""

import gc
import math
import weakref

import numpy as np
import pytest

import minigrad as mg
from attention.attend import attend
from attention.layers import AdditiveAttention, DotProductAttention, GeneralAttention
from attention.scores import additive, general, scaled_dot
from minigrad import Tensor

B, L, S, Dq, Dk, A, Ev = 2, 3, 5, 7, 4, 6, 11

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


def test_parameters_are_named_and_shaped_as_the_equations_have_them():
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
    context = module(query, keys, values, [2, 5])
    expected, weights = attend(query, keys, values, score, valid_lens=[2, 5])
    np.testing.assert_array_equal(context.data, expected.data)
    np.testing.assert_array_equal(module.attention_weights.data, weights.data)
    unmasked, _ = attend(query, keys, values, score)
    np.testing.assert_array_equal(module(query, keys, values).data, unmasked.data)


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("valid_lens", [None, [2, 5], [[1, 3, 5], [4, 0, 2]]])
def test_gradients_into_parameters_and_inputs(kind, valid_lens):
    result = mg.gradcheck_module(layer(kind), *inputs(kind), valid_lens)
    assert result.ok, result


def test_the_demos_of_the_page():
    """A batch of two, one query each, ten keys; lengths 2 and 6."""
    rng = np.random.default_rng(0)
    keys, values = rng.standard_normal((2, 10, 2)), rng.standard_normal((2, 10, 4))
    valid_lens = np.array([2, 6])
    for module, width in (
        (DotProductAttention(dropout=0.5), 2),
        (AdditiveAttention(query_size=20, key_size=2, num_hiddens=8, dropout=0.1), 20),
    ):
        module.eval()
        queries = rng.standard_normal((2, 1, width))
        assert module(queries, keys, values, valid_lens).shape == (2, 1, 4)
        weights = module.attention_weights.reshape((1, 1, 2, 10)).data[0, 0]
        np.testing.assert_array_equal(weights > 0, np.arange(10) < valid_lens[:, None])


@pytest.mark.parametrize("kind", LAYERS)
def test_float32_stays_float32_and_float64_data_may_be_put_in(kind):
    module = layer(kind)
    assert {p.dtype for p in module.parameters()} <= {np.dtype(np.float32)}
    context = module(*inputs(kind))
    assert context.dtype == module.attention_weights.dtype == np.float32
    for parameter in module.parameters():
        parameter.data = parameter.data.astype(np.float64)
    assert module(*inputs(kind, dtype=np.float64)).dtype == np.float64


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


@pytest.mark.parametrize("kind", ["general", "additive"])
def test_the_generator_decides_the_parameters(kind):
    def drawn(**options):
        return np.concatenate(
            [p.data.ravel() for p in LAYERS[kind](**options).parameters()]
        )

    one = drawn(rng=np.random.default_rng(1))
    np.testing.assert_array_equal(drawn(rng=np.random.default_rng(1)), one)
    assert (drawn(rng=np.random.default_rng(2)) != one).all()
    mg.manual_seed(4)
    default = drawn()
    mg.manual_seed(4)
    np.testing.assert_array_equal(drawn(), default)


@pytest.mark.parametrize("kind", LAYERS)
def test_dropout_in_training_only(kind):
    query, keys, values = inputs(kind)
    module = LAYERS[kind](dropout=0.5, rng=np.random.default_rng(0))
    dropped = [module(query, keys, values) for _ in range(2)]
    assert (dropped[0].data != dropped[1].data).any()
    np.testing.assert_allclose(  # before dropout: float32 sums of S weights
        module.attention_weights.data.sum(-1), 1, rtol=1e-6
    )
    module.eval()
    plain = module(query, keys, values)
    np.testing.assert_array_equal(module(query, keys, values).data, plain.data)
    weights = module.attention_weights.data
    np.testing.assert_allclose(weights @ values, plain.data, rtol=1e-5, atol=1e-6)
    assert (dropped[0].data != plain.data).any()


def test_dropout_draws_from_the_generator_of_the_layer():
    query, keys, values = inputs("dot")
    one, two, other = (
        DotProductAttention(0.5, np.random.default_rng(seed))(query, keys, values).data
        for seed in (7, 7, 8)
    )
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


@pytest.mark.parametrize("kind", LAYERS)
def test_the_kept_weights_hold_no_graph(kind):
    module = layer(kind)
    assert module.attention_weights is None
    query, keys, values = inputs(kind)
    leaf = Tensor(values, requires_grad=True)
    product = leaf * 1.0
    context = module(query, keys, product, [2, 5])
    assert not module.attention_weights.requires_grad
    node = weakref.ref(product)
    (context * context).sum().backward()
    del context, product
    gc.collect()
    assert node() is None
    assert leaf.grad is not None


def test_kept_weights_are_no_parameters_and_not_saved():
    module = layer("additive")
    module(*inputs("additive"))
    assert set(module.state_dict()) == {"W_q", "W_k", "w_v"}
    assert len(list(module.parameters())) == 3


def test_state_moves_to_another_layer():
    query, keys, values = inputs("additive")
    one, other = layer("additive"), AdditiveAttention(Dq, Dk, A)
    assert (one(query, keys, values).data != other(query, keys, values).data).any()
    other.load_state_dict(one.state_dict())
    np.testing.assert_array_equal(
        one(query, keys, values).data, other(query, keys, values).data
    )


@pytest.mark.parametrize("kind", LAYERS)
def test_nan_in_the_padding_stays_there(kind):
    query, keys, values = inputs(kind)
    module = layer(kind)
    clean = module(query, keys, values, [2, 5]).data
    keys[0, 2:] = values[0, 2:] = np.nan
    leaves = [Tensor(a, requires_grad=True) for a in (query, keys, values)]
    context = module(*leaves, [2, 5])
    np.testing.assert_array_equal(context.data, clean)
    context.backward(np.ones(context.shape))
    for tensor in (*leaves, *module.parameters()):
        assert np.isfinite(tensor.grad).all() and (tensor.grad != 0).any()


@pytest.mark.parametrize(
    "module, shapes, message",
    [
        (
            AdditiveAttention(20, 2, 8),
            [(2, 1, 2), (2, 10, 2)],
            "AdditiveAttention(20, 2, 8, dropout=0.0): queries has shape (2, 1, 2); "
            "expected a last axis of 20, the layer's query_size.",
        ),
        (
            GeneralAttention(4, 6),
            [(2, 1, 4), (2, 10, 4)],
            "GeneralAttention(4, 6, dropout=0.0): keys has shape (2, 10, 4); expected "
            "a last axis of 6, the layer's key_size.",
        ),
    ],
)
def test_widths_that_do_not_fit(module, shapes, message):
    with pytest.raises(ValueError) as error:
        module(*map(np.zeros, shapes), np.zeros((2, 10, 4)))
    assert str(error.value) == message


@pytest.mark.parametrize("kind", LAYERS)
def test_dropout_is_a_probability(kind):
    with pytest.raises(ValueError) as error:
        layer(kind, dropout=1.1)
    name = type(layer(kind)).__name__
    assert str(error.value) == (
        f"{name}: dropout is 1.1; expected a probability, from 0 to 1."
    )


@pytest.mark.parametrize("kind", ["general", "additive"])
def test_a_seed_is_no_generator(kind):
    with pytest.raises(TypeError) as error:
        LAYERS[kind](rng=0)
    assert str(error.value) == (
        "rng must be a numpy.random.Generator, such as np.random.default_rng(0); found "
        "int."
    )


def test_a_layer_says_what_it_is():
    assert repr(layer("dot")) == "DotProductAttention(dropout=0.0)"
    assert repr(layer("general")) == "GeneralAttention(7, 4, dropout=0.0)"
    assert repr(layer("additive", dropout=0.1)) == (
        "AdditiveAttention(7, 4, 6, dropout=0.1)"
    )
