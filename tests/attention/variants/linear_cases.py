"""Linear attention by pairs, its arrays and its gradients, for the tests."""

import numpy as np
import pytest

import minigrad as mg
from attention.kernels import linear
from attention.variants.linear import elu_plus_one, linear_attention
from minigrad import Tensor

from ...minigrad.array_cases import draw

CHUNK = linear.CHUNK
B, H, L, S, E, Ev = 2, 3, 5, 7, 4, 6
both = pytest.mark.parametrize("is_causal", [False, True])


def example(is_causal, n=S, heads=(B, H), dtype=float):
    """q, k, v and g."""
    L = n if is_causal else n + 3
    shapes = (L, E), (n, E), (n, Ev), (L, Ev)
    return draw(*((*heads, *s) for s in shapes), dtype=dtype)


def run(q, k, v, g, is_causal=False, attention=linear_attention, **options):
    """o, dq, dk, dv."""
    leaves = [Tensor(x, requires_grad=True) for x in (q, k, v)]
    o = attention(*leaves, is_causal, **options)
    o.backward(g)
    return [o.data, *(x.grad for x in leaves)]


def by_pairs(q, k, v, is_causal=False, keep=None, eps=1e-6):
    """phi(q) phi(k)^T, normalised: the matrix that linear attention never has."""
    w = elu_plus_one(q) @ mg.swapaxes(elu_plus_one(k), -1, -2)
    if keep is not None:
        w = mg.where(keep[..., None, :], w, 0.0)
    if is_causal:
        w = mg.where(np.tri(w.shape[-1], dtype=bool), w, 0.0)
    return w @ v / (w.sum(-1, keepdims=True) + eps)


def close(found, expected, roundings=400):
    for x, y in zip(found, expected, strict=True):
        assert x.shape == y.shape
        atol = roundings * np.finfo(x.dtype).eps * np.abs(y).max(initial=1)
        np.testing.assert_allclose(x, y, rtol=0, atol=atol)
