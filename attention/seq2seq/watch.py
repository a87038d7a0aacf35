"""Where a NaN came from: the first operation with a result that is no number.

A NaN spreads: whatever is computed of it is NaN. By the time the loss shows it,
everything does. So the step is computed once more, and Python reports each operation as
it returns (``sys.setprofile``). The first to return a NaN or an infinity is where it
began, and the innermost module at work at that moment is the layer. Where all of the
forward is finite, the gradients are followed back in the same manner.

Nothing in a model has to be prepared for this, and a step that goes well costs nothing.
-inf is let through on the way forward: masked scores are written so.
"""

import sys

import numpy as np

from minigrad import Tensor, tanh
from minigrad.graph import Node, flow

OPERATION = tanh.__code__  # the same for all operations: what ``lift`` wraps them in


def first_not_finite(model, compute):
    """A sentence that says where the first NaN or infinity of ``compute()`` appears.

    compute   () -> the loss, a Tensor or a number; it must do what it did before
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
            f"the first is in {_called(layer)}, in the result of {op}, of shape "
            f"{shape}.{_spoiled(model, layer)}"
        )
    if isinstance(loss, Tensor) and loss.requires_grad:
        with np.errstate(all="ignore"):
            found = _first_backward(loss)
        if found is not None:
            layer = watch.layers.get(found, "")
            return (
                f"the loss is finite, and the first such gradient is in "
                f"{_called(layer)}, out of the backward of {found.op}."
            )
    return (
        "no operation shows it when the step is computed again; what it was computed "
        "from is not the same."
    )


class _Watch:
    """Called by Python at every return: notes the layer of each operation's node."""

    def __init__(self, model):
        self.names = {id(module): name for name, module in model.named_modules()}
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
                for parent in each._node.parents:  # of one output of several
                    if type(parent) is Node:
                        self.layers.setdefault(parent, layer)
            if self.found is None and not _fine(each.data):
                self.found = frame.f_locals["name"], layer, each.shape

    def _layer(self, frame):
        """The innermost module that the operation was called from; "" is the model."""
        while frame is not None:
            name = self.names.get(id(frame.f_locals.get("self")))
            if name is not None:
                return name
            frame = frame.f_back
        return ""


def _first_backward(loss):
    """The first node whose backward makes a NaN or an infinity out of finite numbers.

    A node's gradient is met when it is complete; those that sent it came before.
    """
    met, bad = [], []

    def visit(node, g):
        if not bad and not _finite(g if isinstance(g, list) else [g]):
            bad.append(node)
        if not bad:
            met.append((node, g))

    leaves = flow(loss._node, np.ones_like(loss.data), free=False, visit=visit)
    bad = bad or [leaf for leaf, g in leaves if not np.isfinite(g).all()]
    bad = {id(each) for each in bad}
    senders = [(node, g) for node, g in met if bad & {id(p) for p in node.parents}]
    for node, g in senders:
        sent = node.backward(g)
        if not _finite(sent if isinstance(sent, (tuple, list)) else [sent]):
            return node
    return senders[-1][0] if senders else None  # each is finite, and their sum is not


def _finite(arrays):
    return all(np.isfinite(each).all() for each in arrays if each is not None)


def _fine(x):
    if x.dtype.kind not in "fc":
        return True
    return not (np.isnan(x).any() or (x == np.inf).any())


def _called(layer):
    return f"layer {layer}" if layer else "the model outside of its layers"


def _spoiled(model, layer):
    """Which parameters of the layer hold a NaN or an infinity already."""
    prefix = f"{layer}." if layer else ""
    names = [
        name
        for name, p in model.named_parameters()
        if name.startswith(prefix) and not np.isfinite(p.data).all()
    ]
    if not names:
        return ""
    verb = "hold" if len(names) > 1 else "holds"
    return f" Of its parameters, {', '.join(names)} {verb} it already."
