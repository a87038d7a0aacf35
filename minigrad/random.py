"""The default random generator, for initial weights and dropout.

    >>> manual_seed(0)

gives the same random numbers in every run, except where a generator is passed.
"""

import numpy as np

_default = np.random.default_rng()  # seeded by the system until manual_seed is called


def manual_seed(seed):
    """Restart the default generator from ``seed``, a non-negative integer.

    It stays the same object, so every layer that uses it is reseeded as well.
    """
    _default.bit_generator.state = np.random.default_rng(seed).bit_generator.state


def generator():
    """Return the default ``numpy.random.Generator``."""
    return _default
