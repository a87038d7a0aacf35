"""``@differentiable`` turns a function of arrays into a function of tensors.

An operation is written once, as a function from arrays to ``(array, backward)``:

    @differentiable
    def square(x):
        return x * x, lambda g: g * 2 * x

Its backward maps g = dL/d(output) to the gradients of the positional arguments, in
their order: one array for one argument, a tuple for several, None where there is no
gradient. What it needs from the forward it finds in the function's local names; nothing
has to be saved and restored.

- A gradient may have the *broadcast* shape: the engine sums it down and casts it.
- A gradient is a new array, or g itself, or a view of g; never an input or a saved one.
- ``backward(g, needs)``, with that second parameter, is told which inputs want one.
- The output may be a tuple; then g is a list, with zeros for outputs that nobody used.
- A list of tensors as an argument stands for that many arguments.

``square(x)`` then takes tensors, arrays and numbers; ``square.raw`` is the function of
arrays. ``lift`` does the same without entering the operation in the registry.
"""

import functools
import inspect
import weakref

import numpy as np

from .graph import Node, clock, recording
from .registry import register
from .tensor import Tensor


def differentiable(function):
    """Lift ``function`` to tensors and register it under its name."""
    op = lift(function)
    register(op.__name__, op)
    return op


def lift(function):
    """Turn ``function`` (arrays -> (array, backward)) into a function of tensors.

    Raises what ``function`` raises, as one sentence with the operation and its inputs.
    """
    name = function.__name__
    positional = _positional(function)

    @functools.wraps(function)
    def op(*args, **options):
        if options and any(isinstance(v, Tensor) for v in options.values()):
            args = _in_position(args, options, positional)
        if not recording.on:
            arrays = [_array(a) for a in args]
            return _wrap(_call(name, function, arrays, options)[0], arrays)
        arrays, parents, tracked = [], [], False
        for a in args:
            if isinstance(a, Tensor):
                arrays.append(a._data)
                parents.append(a._node or a)
                tracked = tracked or a.requires_grad
            elif isinstance(a, (list, tuple)) and any(isinstance(t, Tensor) for t in a):
                arrays.append(_array(a))
                parents += [t._node or t if isinstance(t, Tensor) else None for t in a]
                tracked = tracked or any(getattr(t, "requires_grad", False) for t in a)
            else:
                # a copy: the caller may overwrite a plain array before backward
                arrays.append(a.copy() if type(a) is np.ndarray else _array(a))
                parents.append(None)
        for parent in parents:
            if isinstance(parent, Tensor) and parent._seal is not None:
                parent.last_change()  # notice it: what changed before now is no harm
        order = next(clock)
        out, backward = _call(name, function, arrays, options)
        if not tracked:
            return _wrap(out, arrays)
        code = getattr(backward, "__code__", None)
        if code is not None and code.co_argcount > 1 and code.co_varnames[1] == "needs":
            backward = functools.partial(backward, needs=_needs(parents))
        if type(out) is tuple:
            return _record_several(name, out, backward, tuple(parents), order)
        if type(out) is not np.ndarray:
            out = np.asarray(out)
        return Tensor._of(
            out,
            Node(
                name,
                tuple(parents),
                backward,
                order,
                out.shape,
                out.dtype,
                weakref.ref(out),
            ),
        )

    op.raw = function
    return op


def _array(a):
    """What the function of arrays is given for the argument ``a``.

    NumPy's scalars become Python's, so that neither ever turns float32 into float64.
    """
    if isinstance(a, Tensor):
        return a._data
    if isinstance(a, np.generic):
        return a.item()
    if isinstance(a, (list, tuple)) and any(isinstance(t, Tensor) for t in a):
        return type(a)(_array(t) for t in a)
    return a


def _positional(function):
    """{name: default} of the positional parameters, in order."""
    return {
        p.name: p.default
        for p in inspect.signature(function).parameters.values()
        if p.kind is p.POSITIONAL_OR_KEYWORD
    }


def _in_position(args, options, positional):
    """The arguments with the tensors among ``options`` moved to their positions.

    A gradient belongs to a position: linear(x, W, bias=b) is linear(x, W, b).
    """
    args = list(args)
    for name, default in list(positional.items())[len(args) :]:
        if not any(isinstance(v, Tensor) for v in options.values()):
            break
        if name not in options and default is inspect.Parameter.empty:
            break
        args.append(options.pop(name, default))
    for name, value in options.items():  # what has no position is constant
        options[name] = _array(value)
    return args


def _call(name, function, arrays, options):
    """Call ``function``; whatever NumPy has against it becomes a sentence."""
    try:
        return function(*arrays, **options)
    except (ValueError, TypeError, IndexError) as error:
        if str(error).startswith(f"{name}:"):
            raise
        inputs = ", ".join(_describe(a) for a in arrays) or "none"
        # a subclass of TypeError may want other arguments, as NumPy's do
        kind = TypeError if isinstance(error, TypeError) else type(error)
        raise kind(f"{name}: {error} (inputs: {inputs})") from None


def _describe(a):
    if isinstance(a, np.ndarray):
        return f"{a.dtype} {a.shape}"
    if isinstance(a, (list, tuple)) and any(isinstance(t, np.ndarray) for t in a):
        return "[" + ", ".join(_describe(each) for each in a) + "]"
    return repr(a) if isinstance(a, (int, float)) else type(a).__name__


def _wrap(out, inputs):
    """``out``, or several, as tensors without a graph, in memory of their own.

    With no graph to connect them, nobody would see that a write to the input also
    changes a view of it.
    """
    if type(out) is tuple:
        return tuple(_wrap(each, inputs) for each in out)
    out = np.asarray(out)
    if out.base is not None or any(out is a for a in inputs):
        if any(_shares(out, a) for a in inputs):
            out = out.copy()
    return Tensor._of(out)


def _shares(out, a):
    if isinstance(a, (list, tuple)):
        return any(_shares(out, each) for each in a)
    return isinstance(a, np.ndarray) and np.may_share_memory(out, a)


def _record_several(name, outputs, backward, parents, order):
    """A node for the operation, and one for each output, which hands g on to it."""
    shapes, dtypes = [o.shape for o in outputs], [o.dtype for o in outputs]
    joint = Node(name, parents, backward, order, shapes, dtypes)
    return tuple(
        Tensor._of(
            out,
            Node(
                f"{name}[{i}]",
                (joint,),
                _hand_on,
                next(clock),
                out.shape,
                out.dtype,
                weakref.ref(out),
                slot=i,
            ),
        )
        for i, out in enumerate(outputs)
    )


def _hand_on(g):
    """The backward of one of several outputs; ``flow`` puts g into its slot itself."""
    return g


def _needs(parents):
    """Which inputs want a gradient."""
    return tuple(
        p is not None and (type(p) is Node or p.requires_grad) for p in parents
    )
