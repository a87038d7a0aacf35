"""GRU and LSTM layers: stacked, in both directions, or one step at a time.

The equations are in ``minigrad/ops/recurrent.py``. Parameters have PyTorch's names:
weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0 in the first layer, _l1 in the next,
then _reverse for the direction from last to first token. All start uniform within
1 / sqrt(hidden_size).
"""

import math

import numpy as np

from .. import ops
from ..arguments import flag, probability, whole
from ..shapes import shapes
from ..tensor import Tensor
from . import init
from .module import Module, Parameter

Pair = tuple[Tensor, Tensor]
NAMES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
MAX_LAYERS = 1000  # of one GRU or LSTM: a number without a zero too many


class Recurrent(Module):
    """Base class of GRU and LSTM: layers, directions and argument checks.

    input_size      features of x
    hidden_size     features of a state, H
    num_layers      layers, each of which reads the output of the one below
    bidirectional   also run from the last token to the first; outputs are concatenated
    bias            whether the gates have biases
    dropout         of the output of every layer but the last, in training
    rng             for initial values and dropout; None is minigrad's generator
    """

    op, gates = None, 0  # one run over time, and the number of its gates

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        *,
        bidirectional=False,
        bias=True,
        dropout=0.0,
        batch_first=True,
        rng=None,
    ):
        name = type(self).__name__
        if not flag(name, "batch_first", batch_first):
            raise ValueError(
                f"{name}: batch_first is {batch_first}; the batch is always the first "
                "axis here. Use x.swapaxes(0, 1)."
            )
        self.input_size = whole(name, "input_size", input_size, least=1)
        self.hidden_size = whole(name, "hidden_size", hidden_size, least=1)
        self.num_layers = whole(name, "num_layers", num_layers, 1, MAX_LAYERS)
        self.bidirectional = flag(name, "bidirectional", bidirectional)
        self.directions = 2 if bidirectional else 1
        self.dropout, self.rng = probability(name, "dropout", dropout), rng
        self.bias = flag(name, "bias", bias)
        width = input_size
        for layer in self._suffixes():
            for suffix in layer:
                _draw_weights(self, suffix, width)
            width = hidden_size * len(layer)

    def run(self, x, states, lengths):
        """Return the last layer's output, and the last states of all runs.

        A run is one layer in one direction. ``states`` is (h0,) for a GRU and (h0, c0)
        for an LSTM: the initial states of all runs, or None for zeros. The shapes are
        those of ``forward``.
        """
        layers = self._suffixes()
        count = sum(map(len, layers))
        states = [_zeros(self, (count, len(x))) if s is None else s for s in states]
        last = []
        for layer in layers:
            if last and self.dropout:
                x = ops.dropout(x, self.dropout, training=self.training, rng=self.rng)
            outputs = []
            for reverse, suffix in enumerate(layer):
                initial = [state[len(last)] for state in states]
                weights = _weights(self, suffix)
                output, *final = self.op(x, *initial, *weights, lengths, bool(reverse))
                outputs.append(output)
                last.append(final)
            x = ops.concat(outputs, axis=-1) if len(outputs) > 1 else outputs[0]
        return x, [ops.stack(list(each)) for each in zip(*last)]

    def _suffixes(self):
        """Return the endings of parameter names: for each layer, for each direction."""
        ends = ["", "_reverse"] if self.bidirectional else [""]
        return [[f"_l{i}{end}" for end in ends] for i in range(self.num_layers)]

    def extra_repr(self):
        """Return the options, for ``repr``."""
        text = f"{self.input_size}, {self.hidden_size}"
        text += f", num_layers={self.num_layers}" if self.num_layers > 1 else ""
        text += ", bidirectional=True" if self.bidirectional else ""
        text += "" if self.bias else ", bias=False"
        return text + (f", dropout={self.dropout}" if self.dropout else "")


class GRU(Recurrent):
    """Run gated recurrent units over time; the equations are in ``ops.gru_cell``.

    gru(x, h0=None, lengths=None)  returns output, h_n

    h0        the initial states of all layers, each in all directions; None is zero
    lengths   (B,), from 1 to T tokens: those beyond are padding without influence.
              There the output is 0. h_n is the state after the last step of a run: its
              token is the example's last one, or in the reverse direction the first
    """

    op, gates = staticmethod(ops.gru.unchecked), 3

    @shapes
    def forward(self, x, h0=None, lengths=None) -> Pair:
        """Return the outputs of the last layer and the last states of all.

        x (B, T, self.input_size), lengths? (B,) int,
        h0? (self.num_layers * self.directions, B, self.hidden_size)
            ->  output (B, T, self.directions * self.hidden_size),
                h_n (self.num_layers * self.directions, B, self.hidden_size)
        """
        output, (h_n,) = self.run(x, (h0,), lengths)
        return output, h_n


class LSTM(Recurrent):
    """Run long short-term memories over time; the equations are in ``ops.lstm``.

    lstm(x, state=None, lengths=None)  returns output, (h_n, c_n)

    state is a pair (h0, c0); otherwise as ``GRU``.
    """

    op, gates = staticmethod(ops.lstm.unchecked), 4

    def forward(self, x, state=None, lengths=None) -> tuple[Tensor, Pair]:
        """Split the state and call ``_forward``, which has the shapes."""
        h0, c0 = _pair(self, state, "(h0, c0)")
        return self._forward(x, h0, c0, lengths)

    @shapes
    def _forward(self, x, h0=None, c0=None, lengths=None):
        """x (B, T, self.input_size), lengths? (B,) int,
        h0? and c0? (self.num_layers * self.directions, B, self.hidden_size)
            ->  output (B, T, self.directions * self.hidden_size),
                h_n (self.num_layers * self.directions, B, self.hidden_size),
                c_n (self.num_layers * self.directions, B, self.hidden_size)
        """
        output, (h_n, c_n) = self.run(x, (h0, c0), lengths)
        return output, (h_n, c_n)


class Cell(Module):
    """Base class of GRUCell and LSTMCell: one step.

    The parameters have the names of GRU and LSTM without ``_l0``.
    """

    op, gates = None, 0

    def __init__(self, input_size, hidden_size, bias=True, rng=None):
        name = type(self).__name__
        self.input_size = whole(name, "input_size", input_size, least=1)
        self.hidden_size = whole(name, "hidden_size", hidden_size, least=1)
        self.bias, self.rng = flag(name, "bias", bias), rng
        _draw_weights(self, "", input_size)

    def step(self, x, states):
        """Return the states (B, H) after x (B, I); None is a state of zeros."""
        states = [_zeros(self, (len(x),)) if s is None else s for s in states]
        return self.op(x, *states, *_weights(self, ""))

    def extra_repr(self):
        """Return the options, for ``repr``."""
        bias = "" if self.bias else ", bias=False"
        return f"{self.input_size}, {self.hidden_size}{bias}"


class GRUCell(Cell):
    """Compute one step of a GRU: ``cell(x, h)`` returns the next h."""

    op, gates = staticmethod(ops.gru_cell.unchecked), 3

    @shapes
    def forward(self, x, h=None) -> Tensor:
        """x (B, self.input_size), h? (B, self.hidden_size)
        ->  h' (B, self.hidden_size)"""
        return self.step(x, (h,))


class LSTMCell(Cell):
    """Compute one step of an LSTM: ``cell(x, (h, c))`` returns the next (h, c)."""

    op, gates = staticmethod(ops.lstm_cell.unchecked), 4

    def forward(self, x, state=None) -> Pair:
        """Split the state and call ``_forward``, which has the shapes."""
        h, c = _pair(self, state, "(h, c)")
        return self._forward(x, h, c)

    @shapes
    def _forward(self, x, h=None, c=None):
        """x (B, self.input_size), h? and c? (B, self.hidden_size)
        ->  h' (B, self.hidden_size), c' (B, self.hidden_size)"""
        return self.step(x, (h, c))


def _draw_weights(module, suffix, width):
    """Add the parameters of one layer in one direction to the module."""
    H, bound = module.hidden_size, 1 / math.sqrt(module.hidden_size)
    rows = module.gates * H
    shapes = [(rows, width), (rows, H)] + [(rows,), (rows,)] * module.bias
    for name, shape in zip(NAMES, shapes):
        parameter = Parameter(np.empty(shape, np.float32))
        init.uniform_(parameter, -bound, bound, module.rng)
        setattr(module, name + suffix, parameter)


def _weights(module, suffix):
    return [getattr(module, name + suffix, None) for name in NAMES]


def _zeros(module, sizes):
    dtype = next(iter(module.parameters())).dtype
    return np.zeros((*sizes, module.hidden_size), dtype)


def _pair(module, state, letters):
    """Return the two states of an LSTM; None is two states of zeros."""
    if state is None:
        return None, None
    if not isinstance(state, (tuple, list)) or len(state) != 2:
        raise TypeError(
            f"{type(module).__name__}: state is of type {type(state).__name__}; "
            f"expected a pair {letters}."
        )
    return state
