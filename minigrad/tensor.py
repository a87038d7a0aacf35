"""Tensor: an array that remembers how it was computed.

A tensor is a NumPy array, a gradient, and the node of the graph (``minigrad.graph``)
that computed it. Operations on tensors are in ``minigrad.ops``, and their operators and
method names in ``minigrad.operators``.

    >>> x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> loss = (x * x).sum()
    >>> loss.backward()
    >>> x.grad
    array([2., 4., 6.])
"""

import numpy as np

from .graph import flow, mark_written, recording
from .operators import Operators, plain


class Tensor(Operators):
    """An array with a gradient.

    data            anything NumPy makes an array of; it is copied. The dtype is kept.
    requires_grad   record what is computed from it, so that ``backward()`` can fill
                    ``.grad``

    Attributes: ``data`` (ndarray), ``grad`` (ndarray or None), ``requires_grad``.
    Raises TypeError when the data are not numbers, or when integers should get a
    gradient.
    """

    __slots__ = ("_data", "grad", "requires_grad", "_node", "_version", "__weakref__")
    __array_ufunc__ = None  # `array * tensor` calls Tensor.__rmul__, not NumPy

    def __init__(self, data, requires_grad=False):
        self._data = _numbers(data)
        self.grad = None
        self.requires_grad = False
        self._node = None  # what computed it; None for a leaf
        self._version = 0  # the time of the last write in place, on the graph's clock
        if requires_grad:
            self.requires_grad_()

    @classmethod
    def _of(cls, array, node=None):
        """Wrap ``array`` without a copy."""
        tensor = cls.__new__(Tensor)
        tensor._data = array
        tensor.grad = None
        tensor.requires_grad = node is not None
        tensor._node = node
        tensor._version = 0
        return tensor

    def backward(self, gradient=None, retain_graph=False):
        """Add dL/dleaf to ``.grad`` of every leaf below that requires a gradient.

        gradient       dL/dself, of this tensor's shape; 1 for a tensor of size one
        retain_graph   keep what the graph saved, so that backward() can run again

        Raises RuntimeError when there is no graph, when it was freed, or when a value
        that it needs was overwritten; ValueError for a gradient of another shape.
        """
        if not self.requires_grad:
            raise RuntimeError(
                f"backward() on a tensor of shape {self.shape} without a graph: "
                "neither it nor anything it was computed from has requires_grad=True, "
                "or it was computed under no_grad()."
            )
        if gradient is None:
            if self.size != 1:
                raise RuntimeError(
                    f"backward() starts from one number; this tensor has shape "
                    f"{self.shape}. Reduce it (.sum(), .mean()), or pass a gradient of "
                    "that shape."
                )
            gradient = 1
        elif np.shape(plain(gradient)) != self.shape:
            raise ValueError(
                f"backward() got a gradient of shape {np.shape(plain(gradient))} for "
                f"a tensor of shape {self.shape}; the two must be equal."
            )
        g = np.empty_like(self._data)
        g[...] = plain(gradient)
        pairs = [(self, g)]
        if self._node is not None:
            pairs = flow(self._node, g, free=not retain_graph)
        for leaf, d in pairs:
            if leaf.grad is None:
                leaf.grad = d
            else:
                leaf.grad += d

    @property
    def data(self):
        """The values as an ndarray: a leaf's own; of a computed tensor, read-only.

        ``leaf.data -= step`` writes in place, and backward() notices that. It does not
        notice a write through an array that you keep.
        """
        if self._node is None:
            return self._data
        view = self._data.view()
        view.flags.writeable = False
        return view

    @data.setter
    def data(self, value):
        if self._node is not None:
            raise RuntimeError(
                f"This tensor is the result of {self._node.op}; only a leaf's data can "
                "be replaced. Take .detach() first."
            )
        if value is self._data:  # `t.data -= d` writes in place, then assigns itself
            mark_written(self)
            return
        value = _numbers(value)
        if self.requires_grad and value.dtype.kind != "f":
            raise TypeError(
                f"A tensor that requires a gradient cannot hold {value.dtype} data."
            )
        if (value.shape, value.dtype) != (self.shape, self.dtype):
            self.grad = None  # its shape or dtype no longer fits
        self._data = value

    def __setitem__(self, index, value):
        """Write in place, outside any graph: into constants, or under ``no_grad``."""
        if self._node is not None or (self.requires_grad and recording()):
            what = f"the result of {self._node.op}" if self._node else "a leaf"
            raise RuntimeError(
                f"Writing into {what} would change a value that gradients are computed "
                "from. Use minigrad.where to choose values, or write into a leaf under "
                "no_grad()."
            )
        self._data[index] = plain(value)
        mark_written(self)

    def numpy(self):
        """Return ``.data``: copy it before you change it."""
        return self.data

    def item(self):
        """Return the one value of a tensor of size one, as a Python number."""
        if self.size != 1:
            raise ValueError(
                f"item() wants one value; this tensor has shape {self.shape}."
            )
        return self._data.item()

    def tolist(self):
        return self._data.tolist()

    def detach(self):
        """Return the same values, in the same memory, as a leaf without a gradient."""
        return Tensor._of(self.data)

    def requires_grad_(self, requires_grad=True):
        """Switch gradients of a leaf on or off, in place; return the tensor."""
        if self._node is not None:
            raise RuntimeError(
                f"This tensor is the result of {self._node.op}; gradients are switched "
                "on leaves."
            )
        if requires_grad and self.dtype.kind != "f":
            raise TypeError(
                f"Only floating-point tensors have gradients; this is {self.dtype}. "
                "Write 1.0 for 1, or use .astype(np.float32)."
            )
        self.requires_grad = bool(requires_grad)
        return self

    def zero_grad(self):
        """Set ``.grad`` to None."""
        self.grad = None

    shape = property(lambda self: self._data.shape)
    ndim = property(lambda self: self._data.ndim)
    size = property(lambda self: self._data.size)
    dtype = property(lambda self: self._data.dtype)

    def argmax(self, axis=None):
        """Return the index of the largest value, as plain integers: no gradient."""
        return self._data.argmax(axis)

    def __len__(self):
        return len(self._data)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __bool__(self):
        return bool(self._data)

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __array__(self, dtype=None, copy=None):
        if self.requires_grad:
            raise TypeError(
                "NumPy cannot record gradients: use minigrad's functions on this "
                "tensor, or .detach() to leave the graph on purpose."
            )
        return np.array(self._data, dtype=dtype, copy=copy)

    def __repr__(self):
        prefix = f"{type(self).__name__}("
        text = np.array2string(self._data, separator=", ", prefix=prefix, precision=4)
        if self.dtype != np.float64:
            text += f", dtype={self.dtype}"
        if self._node is not None:
            text += f", from={self._node.op}"
        elif self.requires_grad:
            text += ", requires_grad=True"
        return f"{prefix}{text})"


def _numbers(data):
    """Return a copy of ``data`` as an array of numbers."""
    try:
        array = np.array(plain(data))
    except ValueError:
        raise ValueError(
            "The rows of these data differ in length; a tensor needs equal rows."
        ) from None
    if array.dtype.kind not in "bifuc":
        found = repr(array.item())[:60] if array.ndim == 0 else f"{array.dtype} data"
        raise TypeError(f"A tensor holds numbers; found {found}.")
    return array
