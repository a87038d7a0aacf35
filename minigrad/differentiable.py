"""``@differentiable`` turns a function of arrays into an operation on tensors.

An operation is written once, as a function from arrays to ``(array, backward)``:

    @differentiable
    def square(x):
        return x * x, lambda g: g * 2 * x

Its backward maps g = dL/d(output) to the gradients of the positional arguments, in
their order: one array for one argument, a tuple for several, None where there is no
gradient. It reads what it needs from the local names of the forward.

- A gradient may have the *broadcast* shape: the engine sums it down and casts it.
- A gradient is a new array, or g itself, or a view of g; never an input or a saved one.
- ``backward(g, needs)``, with that second parameter, also receives a tuple of booleans:
  which inputs need a gradient.
- The output may be a tuple; then g is a list, with zeros for unused outputs.
- A list of tensors as an argument stands for that many arguments.

``square(x)`` then takes tensors, arrays and numbers; ``square.raw`` is the function of
arrays. ``lift`` does the same without registering the operation's name.
"""

import functools
import inspect
import weakref

import numpy as np

from .graph import Node, recording
from .registry import register
from .tensor import Tensor


def differentiable(function):
    """Turn ``function`` into an operation on tensors, and register its name."""
    op = lift(function)
    register(op.__name__, op)
    return op


def lift(function):
    """Turn ``function`` (arrays -> (array, backward)) into an operation on tensors."""
    name = function.__name__
    positional = [
        p
        for p in inspect.signature(function).parameters.values()
        if p.kind is p.POSITIONAL_OR_KEYWORD
    ]

    @functools.wraps(function)
    def op(*args, **options):
        if options:
            args, options = _tensors_in_position(args, options, positional)
        arrays, parents, tracked = _inputs(args)
        try:
            result = function(*arrays, **options)
        except Exception as error:
            error.add_note(f"(in {name}, inputs: {_describe(arrays)})")
            raise
        if type(result) is not tuple or len(result) != 2 or not callable(result[1]):
            raise TypeError(
                f"{name} returned {_describe(result)}; an operation returns (output, "
                "backward), where backward maps g = dL/d(output) to the gradients of "
                "the inputs."
            )
        if tracked and recording():
            return _record(name, *result, tuple(parents))
        return _constants(result[0])

    op.raw = function
    return op


def _inputs(args):
    """Return (arrays, parents, tracked) of the arguments of an operation.

    arrays    what the function of arrays receives
    parents   where the gradient of each input goes; None for what is no tensor
    tracked   whether any input requires a gradient
    """
    arrays, parents, tracked = [], [], False
    for a in args:
        if isinstance(a, Tensor):
            arrays.append(a._data)
            parents.append(a._node or a)
            tracked = tracked or a.requires_grad
        elif isinstance(a, (list, tuple)) and any(isinstance(t, Tensor) for t in a):
            inner, inner_parents, inner_tracked = _inputs(a)
            arrays.append(type(a)(inner))
            parents.extend(inner_parents)
            tracked = tracked or inner_tracked
        else:
            # as a Python number, a NumPy scalar never turns float32 into float64
            arrays.append(a.item() if isinstance(a, np.generic) else a)
            parents.append(None)
    return arrays, parents, tracked


def _tensors_in_position(args, options, positional):
    """Move tensors among the keyword ``options`` to their positions.

    A gradient belongs to a position: linear(x, W, bias=b) becomes linear(x, W, b).
    """
    args = list(args)
    for p in positional[len(args) :]:
        if not any(isinstance(v, Tensor) for v in options.values()):
            break
        if p.name not in options and p.default is p.empty:
            break
        args.append(options.pop(p.name, p.default))
    # a tensor for a keyword-only parameter is a constant
    return args, dict(zip(options, _inputs(options.values())[0]))


def _record(name, out, backward, parents):
    """Return ``out`` as a tensor, or several, recorded in the graph as a new node."""
    code = getattr(backward, "__code__", None)
    if code is not None and code.co_argcount > 1 and code.co_varnames[1] == "needs":
        needs = tuple(p is not None and p.requires_grad for p in parents)
        backward = functools.partial(backward, needs=needs)
    if type(out) is not tuple:
        out = out if type(out) is np.ndarray else np.asarray(out)
        node = Node(name, parents, backward, out.shape, out.dtype, weakref.ref(out))
        return Tensor._of(out, node)
    outs = [np.asarray(each) for each in out]
    shapes, dtypes = [o.shape for o in outs], [o.dtype for o in outs]
    joint = Node(name, parents, backward, shapes, dtypes)
    tensors = []
    for i, o in enumerate(outs):
        node = Node(f"{name}[{i}]", (joint,), _identity, o.shape, o.dtype)
        node.value, node.slot = weakref.ref(o), i
        tensors.append(Tensor._of(o, node))
    return tuple(tensors)


def _identity(g):
    """Pass on the gradient of one of several outputs to their common node."""
    return g


def _constants(out):
    """Return ``out`` as a tensor, or several, without a graph."""
    if type(out) is tuple:
        return tuple(Tensor._of(np.asarray(each)) for each in out)
    return Tensor._of(np.asarray(out))


def _describe(value):
    """Return dtypes and shapes of arrays, and numbers as they are, for messages."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape}"
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(_describe(each) for each in value) + ")"
    return repr(value) if isinstance(value, (int, float)) else type(value).__name__
