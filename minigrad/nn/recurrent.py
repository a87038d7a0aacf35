"""GRU and LSTM layers: stacked, in both directions, or one step at a time.

The equations are in ``minigrad/ops/recurrent.py``. Parameters have PyTorch's names:
weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0 in the first layer, _l1 in the next,
then _reverse for the direction from last to first token. All start uniform within
1 / sqrt(hidden_size).
"""

import math

import numpy as np

from .. import ops
from . import init
from .layers import floats, probability, size
from .module import Module, Parameter


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

    op, gates, kinds = None, 0, ()  # the operation, its gates, names of its states

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        bidirectional=False,
        bias=True,
        dropout=0.0,
        rng=None,
    ):
        name = type(self).__name__
        self.input_size = size(f"{name}: input_size", input_size)
        self.hidden_size = size(f"{name}: hidden_size", hidden_size)
        self.num_layers = size(f"{name}: num_layers", num_layers)
        self.bidirectional = bool(bidirectional)
        self.dropout, self.rng = probability(f"{name}: dropout", dropout), rng
        self.bias = bool(bias)
        width = input_size
        for layer in self._names():
            for suffix in layer:
                _draw_weights(self, suffix, width)
            width = hidden_size * len(layer)

    def run(self, x, states, lengths):
        """Return the last layer's output, and the last states of all layers.

        x (B, T, input_size)  ->  (B, T, H) or (B, T, 2 H)
        states   None for zeros, or for each kind (num_layers * directions, B, H)
        """
        x = _checked_input(self, x, "(B, T, input_size)")
        layers = self._names()
        count = sum(map(len, layers))
        if states is None:
            states = [_zeros(self, (count, len(x)))] * len(self.kinds)
        for kind, state in zip(self.kinds, states):
            _check_state(self, f"{kind}0", state, (count, len(x)))
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

    def _names(self):
        """Return the endings of parameter names: for each layer, for each direction."""
        ends = ["", "_reverse"] if self.bidirectional else [""]
        return [[f"_l{i}{end}" for end in ends] for i in range(self.num_layers)]

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        text += f", num_layers={self.num_layers}" if self.num_layers > 1 else ""
        text += ", bidirectional=True" if self.bidirectional else ""
        text += "" if self.bias else ", bias=False"
        return text + (f", dropout={self.dropout}" if self.dropout else "")


class GRU(Recurrent):
    """Gated recurrent units over time; the equations are in ``ops.gru``.

    gru(x, h0=None, lengths=None)  ->  output, h_n

    x (B, T, input_size)  ->  output (B, T, directions * H), h_n (layers, B, H), where a
    layer counts once for each direction. h0 has the shape of h_n; None is zero.

    lengths   (B,), from 1 to T: tokens beyond are padding and have no influence. The
              output there is 0; h_n is the state after an example's own last token.

    Raises ValueError or TypeError when an argument does not fit.
    """

    op, gates, kinds = staticmethod(ops.gru), 3, ("h",)

    def forward(self, x, h0=None, lengths=None):
        output, (h_n,) = self.run(x, None if h0 is None else (h0,), lengths)
        return output, h_n


class LSTM(Recurrent):
    """Long short-term memory over time; the equations are in ``ops.lstm``.

    lstm(x, state=None, lengths=None)  ->  output, (h_n, c_n)

    state is a pair (h0, c0); otherwise as ``GRU``.
    """

    op, gates, kinds = staticmethod(ops.lstm), 4, ("h", "c")

    def forward(self, x, state=None, lengths=None):
        output, (h_n, c_n) = self.run(
            x, _checked_pair(self, state, "(h0, c0)"), lengths
        )
        return output, (h_n, c_n)


class Cell(Module):
    """Base class of GRUCell and LSTMCell: one step; names as above without _l0."""

    op, gates, kinds = None, 0, ()

    def __init__(self, input_size, hidden_size, bias=True, rng=None):
        name = type(self).__name__
        self.input_size = size(f"{name}: input_size", input_size)
        self.hidden_size = size(f"{name}: hidden_size", hidden_size)
        self.bias, self.rng = bool(bias), rng
        _draw_weights(self, "", input_size)

    def step(self, x, states):
        """Return the states after x."""
        x = _checked_input(self, x, "(B, input_size)")
        states = states or [_zeros(self, (len(x),))] * len(self.kinds)
        for kind, state in zip(self.kinds, states):
            _check_state(self, kind, state, (len(x),))
        return self.op(x, *states, *_weights(self, ""))

    def extra_repr(self):
        bias = "" if self.bias else ", bias=False"
        return f"{self.input_size}, {self.hidden_size}{bias}"


class GRUCell(Cell):
    """One step of a GRU:  x (B, input_size), h (B, H) or None  ->  h' (B, H)."""

    op, gates, kinds = staticmethod(ops.gru_cell), 3, ("h",)

    def forward(self, x, h=None):
        return self.step(x, None if h is None else (h,))


class LSTMCell(Cell):
    """One step of an LSTM:  x (B, input_size), (h, c) or None  ->  (h', c')."""

    op, gates, kinds = staticmethod(ops.lstm_cell), 4, ("h", "c")

    def forward(self, x, state=None):
        return self.step(x, _checked_pair(self, state, "(h, c)"))


def _draw_weights(module, suffix, width):
    """Add the parameters of one layer in one direction to the module."""
    H, bound = module.hidden_size, 1 / math.sqrt(module.hidden_size)
    shapes = {
        "weight_ih": (module.gates * H, width),
        "weight_hh": (module.gates * H, H),
    }
    if module.bias:
        shapes |= {"bias_ih": (module.gates * H,), "bias_hh": (module.gates * H,)}
    for name, shape in shapes.items():
        parameter = Parameter(np.empty(shape, np.float32))
        init.uniform_(parameter, -bound, bound, module.rng)
        setattr(module, name + suffix, parameter)


def _weights(module, suffix):
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    return [getattr(module, name + suffix, None) for name in names]


def _zeros(module, sizes):
    dtype = next(iter(module.parameters())).dtype
    return np.zeros((*sizes, module.hidden_size), dtype)


def _checked_input(module, x, letters):
    x = floats(module, "x", x)
    if x.ndim != letters.count(",") + 1 or x.shape[-1] != module.input_size:
        raise ValueError(
            f"{module!r}: x must have shape {letters} with input_size = "
            f"{module.input_size}; found {x.shape}."
        )
    return x


def _check_state(module, name, state, sizes):
    shape = floats(module, name, state).shape
    if shape != (*sizes, module.hidden_size):
        letters = "(B, hidden_size)"
        if len(sizes) == 2:
            letters = "(num_layers * directions, B, hidden_size)"
        raise ValueError(
            f"{module!r}: {name} must have shape {letters} = "
            f"{(*sizes, module.hidden_size)}; found {shape}."
        )


def _checked_pair(module, state, letters):
    if state is not None and not (isinstance(state, (tuple, list)) and len(state) == 2):
        found = type(state).__name__
        if isinstance(state, (tuple, list)):
            found += f" of {len(state)}"
        raise TypeError(
            f"{module!r}: the state must be a pair {letters}; found {found}."
        )
    return state
