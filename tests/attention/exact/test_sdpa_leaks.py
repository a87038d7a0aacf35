"""A change of what may not be attended to is seen nowhere, in no bit."""

import numpy as np
import pytest

from attention import masks
from attention.masks.block_mask import BlockMask

from ...minigrad.array_cases import draw
from ..kernels.kernel_cases import running
from .sdpa_laws_cases import PATHS, PATHS_AND_BACKENDS, B, H, L, S, example, results

LENGTH = 50
_ids = np.arange(S) // 23
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


@pytest.mark.parametrize("bad", [7.0, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", LEAKS)
def test_what_stands_in_the_padding_changes_no_bit(attention, name, bad):
    q, k, v = example()
    expected = results(attention, q, k, v, **LEAKS[name])
    k[..., LENGTH:, :], v[..., LENGTH:, :] = bad, bad
    found = results(attention, q, k, v, **LEAKS[name])
    for x, y in zip(found, expected):
        np.testing.assert_array_equal(x, y)
    assert not found[3][..., LENGTH:, :].any() and not found[4][..., LENGTH:, :].any()


@pytest.mark.parametrize("bad", [7.0, np.nan, np.inf])
def test_the_future_changes_no_bit_of_the_past(attention, bad):
    at = 40
    q, k, v = example(S, S)
    g, gl = draw((B, H, S, 3), (B, H, S), seed=5)
    g[..., at:, :], gl[..., at:] = 0, 0  # a loss on the past
    expected = results(attention, q, k, v, g, gl, is_causal=True)
    for x in q, k, v:
        x[..., at:, :] = bad
    found = results(attention, q, k, v, g, gl, is_causal=True)
    o, lse, dq, dk, dv = (x[:, :, :at] == y[:, :, :at] for x, y in zip(found, expected))
    assert o.all() and lse.all() and dq.all()
    # Finite or not, no query of the past meets these keys. But a later query does meet
    # the earlier keys, and when it is NaN, 0 * NaN is what it sends back to them.
    assert not np.isfinite(bad) or (dk.all() and dv.all())


@pytest.mark.parametrize("bad", [7.0, np.nan, np.inf])
def test_queries_without_keys_change_no_bit(attention, bad):
    q, k, v = example()
    options = {"mask_mod": lambda b, h, q, kv: (q < LENGTH) & (kv > q - 9)}
    expected = results(attention, q, k, v, **options)
    q[..., LENGTH:, :] = bad
    for x, y in zip(results(attention, q, k, v, **options), expected):
        np.testing.assert_array_equal(x, y)


def test_a_bad_row_reaches_those_alone_that_attend_to_it(attention):
    """Document 1 is NaN; the others know nothing of it, forward and backward."""
    q, k, v = example(S, S)
    options = {"mask_mod": masks.document(_ids)}
    expected = results(attention, q, k, v, **options)
    for x in q, k, v:
        x[..., _ids == 1, :] = np.nan
    for x, y in zip(results(attention, q, k, v, **options), expected):
        np.testing.assert_array_equal(x[:, :, _ids != 1], y[:, :, _ids != 1])
        assert np.isnan(x[:, :, _ids == 1]).all()
