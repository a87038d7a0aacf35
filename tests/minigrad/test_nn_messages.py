"""What layers and their operations say of arguments that do not fit."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor, nn

from ..messages import check_message

ones = np.ones
B, T, D, H = 3, 5, 7, 2
x = ones((B, T, D))
GRU_WEIGHTS = {"weight_ih": ones((3 * H, D)), "weight_hh": ones((3 * H, H))}


def gru(**changes):
    arguments = {"x": x, "h0": ones((B, H)), **GRU_WEIGHTS, **changes}
    return lambda: mg.gru(**arguments)


def gru_cell(**changes):
    arguments = {"x": x[:, 0], "h": ones((B, H)), **GRU_WEIGHTS, **changes}
    return lambda: mg.gru_cell(**arguments)


def lstm(**changes):
    states = {"h0": ones((B, H)), "c0": ones((B, H))}
    weights = {"weight_ih": ones((4 * H, D)), "weight_hh": ones((4 * H, H))}
    return lambda: mg.lstm(**({"x": x} | states | weights | changes))


REFUSED = [  # call, exception, fragments of the message
    (lambda: nn.Linear(5, 3)(ones((2, 4))), ValueError,
     "Linear: x has shape (2, 4)", "(..., in_features) = (..., 5)"),
    (lambda: nn.Linear(5, 3)(1.0), ValueError, "Linear: x has shape ()"),
    (lambda: nn.Linear(5, 3)(ones((2, 5), int)), TypeError, "Linear: x is int64",
     "expected floating-point numbers"),
    (lambda: nn.Linear(3.5, 4), TypeError, "Linear: in_features is 3.5"),
    (lambda: nn.Linear(4, 0), ValueError, "Linear: out_features is 0", "1 or more"),
    (lambda: nn.Linear(5, 3, rng=0), TypeError, "rng", "numpy.random.Generator", "int"),
    (lambda: nn.LayerNorm((3, 5))(ones((3, 4))), ValueError, "layer_norm: weight",
     "(3, 5)", "(3, 4)"),
    (lambda: nn.LayerNorm(4)(ones((3, 4), int)), TypeError, "LayerNorm: x is int64"),
    (lambda: nn.Embedding(6, 3, padding_idx=6), ValueError,
     "Embedding: padding_idx is 6", "from -6 to 5"),
    (lambda: nn.Embedding(0, 4), ValueError, "Embedding: num_embeddings is 0"),
    (lambda: nn.Embedding(6, 3)([[0, 6]]), IndexError, "embedding: ids hold 6",
     "0 to 5"),
    (lambda: nn.Embedding(6, 3)(ones(2)), TypeError, "Embedding: ids are float64",
     "expected integers"),
    (lambda: nn.Dropout(-0.1), ValueError, "Dropout: p is -0.1", "probability"),
    (lambda: nn.Dropout("a"), TypeError, "Dropout: p is 'a'", "probability"),
    (lambda: nn.init.xavier_uniform_(Tensor(ones(3))), ValueError, "xavier_uniform_",
     "(out, in)", "(3,)"),
    (gru(x=ones((5, 7))), ValueError, "gru: x has shape (5, 7)", "(B, T, I)"),
    (gru(x=ones((3, 0, 7))), ValueError, "gru: x has no time steps"),
    (gru(x=ones((3, 5, 7), int)), TypeError, "gru: x is int64"),
    (gru(x=x.astype(np.float32)), TypeError, "gru: x is float32 and h0 float64"),
    (lstm(c0="zeros"), TypeError, "lstm: c0 is of type str"),
    (lstm(weight_hh=ones((6, 2))), ValueError, "lstm: weight_hh has shape (6, 2)",
     "(4H, H) = (8, 2)"),
    (gru(x=ones((3, 5, 4))), ValueError, "gru: weight_ih has shape (6, 7)",
     "(3H, I) = (6, 4)", "with x (3, 5, 4) as (B, T, I)"),
    (gru(h0=ones((1, 2))), ValueError, "gru: h0 has shape (1, 2)", "(B, H) = (3, H)"),
    (lstm(c0=ones((3, 7))), ValueError, "lstm: c0 has shape (3, 7)", "= (3, 2)"),
    (gru(bias_hh=ones(5)), ValueError, "gru: bias_hh has shape (5,)", "(3H,) = (6,)"),
    (gru(lengths=[3, 6, 1]), ValueError, "gru: lengths hold 6", "from 1 to 5"),
    (lstm(lengths=[3, 5, 0]), ValueError, "lstm: lengths hold 0", "from 1 to 5"),
    (gru(lengths=[3.0, 5.0, 1.0]), TypeError, "gru: lengths are float64"),
    (gru(lengths=[3, 5]), ValueError, "gru: lengths have shape (2,)", "(B,) = (3,)"),
    (gru_cell(x=x), ValueError, "gru_cell: x has shape (3, 5, 7)", "(B, I)"),
    (gru_cell(h=ones((3, 1))), ValueError, "gru_cell: weight_", "= (3, 7)"),
    (lambda: nn.GRU(7, 2)(ones((5, 7))), ValueError, "GRU: x has shape (5, 7)",
     "(B, T, input_size) = (B, T, 7)"),
    (lambda: nn.LSTM(7, 2)(ones((3, 5, 4))), ValueError, "LSTM: x has shape (3, 5, 4)"),
    (lambda: nn.GRU(7, 2)(ones((3, 5, 7), int)), TypeError, "GRU: x is int64"),
    (lambda: nn.GRU(7, 2, 2, bidirectional=True)(x, ones((2, 3, 2))), ValueError,
     "GRU: h0 has shape (2, 3, 2)", "= (4, 3, 2)"),
    (lambda: nn.LSTM(7, 2)(x, (ones((1, 3, 2)), ones((3, 2)))), ValueError,
     "LSTM: c0 has shape (3, 2)",
     "(num_layers * directions, B, hidden_size) = (1, 3, 2)"),
    (lambda: nn.LSTM(7, 2)(x, Tensor(ones((1, 3, 2)))), TypeError,
     "LSTM: state is of type Tensor", "pair (h0, c0)"),
    (lambda: nn.LSTM(7, 2)(x, (ones((1, 3, 2)),)), TypeError,
     "LSTM: state is of type tuple", "pair (h0, c0)"),
    (lambda: nn.GRU(7, 2)(x, lengths=[5, 5, 6]), ValueError, "lengths hold 6"),
    (lambda: nn.GRU(7, 2, num_layers=0), ValueError, "GRU: num_layers is 0"),
    (lambda: nn.LSTM(7, 2, dropout=1.5), ValueError, "LSTM: dropout is 1.5"),
    (lambda: nn.GRU(7, 2, num_layers=10**30), ValueError, "GRU: num_layers is 1000",
     "a whole number from 1 to 1000"),
    (lambda: nn.Embedding(6, 3, padding_idx=1.0), TypeError,
     "Embedding: padding_idx is 1.0", "whole number"),
    (lambda: nn.LayerNorm((3, 0)), ValueError, "LayerNorm: normalized_shape is 0"),
    (lambda: nn.GRUCell(7, 2)(ones((3, 4))), ValueError, "GRUCell: x has shape (3, 4)",
     "(B, input_size) = (B, 7)"),
    (lambda: nn.LSTMCell(7, 2)(ones((3, 7)), (ones((3, 2)), ones((1, 2)))), ValueError,
     "LSTMCell: c has shape (1, 2)", "(B, hidden_size) = (3, 2)"),
]  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[2])
def test_refused(case):
    call, exception, *fragments = case
    check_message(call, fragments, exception)
