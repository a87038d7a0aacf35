"""Linear attention: its definition, masks, the features, and memory."""

import numpy as np
import pytest

import minigrad as mg
from attention import definitions
from attention.variants.linear import elu_plus_one, linear_attention
from minigrad import Tensor

from ...memory import peak_bytes
from ...minigrad.array_cases import draw
from ..definition_cases import check
from ..kernels.kernel_cases import running

B, H, S, E, Ev = 2, 3, 7, 4, 6
both = pytest.mark.parametrize("is_causal", [False, True])


@pytest.fixture(params=[pytest.param("numba", marks=pytest.mark.deep), "numpy"])
def backend(request):
    """Run a test on both backends; compiling these kernels takes long."""
    with running(request.param):
        yield request.param


def example(is_causal):
    """Return q, k and v."""
    L = S if is_causal else S + 3
    return draw((B, H, L, E), (B, H, S, E), (B, H, S, Ev))


def defined(is_causal, keep=True, phi=definitions.elu_plus_one, eps=1e-6):
    """Return the definition of all heads: query by query, of the keys it may use."""

    def attention(q, k, v):
        heads = np.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v)))
        q, k, v = (np.broadcast_to(x, (*heads, *x.shape[-2:])) for x in (q, k, v))
        kept = np.broadcast_to(keep, k.shape[:-1])
        o = np.zeros((*q.shape[:-1], v.shape[-1]))
        for *head, i in np.ndindex(q.shape[:-1]):
            head = tuple(head)
            keys = kept[head]
            if is_causal:
                keys = keys & (np.arange(k.shape[-2]) <= i)
            if keys.any():
                one, k_i, v_i = q[head][[i]], k[head][keys], v[head][keys]
                o[(*head, i)] = definitions.linear(one, k_i, v_i, phi, eps)[0]
        return o

    return attention


@both
def test_other_features(is_causal):
    """And masks in the middle of the keys; a query without keys has output 0."""
    keep = np.random.default_rng(1).random((B, H, S)) < 0.7
    keep[0, 0] = False

    def wider(x):
        return np.concatenate([np.maximum(x, 0), np.maximum(-x, 0)], -1)

    def of_tensors(x):
        return mg.concat([mg.relu(x), mg.relu(-x)], -1)

    options = {"mask": keep[..., None, :], "feature_map": of_tensors, "eps": 0.5}
    check(
        lambda *x: linear_attention(*x, is_causal, **options),
        defined(is_causal, keep, wider, 0.5),
        example(is_causal),
    )


def test_elu_plus_one():
    x = np.array([-800.0, -30.0, -1e-9, 0.0, 1e-9, 2.0, np.nan, -np.inf])
    found = elu_plus_one(x).data
    expected = [0, np.exp(-30), 1 - 1e-9, 1, 1 + 1e-9, 3, np.nan, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    for point in 0.0, -1e-3, 1e-3:
        t = Tensor([point], requires_grad=True)
        elu_plus_one(t).sum().backward()
        np.testing.assert_allclose(t.grad, np.exp(min(point, 0)))


@both
def test_masks_of_keys_and_lengths(is_causal):
    lengths, keys = np.array([5, 7]), np.arange(S) != 1
    keep = ((np.arange(S) < lengths[:, None]) & keys)[:, None]
    for mask in keys, np.broadcast_to(keys, (1, H, 1, S)), lambda b, h, i, j: j != 1:
        options = {"lengths": lengths, "mask": mask}
        found = linear_attention(*example(is_causal), is_causal, **options)
        expected = defined(is_causal, keep)(*example(is_causal))
        np.testing.assert_allclose(found.data, expected, rtol=1e-11)


@both
def test_memory_grows_linearly(backend, is_causal):
    """No array (L, S) and none (L, E, Ev), forward and backward."""
    width, used = 16, []
    for n in (1024, 4096):
        leaves = [Tensor(x, requires_grad=True) for x in draw(*[(n, width)] * 3)]
        linear_attention(*(x[:64] for x in leaves), is_causal)  # compiled

        def call(leaves=leaves):
            linear_attention(*leaves, is_causal).sum().backward()

        used.append(peak_bytes(call))
    assert used[1] < 4.2 * used[0]
    states, pairs = 8 * n * width * width, 8 * n * n
    assert used[1] < 2 * states and used[1] < 0.2 * pairs
