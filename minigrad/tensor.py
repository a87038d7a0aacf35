"""Tensor: an array, its gradient, and the node that computed it.

The nodes form the graph (``minigrad.graph``). The base class ``Operators`` has the
operators (+, @, []) and methods (.sum(), ...); they call operations of minigrad.ops.

    >>> x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> loss = (x * x).sum()
    >>> loss.backward()
    >>> x.grad
    array([2., 4., 6.])
"""

import operator
from typing import Any, Never

import numpy as np

from .arguments import flag
from .graph import backward_pass
from .operators import Operators, array_or_value
from .overwriting import mark_written
from .recording import is_recording
from .torch_names import TENSOR, Size, add_unknown_names, explain, explained


class Tensor(Operators):
    """An array with a gradient.

    data            a value that ``np.array`` accepts; it is copied and keeps its dtype
    requires_grad   record the operations on the tensor, so that ``backward()`` can
                    compute ``.grad``

    Attributes: ``data`` (ndarray), ``grad`` (ndarray or None), ``requires_grad``.
    Raises TypeError if the data are not numbers, or if requires_grad=True and the data
    are not floating-point numbers; ValueError if the rows differ in length.
    """

    __slots__ = "_data _grad requires_grad _node _version __weakref__".split()

    @explained
    def __init__(self, data: Any, requires_grad=False):
        self._data = _numbers(data)  # ``data`` of a leaf; others have a read-only view
        self._grad = None
        self.requires_grad = False
        self._node = None  # the Node that computed the tensor; None for a leaf
        self._version = 0  # for overwriting.py, which detects in-place writes
        if flag("Tensor", "requires_grad", requires_grad):  # flag checks the type
            self.requires_grad_()

    @staticmethod
    def _from_array(array, node=None):
        """Return ``array`` as a tensor, without a copy; ``node`` computed it."""
        tensor = Tensor.__new__(Tensor)
        if node is not None:
            node.shape, node.dtype = array.shape, array.dtype
        tensor._data = array
        tensor._grad = None
        tensor.requires_grad = node is not None
        tensor._node = node
        tensor._version = 0
        return tensor

    def backward(self, gradient: Any = None, retain_graph=False):
        """Add dL/dleaf to ``.grad`` of every leaf that this tensor was computed from.

        Only leaves that require a gradient receive it. L is this tensor, if it is one
        number. Otherwise pass dL/dself for the L that you want.

        gradient       dL/dself, with the shape of this tensor. The default is 1, if the
                       tensor has size 1
        retain_graph   keep the arrays that the nodes saved, so that backward() can run
                       again

        Raises RuntimeError if the tensor requires no gradient, if the default gradient
        does not suit its size, if an earlier backward() has deleted the graph, or if a
        value that it needs was overwritten; ValueError if the gradient has another
        shape.
        """
        flag("backward()", "retain_graph", retain_graph)
        g = _start_gradient(self, gradient)
        leaf_gradients = [(self, g)]
        if self._node is not None:
            leaf_gradients = backward_pass(self._node, g, free=not retain_graph)
        for leaf, total in leaf_gradients:  # total: dL/dleaf, over all uses of leaf
            if leaf.grad is None:
                leaf.grad = total
            else:
                leaf.grad += total

    # ---- A first reading can stop here ----

    @property
    def data(self) -> np.ndarray:
        """The values as an ndarray.

        For a leaf it is the array itself; for a tensor with a graph, a read-only view.
        Do not overwrite a leaf between forward and backward: the backward may read it.
        ``leaf.data -= step`` ends with an assignment to ``leaf.data``, which notes the
        write, so that backward() raises an error. ``a = leaf.data; a -= step`` is a
        write that it cannot detect.
        """
        if self._node is None:
            return self._data
        view = self._data.view()
        view.flags.writeable = False
        return view

    @data.setter
    def data(self, value: Any):
        self._require_leaf("only a leaf's data can be replaced. Take .detach() first.")
        if value is self._data:
            mark_written(self)  # by ``t.data -= d``
            return
        value = _numbers(value)
        if self.requires_grad and value.dtype.kind != "f":
            raise TypeError(
                f"A tensor that requires a gradient cannot hold {value.dtype} data."
            )
        if (value.shape, value.dtype) != (self.shape, self.dtype):
            self.grad = None  # its shape or dtype no longer fits
        self._data = value

    @property
    def grad(self) -> np.ndarray | Any:
        """The gradient, an array of the shape of the tensor, or None."""
        return self._grad

    @grad.setter
    def grad(self, value: Any):
        if value is not None and not isinstance(value, (np.ndarray, np.generic)):
            found = type(value).__name__
            raise TypeError(f".grad is of type {found}; expected an array or None.")
        self._grad = value

    def __setitem__(self, index: Any, value: Any):
        """Write into the values of a leaf.

        A leaf that requires a gradient can be written only under ``no_grad()``.
        """
        if self._node is not None or (self.requires_grad and is_recording()):
            kind = f"the result of {self._node.op}" if self._node else "a leaf"
            raise RuntimeError(
                f"Writing into {kind} would change a value that gradients are computed "
                "from. Use minigrad.where, or write into a leaf under no_grad()."
            )
        self._data[index] = array_or_value(value)
        mark_written(self)

    def numpy(self) -> np.ndarray:
        """Return ``.data``. Copy the result before you change it."""
        return self.data

    def item(self) -> Any:
        """Return the one value of a tensor of size one, as a Python number."""
        if self._data.size != 1:
            raise ValueError(f"item(): found shape {self.shape}; expected size one.")
        return self._data.item()

    def tolist(self) -> Any:
        """Return the values as nested lists of Python numbers."""
        return self._data.tolist()

    def detach(self) -> "Tensor":
        """Return the same values, in the same memory, as a leaf without a gradient.

        The ``data`` of the result is read-only if this tensor has a graph.
        """
        return Tensor._from_array(self.data)

    def requires_grad_(self, requires_grad=True):
        """Switch gradients of a leaf on or off, in place; return the tensor."""
        self._require_leaf("requires_grad can be changed for leaves only.")
        flag("requires_grad_()", "requires_grad", requires_grad)
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

    shape = property(operator.attrgetter("_data.shape"))
    ndim = property(operator.attrgetter("_data.ndim"))
    size = property(lambda self: Size(self.shape))
    dtype = property(operator.attrgetter("_data.dtype"))

    def dim(self) -> int:
        """Return the number of axes, ``ndim``."""
        return self.ndim

    def argmax(self, axis: Any = None, **others: Never) -> np.ndarray:
        """Return the indices of the largest values, as NumPy integers."""
        try:
            return self._data.argmax(axis, **others)
        except (TypeError, ValueError) as error:
            explain(error, np.argmax)  # if PyTorch's dim= was passed, suggest axis=
            raise

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

    def __getstate__(self):
        """Return the attributes of a leaf, for copy, deepcopy and pickle.

        The copy is a new leaf. Its ``_version`` is 0: nothing was written into it.
        """
        self._require_leaf("a copy would have no graph. Copy .detach() instead.")
        attributes, slots = super().__getstate__()
        return attributes, slots | {"_version": 0}

    def __format__(self, spec):
        return format(self.item(), spec) if spec else repr(self)

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

    def _repr_html_(self):
        """Return what a notebook shows: weights as a grid; None: the text of repr."""
        from .draw.html import weights

        return weights(self._data, type(self).__name__)

    def _require_leaf(self, advice):
        if self._node is not None:
            raise RuntimeError(
                f"This tensor is the result of {self._node.op}; {advice}"
            )


add_unknown_names(Tensor, "A Tensor", TENSOR)  # t.view is an error that names reshape


def _start_gradient(tensor, gradient):
    """Return dL/dtensor as an array; raise if ``tensor.backward`` cannot start."""
    if not tensor.requires_grad:
        raise RuntimeError(
            f"backward(): this tensor of shape {tensor.shape} has no graph. Compute it "
            "outside no_grad(), from a tensor with requires_grad=True."
        )
    gradient = array_or_value(gradient)
    if gradient is None:
        if tensor._data.size != 1:
            raise RuntimeError(
                f"backward() starts from one number; found shape {tensor.shape}. Use "
                ".sum() or .mean() first, or pass a gradient of that shape."
            )
        gradient = np.ones(tensor.shape)
    gradient = np.asarray(gradient)
    if gradient.dtype.kind not in "biuf":
        raise TypeError(
            f"backward(): the gradient is {gradient.dtype}; expected real numbers."
        )
    if gradient.shape != tensor.shape:
        raise ValueError(
            f"backward(): found a gradient of shape {gradient.shape}; expected the "
            f"shape {tensor.shape} of the tensor."
        )
    is_ready = gradient.dtype == tensor.dtype and tensor._node is not None
    if is_ready:  # a leaf would store the caller's array
        return gradient
    return np.full_like(tensor._data, gradient)


def _numbers(data):
    """Return a copy of ``data`` as an array of numbers."""
    try:
        array = np.array(array_or_value(data))
    except ValueError:
        raise ValueError("The rows of these data differ in length.") from None
    if array.dtype.kind not in "biufc":  # bool, int, unsigned, float, complex
        found = repr(array.item())[:60] if array.ndim == 0 else f"{array.dtype} data"
        raise TypeError(f"A tensor holds numbers; found {found}.")
    return array
