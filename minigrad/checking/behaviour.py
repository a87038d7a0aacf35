"""Check the laws that every backward obeys, whether or not its values are right.

``observe`` runs a computation and its backward several times and reports every law that
it breaks: inputs and cotangents are not changed, gradients are new memory, two calls
agree, the backward is linear in the cotangent, and an input that is used twice receives
the sum.
"""

from dataclasses import dataclass, field

import numpy as np

from ..graph import Node, no_grad, reachable
from .hypotheses import is_single
from .verdict import GradcheckError


@dataclass
class Observation:
    """The results of ``observe``.

    op, size     the last operation's name, and the number of operations
    y            the output arrays;  cotangents, one for each
    gradients    for each leaf;  again, from a second backward
    vjp          cotangents -> gradients, by another, identical sequence of calls
    broken       (tag, sentence) of laws without which nothing can be compared
    laws         (tag, sentence, i) of the other laws that do not hold; i is the leaf
                 whose gradient shows it, or None
    misshapen    (i, array), a gradient that does not fit leaf i
    earlier      the inputs of another call, made before and in between; or None
    """

    op: str = ""
    size: int = 0
    y: list = field(default_factory=list)
    cotangents: list = field(default_factory=list)
    gradients: list = field(default_factory=list)
    again: list = field(default_factory=list)
    vjp: object = None
    broken: list = field(default_factory=list)
    laws: list = field(default_factory=list)
    misshapen: tuple | None = None
    earlier: list | None = None


def observe(subject, points, rng):
    """Run ``subject`` at ``points``, one array for each leaf; return an Observation."""
    seen = Observation(earlier=[p * (1 - 0.1 * rng.random(p.shape)) for p in points])
    constants = [c.copy() for c in subject.constants]
    if not _runs(subject, seen.earlier):
        seen.earlier = None
    with subject.holding(points):
        outputs = subject.outputs()
        _record_operation(outputs, seen)
        seen.y = [t._data.copy() for t in outputs]
        seen.cotangents = [np.asarray(rng.normal(size=y.shape)) for y in seen.y]
        _check_unchanged(subject, points, constants, seen, "the forward")
        _check_outputs(subject, seen)
        if seen.earlier is not None:
            _runs(subject, seen.earlier)
        if not seen.broken:
            _check_backward(subject, points, constants, outputs, seen, rng)
    return seen


def _runs(subject, points):
    """Call with other inputs, to expose a cache; return whether that worked."""
    with subject.holding(points), np.errstate(all="ignore"):
        try:
            subject.outputs()
        except Exception:
            return False
    return True


def _record_operation(outputs, seen):
    if not any(t.requires_grad for t in outputs):
        raise GradcheckError(
            "gradcheck: no gradient leads from the output to any input. The function "
            "left the graph (.data, .detach(), NumPy, no_grad) or uses no input."
        )
    nodes = {n for t in outputs if t._node for n in reachable(t._node)}
    seen.size = sum(n.slot is None for n in nodes)
    last = next((t._node for t in outputs if t._node), None)
    if last is not None:
        seen.op = last.op if last.slot is None else last.parents[0].op


def _check_outputs(subject, seen):
    report = seen.broken.append
    for k, y in enumerate(seen.y):
        which = f"output {k}" if len(seen.y) > 1 else "the output"
        if y.dtype != np.float64:
            report(("float32", f"{which} is {y.dtype}; the inputs are float64"))
        elif np.isnan(y).any():
            first = [int(i) for i in np.argwhere(np.isnan(y))[0]]
            report(("nan", f"{which} is nan at {first}"))
    if seen.broken:
        return
    with no_grad():
        second = [t._data for t in subject.outputs()]
    if len(second) != len(seen.y) or not all(map(_close, second, seen.y)):
        report(
            (
                "stateful",
                "two calls with equal inputs return different values; random numbers "
                "have to come from a generator that each call makes for itself",
            )
        )


def _check_backward(subject, points, constants, outputs, seen, rng):
    c, detector = seen.cotangents, _WriteDetector()
    try:
        first = subject.gradients(outputs, c, detector)
    except Exception as error:
        _report_error(error, subject, detector, seen)
        return
    detector.compare()
    seen.gradients = [_copy(a) for a in first]
    second = subject.gradients(outputs, c)
    seen.again = [_copy(a) for a in second]
    _check_unchanged(subject, points, constants, seen, "the backward")

    def vjp(cotangents):
        fresh = subject.outputs()
        if seen.earlier is not None:
            _runs(subject, seen.earlier)
        return subject.gradients(fresh, cotangents)

    seen.vjp = vjp
    seen.laws += _repetition(subject, seen)
    seen.laws += _aliases(subject, first, second, outputs)
    if detector.culprit:
        what = (
            f"the backward of {detector.culprit} writes into the gradient it is given"
        )
        seen.laws.append(("mutates-cotangent", what, None))
    for i, (leaf, name) in enumerate(zip(subject.leaves, subject.names)):
        if is_single(seen.gradients[i]) and not is_single(leaf._data):
            what = f"every entry of d_{name} is a float32 number"
            seen.laws.append(("float32", what, i))
    other = [np.asarray(rng.normal(size=each.shape)) for each in c]
    with np.errstate(invalid="ignore"):
        seen.laws += _linearity(subject, outputs, seen, other)


def _repetition(subject, seen):
    """A second backward through the same graph returns the same."""
    for i, (a, b) in enumerate(zip(seen.gradients, seen.again)):
        if not _close(a, b):
            if a is not None and _close(2 * a, b):
                what = f"a second backward returns 2 x d_{subject.names[i]}"
                yield "accumulates", what, i
            else:
                what = f"a second backward returns another d_{subject.names[i]}"
                yield "stateful", what, i


def _linearity(subject, outputs, seen, other):
    """Zero goes to zero, sums to sums; two uses in one graph add up."""
    c = seen.cotangents
    nothing, apart, together = (
        [_copy(a) for a in subject.gradients(outputs, cotangents)]
        for cotangents in (
            [0 * each for each in c],
            other,
            [2 * a - b for a, b in zip(c, other)],
        )
    )
    # the outputs of one call used twice, and the inputs in a second call
    fan = subject.gradients(outputs + subject.outputs() + outputs, c + other + c)
    for k, name in enumerate(subject.names):
        a, b = seen.gradients[k], apart[k]
        if a is None or b is None:
            continue
        size = np.abs(a) + np.abs(b)
        if not _close(nothing[k], np.zeros(a.shape), size):
            yield "not-linear", f"for a cotangent of 0, d_{name} is not 0", k
        elif not _close(together[k], 2 * a - b, size):
            yield "not-linear", f"d_{name} is not linear in the cotangent", k
        elif not _close(fan[k], 2 * a + b, size):
            yield "overwrites", f"d_{name} of several uses is not the sum of theirs", k


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
                seen.broken.append(("shape", text))
                return
    seen.broken.append(("raises", text))


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
            seen.broken.append(("mutates-input", what))
    for was, now in zip(constants, subject.constants):
        if not _equal(was, now):
            what = f"{who} wrote into a constant of shape {was.shape}"
            seen.broken.append(("mutates-input", what))


def _aliases(subject, first, second, outputs):
    """Find gradients that share memory with an input, output or other gradient."""
    others = [(f"input {n}", t._data) for n, t in zip(subject.names, subject.leaves)]
    others += [("the output", t._data) for t in outputs]
    for i, a in enumerate(first):
        rest = [(f"d_{n}", b) for n, b in zip(subject.names[:i], first[:i])]
        again = [("what the next backward returns", second[i])]
        for what, b in others + rest + again if a is not None else ():
            if b is not None and np.may_share_memory(a, b):
                what = f"d_{subject.names[i]} is the same memory as {what}"
                yield "aliases", what, None
                break


def _copy(a):
    return None if a is None else a.copy()


def _equal(a, b):
    return np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def _close(a, b, size=None):
    """Return whether two arrays differ by rounding alone."""
    if a is None or b is None:
        return a is b
    if a.shape != b.shape:
        return False
    size = np.abs(b) if size is None else size
    allowed = 1e-9 * size[np.isfinite(size)].max(initial=0)
    return bool(np.allclose(a, b, rtol=0, atol=allowed, equal_nan=True))
