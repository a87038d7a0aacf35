"""The operators and methods of tensors: ``a @ b`` calls ``OPS["matmul"](a, b)``.

``OPS`` is the table of all operations that ``@differentiable`` has registered, by name.
The methods find an operation there by its name when they are called. They cannot import
it: the modules of ``minigrad.ops`` import ``Tensor``, and ``Tensor`` imports this file.

The methods have the names and keywords of NumPy's arrays; ``unsqueeze``, ``view`` and
``permute`` are PyTorch's.
Comparisons have no gradient and return arrays of booleans.
"""

import math
import operator
from collections.abc import Callable
from typing import Any, Never, Self, TypeVar

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from .registry import OPS
from .torch_names import explained

T = TypeVar("T")  # for editors: the type of both self and the result


def _binary(name) -> Callable[[T, Any], T]:
    """Return the method of ``tensor op other``."""
    return lambda self, other: OPS[name](self, other)


def _reflected(name) -> Callable[[T, Any], T]:
    """Return the method of ``other op tensor``, for an ``other`` that is no tensor."""
    return lambda self, other: OPS[name](other, self)


def _comparison(compare: Callable[..., np.ndarray]):
    """Return the method that compares the values of a tensor with other values."""
    return explained(lambda self, other: compare(self._data, array_or_value(other)))


class Operators:
    """Base class of ``Tensor``, with its operators and methods."""

    __slots__ = ()

    __add__, __radd__ = _binary("add"), _reflected("add")
    __sub__, __rsub__ = _binary("sub"), _reflected("sub")
    __mul__, __rmul__ = _binary("mul"), _reflected("mul")
    __truediv__, __rtruediv__ = _binary("div"), _reflected("div")
    __pow__, __rpow__ = _binary("pow"), _reflected("pow")
    __matmul__, __rmatmul__ = _binary("matmul"), _reflected("matmul")

    def __neg__(self) -> Self:
        return OPS["neg"](self)

    def __abs__(self) -> Self:
        return OPS["abs"](self)

    def __getitem__(self, index: Any) -> Self:
        if type(index) is tuple:  # the tensors in it are indices, without gradients
            index = tuple(array_or_value(i) for i in index)
        return OPS["getitem"](self, index)

    # ---- A first reading can stop here ----

    __hash__ = object.__hash__  # by identity, although == compares values
    __eq__: Callable[..., np.ndarray]  # for editors: it is no bool
    __ne__: Callable[..., np.ndarray]
    __eq__, __ne__ = _comparison(operator.eq), _comparison(operator.ne)
    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        """Compute ``array * tensor``: np.multiply calls this, which calls ``mul``."""
        if method == "__call__" and not options:
            if ufunc in ARITHMETIC:
                return OPS[ARITHMETIC[ufunc]](*inputs)
            if ufunc in COMPARISONS:
                return ufunc(*map(array_or_value, inputs))
        raise TypeError(
            f"NumPy's {ufunc.__name__} cannot record gradients: write minigrad."
            f"{ufunc.__name__}, if there is one, or apply it to the tensor's .data."
        )

    # others: unknown keywords, such as PyTorch's dim=. They are passed on, so that the
    # operation raises the error that suggests axis=. np.sum(tensor) calls tensor.sum
    # with out=None, which is left out.

    def sum(self, axis: Any = None, keepdims=False, **others: Never) -> Self:
        """Return the sum over ``axis``, or over all axes."""
        return OPS["sum"](self, axis=axis, keepdims=keepdims, **_not_none(others))

    def mean(self, axis: Any = None, keepdims=False, **others: Never) -> Self:
        """Return the mean over ``axis``, or over all axes."""
        return OPS["mean"](self, axis=axis, keepdims=keepdims, **_not_none(others))

    def var(self, axis: Any = None, ddof=0, keepdims=False, **others: Never) -> Self:
        """Return the variance over ``axis``; the divisor is n - ddof."""
        options = {"ddof": ddof, "keepdims": keepdims, **_not_none(others)}
        return OPS["var"](self, axis=axis, **options)

    def max(self, *args: Never, axis: Any = None, **options: Any) -> Self:
        """Return the maximum over ``axis``, or over all axes."""
        return OPS["max"](self, *args, axis=axis, **_not_none(options))

    def min(self, *args: Never, axis: Any = None, **options: Any) -> Self:
        """Return the minimum over ``axis``, or over all axes."""
        return OPS["min"](self, *args, axis=axis, **_not_none(options))

    def cumsum(self, axis: Any = None, **others: Never) -> Self:
        """Return the cumulative sums along ``axis``."""
        return OPS["cumsum"](self, axis=axis, **_not_none(others))

    def clip(self, min: Any = None, max: Any = None) -> Self:
        """Return the values, limited to [min, max]; None is no limit."""
        return OPS["clip"](self, min, max)

    def reshape(self, *shape: Any) -> Self:
        """Return the values in another shape: x.reshape(2, 3) or ((2, 3))."""
        return OPS["reshape"](self, as_tuple(shape))

    def transpose(self, *axes: Any, **others: Never) -> Self:
        """Put all axes in this order; without arguments, reverse the axes.

        Of a tensor with three or more axes, transpose(i, j) exchanges the axes i and j.
        """
        if others or len(axes) == 2 and self._data.ndim != 2:
            return OPS["swapaxes"](self, *axes, **others)
        if axes in ((0, 1), (0, -1), (-2, 1), (-2, -1)):
            raise ValueError(
                f"transpose{axes} would change nothing here, and exchanges the axes in "
                "PyTorch. Write .T to exchange them."
            )
        return OPS["transpose"](self, as_tuple(axes) or None)

    view = reshape  # PyTorch's name

    def permute(self, *axes: Any) -> Self:
        """Put all axes in this order: x.permute(0, 2, 1) or ((0, 2, 1))."""
        return OPS["transpose"](self, as_tuple(axes))

    @property
    def T(self) -> Self:
        """The tensor with its axes in reverse order."""
        return OPS["transpose"](self)

    def swapaxes(self, axis1: int, axis2: int) -> Self:
        """Exchange two axes."""
        return OPS["swapaxes"](self, axis1, axis2)

    def squeeze(self, axis: Any = None, **others: Never) -> Self:
        """Remove axes of length one: all, or ``axis``."""
        return OPS["squeeze"](self, axis=axis, **others)

    @explained
    def unsqueeze(self, axis: Any) -> Self:
        """Insert an axis of length one."""
        return OPS["unsqueeze"](self, axis)

    @explained
    def flatten(self, start_dim: int = 0) -> Self:
        """Return the values with one axis in place of the axes from ``start_dim``."""
        n_axes, shape = self._data.ndim, self._data.shape
        start = normalize_axis_index(start_dim, n_axes) if n_axes else 0
        return OPS["reshape"](self, (*shape[:start], math.prod(shape[start:])))

    def astype(self, dtype: Any) -> Self:
        """Return the values converted to ``dtype``."""
        return OPS["astype"](self, dtype)

    @property
    def _mask(self):
        """Refuse ``masked_array * tensor``, which reads this name and not __rmul__."""
        raise TypeError(
            "A MaskedArray cannot record gradients: write a.filled(value) for it."
        )


ARITHMETIC = {
    np.add: "add",
    np.subtract: "sub",
    np.multiply: "mul",
    np.divide: "div",
    np.power: "pow",
    np.matmul: "matmul",
}
COMPARISONS = {
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal
}  # fmt: skip


def array_or_value(value):
    """Return the array of a tensor; return any other value unchanged."""
    if isinstance(value, Operators):
        return value._data
    check_array(value)
    return value


def check_array(value):
    """Raise TypeError if ``value`` is a NumPy matrix or masked array."""
    if is_matrix_or_masked(value):
        raise TypeError(
            f"Found a NumPy {type(value).__name__}; expected an array. Write "
            "np.asarray(a), or a.filled(value) for a masked array a."
        )


def is_matrix_or_masked(value):
    """Return whether ``value`` is a NumPy matrix or masked array.

    A * of matrices is a matrix product, and an operation would lose the mask.
    """
    is_subclass = isinstance(value, np.ndarray) and type(value) is not np.ndarray
    return is_subclass and isinstance(value, (np.matrix, np.ma.MaskedArray))


def _not_none(options):
    return {name: value for name, value in options.items() if value is not None}


def as_tuple(args):
    """Return (2, 3) for x.reshape(2, 3) and for x.reshape((2, 3))."""
    is_sequence = len(args) == 1 and (
        args[0] is None or isinstance(args[0], (tuple, list))
    )
    return args[0] if is_sequence else args
