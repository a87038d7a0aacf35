"""Results of disjoint sets of keys merge to the result of all of them."""

import warnings

import numpy as np
import pytest

from attention.exact.merge import merge
from attention.exact.sdpa import tiled_attention
from minigrad import Tensor

from ...minigrad.array_cases import draw
from ..kernels.kernel_cases import BACKENDS, running


@pytest.fixture(params=BACKENDS)
def backend(request):
    with running(request.param):
        yield request.param


def test_merging_disjoint_keys_is_attending_to_all(backend):
    """In value and in every gradient; also where one set, or both, leave nothing."""
    q, k, v, g, gl = draw((2, 9, 4), (2, 30, 4), (2, 30, 3), (2, 9, 3), (2, 9))
    allowed = np.random.default_rng(1).random((9, 30)) < 0.5
    allowed[1, :12], allowed[2, 12:], allowed[3] = False, False, False
    q, k, v = (Tensor(x, requires_grad=True) for x in (q, k, v))

    def part(start, stop):
        return tiled_attention(
            q, k[:, start:stop], v[:, start:stop],
            attn_mask=allowed[:, start:stop], return_lse=True,
        )  # fmt: skip

    found = []
    for o, lse in (
        tiled_attention(q, k, v, attn_mask=allowed, return_lse=True),
        merge(*part(0, 12), *part(12, 30)),
        merge(*merge(*part(20, 30), *part(12, 20)), *part(0, 12)),
    ):
        o.backward(g, retain_graph=True)
        lse.backward(np.where(np.isfinite(lse.data), gl, 0))
        found.append([o.data, lse.data, *(t.grad for t in (q, k, v))])
        for t in q, k, v:
            t.zero_grad()
    assert (found[0][1][:, 3] == -np.inf).all()
    for other in found[1:]:
        for x, y in zip(other, found[0]):
            np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-13)


def test_merging_far_scores():
    """A set whose scores are 1e4 lower has no weight, and nothing overflows."""
    o1, o2 = draw((5, 3), (5, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        o, lse = merge(o1, np.full(5, 1e4), o2, np.zeros(5))
        np.testing.assert_array_equal(o.data, o1)
        np.testing.assert_array_equal(lse.data, 1e4)


def test_two_empty_sets_merge_to_an_empty_set():
    o, lse = np.ones((3, 2)), np.full(3, -np.inf)
    tensors = [Tensor(x, requires_grad=True) for x in (o, lse, o, lse)]
    found = merge(*tensors)
    assert not found[0].data.any() and (found[1].data == -np.inf).all()
    found[0].backward(np.ones((3, 2)))
    assert all((t.grad == 0).all() for t in tensors)
