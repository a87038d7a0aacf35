"""Exact attention: in every way to mask them, masked keys have no influence."""

import numpy as np
import pytest

from attention import masks
from attention.masks.block_mask import BlockMask
from minigrad import Tensor

from ...minigrad.array_cases import draw

B, H, L, S, E = 2, 4, 70, 90, 6


def example(n=L, m=S):
    return draw((B, H, n, E), (B, H, m, E), (B, H, m, 3))


def results(attention, q, k, v, g=None, **options):
    """o, dq, dk, dv for a given dL/do, by default random."""
    tensors = [Tensor(x, requires_grad=True) for x in (q, k, v)]
    o = attention(*tensors, **options)
    o.backward(draw(o.shape, seed=5)[0] if g is None else g)
    return [o.data, *(t.grad for t in tensors)]


def same(found, expected):
    """The same up to the rounding of sums of a hundred numbers of order one."""
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-13)


# Masked keys

LENGTH = 50
LEAKS = {  # all ways to mask the keys from LENGTH on for all queries
    "bool mask": {"attn_mask": np.arange(S) < LENGTH},
    "float mask": {"attn_mask": np.where(np.arange(S) < LENGTH, 0.3, -np.inf)},
    "bias": {"bias": np.where(np.arange(S) < LENGTH, 0.3, np.full((L, 1), -np.inf))},
    "lengths": {"attn_mask": masks.padding([LENGTH, LENGTH])},
    "function": {"attn_mask": lambda b, h, q, kv: kv < LENGTH},
    "blocks": {
        "attn_mask": BlockMask.from_mask(
            masks.from_array(np.arange(S)[None] < LENGTH), L, S
        )
    },
    "causal": {"is_causal": True, "attn_mask": lambda b, h, q, kv: kv < LENGTH},
}  # fmt: skip


@pytest.mark.parametrize("bad", [7.0, np.nan])
@pytest.mark.parametrize("name", LEAKS)
def test_masked_keys_have_no_influence(attention, name, bad):
    """If every query masks them, NaN is allowed in them as well."""
    q, k, v = example()
    expected = results(attention, q, k, v, **LEAKS[name])
    k[..., LENGTH:, :], v[..., LENGTH:, :] = bad, bad
    found = results(attention, q, k, v, **LEAKS[name])
    same(found, expected)
    assert not found[2][..., LENGTH:, :].any() and not found[3][..., LENGTH:, :].any()
