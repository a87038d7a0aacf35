"""A change of excluded keys and values changes no bit of any result or gradient."""

import numpy as np
import pytest

from attention import masks
from attention.masks.block_mask import BlockMask

from ...minigrad.array_cases import draw
from ..kernels.kernel_cases import running
from .sdpa_laws_cases import PATHS, PATHS_AND_BACKENDS, B, H, L, S, example, results

LENGTH = 50
LEAKS = {  # what hides the keys from LENGTH on from all queries
    "bool mask": {"attn_mask": np.arange(S) < LENGTH},
    "bool mask of each": {"attn_mask": np.tile(np.arange(S) < LENGTH, (B, H, L, 1))},
    "float mask": {"attn_mask": np.where(np.arange(S) < LENGTH, 0.3, -np.inf)},
    "bias": {"bias": np.where(np.arange(S) < LENGTH, 0.3, np.full((L, 1), -np.inf))},
    "lengths": {"mask_mod": masks.padding([LENGTH, LENGTH])},
    "function": {"mask_mod": lambda b, h, q, kv: kv < LENGTH},
    "blocks": {
        "block_mask": BlockMask.from_dense(np.tile(np.arange(S) < LENGTH, (L, 1)))
    },
    "softcap": {"mask_mod": masks.padding([LENGTH, LENGTH]), "softcap": 2.0},
    "causal": {"is_causal": True, "mask_mod": lambda b, h, q, kv: kv < LENGTH},
}  # fmt: skip


@pytest.fixture(params=PATHS_AND_BACKENDS, ids="-".join)
def attention(request):
    """Each path in each backend, with every warning an error."""
    path, backend = request.param
    with running(backend):
        yield PATHS[path]


@pytest.mark.parametrize("bad", [7.0, np.nan])
@pytest.mark.parametrize("name", LEAKS)
def test_what_stands_in_the_padding_changes_no_bit(attention, name, bad):
    q, k, v = example()
    expected = results(attention, q, k, v, **LEAKS[name])
    k[..., LENGTH:, :], v[..., LENGTH:, :] = bad, bad
    found = results(attention, q, k, v, **LEAKS[name])
    for x, y in zip(found, expected):
        np.testing.assert_array_equal(x, y)
    assert not found[3][..., LENGTH:, :].any() and not found[4][..., LENGTH:, :].any()


def test_the_future_changes_no_bit_of_the_past(attention):
    at = 40
    q, k, v = example(S, S)
    g, gl = draw((B, H, S, 3), (B, H, S), seed=5)
    g[..., at:, :], gl[..., at:] = 0, 0  # a loss on the past
    expected = results(attention, q, k, v, g, gl, is_causal=True)
    for x in q, k, v:
        x[..., at:, :] = 7.0
    found = results(attention, q, k, v, g, gl, is_causal=True)
    for x, y in zip(found, expected):
        np.testing.assert_array_equal(x[:, :, :at], y[:, :, :at])
