"""``@shapes`` checks the arguments of a function against the line in its docstring.

    @shapes
    def general(queries, keys, W_a):
        \"\"\"s_ij = q_i^T W_a k_j

        queries (..., L, Dq), keys (..., S, Dk), W_a (Dq, Dk)  ->  scores (..., L, S)
        \"\"\"

Every call is checked against this line. A name such as L or Dq is one size in the whole
line. ``...`` means any number of axes, which are broadcast with each other. Arguments
that the line does not mark as int or bool are floating-point numbers of one dtype; they
become Tensors.

    x (B, L) int              integers; they become a NumPy array
    x (B, L) bool             booleans, likewise
    x? (B, L)                 x may be None
    x (B | 1, L)              the first axis has the size B or 1
    x (B, L) or (L,)          one of two shapes
    x (B, L) or Cache         an array, or an instance of the class Cache
    x and y (B, L)            both have this shape
    x (L + S - 1, 2H)         sizes are computed with + - *; 2H is 2 * H
    x (B, self.width)         the size is an attribute of the layer
    x (B, n), n               n is an integer argument, and the size of an axis of x
    ->  y (B, L)              the result
    ->  y (B,), z ()          two results; z is a scalar

The line is parsed once, at the first call (``shape_line.py``). Each call is compared
with it (``shape_match.py``). Correct shapes and dtypes are stored, so that the next
call with them costs one lookup. ``f.unchecked`` is the function without the checks.
After ``check_results(True)``, which the tests call, the results of calls with new
shapes are checked as well. ``python -OO`` removes docstrings; then nothing is converted
or checked: pass Tensors.
"""

import functools
import inspect
import sys
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from .shape_line import parse_items, shape_line
from .shape_match import Match, array_of
from .tensor import Tensor
from .torch_names import explain

F = TypeVar("F", bound=Callable)
MAX_SIGNATURES = 256  # the number of stored signatures of a function
MISSING = inspect.Parameter.empty
_switches = {"results": False}


def shapes(function: F) -> F:
    """Check every call of ``function`` against the shape line in its docstring."""
    if sys.flags.optimize > 1:
        function.unchecked = function
        return function
    contract_of_function = functools.cache(lambda: Contract(function))
    known_calls = {}  # signature -> [(number of a slot, its conversion), ...]

    @functools.wraps(function)
    def wrapper(*args, **options):
        contract = contract_of_function()
        values = contract.values(args, options)
        signature, match = contract.signature(values), None
        conversions = known_calls.get(signature)
        if conversions is None:
            conversions = []
            if not any(x is MISSING for x in values):  # Python raises
                names = (name for _, name, _ in contract.slots)
                match = Match(contract, dict(zip(names, values)))
                conversions = match.conversions()
                if len(known_calls) == MAX_SIGNATURES:
                    known_calls.clear()
                known_calls[signature] = conversions
        if conversions:
            args = list(args)
        for k, conversion in conversions:
            position, name, _ = contract.slots[k]
            target, key = (args, position) if position < len(args) else (options, name)
            target[key] = conversion(values[k])
        try:
            results = function(*args, **options)
        except TypeError as error:
            explain(error, function)  # if valid_lens= was passed, suggest lengths=
            raise
        if match is not None and _switches["results"]:
            match.check_results(results)
        return results

    wrapper.unchecked = function
    wrapper.contract = contract_of_function  # the tests read the parsed line
    return wrapper


def check_results(on=True):
    """Switch the check of results on or off; return the previous setting."""
    before, _switches["results"] = _switches["results"], bool(on)
    return before


class Contract:
    """The shape line of one function, parsed.

    items        the arguments that have a shape
    results      the items of each case of the right side; None if that is a sentence
    sizes        the arguments that are the size of an axis, such as n
    attributes   the attributes of the layer that are the size of an axis
    takes_mask   whether there is a parameter mask, for which a bool array may be meant
    slots        (position, name, default) of all arguments that a check depends on; of
                 a method, the first is ``self``
    """

    def __init__(self, function):
        self.name = function.__qualname__
        parameters = inspect.signature(function).parameters
        self.is_method = "self" in parameters
        line = shape_line(function)
        if line is None:
            raise ValueError(
                f"{self.name}: found no shape line in the docstring; expected one such "
                'as "x (B, D)  ->  y (B,)", which begins with the name of a parameter.'
            )
        left, self.right = line
        try:
            items = parse_items(left)
        except ValueError as error:
            raise ValueError(f"{self.name}: shape line: {error}") from None
        for item in items:
            _check_parameter(self.name, item, parameters)
        self.items = [item for item in items if item.shapes]
        self.takes_mask = "mask" in parameters
        try:
            cases = [case.strip().removeprefix("or ") for case in self.right.split(";")]
            self.results = [parse_items(case) for case in cases]
        except ValueError:
            self.results = None
        shapes = [s for i in self.items + sum(self.results or [], []) for s in i.shapes]
        names = {item.name for item in self.items}
        letters = {letter for shape in shapes for letter in shape.letters()}
        self.sizes = letters & set(parameters) - names
        axes = [axis for shape in shapes for axis in shape.axes]
        self.attributes = sorted({name for axis in axes for name in axis.attributes})
        self.slots = [
            (sys.maxsize if p.kind is p.KEYWORD_ONLY else position, name, p.default)
            for position, (name, p) in enumerate(parameters.items())
            if name in names | self.sizes | {"self"}
        ]

    def title(self, instance):
        """Return the first words of a message: the function, or the layer's class."""
        name = self.name.rpartition(".")[2]
        if not self.is_method:
            return name
        layer = type(instance).__name__
        is_internal = name == "forward" or name.startswith("_")
        return layer if is_internal else f"{layer}.{name}"

    def values(self, args, options):
        """Return the values of ``slots`` in a call."""
        n_args = len(args)
        return [
            args[position] if position < n_args else options.get(name, default)
            for position, name, default in self.slots
        ]

    def signature(self, values):
        """Return all that a check depends on, as a key of a dict."""
        key = []
        for (_, name, _), x in zip(self.slots, values):
            if isinstance(x, Tensor):
                array = x._data
            elif isinstance(x, np.ndarray):
                array = x
            elif isinstance(x, (list, tuple)):
                array = array_of(self.title(values[0]), name, x)
            else:  # None, an object or a number; an int may be a size
                key.append(x if type(x) is int else type(x))
                continue
            key += type(x), array.shape, array.dtype
        for name in self.attributes:
            key.append(getattr(values[0], name))
        return tuple(key)


def _check_parameter(name, item, parameters):
    """Raise ValueError unless the function has such a parameter."""
    if item.name not in parameters:
        raise ValueError(
            f"{name}: the shape line has {item.name!r}, which is not a parameter; "
            f"expected one of {', '.join(parameters)}."
        )
    if item.shapes and parameters[item.name].default is None and not item.optional:
        raise ValueError(
            f"{name}: {item.name} is None by default; write {item.name}? in the shape "
            "line."
        )
