"""Set the initial values of parameters in place: ``xavier_uniform_(layer.weight)``.

The outputs of a layer are about as large as its inputs when the variance of its weights
is about 1 / (number of inputs). U(a, b) is the uniform distribution from a to b, N(m,
v) the normal one of mean m and variance v. Each function returns the tensor. ``rng`` is
a numpy.random.Generator, or None for the one that ``minigrad.manual_seed`` seeds;
numbers are drawn in float64, so that a seed gives the same values in every dtype.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from .. import random
from ..arguments import generator, instance, number
from ..overwriting import mark_written
from ..tensor import Tensor
from ..torch_names import INIT, unknown


class Zeros(np.random.Generator):
    """A generator that draws only 0, for parameters that are replaced at once."""

    def __init__(self):
        super().__init__(np.random.PCG64())

    def uniform(self, low, high, size):
        """Return 0 in place of numbers of this shape."""
        return 0.0

    normal = uniform


def uniform_(tensor, low=0.0, high=1.0, rng=None):
    """Draw from the uniform distribution U(low, high)."""
    number("uniform_", "low", low)
    number("uniform_", "high", high)
    shape = _shape("uniform_", tensor)
    return _write(tensor, _generator(rng).uniform(low, high, shape))


def normal_(tensor, mean=0.0, std=1.0, rng=None):
    """Draw from the normal distribution N(mean, std^2)."""
    number("normal_", "mean", mean)
    number("normal_", "std", std, least=0)
    shape = _shape("normal_", tensor)
    return _write(tensor, _generator(rng).normal(mean, std, shape))


def zeros_(tensor):
    """Set all values to 0."""
    return _write(tensor, np.zeros(_shape("zeros_", tensor)))


def ones_(tensor):
    """Set all values to 1."""
    return _write(tensor, np.ones(_shape("ones_", tensor)))


def xavier_uniform_(tensor, gain=1.0, rng=None):
    """Draw from U(-a, a), a = gain sqrt(6 / (in + out)), for a weight (out, in).

    The variance is 2 gain^2 / (in + out): between 1 / in, which keeps the size of the
    values in the forward pass, and 1 / out, which keeps the size of the gradients in
    the backward pass (Glorot and Bengio 2010, eq. 16).
    """
    number("xavier_uniform_", "gain", gain)
    inputs, outputs = _sizes("xavier_uniform_", tensor)
    a = gain * math.sqrt(6 / (inputs + outputs))
    return uniform_(tensor, -a, a, rng)


def kaiming_uniform_(tensor, a=0.0, rng=None):
    """Draw from U(-b, b), b = sqrt(6 / ((1 + a^2) in)), for a weight (out, in).

    Keeps the size of the values through a leaky ReLU of slope ``a`` below zero (He et
    al. 2015, eq. 15). Linear uses a = sqrt(5), which makes b = 1 / sqrt(in).
    """
    number("kaiming_uniform_", "a", a)
    inputs, _ = _sizes("kaiming_uniform_", tensor)
    b = math.sqrt(6 / ((1 + a * a) * inputs))
    return uniform_(tensor, -b, b, rng)


def _generator(rng):
    """Return ``rng``, or the default generator for None."""
    return generator("init", rng) or random.generator()


def _write(tensor, values):
    tensor._data[...] = values
    mark_written(tensor)
    return tensor


def _shape(name, tensor):
    """Return the shape of a tensor; raise TypeError for any other value."""
    return instance(name, "tensor", tensor, Tensor, "layer.weight").shape


def _sizes(name, tensor):
    """Return (in, out) of a weight (out, in)."""
    shape = _shape(name, tensor)
    if len(shape) != 2 or 0 in shape:
        raise ValueError(
            f"{name} needs a weight of shape (out, in); found shape {shape}."
        )
    return shape[1], shape[0]


if not TYPE_CHECKING:  # editors mark all other names as unknown

    def __getattr__(name):
        raise unknown("minigrad.nn.init", name, INIT)
