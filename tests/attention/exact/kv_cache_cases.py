"""A layer that decodes step by step, for the tests of its caches."""

import numpy as np

from . import multihead_cases

B, T, S, D, Dk = 3, 9, 7, 16, 5
close = dict(rtol=1e-12, atol=1e-13)  # the same sums of order one, in another order


def layer(num_kv_heads=None, dtype=np.float64, seed=0, **options):
    """That of the tests of multi-head attention, D wide."""
    return multihead_cases.layer(num_kv_heads, dtype, seed, D, **options)
