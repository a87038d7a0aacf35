"""The computation that a gradient check examines, as a function of arrays."""

import contextlib

import numpy as np

from ..differentiable import lift
from ..graph import backward_pass, no_grad
from ..tensor import Tensor
from .verdict import GradcheckError


class Subject:
    """A computation: ``call()`` returns tensors, from the data that ``leaves`` hold.

    leaves      the tensors that get gradients
    names       their names, for messages
    constants   other arrays among its arguments, which it must not change
    modes       (tag, sentence, () -> context): where the gradients stay the same if
                the values do, such as training
    """

    def __init__(self):
        self.modes = []
        self.call, self.leaves, self.names, self.constants = None, [], [], []

    def with_leaves(self, value, name=""):
        """Return ``value``, an argument or a list of them, with leaves for its arrays.

        Each float array or tensor becomes a new leaf of the subject, named by its
        position: "0" or "7[1]".
        """
        if isinstance(value, (tuple, list)):
            entered = [
                self.with_leaves(v, f"{name}[{k}]" if name else str(k))
                for k, v in enumerate(value)
            ]
            return entered if isinstance(value, list) else tuple(entered)
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
    def holding(self, arrays):
        """Give the leaves copies of ``arrays``, and afterwards their own data again.

        This bypasses ``leaf.data``, which copies: an optimizer may hold views of the
        array that a parameter has.
        """
        own = [leaf._data for leaf in self.leaves]
        try:
            for leaf, array in zip(self.leaves, arrays):
                leaf._data = np.array(array)
            yield
        finally:
            for leaf, data in zip(self.leaves, own):
                leaf._data = data

    def outputs(self):
        """Return all float tensors that the computation returns, also in tuples."""
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

    def of(self, i):
        """Return the computation as a function of leaf ``i``: array -> outputs."""
        leaf = self.leaves[i]

        def f(x):
            before = leaf._data
            leaf._data = np.asarray(x)
            try:
                with no_grad():
                    return tuple(t._data for t in self.outputs())
            finally:
                leaf._data = before

        return f

    def gradients(self, outputs, cotangents, visit=None, copy=np.array):
        """Return dF/dleaf (or None) for each leaf, F = sum of cotangent * output."""

        def gradcheck(*ys):
            return np.zeros(()), lambda g: tuple(copy(c) for c in cotangents)

        root = lift(gradcheck)(*outputs)._node
        arrived = backward_pass(root, np.ones(()), free=False, visit=visit)
        found = {id(leaf): g for leaf, g in arrived}
        return [found.get(id(leaf)) for leaf in self.leaves]
