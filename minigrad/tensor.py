"""Tensor: an array that remembers how it was computed.

A tensor is a NumPy array, a gradient, and a place on the tape (``minigrad.graph``).
What can be computed with it stands in ``minigrad.ops``; ``minigrad.operators`` lends
those operations their signs and method names.

    >>> x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> loss = (x * x).sum()
    >>> loss.backward()
    >>> x.grad
    array([2., 4., 6.])
"""

import zlib

import numpy as np

from .graph import clock, flow, recording
from .operators import Operators


class Tensor(Operators):
    """An array with a gradient.

    data            anything NumPy makes an array of; it is copied. The dtype is kept.
    requires_grad   record what is computed from it, so that ``backward()`` can fill
                    ``.grad``

    Attributes: ``data`` (ndarray), ``grad`` (ndarray or None), ``requires_grad``.
    Raises TypeError when the data are not numbers, or when a gradient is wanted of
    integers.
    """

    __slots__ = (
        "_data",
        "grad",
        "requires_grad",
        "_node",
        "_seal",
        "_changed",
        "__weakref__",
    )
    __array_ufunc__ = None  # NumPy hands `array * tensor` over to Tensor.__rmul__

    def __init__(self, data, requires_grad=False):
        if isinstance(data, Tensor):
            data = data._data
        try:
            data = np.array(data)
        except ValueError:
            raise ValueError(
                "A tensor is a box of numbers; the rows of these data differ in length."
            ) from None
        self._data = _numbers(data)
        self.grad = None
        self.requires_grad = False
        self._node = None  # set on results of recorded operations, None on leaves
        self._seal = None  # checksum of the data, once they have been handed out
        self._changed = 0  # when, on the clock, they were last overwritten in place
        if requires_grad:
            self.requires_grad_()

    @property
    def data(self):
        """The values as an ndarray: a leaf's own; of a computed tensor, read-only.

        Whoever holds a leaf's array may write to it. From the first time it is handed
        out, the tensor keeps a checksum, by which ``backward()`` notices a value that
        was overwritten while the graph still needed it.
        """
        if self._node is not None:
            view = self._data.view()
            view.flags.writeable = False
            return view
        if self._seal is None:
            self._seal = _checksum(self._data)
        return self._data

    @data.setter
    def data(self, value):
        if self._node is not None:
            raise RuntimeError(
                f"This tensor is the result of {self._node.op}; only a leaf's data can "
                "be replaced. Take .detach() first."
            )
        if value is self._data:  # `t.data -= d` writes in place, then assigns itself
            self.overwritten()
            return
        value = _numbers(np.array(value._data if isinstance(value, Tensor) else value))
        if self.requires_grad and value.dtype.kind != "f":
            raise TypeError(
                f"A tensor that requires a gradient cannot hold {value.dtype} data."
            )
        if (value.shape, value.dtype) != (self.shape, self.dtype):
            self.grad = None  # a gradient of the old shape or dtype fits nothing now
        self._data, self._seal = value, None

    def overwritten(self):
        """Take note that this leaf's array was written to in place."""
        self._changed = next(clock)
        if self._seal is not None:
            self._seal = _checksum(self._data)

    def last_change(self):
        """When the data were last overwritten in place, on the clock."""
        if self._seal is not None and self._seal != _checksum(self._data):
            self.overwritten()
        return self._changed

    def numpy(self):
        """The values as an ndarray, the same as ``.data``: copy before changing it."""
        return self.data

    def item(self):
        """The one value of a tensor of size one, as a Python number."""
        if self._data.size != 1:
            raise ValueError(
                f"item() wants one value; this tensor has shape {self.shape}."
            )
        return self._data.item()

    def tolist(self):
        return self._data.tolist()

    def detach(self):
        """The same values, in the same memory, as a leaf that no gradient passes."""
        return Tensor._of(self.data)

    def requires_grad_(self, requires_grad=True):
        """Switch gradients of a leaf on or off, in place; return the tensor."""
        if self._node is not None:
            raise RuntimeError(
                f"This tensor is the result of {self._node.op}; gradients are switched "
                "on leaves."
            )
        if requires_grad and self._data.dtype.kind != "f":
            raise TypeError(
                f"Only floating-point tensors have gradients; this is {self.dtype}. "
                "Write 1.0 for 1, or use .astype(np.float32)."
            )
        self.requires_grad = bool(requires_grad)
        return self

    def zero_grad(self):
        """Forget the gradient."""
        self.grad = None

    @classmethod
    def _of(cls, array, node=None):
        """Wrap ``array`` without a copy."""
        tensor = cls.__new__(Tensor)
        tensor._data = array
        tensor.grad = None
        tensor.requires_grad = node is not None
        tensor._node = node
        tensor._seal = None
        tensor._changed = 0
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
            if self._data.size != 1:
                raise RuntimeError(
                    f"backward() starts from one number; this tensor has shape "
                    f"{self.shape}. Reduce it (.sum(), .mean()), or pass a gradient of "
                    "that shape."
                )
            gradient = np.ones_like(self._data)
        else:
            gradient = np.asarray(_plain(gradient))
            if gradient.shape != self._data.shape:
                raise ValueError(
                    f"backward() got a gradient of shape {gradient.shape} for a tensor "
                    f"of shape {self.shape}; the two must be equal."
                )
            gradient = gradient.astype(self._data.dtype)
        if self._node is None:
            self._accumulate(gradient)
            return
        for leaf, g in flow(self._node, gradient, free=not retain_graph):
            leaf._accumulate(g)

    def _accumulate(self, g):
        if self.grad is None:
            self.grad = g
        else:
            self.grad += g

    shape = property(lambda self: self._data.shape)
    ndim = property(lambda self: self._data.ndim)
    size = property(lambda self: self._data.size)
    dtype = property(lambda self: self._data.dtype)

    def argmax(self, axis=None):
        """Where the largest value stands, as plain integers: no gradient."""
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
        body = np.array2string(self._data, separator=", ", prefix=prefix, precision=4)
        kind = "" if self.dtype == np.float64 else f", dtype={self.dtype}"
        source = f", from={self._node.op}" if self._node is not None else ""
        leaf = (
            ", requires_grad=True" if self.requires_grad and self._node is None else ""
        )
        return f"{prefix}{body}{kind}{source}{leaf})"

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self._data == _plain(other)

    def __ne__(self, other):
        return self._data != _plain(other)

    def __lt__(self, other):
        return self._data < _plain(other)

    def __le__(self, other):
        return self._data <= _plain(other)

    def __gt__(self, other):
        return self._data > _plain(other)

    def __ge__(self, other):
        return self._data >= _plain(other)

    def __setitem__(self, index, value):
        """Write in place, outside any graph: into constants, or under ``no_grad``."""
        if self._node is not None or (self.requires_grad and recording.on):
            what = f"the result of {self._node.op}" if self._node else "a leaf"
            raise RuntimeError(
                f"Writing into {what} would change a value that gradients are computed "
                "from. Use minigrad.where to choose values, or write into a leaf under "
                "no_grad()."
            )
        self._data[index] = _plain(value)
        self.overwritten()


def _plain(value):
    return value._data if isinstance(value, Tensor) else value


def _numbers(array):
    if array.dtype.kind not in "bifuc":
        if array.ndim == 0:
            raise TypeError(f"A tensor holds numbers; this is {array.item()!r:.60}.")
        raise TypeError(
            f"A tensor holds numbers; these data became an array of {array.dtype}, as "
            "strings do."
        )
    return array


def _checksum(array):
    return zlib.crc32(array if array.flags.c_contiguous else array.tobytes())
