"""Layers hand their parameters and options to the operations of tests/ops."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn

from .nn_cases import IDS, NAMES, Model


def test_layer_norm():
    x = np.random.default_rng(0).standard_normal((2, 3, 5)) * 4 + 2
    for shape, axes in ((5, (2,)), ((3, 5), (1, 2))):
        layer = nn.LayerNorm(shape, eps=0.1)
        mean = x.mean(axes, keepdims=True)
        expected = (x - mean) / np.sqrt(x.var(axes, keepdims=True) + 0.1)
        np.testing.assert_allclose(layer(x).data, expected, rtol=1e-12)
        assert layer.weight.shape == layer.bias.shape == x.shape[-len(axes) :]


def test_rms_norm():
    x = np.random.default_rng(0).standard_normal((2, 3, 5)) * 4 + 2
    layer = nn.RMSNorm(5, eps=0.1)
    layer.weight.data = np.arange(5.0)
    expected = np.arange(5) * x / np.sqrt((x * x).mean(-1, keepdims=True) + 0.1)
    np.testing.assert_allclose(layer(x).data, expected, rtol=1e-12)
    assert repr(layer) == "RMSNorm(5, eps=0.1)"


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
    """That of the operation, with the layer's p and generator; in training alone."""
    x, layer = np.ones(50), nn.Dropout(0.25, np.random.default_rng(0))
    expected = mg.dropout(x, 0.25, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(layer(x).data, expected.data)
    np.testing.assert_array_equal(layer.eval()(x).data, x)


def test_gradients_of_a_model():
    """Parameters in lists and dicts, through embedding, GRU and normalisation."""
    result = mg.gradcheck_module(Model(np.random.default_rng(0)), IDS)
    assert result.tag != "kink" and len(result.rows) == len(NAMES)
    wrong = [row.input for row in result.rows if row.verdict != "ok"]
    assert wrong == ["embed.weight"]  # by design: the row of padding gets no gradient
