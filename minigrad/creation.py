"""Make tensors of a shape: zeros, ones and random numbers.

The numbers are float32, as those of layers, unless ``dtype`` is another. Random ones
come from the generator that ``manual_seed`` seeds.
"""

import numpy as np

from .arguments import whole
from .operators import as_tuple
from .random import generator
from .tensor import Tensor
from .torch_names import explained


@explained
def zeros(*shape, dtype=np.float32, requires_grad=False):
    """Return zeros: ``zeros(2, 3)`` or ``zeros((2, 3))``, as for all functions here."""
    return Tensor(np.zeros(_lengths("zeros", shape), dtype), requires_grad)


@explained
def ones(*shape, dtype=np.float32, requires_grad=False):
    """Return ones."""
    return Tensor(np.ones(_lengths("ones", shape), dtype), requires_grad)


@explained
def rand(*shape, dtype=np.float32, requires_grad=False):
    """Return numbers from the uniform distribution U(0, 1)."""
    numbers = generator().random(_lengths("rand", shape))
    return Tensor(numbers.astype(dtype), requires_grad)


@explained
def randn(*shape, dtype=np.float32, requires_grad=False):
    """Return numbers from the normal distribution N(0, 1)."""
    return normal(0, 1, as_tuple(shape), dtype, requires_grad)


@explained
def normal(mean, std, shape, dtype=np.float32, requires_grad=False):
    """Return numbers from the normal distribution N(mean, std^2)."""
    numbers = generator().normal(mean, std, _lengths("normal", (shape,)))
    return Tensor(numbers.astype(dtype), requires_grad)


def _lengths(name, shape):
    """Return (2, 3) for the arguments 2, 3 and for the argument (2, 3)."""
    return tuple(whole(name, "the length of an axis", n) for n in as_tuple(shape))
