"""Linear attention is its definition: by loops, by pairs, in chunks, by kernels."""

import itertools

import numpy as np
import pytest

import minigrad as mg
from attention import kernels
from attention.variants.linear import elu_plus_one, linear_attention
from attention.variants.linear_scan import backward_twin, forward_twin
from minigrad import Tensor

from ...minigrad.array_cases import draw
from ...ops.linear import feature, scan
from ..kernels.kernel_cases import BACKENDS, running
from .linear_cases import (
    CHUNK,
    B,
    E,
    Ev,
    H,
    L,
    S,
    both,
    by_pairs,
    close,
    example,
    run,
)


@pytest.fixture(params=BACKENDS)
def backend(request):
    with running(request.param):
        yield request.param


def one_at_a_time(q, k, v, g, is_causal, keep, eps=1e-6):
    """o, dq, dk, dv of one head: the sums of the two scans, a row at a time."""
    a, b, o = feature(q), feature(k), np.zeros(g.shape)
    L, S = len(q), len(k)
    da, db, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    n, d = np.zeros(g.shape), np.zeros(L)
    for i in range(L):
        past = [j for j in range(i + 1 if is_causal else S) if keep[j]]
        state = sum((np.outer(b[j], v[j]) for j in past), np.zeros((E, Ev)))
        z = sum((b[j] for j in past), np.zeros(E))
        c = a[i] @ z + eps
        o[i] = a[i] @ state / c
        n[i], d[i] = g[i] / c, -(g[i] @ o[i]) / c
        da[i] = state @ n[i] + d[i] * z
    for j in range(S):
        if keep[j]:
            later = range(j if is_causal else 0, L)
            R = sum((np.outer(a[i], n[i]) for i in later), np.zeros((E, Ev)))
            r = sum((d[i] * a[i] for i in later), np.zeros(E))
            db[j], dv[j] = R @ v[j] + r, R.T @ b[j]
    slope = [np.where(x > 0, 1, np.exp(np.minimum(x, 0))) for x in (q, k)]
    return o, da * slope[0], db * slope[1], dv


@both
@pytest.mark.parametrize("n", [1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 5])
def test_it_is_its_definition(backend, n, is_causal):
    """The loop, one row at a time; the matrix of pairs; the kernel or the twin."""
    arrays = example(is_causal, n)
    keep = np.random.default_rng(1).random((B, H, n)) < 0.7
    found = run(*arrays, is_causal, key_mask=keep)
    close(found, run(*arrays, is_causal, by_pairs, keep=keep))
    head = (1, 2)
    loop = one_at_a_time(*(x[head] for x in arrays), is_causal, keep[head])
    close([x[head] for x in found], loop)


@both
@pytest.mark.parametrize("size", [1, 3, 16, 200])
def test_chunks_of_any_size_give_the_same(size, is_causal):
    q, k, v, g = example(is_causal, 70, (2,))
    how = np.arange(70) % np.array([[5], [3]]) > 0, is_causal, True
    results = []
    for chunk in size, CHUNK:
        o, share = forward_twin(q, k, v, *how, 1e-6, chunk=chunk)
        saved = q, k, v, *how, o, share, g, True, True
        results.append([o, *backward_twin(*saved, chunk=chunk)])
    close(*results)


@both
@pytest.mark.parametrize("width", [1, 15, 16, 17, 64, 70])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernel_and_twin_agree_in_any_width(width, dtype, is_causal):
    pytest.importorskip("numba")
    n = 70
    arrays = draw((n, width), (n, width), (n, 81 - width), (n, 81 - width), dtype=dtype)
    results = []
    for name in BACKENDS:
        with kernels.backend(name):
            results.append(run(*arrays, is_causal))
    assert all(x.dtype == dtype for x in results[0])
    close(*results, roundings=50)


@both
def test_gradients_are_those_of_finite_differences(backend, is_causal):
    q, k, v, _ = example(is_causal, heads=(B,))

    def attention(*leaves, **options):
        return linear_attention(*leaves, is_causal, **options)

    for options in (
        {},
        {"key_mask": np.arange(S) != 2, "eps": 0.5},
        {"feature_map": lambda x: mg.softplus(x), "valid_lens": [S, 4]},
    ):
        result = mg.gradcheck(lambda *x: attention(*x, **options), [q, k, v])
        assert result.ok, result.message


@both
def test_other_features(backend, is_causal):
    """elu + 1 written as any other map gives the same as where it is built in."""
    q, k, v, g = example(is_causal, 70)
    k[0, 0, 0] = k[1, :, 4] = 0.0  # the kink that is none
    expected = run(q, k, v, g, is_causal, valid_lens=[70, 33])
    features = {"feature_map": lambda x: elu_plus_one(x), "valid_lens": [70, 33]}
    close(run(q, k, v, g, is_causal, **features), expected)
    wider = {"feature_map": lambda x: mg.concat([mg.relu(x), mg.relu(-x)], -1)}
    o = linear_attention(q, k, v, is_causal, **wider).data
    a, b = (np.concatenate([np.maximum(x, 0), np.maximum(-x, 0)], -1) for x in (q, k))
    head = (1, 1)
    wanted = scan(a[head], b[head], v[head], is_causal=is_causal, eps=1e-6, elu=False)
    close([o[head]], [wanted])


def test_features_of_elu_plus_one():
    x = np.array([-800.0, -30.0, -1e-9, 0.0, 1e-9, 2.0, np.nan, -np.inf])
    found = elu_plus_one(x).data
    expected = [0, np.exp(-30), 1 - 1e-9, 1, 1 + 1e-9, 3, np.nan, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    for point in 0.0, -1e-3, 1e-3:
        t = Tensor([point], requires_grad=True)
        elu_plus_one(t).sum().backward()
        np.testing.assert_allclose(t.grad, np.exp(min(point, 0)))


def test_values_of_one_are_averages_and_the_identity_shows_the_weights(backend):
    q, k, v, _ = example(True)
    for is_causal in (False, True):
        ones = linear_attention(q, k, np.ones((S, 1)), is_causal, eps=0).data
        np.testing.assert_allclose(ones, 1, rtol=1e-14)
        w = linear_attention(q, k, np.eye(S), is_causal).data
        assert (w >= 0).all() and (not is_causal or (np.triu(w, 1) == 0).all())
        close([w @ v], [linear_attention(q, k, v, is_causal).data])


def test_keys_in_another_order(backend):
    q, k, v, _ = example(False, 70)
    order = np.random.default_rng(3).permutation(70)
    moved = linear_attention(q, k[..., order, :], v[..., order, :])
    close([moved.data], [linear_attention(q, k, v).data])


def test_leading_axes(backend):
    q, k, v, g = draw((B, H, L, E), (H, S, E), (S, Ev), (B, H, L, Ev))
    found = run(q, k, v, g, valid_lens=[4, 0])
    full = [np.broadcast_to(x, (B, H, *x.shape[-2:])).copy() for x in (q, k, v)]
    o, dq, dk, dv = run(*full, g, valid_lens=[4, 0])
    close(found, [o, dq, dk.sum(0), dv.sum((0, 1))])
    for b, h in itertools.product(range(B), range(H)):
        alone = run(q[b, h], k[h], v, g[b, h], key_mask=np.arange(S) < [4, 0][b])
        close(alone[:2], [o[b, h], dq[b, h]])
