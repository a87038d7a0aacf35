"""What layers and their operations say of arguments that do not fit."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor, nn

from ..messages import check_message

ones = np.ones
B, T, D, H = 3, 5, 7, 2
x = ones((B, T, D))


def gru(**changes):
    weights = {"weight_ih": ones((3 * H, D)), "weight_hh": ones((3 * H, H))}
    return lambda: mg.gru(**({"x": x, "h0": ones((B, H))} | weights | changes))


def lstm(**changes):
    states = {"h0": ones((B, H)), "c0": ones((B, H))}
    weights = {"weight_ih": ones((4 * H, D)), "weight_hh": ones((4 * H, H))}
    return lambda: mg.lstm(**({"x": x} | states | weights | changes))


REFUSED = [  # call, exception, fragments of the message
    (lambda: nn.Linear(3.5, 4), TypeError, "Linear: in_features is 3.5"),
    (lambda: nn.Linear(4, 0), ValueError, "Linear: out_features is 0", "1 or more"),
    (lambda: nn.Linear(5, 3, rng=0), TypeError, "rng", "numpy.random.Generator", "int"),
    (lambda: nn.LayerNorm((3, 5))(ones((3, 4))), ValueError, "layer_norm: weight",
     "(3, 5)", "(3, 4)"),
    (lambda: nn.Embedding(6, 3, padding_idx=6), ValueError,
     "Embedding: padding_idx is 6", "from -6 to 5"),
    (lambda: nn.Embedding(0, 4), ValueError, "Embedding: num_embeddings is 0"),
    (lambda: nn.Dropout(-0.1), ValueError, "Dropout: p is -0.1", "probability"),
    (lambda: nn.Dropout("a"), TypeError, "Dropout: p is 'a'", "probability"),
    (lambda: nn.init.xavier_uniform_(Tensor(ones(3))), ValueError, "xavier_uniform_",
     "(out, in)", "(3,)"),
    (lambda: nn.init.xavier_uniform_(ones((3, 5))), TypeError,
     "xavier_uniform_: tensor is of type ndarray", "layer.weight"),
    (lambda: nn.init.normal_([1.0]), TypeError, "normal_: tensor is of type list"),
    (lambda: nn.init.zeros_(ones(3)), TypeError, "zeros_: tensor is of type ndarray"),
    (lambda: nn.Sequential([nn.Linear(5, 3)]), TypeError,
     "Sequential: layer 0 is of type list", "Sequential(*layers)"),
    (lambda: mg.manual_seed("a"), TypeError, "manual_seed: seed is 'a'", "0 or more"),
    (lambda: mg.manual_seed(-1), ValueError, "manual_seed: seed is -1", "0 or more"),
    (lambda: mg.draw.saved_bytes(3), TypeError, "tensor is of type int", "a Tensor"),
    (gru(x=ones((3, 0, 7))), ValueError, "gru: x has no time steps"),
    (gru(lengths=[3, 6, 1]), ValueError, "gru: lengths hold 6", "from 1 to 5"),
    (lstm(lengths=[3, 5, 0]), ValueError, "lstm: lengths hold 0", "from 1 to 5"),
    (lambda: nn.LSTM(7, 2)(x, (ones((1, 3, 2)), ones((3, 2)))), ValueError,
     "LSTM: c0 has shape (3, 2)",
     "(num_layers * directions, B, hidden_size) = (1, 3, 2)"),
    (lambda: nn.LSTM(7, 2)(x, Tensor(ones((1, 3, 2)))), TypeError,
     "LSTM: state is of type Tensor", "pair (h0, c0)"),
    (lambda: nn.LSTM(7, 2)(x, (ones((1, 3, 2)),)), TypeError,
     "LSTM: state is of type tuple", "pair (h0, c0)"),
    (lambda: nn.GRU(7, 2, num_layers=0), ValueError, "GRU: num_layers is 0"),
    (lambda: nn.LSTM(7, 2, dropout=1.5), ValueError, "LSTM: dropout is 1.5"),
    (lambda: nn.GRU(7, 2, num_layers=10**30), ValueError, "GRU: num_layers is 1000",
     "a whole number from 1 to 1000"),
    (lambda: nn.Embedding(6, 3, padding_idx=1.0), TypeError,
     "Embedding: padding_idx is 1.0", "whole number"),
    (lambda: nn.LayerNorm((3, 0)), ValueError, "LayerNorm: normalized_shape is 0"),
]  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[2])
def test_refused(case):
    call, exception, *fragments = case
    check_message(call, fragments, exception)
