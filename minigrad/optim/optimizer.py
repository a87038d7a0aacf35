"""The parts that all update rules share: the parameters, their state, and a step.

A rule works on each number by itself. So the gradients and averages of all parameters
lie one after the other in flat arrays. The rule itself is then about ten NumPy calls on
flat arrays. For each parameter, the optimizer only copies the gradient in, applies the
weight decay and subtracts the change. A step allocates no memory for arrays.
"""

import itertools
from collections.abc import Iterable

import numpy as np

from ..arguments import number, one_of
from ..overwriting import mark_written
from ..tensor import Tensor
from ..torch_names import OPTIMIZER, unknown


class Optimizer:
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
        self._allocate()

    def _allocate(self):
        """Make the flat arrays, and for each parameter a view of its part in each.

        ``_arrays`` has the gradient, the change and the averages, which begin as 0.
        They have the widest dtype of the parameters.
        """
        self._dtypes = [p.dtype for p in self.params]
        stops = list(itertools.accumulate(p.size for p in self.params))
        self._parts = list(map(slice, [0, *stops], stops))
        dtype = wide_dtype(np.result_type(*self._dtypes))
        names = ("gradient", "change", *self.averages)
        self._arrays = {name: np.zeros(stops[-1], dtype) for name in names}
        self._views = {
            name: [array[k].reshape(p.shape) for k, p in zip(self._parts, self.params)]
            for name, array in self._arrays.items()
        }

    def __getattr__(self, name):
        raise unknown(type(self).__name__, name, OPTIMIZER)

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
        if self._dtypes != [p.dtype for p in self.params]:
            state = self.state_dict()
            self._allocate()
            self.load_state_dict(state)
        # neighbours that are at the same step are one stretch of the flat arrays
        for t, run in itertools.groupby(range(len(self.params)), self._next_t):
            if t is not None:
                self._step_together(list(run), t)

    def _next_t(self, i):
        return None if self.params[i].grad is None else self.t[i] + 1

    def _step_together(self, run, t):
        decay = self.weight_decay
        gradients, changes = self._views["gradient"], self._views["change"]
        for i in run:
            p, g = self.params[i], gradients[i]
            np.copyto(g, p.grad)
            if decay and not self.decoupled:  # d/dw of decay/2 |w|^2 is decay w
                g += np.multiply(p._data, decay, out=changes[i], dtype=g.dtype)
        stretch = slice(self._parts[run[0]].start, self._parts[run[-1]].stop)
        self._change(t, *(array[stretch] for array in self._arrays.values()))
        for i in run:
            p = self.params[i]
            if not p._data.flags.writeable:  # the detached result of an operation
                p._data = p._data.copy()
            if decay and self.decoupled:
                p._data *= 1 - self.lr * decay
            p._data -= changes[i]
            mark_written(p)
            self.t[i] = t

    def _change(self, t, g, change, *averages):
        """Write what step t subtracts into ``change``; update the averages.

        All are flat arrays of one length; g is the gradient. Written by every rule.
        """
        raise NotImplementedError

    def state_dict(self):
        """Return all that the next step depends on, except the parameters."""
        averages = {n: [view.copy() for view in self._views[n]] for n in self.averages}
        settings = {name: getattr(self, name) for name in self.settings}
        kind = type(self).__name__
        return {"kind": kind, **settings, "t": list(self.t), **averages}

    def load_state_dict(self, state):
        """Restore what ``state_dict()`` returned, settings included.

        Raises ValueError, and changes nothing, when the state belongs to another kind
        of rule or to other parameters.
        """
        kind, expected = type(self).__name__, self.state_dict()
        self._require(
            isinstance(state, dict) and state.get("kind") == kind,
            f"the state is not that of {kind}",
        )
        self._require(
            set(state) == set(expected),
            f"the state holds {sorted(state)}; expected {sorted(expected)}",
        )
        wanted, averages = [p.shape for p in self.params], {}
        for name in self.averages:
            found = [np.shape(a) for a in state[name]]
            self._require(
                found == wanted,
                f"{name} in the state has shapes {found}; expected {wanted}, those of "
                "the parameters",
            )
            averages[name] = [
                np.asarray(a).astype(view.dtype, casting="same_kind")
                for a, view in zip(state[name], self._views[name])
            ]
        t = [int(each) for each in state["t"]]
        self._require(
            len(t) == len(self.params),
            f"t in the state has {len(t)} entries; expected {len(self.params)}, one "
            "for each parameter",
        )
        self.t = t
        for name in self.settings:
            setattr(self, name, state[name])
        for name, arrays in averages.items():
            for view, array in zip(self._views[name], arrays):
                view[...] = array

    def __getstate__(self):
        """Return what copy and pickle store.

        The flat arrays are left out: in a copy, their views would be separate arrays.
        """
        flat = ("_arrays", "_views")
        attributes = {k: v for k, v in vars(self).items() if k not in flat}
        return attributes, self.state_dict()

    def __setstate__(self, state):
        attributes, numbers = state
        vars(self).update(attributes)
        self._allocate()
        self.load_state_dict(numbers)

    def _check_shapes(self):
        """Raise unless parameters and gradients have the shapes they began with."""
        for i, (p, view) in enumerate(zip(self.params, self._views["gradient"])):
            for what, found in (("data", p._data), ("gradient", p.grad)):
                if found is not None and found.shape != view.shape:
                    raise ValueError(
                        f"{type(self).__name__}: the {what} of params[{i}] has shape "
                        f"{found.shape}; expected {view.shape}, its shape when the "
                        "optimizer was made. Make a new optimizer for new shapes."
                    )

    def _require(self, condition, sentence):
        if not condition:
            raise ValueError(f"{type(self).__name__}: {sentence}.")


def wide_dtype(dtype):
    """Return float32 for float16, in which squares of small gradients are 0."""
    return np.promote_types(dtype, np.float32)


def _validated(params, name):
    """Return ``params`` as a list of different leaves that require a gradient."""
    if not isinstance(params, Iterable) or isinstance(params, Tensor):
        raise TypeError(
            f"{name}: params is of type {type(params).__name__}; expected a list of "
            "tensors, such as model.parameters()."
        )
    params = list(params)
    if not params:
        raise ValueError(f"{name}: there are no parameters to optimize.")
    for i, p in enumerate(params):
        if not isinstance(p, Tensor):
            raise TypeError(
                f"{name}: params[{i}] is of type {type(p).__name__}; expected a list "
                "of tensors, such as model.parameters()."
            )
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
