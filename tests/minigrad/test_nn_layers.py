"""Layers hand their parameters and options to the operations of tests/ops."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn

from .nn_cases import IDS, NAMES, Model


X = np.random.default_rng(0).standard_normal((2, 3, 5)) * 4 + 2
IDS_OF_WORDS = np.array([[0, 5], [5, 2]])


@pytest.mark.parametrize("layer, op, x", [
    (nn.LayerNorm(5, eps=0.1), lambda x, *P: mg.layer_norm(x, *P, 0.1), X),
    (nn.LayerNorm((3, 5), eps=0.1), lambda x, *P: mg.layer_norm(x, *P, 0.1), X),
    (nn.RMSNorm(5, eps=0.1), lambda x, w: mg.rms_norm(x, w, 0.1), X),
    (nn.Embedding(6, 3), mg.embedding, IDS_OF_WORDS),
], ids=str)  # fmt: skip
def test_a_layer_is_its_operation_with_its_parameters(layer, op, x):
    for p in layer.parameters():
        p.data = np.random.default_rng(1).standard_normal(p.shape)
    np.testing.assert_array_equal(layer(x).data, op(x, *layer.parameters()).data)


def test_the_text_of_a_layer_with_one_number():
    assert repr(nn.RMSNorm(5, eps=0.1)) == "RMSNorm(5, eps=0.1)"


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
