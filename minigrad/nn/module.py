"""Module: the base class of layers and models, which names their parameters.

A module's parts are the Parameters and Modules among its attributes, also in lists,
tuples and dicts. Nothing is registered: ``_find`` goes through the attributes,
``vars(module)``, and through those of the modules among them. For example,

    class Two(Module):
        def __init__(self):
            self.scale = Parameter(np.ones(3, np.float32))
            self.layers = [Linear(3, 3), Linear(3, 3)]

has the parameters scale, layers.0.weight, layers.0.bias, layers.1.weight and
layers.1.bias.
"""

from typing import Any, ParamSpec, Protocol, TypeVar

from ..arguments import flag, one_of, plain
from ..overwriting import mark_written
from ..tensor import Tensor
from ..torch_names import MODULE, ExplainedInit, add_unknown_names, explain


class Parameter(Tensor):
    """A tensor to train: a leaf with requires_grad=True. The data are copied."""

    __slots__ = ()

    def __init__(self, data):
        super().__init__(data, requires_grad=True)


P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class Forward(Protocol[P, R]):
    """For editors: a call of a module has the parameters and results of forward."""

    def forward(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Compute the output."""


class Module(ExplainedInit):
    """Base class of all layers and models. A subclass writes ``forward``."""

    training = True  # whether dropout is on; set by train() and eval()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output; ``module(x)`` calls it."""
        raise NotImplementedError(f"{type(self).__name__} has no method forward.")

    def __call__(self: Forward[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return self.forward(*args, **kwargs)
        except (TypeError, ValueError) as error:
            explain(error, self.forward)  # if PyTorch's dim= was passed, suggest axis=
            raise

    def named_parameters(self) -> list[tuple[str, Parameter]]:
        """Return [(name, parameter), ...]; a shared parameter comes once."""
        return _once(_find(self, Parameter))

    def parameters(self) -> list[Parameter]:
        """Return all parameters, each once."""
        return [parameter for _, parameter in self.named_parameters()]

    def zero_grad(self, set_to_none=True):
        """Set the gradients of all parameters to None."""
        one_of("zero_grad()", "set_to_none", set_to_none, [True])
        for parameter in self.parameters():
            parameter.zero_grad()

    def modules(self):
        """Return this module and all inside it, each once."""
        return [module for _, module in self.named_modules()]

    def train(self, mode=True):
        """Switch training on, here and in all modules inside; return this module."""
        mode = flag("train()", "mode", mode)
        for module in self.modules():
            module.training = mode
        return self

    def eval(self):
        """Switch training off: no dropout."""
        return self.train(False)

    # ---- A first reading can stop here ----

    def num_parameters(self):
        """Return how many numbers are trained."""
        return sum(parameter.size for parameter in self.parameters())

    def named_modules(self):
        """Return [(name, module), ...]: this one, named "", and all inside it."""
        return _once([("", self), *_find(self, Module)])

    def __setattr__(self, name, value):
        """Set an attribute; refuse a value without parameters in the place of one.

        It would not be trained: only Parameters are found. None removes the parameter.
        """
        replaced = isinstance(vars(self).get(name), Parameter)
        if replaced and value is not None and not any(_members({name: value})):
            raise TypeError(
                f"{type(self).__name__}.{name} is a Parameter; found a value of type "
                f"{type(value).__name__}, which would not be trained. Write "
                f".{name}.data = ..., or assign a Parameter or None."
            )
        super().__setattr__(name, value)

    def state_dict(self):
        """Return {name: copy of the values}; a shared parameter has several names."""
        return {name: p._data.copy() for name, p in _find(self, Parameter)}

    def load_state_dict(self, state: dict[str, Any], strict=True):
        """Copy values in by name. Return the names that are missing and unexpected.

        state    {name: array or Tensor}; the values take the parameter's dtype
        strict   refuse a state with missing or unexpected names

        Raises ValueError with a list of all that does not fit, and loads nothing.
        """
        if not isinstance(state, dict):
            raise TypeError(
                f"{type(self).__name__}.load_state_dict wants a dict of arrays by "
                f"name; found {type(state).__name__}."
            )
        flag("load_state_dict()", "strict", strict)
        parameters = dict(_find(self, Parameter))
        missing = [name for name in parameters if name not in state]
        unexpected = [name for name in state if name not in parameters]
        values = {name: plain(state[name]) for name in parameters if name in state}
        misfits = [
            f"{name}: expected {parameters[name].shape}, found {_describe(value)}"
            for name, value in values.items()
            if value.shape != parameters[name].shape or value.dtype.kind not in "biuf"
        ]
        if misfits or (strict and (missing or unexpected)):
            name = type(self).__name__
            lines = [f"{name} cannot load this state; nothing was changed."]
            lines += [f"  missing: {name}" for name in missing]
            lines += [f"  unexpected: {name}" for name in unexpected]
            lines += [f"  does not fit: {line}" for line in misfits]
            raise ValueError("\n".join(lines))
        for name, value in values.items():
            parameters[name]._data[...] = value
            mark_written(parameters[name])
        return missing, unexpected

    def extra_repr(self):
        """Return what is printed between the brackets, such as sizes."""
        return ""

    def __repr__(self):
        lines = [self.extra_repr()] if self.extra_repr() else []
        modules = [(n, m) for n, m in _members(vars(self)) if isinstance(m, Module)]
        if not modules:
            return f"{type(self).__name__}({''.join(lines)})"
        lines += [f"({name}): {module!r}" for name, module in modules]
        body = "\n".join(lines).replace("\n", "\n  ")
        return f"{type(self).__name__}(\n  {body}\n)"


add_unknown_names(Module, "A Module", MODULE)


def _find(module, kind, prefix="", within=()):
    """Yield (name, item) for the items of that kind in a module, as assigned."""
    for name, thing in _members(vars(module)):
        if isinstance(thing, kind):
            yield prefix + name, thing
        if isinstance(thing, Module) and thing not in (module, *within):  # a cycle ends
            yield from _find(thing, kind, f"{prefix}{name}.", (module, *within))


def _members(things):
    """Yield (name, item) for parameters and modules in a dict or lists in it."""
    for key, thing in things.items():
        if isinstance(thing, (Parameter, Module)):
            yield str(key), thing
        elif isinstance(thing, (list, tuple, dict)):
            inside = thing if isinstance(thing, dict) else dict(enumerate(thing))
            for name, each in _members(inside):
                yield f"{key}.{name}", each


def _once(named):
    """Drop the items that came before under another name."""
    first = {}
    for name, thing in named:
        first.setdefault(id(thing), (name, thing))
    return list(first.values())


def _describe(value):
    kind = "" if value.dtype.kind in "biuf" else f"{value.dtype} "
    return f"{kind}{value.shape}"
