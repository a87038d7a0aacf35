"""The signs and method names of operations: ``a @ b`` is ``OPS["matmul"](a, b)``.

There is no mathematics here. Every name looks up the operation that bears it in the
registry; the methods are those that NumPy's arrays have, with NumPy's keywords.
"""

from .registry import OPS


class Operators:
    """What ``Tensor`` can do because ``minigrad.ops`` can."""

    __slots__ = ()

    def __add__(self, other):
        return OPS["add"](self, other)

    def __radd__(self, other):
        return OPS["add"](other, self)

    def __sub__(self, other):
        return OPS["sub"](self, other)

    def __rsub__(self, other):
        return OPS["sub"](other, self)

    def __mul__(self, other):
        return OPS["mul"](self, other)

    def __rmul__(self, other):
        return OPS["mul"](other, self)

    def __truediv__(self, other):
        return OPS["div"](self, other)

    def __rtruediv__(self, other):
        return OPS["div"](other, self)

    def __pow__(self, exponent):
        return OPS["pow"](self, exponent)

    def __rpow__(self, base):
        return OPS["pow"](base, self)

    def __matmul__(self, other):
        return OPS["matmul"](self, other)

    def __rmatmul__(self, other):
        return OPS["matmul"](other, self)

    def __neg__(self):
        return OPS["neg"](self)

    def __abs__(self):
        return OPS["abs"](self)

    T = property(lambda self: OPS["transpose"](self))

    def __getitem__(self, index):
        if type(index) is tuple:  # an index inside a tuple is no input of its own
            index = tuple(i._data if isinstance(i, Operators) else i for i in index)
        return OPS["getitem"](self, index)

    def sum(self, axis=None, keepdims=False):
        return OPS["sum"](self, axis=axis, keepdims=keepdims)

    def mean(self, axis=None, keepdims=False):
        return OPS["mean"](self, axis=axis, keepdims=keepdims)

    def var(self, axis=None, ddof=0, keepdims=False):
        return OPS["var"](self, axis=axis, ddof=ddof, keepdims=keepdims)

    def max(self, axis=None, keepdims=False):
        return OPS["max"](self, axis=axis, keepdims=keepdims)

    def min(self, axis=None, keepdims=False):
        return OPS["min"](self, axis=axis, keepdims=keepdims)

    def cumsum(self, axis=None):
        return OPS["cumsum"](self, axis=axis)

    def clip(self, min=None, max=None):
        return OPS["clip"](self, min, max)

    def reshape(self, *shape):
        return OPS["reshape"](self, shape[0] if _is_sequence(shape) else shape)

    def transpose(self, *axes):
        return OPS["transpose"](self, (axes[0] if _is_sequence(axes) else axes) or None)

    def swapaxes(self, axis1, axis2):
        return OPS["swapaxes"](self, axis1, axis2)

    def squeeze(self, axis=None):
        return OPS["squeeze"](self, axis=axis)

    def flatten(self):
        return OPS["reshape"](self, (-1,))

    def astype(self, dtype):
        return OPS["astype"](self, dtype)


def _is_sequence(args):
    """Whether f(*args) was called as f((2, 3)) and not as f(2, 3)."""
    return len(args) == 1 and (args[0] is None or isinstance(args[0], (tuple, list)))
