"""GRU and LSTM refuse wrong arguments, and name the argument and both shapes."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor, nn

from .recurrent_cases import OPS, arguments


def bad(kind="gru", **changes):
    """A call of the operation with some arguments replaced."""
    args = {**arguments(kind), "lengths": None, **changes}
    return lambda: OPS[kind](*args.values())


def cell(**changes):
    args = arguments("gru")
    args["x"] = args["x"][:, 0]
    return lambda: mg.gru_cell(*{**args, **changes}.values())


x, state, ones = np.ones((3, 5, 7)), np.ones((1, 3, 2)), np.ones
MESSAGES = [
    (bad(x=ones((5, 7))), ValueError, "gru: x", "(5, 7)"),
    (bad(x=ones((3, 0, 7))), ValueError, "gru: x", "(3, 0, 7)"),
    (bad(x=ones((3, 5, 7), int)), TypeError, "gru: x", "int64"),
    (bad("lstm", c0=[[0.0]]), TypeError, "lstm: c0", "list"),
    (bad("lstm", weight_hh=ones((6, 2))), ValueError, "lstm: weight_hh", "(6, 2)"),
    (bad(x=ones((3, 5, 4))), ValueError, "gru: weight_ih", "(6, 4)", "(6, 7)"),
    (bad(h0=ones((1, 2))), ValueError, "gru: h0", "(3, 2)", "(1, 2)"),
    (bad("lstm", c0=ones((3, 7))), ValueError, "lstm: c0", "(3, 2)", "(3, 7)"),
    (bad(bias_hh=ones(5)), ValueError, "gru: bias_hh", "(6,)", "(5,)"),
    (bad(lengths=[3, 6, 1]), ValueError, "gru: ", "T = 5", "lengths[1] is 6"),
    (bad("lstm", lengths=[3, 5, 0]), ValueError, "lstm: ", "lengths[2] is 0"),
    (bad(lengths=[3.0, 5.0, 1.0]), TypeError, "gru: lengths", "float64"),
    (bad(lengths=[3, 5]), ValueError, "gru: lengths", "3 sequences", "(2,)"),
    (cell(x=x), ValueError, "gru_cell: x", "(3, 5, 7)"),
    (cell(h0=ones((3, 1))), ValueError, "gru_cell: h", "(3, 2)", "(3, 1)"),
    (lambda: nn.GRU(7, 2)(x[0]), ValueError, "GRU(7, 2): x", "7", "(5, 7)"),
    (lambda: nn.GRU(7, 2)(x.astype(int)), TypeError, "GRU(7, 2): x", "int64"),
    (
        lambda: nn.GRU(7, 2, 2, True)(x, ones((2, 3, 2))),
        ValueError,
        "GRU(7, 2, num_layers=2, bidirectional=True): h0",
        "(4, 3, 2)",
        "(2, 3, 2)",
    ),
    (lambda: nn.LSTM(7, 2)(x, Tensor(state)), TypeError, "(h0, c0)", "Tensor"),
    (lambda: nn.LSTM(7, 2)(x, (state,)), TypeError, "(h0, c0)", "tuple of 1"),
    (lambda: nn.GRU(7, 2, num_layers=0), ValueError, "GRU: num_layers", "0"),
    (lambda: nn.LSTM(7, 2, dropout=1.5), ValueError, "LSTM: dropout", "1.5"),
    (lambda: nn.GRUCell(7, 2)(ones((3, 4))), ValueError, "GRUCell(7, 2): x", "(3, 4)"),
    (
        lambda: nn.LSTMCell(7, 2)(x[:, 0], (ones((3, 2)), ones((1, 2)))),
        ValueError,
        "LSTMCell(7, 2): c",
        "(3, 2)",
        "(1, 2)",
    ),
]


@pytest.mark.parametrize("row", MESSAGES, ids=range(len(MESSAGES)))
def test_message(row):
    call, kind, *fragments = row
    with pytest.raises(kind) as caught:
        call()
    for fragment in fragments:
        assert fragment in str(caught.value)
