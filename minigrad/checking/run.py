"""Run the computation that a gradient check examines, and note which rules it breaks.

The forward and the backward do not change inputs or cotangents, each gradient is a new
array, and two equal calls return equal values.
"""

import contextlib

import numpy as np

from ..differentiable import lift
from ..graph import backward_pass, reachable
from ..recording import no_grad
from ..tensor import Tensor
from .hypotheses import fits_float32
from .verdict import Finding, GradcheckError


class RuleBroken(Exception):
    """A rule is broken, and the gradients cannot be compared: a ``Finding``."""


class Run:
    """A computation and its results: ``call()`` computes tensors from ``leaves``.

    leaves      the tensors that receive gradients
    names       their names, for messages
    points      their values, in float64
    constants   the other arrays among the arguments, which must not change
    training    () -> context in which a module is in training, or None

    ``observe`` runs forward and backward, and stores what they return:

    op, size           the name of the last operation, and the number of operations
    outputs, y         the output tensors, and copies of their arrays
    cotangents         a random cotangent for each output
    gradients          the gradient of each leaf
    findings           a ``Finding`` for each broken rule
    earlier_inputs     other values of the inputs, with other signs if possible, with
                       which the function is called before the usual call and after it;
                       None if that failed
    """

    def __init__(self):
        self.call, self.training, self.op, self.size = None, None, "", 0
        self.leaves, self.names, self.constants = [], [], []
        self.findings, self.earlier_inputs = [], None

    def with_leaves(self, value, name=""):
        """Return ``value``, an argument or a list of them, with leaves for its arrays.

        Each float array or tensor becomes a new leaf, named by its position: "0" or
        "7[1]".
        """
        if isinstance(value, (tuple, list)):
            new_values = [
                self.with_leaves(v, f"{name}[{k}]" if name else str(k))
                for k, v in enumerate(value)
            ]
            return new_values if isinstance(value, list) else tuple(new_values)
        data = value._data if isinstance(value, Tensor) else value
        if not isinstance(data, np.ndarray):
            return value
        if data.dtype.kind != "f":
            self.constants.append(data)
            return value
        self.leaves.append(Tensor(data, requires_grad=True))
        self.names.append(name)
        return self.leaves[-1]

    @contextlib.contextmanager
    def with_data(self, arrays, copy=np.array):
        """Replace the data of the leaves by copies of ``arrays`` in a ``with`` block.

        Afterwards each leaf has its own array again, and not a copy of it. So the code
        does not assign to ``leaf.data``, which copies.
        """
        own = [leaf._data for leaf in self.leaves]
        try:
            for leaf, array in zip(self.leaves, arrays):
                leaf._data = copy(array)
            yield
        finally:
            for leaf, data in zip(self.leaves, own):
                leaf._data = data

    def outputs_now(self):
        """Run the computation; return its float tensors, also those in tuples."""
        returned, found = [self.call()], []
        while returned:
            each = returned.pop()
            if isinstance(each, (tuple, list)):
                returned.extend(reversed(each))
            elif isinstance(each, Tensor) and each.dtype.kind in "fc":
                found.append(each)
        if not found:
            raise GradcheckError("gradcheck: the function returned no float tensor.")
        return found

    def function_of(self, i):
        """Return the computation as a function of leaf ``i``: array -> outputs."""

        def f(x):
            arrays = [leaf._data for leaf in self.leaves]
            arrays[i] = x
            with self.with_data(arrays, np.asarray), no_grad():
                return tuple(t._data for t in self.outputs_now())

        return f

    def gradients_of(self, outputs, cotangents, visit=None, copy=np.array):
        """Return dF/dleaf (or None) for each leaf, F = sum of cotangent * output."""

        def gradcheck(*ys):
            return np.zeros(()), lambda g: tuple(copy(c) for c in cotangents)

        root = lift(gradcheck)(*outputs)._node
        pairs = backward_pass(root, np.ones(()), free=False, visit=visit)
        gradients = {id(leaf): g for leaf, g in pairs}
        return [gradients.get(id(leaf)) for leaf in self.leaves]

    def observe(self, rng):
        """Run the forward and backward; the leaves hold ``points``.

        Between the two, the function is called with other inputs. So a backward that
        wrongly reads a cache of the last call returns wrong gradients. Raises
        RuleBroken if the gradients cannot be compared.
        """
        constants = [c.copy() for c in self.constants]
        self._call_earlier(rng)
        self.outputs = self.outputs_now()
        self._name_operation()
        self.y = [t._data.copy() for t in self.outputs]
        self.cotangents = [np.asarray(rng.normal(size=y.shape)) for y in self.y]
        self._check_unchanged(constants, "the forward")
        self._check_outputs()
        self.call_at(self.earlier_inputs)
        self._run_backward()
        self._check_unchanged(constants, "the backward")

    def call_at(self, points):
        """Run forward and backward with other inputs; return whether that worked."""
        if points is None:
            return False
        with self.with_data(points), np.errstate(all="ignore"):
            try:
                outputs = self.outputs_now()
                self.gradients_of(outputs, [np.ones_like(t._data) for t in outputs])
            except Exception:
                return False
        return not any(np.isnan(t._data).any() for t in outputs)

    # ---- A first reading can stop here ----

    def _call_earlier(self, rng):
        """Call the function with other inputs, and store these if a call worked.

        A mask such as x > 0 should be different there. So the first choice changes all
        signs; if the function is not defined there, the next ones change the signs of
        one input, the order of the entries, or the values alone.
        """
        parts = [rng.random(p.shape) for p in self.points]
        smaller = [p * (1 - 0.7 * part) for p, part in zip(self.points, parts)]
        negative = [-p for p in smaller]
        reverse = [p.reshape(-1)[::-1].reshape(p.shape) for p in smaller]
        one_negative = [
            [*reverse[:i], p, *reverse[i + 1 :]] for i, p in enumerate(negative)
        ]
        near = [p * (1 - 0.1 * part) for p, part in zip(self.points, parts)]
        choices = (negative, *one_negative, reverse, near)
        self.earlier_inputs = next(filter(self.call_at, choices), None)

    def _name_operation(self):
        nodes = {n for t in self.outputs if t._node for n in reachable(t._node)}
        if not any(t.requires_grad for t in self.outputs):
            raise GradcheckError(
                "gradcheck: no gradient leads from the output to any input. The "
                "function left the graph (.data, .detach(), NumPy, no_grad) or uses no "
                "input."
            )
        self.size = sum(n.output_index is None for n in nodes)
        node = next((t._node for t in self.outputs if t._node), None)
        if node is not None:  # each of several outputs has a node of its own
            self.op = node.op if node.output_index is None else node.parents[0].op

    def _check_outputs(self):
        for k, y in enumerate(self.y):
            which = f"output {k}" if len(self.y) > 1 else "the output"
            if y.dtype != np.float64:
                self._fail("float32", f"{which} is {y.dtype}; the inputs are float64")
            elif np.isnan(y).any():
                first = [int(i) for i in np.argwhere(np.isnan(y))[0]]
                self._fail("nan", f"{which} is nan at {first}")
        with no_grad():
            second = [t._data for t in self.outputs_now()]
        if len(second) != len(self.y) or not all(map(_close, second, self.y)):
            self._fail(
                "stateful",
                "two calls with equal inputs return different values; each call must "
                "create its own generator of random numbers",
            )

    def _run_backward(self):
        seen = []  # (name of the operation, its g, a copy of g)

        def visit(node, g):  # before the backward of each node
            for a in g if type(g) is list else [g]:
                seen.append((node.op, a, a.copy()))

        try:
            first = self.gradients_of(self.outputs, self.cotangents, visit)
        except Exception as error:
            # before all nodes, check_not_overwritten raised: the forward wrote into x
            where = f"in the backward of {seen[-1][0]}" if seen else "before the backward"
            self._fail("raises", f"{type(error).__name__} {where}: {error}")
        changed = [op for op, a, copy in seen if not _equal(a, copy)]
        self.gradients = [_copy(a) for a in first]
        second = self.gradients_of(self.outputs, self.cotangents)
        for name, a, b in zip(self.names, self.gradients, map(_copy, second)):
            if a is not None and b is not None and not _close(a, b):
                doubled = _close(2 * a, b)
                another = "2 x" if doubled else "another"
                self._note(
                    "accumulates" if doubled else "stateful",
                    f"a second backward returns {another} d_{name}",
                )
        self._check_aliases(first, second)
        if changed:  # the last one: operations before it may have had the same array
            what = f"the backward of {changed[-1]} writes into the gradient it is given"
            self._note("mutates-cotangent", what)
        for leaf, name, a in zip(self.leaves, self.names, self.gradients):
            if fits_float32(a) and not fits_float32(leaf._data):
                self._note("float32", f"every entry of d_{name} is a float32 number")

    def _check_unchanged(self, constants, who):
        for name, leaf, point in zip(self.names, self.leaves, self.points):
            if not _equal(leaf._data, point):
                self._fail("mutates-input", f"{who} wrote into input {name}")
        for was, now in zip(constants, self.constants):
            if not _equal(was, now):
                what = f"{who} wrote into a constant of shape {was.shape}"
                self._fail("mutates-input", what)

    def _check_aliases(self, first, second):
        """Report gradients that share memory with an input, output or gradient."""
        others = [(f"input {n}", t._data) for n, t in zip(self.names, self.leaves)]
        others += [("the output", t._data) for t in self.outputs]
        for i, a in enumerate(first):
            rest = [(f"d_{n}", b) for n, b in zip(self.names[:i], first[:i])]
            again = [("the gradient that the next backward returns", second[i])]
            for what, b in others + rest + again if a is not None else ():
                if b is not None and np.may_share_memory(a, b):
                    what = f"d_{self.names[i]} shares memory with {what}"
                    self._note("aliases", what)
                    break

    def _fail(self, tag, sentence):
        raise RuleBroken(Finding(tag, sentence))

    def _note(self, tag, sentence):
        self.findings.append(Finding(tag, sentence))


def _copy(a):
    return None if a is None else a.copy()


def _equal(a, b):
    return np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def _close(a, b):
    """Return whether two arrays are equal, except for rounding."""
    allowed = 1e-9 * np.abs(b[np.isfinite(b)]).max(initial=0)
    return a.shape == b.shape and np.allclose(a, b, 0, allowed, equal_nan=True)
