"""The default random generator, for initial weights and dropout.

    >>> manual_seed(0)

gives the same random numbers in every run, except where a generator is passed.
"""

import functools

import numpy as np

from .arguments import whole


def manual_seed(seed: int):
    """Restart the default generator from ``seed``, a non-negative integer.

    It stays the same object, so every layer that uses it is reseeded as well.
    """
    seed = whole("manual_seed", "seed", seed)
    generator().bit_generator.state = np.random.default_rng(seed).bit_generator.state


@functools.cache  # made at the first call: importing numpy.random takes time
def generator():
    """Return the default generator.

    Until ``manual_seed`` is called, its seed is random.
    """
    return np.random.default_rng()
