"""Explain a loss that is NaN, infinite, or cannot be computed.

Almost every number that is computed from a NaN is NaN; the loss is the last of them. So
the step is computed once more, and Python's profiler (``sys.setprofile``) reports each
operation when it returns. The first operation that returns a NaN or an infinity is the
origin, and the innermost module that calls it is the layer. If the forward pass is
finite, the gradients are searched in the same way, from the loss back.

A model needs no preparation for this, and a step without NaN has no extra cost. -inf is
allowed in the forward pass: masked scores are -inf.
"""

import contextlib
import sys
import traceback

import numpy as np

from minigrad import Tensor, tanh
from minigrad.graph import Node, backward_pass

OPERATION = tanh.__code__  # all operations share this code: the wrapper of ``lift``


class Diverged(FloatingPointError):
    """The loss is NaN or infinite, or a layer rejected its input."""


@contextlib.contextmanager
def explained(run, compute, seed, what="loss or its gradient"):
    """Turn a numerical error into ``Diverged``, with its step, batch and layer."""
    try:
        yield
    except FloatingPointError:
        try:
            place = find_nan(run.model, compute)
        except (ArithmeticError, ValueError) as problem:  # a layer raised it
            place = _origin(run.model, problem)
        raise _diverged(run, f"{what} is NaN or infinite", place, seed) from None
    except (ArithmeticError, ValueError) as problem:
        if isinstance(problem, ValueError) and run.steps == 0:
            raise  # at the first step, an argument is wrong
        place = _origin(run.model, problem)
        raise _diverged(run, f"{what} cannot be computed", place, seed) from problem


def _diverged(run, what, place, seed):
    run.optimizer.zero_grad()
    batch = f", batch {run.steps} of seed {seed}" if seed is not None else ""
    return Diverged(
        f"The {what} at step {run.steps}{batch}: {place} Checkpoints of earlier steps "
        "are good; a smaller learning rate usually helps."
    )


def _origin(model, problem):
    """Return the message of an exception, with the innermost layer that raised it."""
    names, layer = _names(model), ""
    for frame, _ in traceback.walk_tb(problem.__traceback__):
        layer = names.get(id(frame.f_locals.get("self")), layer)
    message = str(problem).rstrip(".") or type(problem).__name__
    return f"in layer {layer}, {message}." if layer else f"{message}."


def find_nan(model, compute):
    """Return a sentence about the first NaN or infinity of ``compute()``.

    compute   a function that returns the loss, a Tensor or a number, the same each time
    """
    watch = _Watch(model)
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        with np.errstate(all="ignore"):
            loss = compute()
    finally:
        sys.setprofile(before)
    if watch.found is not None:
        op, layer, shape = watch.found
        return (
            f"the first is in {_place(layer)}, in the result of {op}, of shape "
            f"{shape}.{_bad_parameters(model, layer)}"
        )
    if isinstance(loss, Tensor) and loss.requires_grad:
        with np.errstate(all="ignore"):
            node = _first_bad_backward(loss)
        if node is not None:
            layer = watch.layers.get(node, "")
            return (
                f"the loss is finite, and the first such gradient is in "
                f"{_place(layer)}, out of the backward of {node.op}."
            )
    return (
        "computed again, no operation returns NaN or infinity: the sum of some "
        "gradients overflows, or the step is not repeatable."
    )


class _Watch:
    """A profiler for ``sys.setprofile`` that records the layer of each node."""

    def __init__(self, model):
        self.names = _names(model)
        self.layers = {}  # Node -> name of the layer
        self.found = None  # (operation, layer, shape) of the first bad result

    def __call__(self, frame, event, value):
        if event != "return" or frame.f_code is not OPERATION:
            return
        layer = self._layer(frame)
        for each in value if isinstance(value, tuple) else (value,):
            if not isinstance(each, Tensor):  # None: it raised
                continue
            if each._node is not None:
                self.layers[each._node] = layer
                # if an operation has several outputs, each has a node, whose parent is
                # the node of the operation
                for parent in each._node.parents:
                    if type(parent) is Node:
                        self.layers.setdefault(parent, layer)
            x = each.data
            if self.found is None and (np.isnan(x).any() or (x == np.inf).any()):
                self.found = frame.f_locals["name"], layer, each.shape

    def _layer(self, frame):
        """Return the innermost module that called the operation; "" is the model."""
        while frame is not None:
            name = self.names.get(id(frame.f_locals.get("self")))
            if name is not None:
                return name
            frame = frame.f_back
        return ""


def _first_bad_backward(loss):
    """Return the first node whose backward returns NaN or infinity; None without one.

    A node is visited when its gradient is complete, after all nodes that use it.
    """
    found = []

    def visit(node, g):
        if found or node.output_index is not None:  # one of several outputs passes g on
            return
        for needed, d in zip(node.needs, node.input_gradients(g)):
            if needed and d is not None and not np.isfinite(d).all():
                found.append(node)

    backward_pass(loss._node, np.ones_like(loss.data), free=False, visit=visit)
    return found[0] if found else None


def _names(model):
    return {id(module): name for name, module in model.named_modules()}


def _place(layer):
    return f"layer {layer}" if layer else "the model outside of its layers"


def _bad_parameters(model, layer):
    """Name the parameters of the layer that are NaN or infinite already."""
    prefix = f"{layer}." if layer else ""
    names = [
        name
        for name, p in model.named_parameters()
        if name.startswith(prefix) and not np.isfinite(p.data).all()
    ]
    return f" Parameters with NaN or infinity: {', '.join(names)}." if names else ""
