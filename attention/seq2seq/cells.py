"""Recurrent cells stacked in layers, for one step or for all steps at once.

    h^0_t = cell^0(x_t, h^0_{t-1}),    h^l_t = cell^l(h^{l-1}_t, h^l_{t-1})

The state is one flat tuple, the top layer first: (h^1, h^0) for two GRU layers, and
(h^1, c^1, h^0, c^0) for two LSTM layers. Its first entry is the output of the cells,
and the query of attention.

If the input of a step depends on the step before, as with input feeding, the cells run
step by step. Otherwise each layer runs over all steps as one operation.
"""

import minigrad as mg
from minigrad import nn

# {kind: (a cell, its operation for all steps, the arrays of a layer in the state)}
CELLS = {"gru": (nn.GRUCell, mg.gru, 1), "lstm": (nn.LSTMCell, mg.lstm, 2)}


class StackedCells(nn.Module):
    """``layers`` cells of one kind, "gru" or "lstm", with dropout between them.

    cells(x, state)        x (B, input_size)       ->  state
    cells.run(x, state)    x (B, L, input_size)    ->  output (B, L, H), state
    """

    def __init__(
        self, input_size, hidden_size, kind="gru", layers=1, dropout=0.0, rng=None
    ):
        self.cell, self.over_time, self.arrays_per_layer = CELLS[kind]
        self.dropout = nn.Dropout(dropout, rng)
        self.layers = [
            self.cell(hidden_size if i else input_size, hidden_size, rng=rng)
            for i in range(layers)
        ]

    def forward(self, x, state):
        """Return the state after one step with the input x (B, E)."""
        def one_step(cell, x, old):
            new = cell(x, old[0] if len(old) == 1 else old)
            new = new if isinstance(new, tuple) else (new,)
            return new[0], new

        return self._apply_layers(one_step, x, state)[1]

    def run(self, x, state):
        """Run over x (B, L, E); return outputs (B, L, H) and the last state."""
        def all_steps(cell, x, old):
            weights = cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh
            output, *new = self.over_time(x, *old, *weights)
            return output, tuple(new)

        if {type(cell) for cell in self.layers} == {self.cell}:
            return self._apply_layers(all_steps, x, state)
        outputs = []  # a cell with another formula has no operation for all steps
        for t in range(x.shape[1]):
            state = self(x[:, t], state)
            outputs.append(state[0])
        return mg.stack(outputs, 1), state

    def _apply_layers(self, apply, x, state):
        """Return the output of the top layer, and the new state of all layers."""
        new, n = (), self.arrays_per_layer
        for i, cell in enumerate(self.layers):  # from the lowest up
            if i:
                x = self.dropout(x)
            first = len(state) - (i + 1) * n
            x, layer_state = apply(cell, x, state[first : first + n])
            new = layer_state + new
        return x, new
