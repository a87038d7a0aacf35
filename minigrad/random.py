"""The one default random generator: initial weights and dropout draw from it.

    >>> manual_seed(0)

makes everything that is drawn without a generator of its own the same in every run.
"""

import numpy as np

_default = np.random.default_rng()  # seeded by the system until manual_seed is called


def manual_seed(seed):
    """Start the default generator anew from ``seed``, a non-negative integer.

    The generator stays the same object, so those who hold it are reseeded as well.
    """
    _default.bit_generator.state = np.random.default_rng(seed).bit_generator.state


def generator():
    """The default ``numpy.random.Generator``; its state can be saved and restored."""
    return _default
