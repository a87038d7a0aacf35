"""What masks ask of their arguments."""

import numpy as np

from minigrad import Tensor

UNSIZED = (
    "{}: depends on L and S, which a call does not say. Use .dense or "
    "BlockMask.from_mask, or call mask.sized(L, S)."
)


def whole(name, argument, value, least=0):
    """``value`` as an int, if it is a whole number, and ``least`` or more."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}: {argument} is {value!r}; expected a whole number.")
    if least is not None and value < least:
        raise ValueError(
            f"{name}: {argument} is {value}; expected a whole number, {least} or more."
        )
    return int(value)


def wholes(name, argument, values, shapes):
    """A copy of ``values`` as an int array, with the number of axes of one of shapes.

    shapes   {number of axes: such a shape in letters, and what it stands for}
    """
    x = plain(values)
    if x.dtype.kind not in "iu" and x.size:
        raise TypeError(f"{name}: {argument} holds {x.dtype}; expected whole numbers.")
    if x.ndim not in shapes:
        raise ValueError(
            f"{name}: {argument} has shape {x.shape}; expected "
            f"{', or '.join(shapes.values())}."
        )
    return x.astype(np.intp)


def between(name, argument, x, least, most, what):
    """ValueError unless all numbers of ``x`` are from ``least`` to ``most``."""
    if x.size and not least <= x.min() <= x.max() <= most:
        wrong = x.min() if x.min() < least else x.max()
        raise ValueError(
            f"{name}: {argument} holds {wrong}; expected numbers from {least} to "
            f"{most}, {what}."
        )


def plain(x):
    """The array of a Tensor, a list or an array."""
    return np.asarray(x._data if isinstance(x, Tensor) else x)
