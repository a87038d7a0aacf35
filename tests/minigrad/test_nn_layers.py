"""Layers compute what their formulas and the peer say, with their gradients."""

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor, nn

from .nn_cases import IDS, NAMES, Model


def test_linear():
    rng = np.random.default_rng(0)
    layer = nn.Linear(5, 3, rng=rng)
    x = rng.standard_normal((2, 7, 5)).astype(np.float32)
    expected = np.einsum("bti,oi->bto", x, layer.weight.data) + layer.bias.data
    # sums of five float32 terms of order one
    np.testing.assert_allclose(layer(x).data, expected, rtol=1e-5, atol=1e-6)
    assert nn.Linear(5, 3, bias=False).bias is None
    assert layer(x[0, 0]).shape == (3,)


def test_layer_norm():
    x = np.random.default_rng(0).standard_normal((2, 3, 5)) * 4 + 2
    for shape, axes in ((5, (2,)), ((3, 5), (1, 2))):
        layer = nn.LayerNorm(shape, eps=0.1)
        mean = x.mean(axes, keepdims=True)
        expected = (x - mean) / np.sqrt(x.var(axes, keepdims=True) + 0.1)
        np.testing.assert_allclose(layer(x).data, expected, rtol=1e-12)
        assert layer.weight.shape == layer.bias.shape == x.shape[-len(axes) :]


def test_embedding():
    layer = nn.Embedding(6, 3, rng=np.random.default_rng(0))
    ids = np.array([[0, 5], [5, 2]])
    np.testing.assert_array_equal(layer(ids).data, layer.weight.data[ids])
    layer(ids).sum().backward()
    assert layer.weight.grad[:, 0].tolist() == [1, 0, 1, 0, 0, 2]


@pytest.mark.parametrize("padding_idx", [2, -4])
def test_the_row_of_padding_is_zero_and_stays_so(padding_idx):
    layer = nn.Embedding(6, 3, padding_idx)
    assert layer.padding_idx == 2
    layer(np.array([2, 2, 3])).sum().backward()
    assert (layer.weight.data[2] == 0).all() and (layer.weight.data[3] != 0).all()
    assert layer.weight.grad[:, 0].tolist() == [0, 0, 0, 1, 0, 0]


def test_dropout():
    layer = nn.Dropout(0.25, np.random.default_rng(0))
    x = Tensor(np.ones(40_000, np.float32), requires_grad=True)
    y = layer(x)
    y.sum().backward()
    assert set(np.unique(y.data)) == {0, np.float32(4 / 3)}
    np.testing.assert_array_equal(x.grad, y.data)
    # the share of zeros is within five standard deviations, sqrt(p (1 - p) / n)
    share = (y.data == 0).mean()
    assert abs(share - 0.25) < 5 * math.sqrt(0.25 * 0.75 / 40_000)
    np.testing.assert_array_equal(layer.eval()(x).data, x.data)
    again = nn.Dropout(0.25, np.random.default_rng(0))
    np.testing.assert_array_equal(again(x).data, y.data)


@pytest.mark.parametrize(
    "layer, x",
    [
        (lambda r: nn.Linear(5, 3, rng=r), (2, 7, 5)),
        (lambda r: nn.Linear(5, 3, bias=False, rng=r), (5,)),
        (lambda r: nn.LayerNorm((3, 5)), (2, 3, 5)),
        (lambda r: nn.Dropout(0.5, r), (3, 5)),  # off in the check, so the identity
    ],
)
def test_gradients_of_layers(layer, x):
    rng = np.random.default_rng(0)
    result = mg.gradcheck_module(layer(rng), rng.standard_normal(x))
    assert result.ok, result.message


def test_gradients_of_a_model():
    """Parameters in lists and dicts, through embedding, GRU and normalisation."""
    result = mg.gradcheck_module(Model(np.random.default_rng(0)), IDS)
    assert result.tag != "kink" and len(result.rows) == len(NAMES)
    wrong = [row.input for row in result.rows if row.verdict != "ok"]
    assert wrong == ["embed.weight"]  # by design: the row of padding gets no gradient
