"""Attention in float32 is as exact as a plain program in float32."""

import numpy as np
import pytest

from ...minigrad.array_cases import draw
from ..kernels.kernel_cases import running
from .sdpa_laws_cases import PATHS, PATHS_AND_BACKENDS, results


@pytest.fixture(params=PATHS_AND_BACKENDS, ids="-".join)
def attention(request):
    """Each path in each backend, with every warning an error."""
    path, backend = request.param
    with running(backend):
        yield PATHS[path]


def plain(q, k, v, g, allowed):
    """What a plain program computes, in the dtype of its inputs."""
    scale = q.dtype.type(q.shape[-1] ** -0.5)
    K, V = (x.swapaxes(1, 2) for x in (k, v))
    s = np.where(allowed, scale * (q @ K), -np.inf)
    e = np.exp(s - s.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    dp = g @ V
    ds = p * (dp - (p * dp).sum(-1, keepdims=True))
    P, dS = p.swapaxes(1, 2), ds.swapaxes(1, 2)
    return p @ v, scale * ds @ k, scale * dS @ q, P @ g


@pytest.mark.deep
@pytest.mark.parametrize("size", [0.1, 1, 30])
@pytest.mark.parametrize("heads, n", [(4, 200), (2, 800)])
def test_float32_is_as_exact_as_a_plain_program(attention, heads, n, size):
    """At most twice the error of plain float32, three times in the gradients."""
    # heads enough, so that both meet their worst case
    q, k, v, g = draw(*[(heads, n, 64)] * 4, dtype=np.float32)
    q *= np.float32(size)
    allowed = np.tri(n, dtype=bool)
    o, _, *gradients = results(
        attention, q, k, v, g, np.zeros((heads, n), np.float32), is_causal=True
    )
    simple = plain(q, k, v, g, allowed)
    exact = plain(*(x.astype(float) for x in (q, k, v, g)), allowed)
    for x, y, z, times in zip((o, *gradients), simple, exact, (2, 3, 3, 3)):
        assert x.dtype == np.float32
        assert np.abs(x - z).max() <= times * np.abs(y - z).max()
