"""Run a computation and its backward once, and report what does not concern values.

``observe`` reports the rules about memory and repetition that a backward breaks: inputs
and cotangents are not changed, gradients are new arrays, and two calls agree.
"""

from dataclasses import dataclass, field

import numpy as np

from ..graph import Node, no_grad, reachable
from .hypotheses import is_single
from .verdict import Finding, GradcheckError


@dataclass
class Observation:
    """The results of ``observe``.

    op, size     the last operation's name, and the number of operations
    outputs      the tensors;  y, copies of their arrays;  cotangents, one for each
    gradients    for each leaf;  again, from a second backward
    broken       a ``Finding`` for each broken rule after which nothing can be compared
    laws         a ``Finding`` for each other broken rule
    misshapen    (i, array), a gradient that does not fit leaf i
    earlier      the inputs of another call, made before the others; or None
    """

    op: str = ""
    size: int = 0
    outputs: list = field(default_factory=list)
    y: list = field(default_factory=list)
    cotangents: list = field(default_factory=list)
    gradients: list = field(default_factory=list)
    again: list = field(default_factory=list)
    broken: list = field(default_factory=list)
    laws: list = field(default_factory=list)
    misshapen: tuple | None = None
    earlier: list | None = None


def observe(subject, points, rng):
    """Run ``subject``, whose leaves hold ``points``; return an Observation."""
    seen = Observation(earlier=[p * (1 - 0.1 * rng.random(p.shape)) for p in points])
    constants = [c.copy() for c in subject.constants]
    if not call_elsewhere(subject, seen.earlier):
        seen.earlier = None
    seen.outputs = subject.outputs()
    _record_operation(seen)
    seen.y = [t._data.copy() for t in seen.outputs]
    seen.cotangents = [np.asarray(rng.normal(size=y.shape)) for y in seen.y]
    _check_unchanged(subject, points, constants, seen, "the forward")
    _check_outputs(subject, seen)
    call_elsewhere(subject, seen.earlier)
    if not seen.broken:
        _run_backward(subject, seen)
        _check_unchanged(subject, points, constants, seen, "the backward")
    return seen


def call_elsewhere(subject, points):
    """Call with other inputs, to expose a cache; return whether that worked."""
    if points is None:
        return False
    with subject.holding(points), np.errstate(all="ignore"):
        try:
            subject.outputs()
        except Exception:
            return False
    return True


def vjp(subject, seen, cotangents):
    """Return the gradients of another, identical sequence of calls."""
    outputs = subject.outputs()
    call_elsewhere(subject, seen.earlier)
    return subject.gradients(outputs, cotangents)


def _record_operation(seen):
    if not any(t.requires_grad for t in seen.outputs):
        raise GradcheckError(
            "gradcheck: no gradient leads from the output to any input. The function "
            "left the graph (.data, .detach(), NumPy, no_grad) or uses no input."
        )
    nodes = {n for t in seen.outputs if t._node for n in reachable(t._node)}
    seen.size = sum(n.slot is None for n in nodes)
    last = next((t._node for t in seen.outputs if t._node), None)
    if last is not None:
        seen.op = last.op if last.slot is None else last.parents[0].op


def _check_outputs(subject, seen):
    for k, y in enumerate(seen.y):
        which = f"output {k}" if len(seen.y) > 1 else "the output"
        if y.dtype != np.float64:
            what = f"{which} is {y.dtype}; the inputs are float64"
            seen.broken.append(Finding("float32", what))
        elif np.isnan(y).any():
            first = [int(i) for i in np.argwhere(np.isnan(y))[0]]
            seen.broken.append(Finding("nan", f"{which} is nan at {first}"))
    if seen.broken:
        return
    with no_grad():
        second = [t._data for t in subject.outputs()]
    if len(second) != len(seen.y) or not all(map(_close, second, seen.y)):
        what = (
            "two calls with equal inputs return different values; random numbers "
            "have to come from a generator that each call makes for itself"
        )
        seen.broken.append(Finding("stateful", what))


def _run_backward(subject, seen):
    detector = _WriteDetector()
    try:
        first = subject.gradients(seen.outputs, seen.cotangents, detector)
    except Exception as error:
        _report_error(error, subject, detector, seen)
        return
    detector.compare()
    seen.gradients = [_copy(a) for a in first]
    second = subject.gradients(seen.outputs, seen.cotangents)
    seen.again = [_copy(a) for a in second]
    for name, a, b in zip(subject.names, seen.gradients, seen.again):
        if a is not None and b is not None and not _close(a, b):
            tag, what = "stateful", "another"
            if _close(2 * a, b):
                tag, what = "accumulates", "2 x"
            what = f"a second backward returns {what} d_{name}"
            seen.laws.append(Finding(tag, what))
    _check_aliases(subject, first, second, seen)
    if detector.culprit:
        what = (
            f"the backward of {detector.culprit} writes into the gradient it is given"
        )
        seen.laws.append(Finding("mutates-cotangent", what))
    for leaf, name, a in zip(subject.leaves, subject.names, seen.gradients):
        if is_single(a) and not is_single(leaf._data):
            what = f"every entry of d_{name} is a float32 number"
            seen.laws.append(Finding("float32", what))


class _WriteDetector:
    """Find the node whose backward writes into the gradient that it receives."""

    def __init__(self):
        self.culprit = self.node = self.g = None
        self.copies = []

    def __call__(self, node, g):
        self.compare()
        self.node, self.g = node, g
        arrays = g if type(g) is list else [g]
        self.copies = [(a, a.copy()) for a in arrays if a is not None]

    def compare(self):
        if self.culprit is None and not all(_equal(a, b) for a, b in self.copies):
            self.culprit = self.node.op


def _report_error(error, subject, detector, seen):
    """Report why the backward raised; keep a gradient of a wrong shape."""
    node, g = detector.node, detector.g
    text = f"{type(error).__name__} in the backward of {node.op}: {error}"
    if type(g) is list:
        g = [np.zeros(s) if each is None else each for each, s in zip(g, node.shape)]
    try:
        returned = node.input_gradients(g)
    except Exception:  # the same error again
        returned = ()
    returned = returned if type(returned) in (tuple, list) else (returned,)
    for parent, d in zip(node.parents, returned):
        if type(parent) is Node or not isinstance(d, np.ndarray):
            continue
        for i, leaf in enumerate(subject.leaves):
            if leaf is parent and not _fits(d.shape, leaf.shape):
                seen.misshapen = (i, d)
                text = (
                    f"the backward of {node.op} returned shape {d.shape} for input "
                    f"{subject.names[i]} of shape {leaf.shape}"
                )
                seen.broken.append(Finding("shape", text))
                return
    seen.broken.append(Finding("raises", text))


def _fits(shape, leaf):
    """Return whether ``shape`` can be summed over broadcast axes to the leaf's."""
    try:
        return np.broadcast_shapes(shape, leaf) == shape
    except ValueError:
        return False


def _check_unchanged(subject, points, constants, seen, who):
    for name, leaf, point in zip(subject.names, subject.leaves, points):
        if not _equal(leaf._data, point):
            what = f"{who} wrote into input {name}"
            seen.broken.append(Finding("mutates-input", what))
    for was, now in zip(constants, subject.constants):
        if not _equal(was, now):
            what = f"{who} wrote into a constant of shape {was.shape}"
            seen.broken.append(Finding("mutates-input", what))


def _check_aliases(subject, first, second, seen):
    """Report gradients that share memory with an input, output or other gradient."""
    others = [(f"input {n}", t._data) for n, t in zip(subject.names, subject.leaves)]
    others += [("the output", t._data) for t in seen.outputs]
    for i, a in enumerate(first):
        rest = [(f"d_{n}", b) for n, b in zip(subject.names[:i], first[:i])]
        again = [("what the next backward returns", second[i])]
        for what, b in others + rest + again if a is not None else ():
            if b is not None and np.may_share_memory(a, b):
                what = f"d_{subject.names[i]} is the same memory as {what}"
                seen.laws.append(Finding("aliases", what))
                break


def _copy(a):
    return None if a is None else a.copy()


def _equal(a, b):
    return np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def _close(a, b):
    """Return whether two arrays differ by rounding alone."""
    allowed = 1e-9 * np.abs(b[np.isfinite(b)]).max(initial=0)
    return a.shape == b.shape and np.allclose(a, b, 0, allowed, equal_nan=True)
