"""Attention on either path, its arrays and its results, for the tests of its laws."""

import numpy as np

from attention.exact.sdpa import dense_attention, tiled_attention
from minigrad import Tensor

from ...minigrad.array_cases import draw
from ..kernels.kernel_cases import BACKENDS

PATHS = {"dense": dense_attention, "tiled": tiled_attention}
PATHS_AND_BACKENDS = [(p, b) for p in PATHS for b in BACKENDS]
B, H, L, S, E = 2, 4, 70, 90, 6


def example(n=L, m=S, heads=(B, H), key_heads=None):
    key_heads = heads if key_heads is None else key_heads
    return draw((*heads, n, E), (*key_heads, m, E), (*key_heads, m, 3))


def results(attention, q, k, v, g=None, gl=None, **options):
    """o, lse, dq, dk, dv for given dL/do, dL/dlse, else for some that are fixed."""
    tensors = [Tensor(x, requires_grad=True) for x in (q, k, v)]
    o, lse = attention(*tensors, return_lse=True, **options)
    g = draw(o.shape, seed=5)[0] if g is None else g
    gl = draw(lse.shape, seed=6)[0] if gl is None else gl
    o.backward(g, retain_graph=True)
    lse.backward(np.where(np.isfinite(lse.data), gl, 0))
    return [o.data, lse.data, *(t.grad for t in tensors)]


def same(found, expected, tolerance=1e-13):
    """The same up to the rounding of sums of a hundred numbers of order one."""
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
