"""Arrays of random numbers for the tests."""

import numpy as np


def draw(*shapes, seed=0, dtype=float):
    """An array of each shape, of numbers of order one."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def in_float64(module):
    """Return a module whose parameters are float64 now."""
    for parameter in module.parameters():
        parameter.data = parameter.data.astype(float)
    return module
