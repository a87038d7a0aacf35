"""RoPE's pairings, scalings and arrays, for the tests."""

import numpy as np
import pytest

from attention.positions import (
    DynamicNTKScaling,
    LinearScaling,
    NTKScaling,
    YaRNScaling,
    rope,
)

L, E = 7, 8
p = np.arange(L)
CLOSE = {"rtol": 0, "atol": 1e-13}  # a few roundings of entries of order one

SCALINGS = {
    "none": None,
    "linear": LinearScaling(3.0),
    "ntk": NTKScaling(3.0),
    "dynamic": DynamicNTKScaling(3.0, 4),
    "yarn": YaRNScaling(3.0, 40),
}
both_pairings = pytest.mark.parametrize("interleaved", [False, True])
every_scaling = pytest.mark.parametrize("name", SCALINGS)


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def value(x, positions, **options):
    return rope(x, positions, **options).data
