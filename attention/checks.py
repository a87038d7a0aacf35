"""Argument checks of the packages that do not use shape lines yet."""

import inspect

import numpy as np

from minigrad import Tensor


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


def scale_or(usual, name, scale, formula="1 / sqrt(D)"):
    """``scale``, if it is a finite number; ``usual``, the ``formula``, where None."""
    if scale is None:
        return usual
    number = isinstance(scale, (int, float, np.number)) and not isinstance(scale, bool)
    if not number or not np.isfinite(scale):
        raise (ValueError if number else TypeError)(
            f"{name}: scale is {scale!r}; expected a finite number, or None for "
            f"{formula}. To learn a scale, multiply the query by it."
        )
    return scale


def flag(name, argument, value):
    """``value`` as a bool, if it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}: {argument} is {value!r}; expected True or False.")
    return bool(value)


def tensor(name, argument, x):
    """``x`` as a Tensor; the TypeError for what holds no numbers names the argument."""
    if isinstance(x, Tensor):
        return x
    try:
        return Tensor(x)
    except TypeError:
        kind = type(x).__name__
        what = "None" if x is None else f"of type {kind} and holds no numbers"
        raise TypeError(
            f"{name}: {argument} is {what}; expected an array or a Tensor of "
            "floating-point numbers."
        ) from None


def floats(name, argument, x):
    """``x`` as a Tensor, if what it holds are floating-point numbers."""
    x = tensor(name, argument, x)
    if x.dtype.kind != "f":
        raise TypeError(
            f"{name}: {argument} is {x.dtype}; expected floating-point numbers. Write "
            "1.0 for 1, or use .astype(np.float32)."
        )
    return x


def one_dtype(name, tensors):
    """TypeError unless all of {argument: Tensor} have one dtype."""
    if len({x.dtype for x in tensors.values()}) > 1:
        found = ", ".join(f"{argument} is {x.dtype}" for argument, x in tensors.items())
        raise TypeError(f"{name}: {found}; expected one dtype. Use .astype.")


def leading_axes(found, *shapes, place="the last two"):
    """What the axes before ``place`` broadcast to; ``found`` begins the sentence."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(
            f"{found}; before {place}, the axes must be alike, or 1, or missing."
        ) from None


def called(name, expected, function, *arguments):
    """function(*arguments); where it takes others, a TypeError that says which.

    name       what the sentence begins with: who calls, and what for
    expected   the arguments in words
    """
    try:
        return function(*arguments)
    except TypeError as error:
        try:
            signature = inspect.signature(function)
            signature.bind(*arguments)
        except ValueError:  # some builtins do not tell
            raise error from None
        except TypeError:
            raise TypeError(
                f"{name} takes {signature}; expected a function of {expected}."
            ) from error
        raise


def plain(x):
    """The array of a Tensor, a list or an array."""
    return np.asarray(x._data if isinstance(x, Tensor) else x)
