"""``@differentiable`` turns a function of arrays into an operation on tensors.

An operation is written once, as a function from arrays to ``(output, backward)``:

    @differentiable
    def square(x):
        return x * x, lambda g: g * 2 * x

Its ``backward`` maps g = dL/d(output) to the gradients of the arguments, in their
order: one array for one argument, a tuple for several, None if an argument has no
gradient. It is made by ``def`` or ``lambda`` inside the forward, so it is a closure: it
can use all local variables of the forward.

``square(x)`` takes tensors, arrays and numbers; ``square.raw`` is the function of
arrays. ``@differentiable`` also registers the name, for the operators of tensors; for a
function of your own use ``lift``, which does not.

The rest of this text is for those who write operations.

- The gradient of a broadcast argument may have the shape of the output:
  ``unbroadcast`` sums it to the shape of the argument. Its dtype is converted to
  that of the argument.
- A gradient may become ``leaf.grad``, which is changed in place: return a new array, g
  or a view of g, no input, no saved array, and no new array for two arguments.
- A keyword-only parameter ``needs`` of the forward receives a tuple of booleans: for
  each argument that was passed (each element of a list), whether its gradient is
  needed. Its length is the number of gradients to return.
- The output may be a tuple; then g is a list, with zeros for unused outputs.
- If an argument is a list of n tensors, ``backward`` returns n gradients for it.
- Other keyword-only parameters are options, without a gradient.
- float16 is for storage: the function receives float32, and its results are rounded.
"""

import functools
import inspect
from collections.abc import Callable
from itertools import repeat
from typing import Any, ParamSpec, Protocol

import numpy as np

from .graph import Node
from .operators import check_array
from .recording import is_recording
from .registry import register
from .tensor import Tensor
from .torch_names import explain

HALF = np.dtype(np.float16).char  # "e"; letters are compared faster than dtypes
P = ParamSpec("P")  # the parameters of a function; P and Operation serve editors


def differentiable(function: Callable[P, Any]) -> "Operation[P]":
    """Turn ``function`` into an operation on tensors, and register its name."""
    op = lift(function)
    register(op.__name__, op)
    return op


def lift(function: Callable[P, Any]) -> "Operation[P]":
    """Turn ``function`` into an operation on tensors, without registering its name."""
    if not callable(function) or not hasattr(function, "__name__"):
        raise TypeError(
            f"lift or differentiable: found a value of type {type(function).__name__}; "
            "expected a function of arrays that returns (output, backward)."
        )
    name = function.__name__
    signature, takes_needs = _signature(function)  # takes_needs: it has ``needs``

    @functools.wraps(function)
    def op(*args, **options):
        try:
            if options:  # a tensor passed by name, as in linear(x, W, bias=b)
                args, options = _with_positional_tensors(signature, args, options)
            arrays, parents, needs, kinds = _inputs(args)
            is_half = HALF in kinds and name != "astype"
            if is_half:
                arrays = _in_float32(arrays)
            is_recorded = True in needs and is_recording()
            needs = tuple(needs) if is_recorded else (False,) * len(needs)
            if takes_needs:
                result = function(*arrays, needs=needs, **options)
            else:
                result = function(*arrays, **options)
        except Exception as error:
            error.add_note(f"(in {name}, inputs: {_describe_inputs(args, options)})")
            explain(error, function)  # if PyTorch's dim= was passed, suggest axis=
            raise
        try:
            output, backward = result
        except (TypeError, ValueError):  # not two values
            backward = None
        if not callable(backward):
            raise TypeError(_no_pair_message(name, result))
        if is_half and not any(kind in "fdg" for kind in kinds):  # no wider floats
            output, backward = _rounded(output), _of_float32(backward)
        node = Node(name, tuple(parents), needs, backward) if is_recorded else None
        if type(output) is tuple:
            return _several_outputs(name, output, node)
        array = np.asarray(output)
        if array.dtype.kind != "f":  # not floats: integers and booleans pass, too
            _check_numbers(name, array, node)
        return Tensor._from_array(array, node)

    op.raw, op.__signature__ = function, signature
    return op


def _inputs(args):
    """Return (arrays, parents, needs, kinds) for the arguments of an operation.

    arrays    the arguments of the function of arrays
    parents   for each argument, the node or leaf that receives its gradient; None if
              the argument is not a tensor; n entries for a list of n tensors
    needs     whether each of them needs its gradient
    kinds     the letters of the dtypes: "e" is float16; "f", "d", "g" are wider floats
    """
    arrays, parents, needs, kinds = [], [], [], []
    for a in args:
        if isinstance(a, Tensor):
            arrays.append(a._data)  # the array; a.data may be a read-only view of it
            parents.append(a._node or a)  # a leaf has no node: the tensor itself
            needs.append(a.requires_grad)
            kinds.append(a._data.dtype.char)
        elif type(a) in (list, tuple) and any(map(isinstance, a, repeat(Tensor))):
            list_arrays, list_parents, list_needs, list_kinds = _inputs(a)
            arrays.append(type(a)(list_arrays))
            parents += list_parents
            needs += list_needs
            kinds += list_kinds
        else:
            if isinstance(a, np.ndarray):
                check_array(a)
                kinds.append(a.dtype.char)
            elif isinstance(a, np.generic):
                a = a.item()  # a NumPy float64 would turn float32 arrays into float64
            arrays.append(a)
            parents.append(None)
            needs.append(False)
    return arrays, parents, needs, kinds


# ---- A first reading can stop here ----


class Operation(Protocol[P]):
    """The type of an operation, for editors.

    It has parameters P and returns a Tensor, or a tuple of Tensors.

    raw   the function of arrays, which returns (output, backward)
    """

    raw: Callable

    def __call__(self, *args: P.args, **options: P.kwargs) -> Tensor: ...


def _signature(function):
    """Return the signature without ``needs``, and whether there is a ``needs``."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    others = [p for p in parameters if (p.name, p.kind) != ("needs", p.KEYWORD_ONLY)]
    return signature.replace(parameters=others), len(others) < len(parameters)


def _with_positional_tensors(signature, args, options):
    """Return (args, options) of the same call without tensors among the options.

    linear(x, W, bias=b) becomes linear(x, W, b), because the gradients that a backward
    returns are in the order of the positional arguments.
    """
    arrays, parents, *_ = _inputs(options.values())
    if all(parent is None for parent in parents):
        return args, dict(zip(options, arrays))
    call = signature.bind(*args, **options)
    call.apply_defaults()
    keyword_only, *_ = _inputs(call.kwargs.values())
    return call.args, dict(zip(call.kwargs, keyword_only))


def _in_float32(x):
    """Return a float16 array as float32, and lists with such arrays."""
    if type(x) in (list, tuple):
        return type(x)(map(_in_float32, x))
    return x.astype(np.float32) if getattr(x, "dtype", None) == np.float16 else x


def _rounded(y):
    """Return a float32 output, or each of several, as float16."""
    if type(y) is tuple:
        return tuple(map(_rounded, y))
    y = np.asarray(y)
    with np.errstate(over="ignore"):  # infinity is right
        return y.astype(np.float16) if y.dtype == np.float32 else y


def _of_float32(backward):
    return lambda g: backward(_in_float32(g))


def _check_numbers(name, array, node):
    """Raise TypeError unless the output of operation ``name`` holds numbers.

    If a node records the operation, they must be real numbers.
    """
    if array.dtype.kind not in ("biufc" if node is None else "biuf"):
        expected = "numbers" if node is None else "real numbers, which have gradients"
        raise TypeError(f"{name}: the result is {array.dtype}; expected {expected}.")


def _several_outputs(name, outputs, node):
    """Return the outputs of operation ``name`` as tensors.

    ``node`` is the node of the operation, or None if nothing is recorded.

    Each output has a node whose only parent is the node of the operation. So the
    backward of the operation runs once, when the gradients of all outputs are known.
    """
    arrays = [np.asarray(y) for y in outputs]
    for array in arrays:
        _check_numbers(name, array, node)
    if node is None:
        return tuple(map(Tensor._from_array, arrays))
    node.shape, node.dtype = [y.shape for y in arrays], [y.dtype for y in arrays]
    nodes = [
        Node(f"{node.op}[{i}]", (node,), (True,), _pass_on, output_index=i)
        for i in range(len(arrays))
    ]
    return tuple(map(Tensor._from_array, arrays, nodes))


def _pass_on(g):
    """The backward of one of several outputs: g belongs to its operation."""
    return g


def _no_pair_message(name, result):
    return (
        f"{name} returned {_describe(result)}; an operation returns (output, "
        "backward), where backward maps g = dL/d(output) to the gradients of the "
        "inputs."
    )


def _describe_inputs(args, options):
    items = [_describe(a) for a in args]
    items += [f"{name}={_describe(value)}" for name, value in options.items()]
    return f"({', '.join(items)})"


def _describe(value):
    """Return a text for messages: dtype and shape of an array, value of a number."""
    if isinstance(value, (np.ndarray, Tensor)):
        return f"{value.dtype} {value.shape}"
    if isinstance(value, (list, tuple)):
        return _describe_inputs(value, {})
    return repr(value) if isinstance(value, (int, float)) else type(value).__name__
