"""Check what a shape line cannot say: options, ranges, masks and functions.

``shapes.py`` explains shape lines. Most checks take the name of the function or layer,
the name of the argument and its value. They return the value, or raise with the same
form of message as ``shapes``:

    Dropout: p is 1.5; expected a probability, from 0 to 1.
"""

import inspect
import math

import numpy as np

from .operators import Operators, array_or_value


def whole(name, argument, value, least=0, most=None):
    """Return ``value`` as an int if it is a whole number from ``least`` to ``most``."""
    expected = "a whole number" + f", {least} or more" * (least is not None)
    if most is not None:
        expected = f"a whole number from {least} to {most}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}: {argument} is {value!r}; expected {expected}.")
    if (least is not None and value < least) or (most is not None and value > most):
        raise ValueError(f"{name}: {argument} is {value}; expected {expected}.")
    return int(value)


def flag(name, argument, value):
    """Return ``value`` as a bool if it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}: {argument} is {value!r}; expected True or False.")
    return bool(value)


def booleans(name, argument, x):
    """Return the array of ``x`` if it holds booleans."""
    x = plain(x)
    if x.dtype != bool:
        raise TypeError(
            f"{name}: {argument} {verb('is', argument)} {x.dtype}; expected bool. "
            f"Write {argument} != 0."
        )
    return x


def number(name, argument, value, positive=False, least=-np.inf, finite=True):
    """Return ``value`` if it is a finite number, and positive on request.

    finite   False: infinity is allowed, and NaN if the number need not be positive
    """
    if _is_number(value):
        is_small = not value > 0 if positive else value < least
        if not (is_small or (finite and not math.isfinite(value))):
            return value
    kinds = ["positive"] * positive + ["finite"] * finite
    expected = " ".join(["a", ", ".join(kinds), "number"] if kinds else ["a number"])
    expected += f", {least} or more" * (least > -np.inf)
    if not _is_number(value):
        raise TypeError(f"{name}: {argument} is {value!r}; expected {expected}.")
    raise ValueError(f"{name}: {argument} is {value}; expected {expected}.")


def probability(name, argument, value):
    """Return ``value`` if it is a number from 0 to 1."""
    if not _is_number(value) or not 0 <= value <= 1:
        raise (ValueError if _is_number(value) else TypeError)(
            f"{name}: {argument} is {value!r}; expected a probability, from 0 to 1."
        )
    return value


def one_of(name, argument, value, choices):
    """Return ``value`` if it is among the choices."""
    if not any(value is choice or value == choice for choice in choices):
        expected = " or ".join(map(repr, choices))
        raise ValueError(f"{name}: {argument} is {value!r}; expected {expected}.")
    return value


def instance(name, argument, value, kind, example=""):
    """Return ``value`` if it is of that class, such as the ``example``."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise TypeError(
            f"{name}: {argument} is of type {type(value).__name__}; expected "
            f"{article} {kind.__name__}{example and ', such as '}{example}."
        )
    return value


def between(name, argument, x, least, most, what):
    """Return the array ``x`` if all its numbers are from ``least`` to ``most``.

    what   the meaning of the range, for the message: "the ids of the vocabulary"
    """
    if x.size and not least <= x.min() <= x.max() <= most:
        wrong = x.min() if x.min() < least else x.max()
        raise ValueError(
            f"{name}: {argument} {verb('holds', argument)} {wrong}; expected numbers "
            f"from {least} to {most}, {what}."
        )
    return x


def mask(name, argument, x, shape):
    """Return ``x`` if it is bool or float and broadcasts to ``shape``.

    A Tensor of floats is returned as it is, with its graph; any other mask as an array.
    """
    array = plain(x)
    if array.dtype.kind not in "bf":
        raise TypeError(
            f"{name}: {argument} is {array.dtype}; expected bool, where True = may "
            "attend, or float, which is added. For a mask of ones and zeros, write "
            f"{argument} == 1."
        )
    broadcastable(name, argument, array.shape, shape)
    return x if isinstance(x, Operators) and array.dtype.kind == "f" else array


def broadcastable(name, argument, found, shape):
    """Raise ValueError unless the shape ``found`` broadcasts to ``shape``."""
    axes = zip(reversed(found), reversed(shape))
    if len(found) > len(shape) or any(m not in (1, n) for m, n in axes):
        raise ValueError(
            f"{name}: {argument} has shape {found}; expected one that broadcasts to "
            f"{shape}."
        )


def generator(name, rng):
    """Return ``rng`` if it is a numpy.random.Generator or None."""
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"{name}: rng is of type {type(rng).__name__}; expected a "
            "numpy.random.Generator such as np.random.default_rng(0), or None."
        )
    return rng


def called(name, expected, function, *arguments):
    """Return function(*arguments); TypeError if it takes other arguments.

    name       the caller and its option, with which the message begins
    expected   the arguments in words, "(t, length)"
    """
    try:
        signature = inspect.signature(function)
    except ValueError:  # some builtins have none
        return function(*arguments)
    except TypeError:
        raise TypeError(
            f"{name} is of type {type(function).__name__}; expected a function of "
            f"{expected}."
        ) from None
    try:
        signature.bind(*arguments)
    except TypeError:
        raise TypeError(
            f"{name} takes {signature}; expected a function of {expected}."
        ) from None
    return function(*arguments)


def verb(singular, argument):
    """Return "are" for "is" where the name of the argument is a plural."""
    plural = argument.endswith("s") and not argument.endswith(("ss", "as", "is", "us"))
    return (
        {"is": "are", "has": "have", "holds": "hold"}[singular] if plural else singular
    )


def plain(x):
    """Return the array of a Tensor, a list or an array."""
    return np.asarray(array_or_value(x))


def _is_number(value):
    is_real = isinstance(value, (int, float, np.integer, np.floating))
    return is_real and not isinstance(value, bool)
