"""What the update rules in ``rules.py`` share.

A rule works on numbers one by one, so it does not care where one parameter ends and
the next begins. The averages of all parameters of one dtype lie end to end in a flat
array each, and a step is a dozen NumPy calls over that array, not a dozen for every
parameter. Nothing is allocated while stepping.
"""

import itertools
import math

import numpy as np

from ..tensor import Tensor


class Optimizer:
    """Parameters, the averages kept for them, and how a step is applied.

    A rule names its ``averages`` and ``settings`` and writes ``_change``. Parameters
    whose ``.grad`` is None are left alone, and the step does not count for them. If a
    parameter was given data of another dtype, its averages follow; of another shape,
    they begin anew. ``lr`` is an attribute and may be set at any time.

    Raises ValueError when there is nothing to optimise, when a parameter is listed
    twice, is the result of an operation or requires no gradient, or when a number is
    out of range; TypeError when something in ``params`` is no tensor.
    """

    averages = ()  # names of the arrays that are kept for every parameter
    settings = ("lr", "weight_decay")  # names of the numbers that steer the rule
    decoupled = False  # weight decay acts on the parameter itself, not on its gradient

    def __init__(self, params, lr, weight_decay):
        self.params = _checked(params, type(self).__name__)
        self._require(0 < lr < math.inf, f"lr must be above 0 and finite, not {lr!r}")
        self._require(
            weight_decay >= 0,
            f"weight_decay must not be negative, not {weight_decay!r}",
        )
        self.lr, self.weight_decay = float(lr), float(weight_decay)
        self.t = [0] * len(self.params)  # the number of steps each parameter has taken
        self._lay_out()

    def zero_grad(self):
        """Forget all gradients: backward() adds to those it finds."""
        for p in self.params:
            p.grad = None

    def step(self):
        """Move every parameter that has a gradient, in place."""
        self._follow_parameters()
        for flat in self._flats:
            # neighbours that are at the same step are one stretch of the flat arrays
            for t, run in itertools.groupby(flat.members, self._next_t):
                if t is not None:
                    self._step_together(flat, list(run), t)

    def _next_t(self, i):
        return None if self.params[i].grad is None else self.t[i] + 1

    def _step_together(self, flat, run, t):
        decay = self.weight_decay
        for i in run:
            p, g = self.params[i], flat.gradients[i]
            np.copyto(g, p.grad)
            if decay and not self.decoupled:  # d/dw of decay/2 |w|^2 is decay w
                g += np.multiply(p._data, decay, out=flat.changes[i])
        here = slice(flat.start[run[0]], flat.stop[run[-1]])
        g, change, *averages = (array[here] for array in flat.arrays.values())
        self._change(t, g, change, *averages)
        for i in run:
            p = self.params[i]
            if not p._data.flags.writeable:  # the detached result of an operation
                p._data = p._data.copy()
            if decay and self.decoupled:
                p._data *= 1 - self.lr * decay
            p._data -= flat.changes[i]
            p._mark_written()
            self.t[i] = t

    def _change(self, t, g, change, *averages):
        """Write what step t subtracts into ``change``; bring the averages up to date.

        All are flat arrays of one length; g is the gradient. Written by every rule.
        """
        raise NotImplementedError

    def state_dict(self):
        """All that the next step depends on, except the parameters themselves."""
        return {
            "kind": type(self).__name__,
            **{name: getattr(self, name) for name in self.settings},
            "t": list(self.t),
            **self._averages_by_parameter(),
        }

    def load_state_dict(self, state):
        """Take over what ``state_dict()`` gave, settings included.

        Raises ValueError, and changes nothing, when it belongs to another kind of rule
        or to other parameters.
        """
        kind, expected = type(self).__name__, set(self.state_dict())
        self._require(
            isinstance(state, dict) and state.get("kind") == kind,
            f"the state is not that of {kind}",
        )
        self._require(
            set(state) == expected,
            f"the state holds {sorted(state)}, and {sorted(expected)} are wanted",
        )
        n = len(self.params)
        for name in ("t", *self.averages):
            self._require(
                len(state[name]) == n,
                f"the state is that of {len(state[name])} parameters; these are {n}",
            )
        for name in self.averages:
            for i, p in enumerate(self.params):
                shape = np.shape(state[name][i])
                self._require(
                    shape == p.shape,
                    f"{name}[{i}] has shape {shape}, and params[{i}] has {p.shape}",
                )
        for name in self.settings:
            setattr(self, name, state[name])
        self.t = [int(t) for t in state["t"]]
        self._lay_out()
        self._fill(state)

    def _lay_out(self):
        """Give every parameter its place in the flat arrays of its dtype."""
        members = {}
        for i, p in enumerate(self.params):
            members.setdefault(p.dtype, []).append(i)
        names = ("gradient", "change", *self.averages)
        self._flats = [_Flat(self.params, each, names) for each in members.values()]
        places = {i: g for flat in self._flats for i, g in flat.gradients.items()}
        self._places = [places[i] for i in range(len(self.params))]

    def _follow_parameters(self):
        """Lay out anew if data were replaced; refuse a gradient of the wrong shape."""
        moved = False
        for i, (p, place) in enumerate(zip(self.params, self._places)):
            w = p._data
            if p.grad is not None and p.grad.shape != w.shape:
                raise ValueError(
                    f"{type(self).__name__}: params[{i}] has shape {w.shape}, and its "
                    f"gradient has {p.grad.shape}. Call zero_grad() and backward()."
                )
            moved = moved or w.shape != place.shape or w.dtype != place.dtype
        if moved:
            averages = self._averages_by_parameter()
            for i, (p, place) in enumerate(zip(self.params, self._places)):
                if p.shape != place.shape:
                    self.t[i] = 0
                    for arrays in averages.values():
                        arrays[i] = np.zeros(p.shape)
            self._lay_out()
            self._fill(averages)

    def _averages_by_parameter(self):
        """{name: [a copy of this average for each parameter]}."""
        found = {name: [None] * len(self.params) for name in self.averages}
        for flat in self._flats:
            for name, i in itertools.product(self.averages, flat.members):
                found[name][i] = flat.view(name, i).copy()
        return found

    def _fill(self, averages):
        for flat in self._flats:
            for name, i in itertools.product(self.averages, flat.members):
                np.copyto(flat.view(name, i), averages[name][i], casting="same_kind")

    def _require(self, condition, sentence):
        if not condition:
            raise ValueError(f"{type(self).__name__}: {sentence}.")


class _Flat:
    """Parameters of one dtype, end to end: flat arrays, and where each one begins."""

    def __init__(self, params, members, names):
        stops = list(itertools.accumulate(params[i].size for i in members))
        self.members = members
        self.start, self.stop = (
            dict(zip(members, [0, *stops])),
            dict(zip(members, stops)),
        )
        self.shape = {i: params[i].shape for i in members}
        dtype = params[members[0]].dtype
        self.arrays = {name: np.zeros(stops[-1], dtype) for name in names}
        self.gradients = {i: self.view("gradient", i) for i in members}
        self.changes = {i: self.view("change", i) for i in members}

    def view(self, name, i):
        """The part of the array called ``name`` that belongs to parameter i."""
        return self.arrays[name][self.start[i] : self.stop[i]].reshape(self.shape[i])


def _checked(params, name):
    """``params`` as a list of leaves that require a gradient, none of them twice."""
    if isinstance(params, Tensor):
        raise TypeError(
            f"{name}: params is a list of tensors, not one; write [tensor]."
        )
    params = list(params)
    if not params:
        raise ValueError(f"{name}: there are no parameters to optimise.")
    first = {}
    for i, p in enumerate(params):
        if not isinstance(p, Tensor):
            raise TypeError(
                f"{name}: params[{i}] is a {type(p).__name__}, not a tensor. Pass a "
                "list of tensors, such as model.parameters()."
            )
        if p._node is not None:
            raise ValueError(
                f"{name}: params[{i}], of shape {p.shape}, is the result of "
                f"{p._node.op}; only leaves can be optimised."
            )
        if not p.requires_grad:
            raise ValueError(
                f"{name}: params[{i}], of shape {p.shape}, has requires_grad=False: no "
                "gradient will ever reach it."
            )
        if id(p) in first:
            raise ValueError(f"{name}: params[{i}] is params[{first[id(p)]}] again.")
        first[id(p)] = i
    return params
