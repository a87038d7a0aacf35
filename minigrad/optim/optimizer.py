"""The parts that all update rules share: the parameters, their state, and a step.

A rule works on each number by itself. For each parameter, the optimizer computes the
gradient with weight decay, calls the rule and subtracts the change.
"""

from collections.abc import Iterable

import numpy as np

from ..arguments import number, one_of
from ..overwriting import mark_written
from ..tensor import Tensor
from ..torch_names import OPTIMIZER, ExplainedInit, add_unknown_names


class Optimizer(ExplainedInit):
    """Base class of the update rules in ``rules.py``.

    A rule names its ``averages`` and ``settings`` and writes ``_change``. A parameter
    whose ``.grad`` is None is not moved, and the step does not count for it. ``lr`` is
    an attribute and may be set at any time.

    Raises TypeError if ``params`` is not a list of tensors; ValueError if one of them
    is not a leaf that requires a gradient, if there is none, if one is listed twice, or
    if a number is out of range.
    """

    averages = ()  # names of the arrays that are kept for every parameter
    settings = ("lr", "weight_decay")  # names of the options of the rule
    decoupled = False  # weight decay acts on the parameter itself, not on its gradient

    def __init__(self, params, lr, weight_decay):
        name = type(self).__name__
        self.params: list[Tensor] = _validated(params, name)
        self.lr = float(number(name, "lr", lr, positive=True))
        self.weight_decay = float(number(name, "weight_decay", weight_decay, least=0))
        self.t = [0] * len(self.params)  # the number of steps each parameter has taken
        # {name of an average: an array for each parameter}; all begin as 0
        self._averages = {
            name: [np.zeros(p.shape, wide_dtype(p.dtype)) for p in self.params]
            for name in self.averages
        }
        self._shapes = [p.shape for p in self.params]

    def __repr__(self):
        settings = "".join(f", {name}={getattr(self, name)}" for name in self.settings)
        return f"{type(self).__name__}(parameters={len(self.params)}{settings})"

    def zero_grad(self, set_to_none=True):
        """Set all gradients to None: backward() adds to those that are there."""
        one_of("zero_grad()", "set_to_none", set_to_none, [True])
        for p in self.params:
            p.grad = None

    def step(self):
        """Move every parameter that has a gradient, in place."""
        self._check_shapes()
        for i, p in enumerate(self.params):
            if p.grad is not None:
                self.t[i] += 1
                self._step_of(i, p)

    def _step_of(self, i, p):
        dtype, decay = wide_dtype(p.dtype), self.weight_decay
        g = p.grad.astype(dtype, copy=False)
        if decay and not self.decoupled:  # d/dw of decay/2 |w|^2 is decay w
            g = g + np.multiply(p._data, decay, dtype=dtype)
        averages = {}
        for name, arrays in self._averages.items():  # p may have received another dtype
            averages[name] = arrays[i] = arrays[i].astype(dtype, copy=False)
        change = np.empty_like(g)
        self._change(self.t[i], g, change, **averages)
        if not p._data.flags.writeable:  # the detached result of an operation
            p._data = p._data.copy()
        if decay and self.decoupled:
            p._data *= 1 - self.lr * decay
        p._data -= change
        mark_written(p)

    def _change(self, t, g, change, **averages):
        """Write what step t subtracts into ``change``; update the averages.

        All are arrays of one shape; g is the gradient, which is only read. Written by
        every rule.
        """
        raise NotImplementedError

    def state_dict(self):
        """Return all that the next step depends on, except the parameters."""
        averages = {n: [a.copy() for a in self._averages[n]] for n in self.averages}
        settings = {name: getattr(self, name) for name in self.settings}
        kind = type(self).__name__
        return {"kind": kind, **settings, "t": list(self.t), **averages}

    def load_state_dict(self, state):
        """Restore what ``state_dict()`` returned, settings included.

        Raises ValueError, and changes nothing, when the state belongs to another kind
        of rule or to other parameters.
        """
        check_state(self, state)
        for name in self.averages:
            found = [np.shape(a) for a in state[name]]
            self._require(
                found == self._shapes,
                f"{name} in the state has shapes {found}; expected {self._shapes}, "
                "those of the parameters",
            )
        t = [int(each) for each in state["t"]]
        self._require(
            len(t) == len(self.params),
            f"t in the state has {len(t)} entries; expected {len(self.params)}, one "
            "for each parameter",
        )
        averages = {
            name: [
                np.asarray(a).astype(own.dtype, casting="same_kind")
                for a, own in zip(state[name], self._averages[name])
            ]
            for name in self.averages
        }
        self.t, self._averages = t, averages
        for name in self.settings:
            setattr(self, name, state[name])

    def __copy__(self):
        """Return an optimizer of the same parameters, with its own steps and averages."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), t=[*self.t])
        other._averages = {
            name: [a.copy() for a in arrays] for name, arrays in self._averages.items()
        }
        return other

    def _check_shapes(self):
        """Raise unless parameters and gradients have the shapes they began with."""
        for i, (p, shape) in enumerate(zip(self.params, self._shapes)):
            for what, found in (("data", p._data), ("gradient", p.grad)):
                if found is not None and found.shape != shape:
                    raise ValueError(
                        f"{type(self).__name__}: the {what} of params[{i}] has shape "
                        f"{found.shape}; expected {shape}, its shape when the "
                        "optimizer was made. Make a new optimizer for new shapes."
                    )

    def _require(self, condition, sentence):
        if not condition:
            raise ValueError(f"{type(self).__name__}: {sentence}.")


add_unknown_names(Optimizer, "An optimizer", OPTIMIZER)


def wide_dtype(dtype):
    """Return float32 for float16, in which squares of small gradients are 0."""
    return np.promote_types(dtype, np.float32)


def check_state(owner, state):
    """Raise ValueError unless ``state`` has the kind and the names of the owner's."""
    kind, expected = type(owner).__name__, owner.state_dict()
    if not isinstance(state, dict) or state.get("kind") != kind:
        raise ValueError(f"{kind}: the state is not that of {kind}.")
    if set(state) != set(expected):
        raise ValueError(
            f"{kind}: the state holds {sorted(state)}; expected {sorted(expected)}."
        )


def list_of_tensors(params, name):
    """Return ``params`` as a list; raise TypeError unless it holds tensors."""
    if not isinstance(params, Iterable) or isinstance(params, Tensor):
        raise TypeError(
            f"{name}: params is of type {type(params).__name__}; expected a list of "
            "tensors, such as model.parameters()."
        )
    params = list(params)
    for i, p in enumerate(params):
        if not isinstance(p, Tensor):
            raise TypeError(
                f"{name}: params[{i}] is of type {type(p).__name__}; expected a list "
                "of tensors, such as model.parameters()."
            )
    return params


def _validated(params, name):
    """Return ``params`` as a list of different leaves that require a gradient."""
    params = list_of_tensors(params, name)
    if not params:
        raise ValueError(f"{name}: there are no parameters to optimize.")
    for i, p in enumerate(params):
        if p._node is not None or not p.requires_grad:
            found = "requires no gradient"
            if p._node is not None:
                found = f"is the result of {p._node.op}"
            raise ValueError(
                f"{name}: params[{i}], of shape {p.shape}, {found}; expected a leaf "
                "with requires_grad=True."
            )
    if len(set(map(id, params))) < len(params):
        raise ValueError(f"{name}: a parameter is listed twice.")
    return params
