"""Leaves and numbers for the tests of the engine."""

import numpy as np

from minigrad import Tensor


def leaf(data, dtype=np.float64):
    return Tensor(np.asarray(data, dtype), requires_grad=True)


def draw(*shape, seed=0):
    return np.asarray(np.random.default_rng((seed, *shape)).normal(size=shape))
