"""The computation that a gradient check examines, as a function of arrays."""

import contextlib

import numpy as np

from ..differentiable import lift
from ..graph import backward_pass
from ..recording import no_grad
from ..tensor import Tensor
from .verdict import GradcheckError


class Subject:
    """A computation: ``call()`` computes tensors from the data of ``leaves``.

    leaves      the tensors that receive gradients
    names       their names, for messages
    constants   the other arrays among the arguments, which must not change
    modes       (tag, sentence, () -> context): modes such as training, in which equal
                values must have equal gradients
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

    def outputs(self):
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
        pairs = backward_pass(root, np.ones(()), free=False, visit=visit)
        gradients = {id(leaf): g for leaf, g in pairs}
        return [gradients.get(id(leaf)) for leaf in self.leaves]
