"""Make tensors of a shape: zeros, ones and random numbers.

The numbers are float32, as those of layers, unless ``dtype`` is another. Random ones
come from the generator that ``manual_seed`` seeds.
"""

import numpy as np

from .operators import as_tuple
from .random import generator
from .tensor import Tensor


def zeros(*shape, dtype=np.float32, requires_grad=False):
    """Return zeros: ``zeros(2, 3)`` or ``zeros((2, 3))``, as for all functions here."""
    return Tensor(np.zeros(as_tuple(shape), dtype), requires_grad)


def ones(*shape, dtype=np.float32, requires_grad=False):
    """Return ones."""
    return Tensor(np.ones(as_tuple(shape), dtype), requires_grad)


def rand(*shape, dtype=np.float32, requires_grad=False):
    """Return numbers from the uniform distribution U(0, 1)."""
    return Tensor(generator().random(as_tuple(shape)).astype(dtype), requires_grad)


def randn(*shape, dtype=np.float32, requires_grad=False):
    """Return numbers from the normal distribution N(0, 1)."""
    return normal(0, 1, as_tuple(shape), dtype, requires_grad)


def normal(mean, std, shape, dtype=np.float32, requires_grad=False):
    """Return numbers from the normal distribution N(mean, std^2)."""
    numbers = generator().normal(mean, std, shape)
    return Tensor(numbers.astype(dtype), requires_grad)
