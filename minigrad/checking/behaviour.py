"""Check that a backward changes no array that it is given, and repeats its results.

The forward and the backward do not change inputs or cotangents, each gradient is a new
array, and two equal calls return equal values. ``observe`` reports broken rules.
"""

from dataclasses import dataclass, field

import numpy as np

from ..graph import Node, reachable
from ..recording import no_grad
from .hypotheses import fits_float32
from .verdict import Finding, GradcheckError


@dataclass
class Run:
    """The results of one run, forward and backward, and the rules that it breaks.

    op, size           the name of the last operation, and the number of operations
    outputs            the output tensors
    y                  copies of their arrays
    cotangents         a random cotangent for each output
    gradients          the gradient of each leaf
    second_gradients   the same from a second backward
    fatal_findings     a ``Finding`` for each broken rule that prevents a comparison
    findings           a ``Finding`` for each other broken rule
    wrong_shape        (i, array): a gradient of leaf i that has another shape, or None
    earlier_inputs     other values of the inputs, with other signs if possible, with
                       which the function is called before the usual call and after it;
                       None if that failed
    """

    op: str = ""
    size: int = 0
    outputs: list = field(default_factory=list)
    y: list = field(default_factory=list)
    cotangents: list = field(default_factory=list)
    gradients: list = field(default_factory=list)
    second_gradients: list = field(default_factory=list)
    fatal_findings: list = field(default_factory=list)
    findings: list = field(default_factory=list)
    wrong_shape: tuple | None = None
    earlier_inputs: list | None = None


def observe(subject, points, rng):
    """Run the forward and backward of ``subject``; its leaves hold ``points``.

    Between the forward and the backward, the function is called with other inputs. So a
    backward that wrongly reads a cache of the last call returns wrong gradients.
    """
    run = Run()
    constants = [c.copy() for c in subject.constants]
    run.earlier_inputs = _call_earlier(subject, points, rng)
    run.outputs = subject.outputs()
    _record_operation(run)
    run.y = [t._data.copy() for t in run.outputs]
    run.cotangents = [np.asarray(rng.normal(size=y.shape)) for y in run.y]
    _check_unchanged(subject, points, constants, run, "the forward")
    _check_outputs(subject, run)
    call_at(subject, run.earlier_inputs)
    if not run.fatal_findings:
        _run_backward(subject, run)
        _check_unchanged(subject, points, constants, run, "the backward")
    return run


def call_at(subject, points):
    """Run forward and backward with other inputs; return whether that worked."""
    if points is None:
        return False
    with subject.with_data(points), np.errstate(all="ignore"):
        try:
            outputs = subject.outputs()
            subject.gradients(outputs, [np.ones_like(t._data) for t in outputs])
        except Exception:
            return False
    return not any(np.isnan(t._data).any() for t in outputs)


def vjp(subject, run, cotangents):
    """Return the gradients of a new call with the same inputs, J^T c.

    The name is the usual one for this product: vector-Jacobian product.
    """
    outputs = subject.outputs()
    call_at(subject, run.earlier_inputs)
    return subject.gradients(outputs, cotangents)


def _call_earlier(subject, points, rng):
    """Call the subject with other inputs, and return these; None if no call worked.

    A mask such as x > 0 should be different there. So the first choice changes all
    signs; if the function is not defined there, the next ones change the signs of one
    input, the order of the entries, or the values alone.
    """
    parts = [rng.random(p.shape) for p in points]
    smaller = [p * (1 - 0.7 * part) for p, part in zip(points, parts)]
    negative = [-p for p in smaller]
    reverse = [p.reshape(-1)[::-1].reshape(p.shape) for p in smaller]
    one_negative = [
        [*reverse[:i], negative[i], *reverse[i + 1 :]] for i in range(len(points))
    ]
    near = [p * (1 - 0.1 * part) for p, part in zip(points, parts)]
    for inputs in (negative, *one_negative, reverse, near):
        if call_at(subject, inputs):
            return inputs
    return None


def _record_operation(run):
    if not any(t.requires_grad for t in run.outputs):
        raise GradcheckError(
            "gradcheck: no gradient leads from the output to any input. The function "
            "left the graph (.data, .detach(), NumPy, no_grad) or uses no input."
        )
    nodes = {n for t in run.outputs if t._node for n in reachable(t._node)}
    run.size = sum(n.output_index is None for n in nodes)
    node = next((t._node for t in run.outputs if t._node), None)
    if node is not None:  # a slot is one output of an operation with several
        run.op = node.op if node.output_index is None else node.parents[0].op


def _check_outputs(subject, run):
    for k, y in enumerate(run.y):
        which = f"output {k}" if len(run.y) > 1 else "the output"
        if y.dtype != np.float64:
            what = f"{which} is {y.dtype}; the inputs are float64"
            run.fatal_findings.append(Finding("float32", what))
        elif np.isnan(y).any():
            first = [int(i) for i in np.argwhere(np.isnan(y))[0]]
            run.fatal_findings.append(Finding("nan", f"{which} is nan at {first}"))
    if run.fatal_findings:
        return
    with no_grad():
        second = [t._data for t in subject.outputs()]
    if len(second) != len(run.y) or not all(map(_close, second, run.y)):
        what = (
            "two calls with equal inputs return different values; each call must "
            "create its own generator of random numbers"
        )
        run.fatal_findings.append(Finding("stateful", what))


def _run_backward(subject, run):
    detector = _WriteDetector()
    try:
        first = subject.gradients(run.outputs, run.cotangents, detector)
    except Exception as error:
        _report_error(error, subject, detector, run)
        return
    detector.compare()
    run.gradients = [_copy(a) for a in first]
    second = subject.gradients(run.outputs, run.cotangents)
    run.second_gradients = [_copy(a) for a in second]
    for name, a, b in zip(subject.names, run.gradients, run.second_gradients):
        if a is not None and b is not None and not _close(a, b):
            doubled = _close(2 * a, b)
            tag = "accumulates" if doubled else "stateful"
            what = (
                f"a second backward returns {'2 x' if doubled else 'another'} d_{name}"
            )
            run.findings.append(Finding(tag, what))
    _check_aliases(subject, first, second, run)
    if detector.culprit:
        what = (
            f"the backward of {detector.culprit} writes into the gradient it is given"
        )
        run.findings.append(Finding("mutates-cotangent", what))
    for leaf, name, a in zip(subject.leaves, subject.names, run.gradients):
        if fits_float32(a) and not fits_float32(leaf._data):
            what = f"every entry of d_{name} is a float32 number"
            run.findings.append(Finding("float32", what))


class _WriteDetector:
    """Find the node whose backward writes into the gradient that it receives.

    ``backward_pass`` calls it before each node. Then the gradient of the node before
    must still be equal to its copy.
    """

    def __init__(self):
        self.culprit = self.node = self.g = None
        self.copies = []

    def __call__(self, node, g):
        self.compare()
        self.node, self.g = node, g
        arrays = g if type(g) is list else [g]
        self.copies = [(a, a.copy()) for a in arrays]

    def compare(self):
        """Note the operation, if its backward changed the gradient that it received."""
        if self.culprit is None and not all(_equal(a, b) for a, b in self.copies):
            self.culprit = self.node.op


def _report_error(error, subject, detector, run):
    """Report the error of a backward; store a gradient that has a wrong shape."""
    node, g = detector.node, detector.g
    if node is None:  # no backward has run: the forward overwrote an input
        text = f"{type(error).__name__} before the first backward: {error}"
        run.fatal_findings.append(Finding("raises", text))
        return
    text = f"{type(error).__name__} in the backward of {node.op}: {error}"
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
                run.wrong_shape = (i, d)
                text = (
                    f"the backward of {node.op} returned shape {d.shape} for input "
                    f"{subject.names[i]} of shape {leaf.shape}"
                )
                run.fatal_findings.append(Finding("shape", text))
                return
    run.fatal_findings.append(Finding("raises", text))


def _fits(shape, leaf):
    """Return whether an array of shape ``leaf`` can be broadcast to ``shape``."""
    try:
        return np.broadcast_shapes(shape, leaf) == shape
    except ValueError:
        return False


def _check_unchanged(subject, points, constants, run, who):
    for name, leaf, point in zip(subject.names, subject.leaves, points):
        if not _equal(leaf._data, point):
            what = f"{who} wrote into input {name}"
            run.fatal_findings.append(Finding("mutates-input", what))
    for was, now in zip(constants, subject.constants):
        if not _equal(was, now):
            what = f"{who} wrote into a constant of shape {was.shape}"
            run.fatal_findings.append(Finding("mutates-input", what))


def _check_aliases(subject, first, second, run):
    """Report gradients that share memory with an input, output or other gradient."""
    others = [(f"input {n}", t._data) for n, t in zip(subject.names, subject.leaves)]
    others += [("the output", t._data) for t in run.outputs]
    for i, a in enumerate(first):
        if a is None:
            continue
        rest = [(f"d_{n}", b) for n, b in zip(subject.names[:i], first[:i])]
        again = [("the gradient that the next backward returns", second[i])]
        for what, b in others + rest + again:
            if b is not None and np.may_share_memory(a, b):
                what = f"d_{subject.names[i]} shares memory with {what}"
                run.findings.append(Finding("aliases", what))
                break


def _copy(a):
    return None if a is None else a.copy()


def _equal(a, b):
    return np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def _close(a, b):
    """Return whether two arrays are equal, except for rounding."""
    allowed = 1e-9 * np.abs(b[np.isfinite(b)]).max(initial=0)
    return a.shape == b.shape and np.allclose(a, b, 0, allowed, equal_nan=True)
