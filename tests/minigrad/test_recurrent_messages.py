"""GRU and LSTM: what they say of wrong arguments."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor, nn

from .recurrent_cases import OPS, arguments


def bad(kind="gru", **changes):
    """A call with some arguments replaced."""
    args = {**arguments(kind), "lengths": None, **changes}
    return lambda: OPS[kind](*args.values())


def cell(**changes):
    args = arguments("gru")
    args["x"] = args["x"][:, 0]
    return lambda: mg.gru_cell(*{**args, **changes}.values())


ones = np.ones
MESSAGES = {
    "a matrix": (
        bad(x=ones((5, 7))),
        ValueError,
        "gru: x must have shape (B, T, I); found (5, 7).",
    ),
    "no steps": (
        bad(x=ones((3, 0, 7))),
        ValueError,
        "gru: x of shape (3, 0, 7) has no time steps, T = 0.",
    ),
    "integers": (
        bad(x=ones((3, 5, 7), int)),
        TypeError,
        "gru: x must be floating point; found int64.",
    ),
    "a list": (
        bad("lstm", c0=[[0.0]]),
        TypeError,
        "lstm: c0 must be floating point; found list.",
    ),
    "the weights of another kind": (
        bad("lstm", weight_hh=ones((6, 2))),
        ValueError,
        "lstm: weight_hh must have shape (4 H, H); found (6, 2).",
    ),
    "features": (
        bad(x=ones((3, 5, 4))),
        ValueError,
        "gru: weight_ih must have shape (6, 4) to go with x (B, T, I) = (3, 5, 4) and "
        "H = 2; found (6, 7).",
    ),
    "h0": (
        bad(h0=ones((1, 2))),
        ValueError,
        "gru: h0 must have shape (3, 2) to go with x (B, T, I) = (3, 5, 7) and H = 2; "
        "found (1, 2).",
    ),
    "c0": (
        bad("lstm", c0=ones((3, 7))),
        ValueError,
        "lstm: c0 must have shape (3, 2) to go with x (B, T, I) = (3, 5, 7) and H = 2; "
        "found (3, 7).",
    ),
    "bias": (
        bad(bias_hh=ones(5)),
        ValueError,
        "gru: bias_hh must have shape (6,) to go with x (B, T, I) = (3, 5, 7) and H = "
        "2; found (5,).",
    ),
    "too long": (
        bad(lengths=[3, 6, 1]),
        ValueError,
        "gru: a length must be from 1 to T = 5; lengths[1] is 6.",
    ),
    "length zero": (
        bad("lstm", lengths=[3, 5, 0]),
        ValueError,
        "lstm: a length must be from 1 to T = 5; lengths[2] is 0.",
    ),
    "fractional lengths": (
        bad(lengths=[3.0, 5.0, 1.0]),
        TypeError,
        "gru: lengths must be integers; found float64.",
    ),
    "too few lengths": (
        bad(lengths=[3, 5]),
        ValueError,
        "gru: lengths must hold one length for each of the 3 sequences; its shape is "
        "(2,).",
    ),
    "a cell with steps": (
        cell(x=ones((3, 5, 7))),
        ValueError,
        "gru_cell: x must have shape (B, I); found (3, 5, 7).",
    ),
    "a cell's state": (
        cell(h0=ones((3, 1))),
        ValueError,
        "gru_cell: h must have shape (3, 2) to go with x (B, I) = (3, 7) and H = 2; "
        "found (3, 1).",
    ),
    "layer: a matrix": (
        lambda: nn.GRU(7, 2)(ones((5, 7))),
        ValueError,
        "GRU(7, 2): x must have shape (B, T, input_size) with input_size = 7; found "
        "(5, 7).",
    ),
    "layer: features": (
        lambda: nn.LSTM(7, 2)(ones((3, 5, 4))),
        ValueError,
        "LSTM(7, 2): x must have shape (B, T, input_size) with input_size = 7; found "
        "(3, 5, 4).",
    ),
    "layer: integers": (
        lambda: nn.GRU(7, 2)(ones((3, 5, 7), int)),
        TypeError,
        "GRU(7, 2): x must be floating point; found int64.",
    ),
    "layer: h0": (
        lambda: nn.GRU(7, 2, 2, True)(ones((3, 5, 7)), ones((2, 3, 2))),
        ValueError,
        "GRU(7, 2, num_layers=2, bidirectional=True): h0 must have shape (num_layers * "
        "directions, B, hidden_size) = (4, 3, 2); found (2, 3, 2).",
    ),
    "layer: c0": (
        lambda: nn.LSTM(7, 2)(ones((3, 5, 7)), (ones((1, 3, 2)), ones((3, 2)))),
        ValueError,
        "LSTM(7, 2): c0 must have shape (num_layers * directions, B, hidden_size) = "
        "(1, 3, 2); found (3, 2).",
    ),
    "layer: no pair": (
        lambda: nn.LSTM(7, 2)(ones((3, 5, 7)), Tensor(ones((1, 3, 2)))),
        TypeError,
        "LSTM(7, 2): the state must be a pair (h0, c0); found Tensor.",
    ),
    "layer: half a pair": (
        lambda: nn.LSTM(7, 2)(ones((3, 5, 7)), (ones((1, 3, 2)),)),
        TypeError,
        "LSTM(7, 2): the state must be a pair (h0, c0); found tuple of 1.",
    ),
    "layer: lengths": (
        lambda: nn.GRU(7, 2)(ones((3, 5, 7)), lengths=[5, 5, 6]),
        ValueError,
        "gru: a length must be from 1 to T = 5; lengths[2] is 6.",
    ),
    "layer: none": (
        lambda: nn.GRU(7, 2, num_layers=0),
        ValueError,
        "GRU: num_layers must be 1 or more; found 0.",
    ),
    "layer: dropout": (
        lambda: nn.LSTM(7, 2, dropout=1.5),
        ValueError,
        "LSTM: dropout must be a probability, from 0 to 1; found 1.5.",
    ),
    "cell: features": (
        lambda: nn.GRUCell(7, 2)(ones((3, 4))),
        ValueError,
        "GRUCell(7, 2): x must have shape (B, input_size) with input_size = 7; found "
        "(3, 4).",
    ),
    "cell: state": (
        lambda: nn.LSTMCell(7, 2)(ones((3, 7)), (ones((3, 2)), ones((1, 2)))),
        ValueError,
        "LSTMCell(7, 2): c must have shape (B, hidden_size) = (3, 2); found (1, 2).",
    ),
}


@pytest.mark.parametrize("what", MESSAGES)
def test_message(what):
    call, kind, sentence = MESSAGES[what]
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == sentence
