"""Linear attention: its definition, the chunks of the scan, masks, state and memory."""

import tracemalloc

import numpy as np
import pytest

import minigrad as mg
from attention import kernels
from attention.kernels import linear, linear_backward, pool
from attention.variants.linear import (
    LinearAttentionState,
    elu_plus_one,
    linear_attention,
    linear_attention_by_pairs,
)
from attention.variants.linear_scan import Scan, linear_scan
from minigrad import Tensor
from minigrad.graph import reachable
from minigrad.overwriting import saved_arrays

from ...minigrad.array_cases import draw
from ...ops.linear import feature, scan
from ..kernels.kernel_cases import BACKENDS, running

CHUNK = linear.CHUNK
B, H, L, S, E, Ev = 2, 3, 5, 7, 4, 6
both = pytest.mark.parametrize("is_causal", [False, True])


@pytest.fixture(params=BACKENDS)
def backend(request):
    with running(request.param):
        yield request.param


def example(is_causal, n=S, heads=(B, H), dtype=float):
    """Return q, k, v and g."""
    L = n if is_causal else n + 3
    shapes = (L, E), (n, E), (n, Ev), (L, Ev)
    return draw(*((*heads, *s) for s in shapes), dtype=dtype)


def run(q, k, v, g, is_causal=False, attention=linear_attention, **options):
    """Return o, dq, dk, dv."""
    leaves = [Tensor(x, requires_grad=True) for x in (q, k, v)]
    o = attention(*leaves, is_causal, **options)
    o.backward(g)
    return [o.data, *(x.grad for x in leaves)]


def close(found, expected, roundings=400):
    for x, y in zip(found, expected, strict=True):
        assert x.shape == y.shape
        atol = roundings * np.finfo(x.dtype).eps * np.abs(y).max(initial=1)
        np.testing.assert_allclose(x, y, rtol=0, atol=atol)


# the definition


def one_at_a_time(q, k, v, g, is_causal, keep, eps=1e-6):
    """Return o, dq, dk, dv of one head, with the sums of both scans row by row."""
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
def test_definition(backend, n, is_causal):
    """The loop over rows, the matrix of pairs, and the scan, compiled or not."""
    arrays = example(is_causal, n)
    keep = np.random.default_rng(1).random((B, H, n)) < 0.7
    found = run(*arrays, is_causal, key_mask=keep)
    close(found, run(*arrays, is_causal, linear_attention_by_pairs, keep=keep))
    head = (1, 2)
    loop = one_at_a_time(*(x[head] for x in arrays), is_causal, keep[head])
    close([x[head] for x in found], loop)


@both
@pytest.mark.parametrize("size", [1, 3, 16, 200])
def test_chunks_of_any_size_give_the_same(size, is_causal):
    q, k, v, g = example(is_causal, 70, (2,))
    keep = np.arange(70) % np.array([[5], [3]]) > 0
    results = []
    for chunk in size, CHUNK:
        heads = Scan(q, k, v, keep, is_causal, True, chunk)
        o, inv_sum = heads.forward(1e-6)
        results.append([o, *heads.backward(o, inv_sum, g, True, True)])
    close(*results)


@both
@pytest.mark.parametrize("width", [1, 17, 64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernel_and_numpy_agree_in_any_width(width, dtype, is_causal):
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
def test_gradients(backend, is_causal):
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
    """elu + 1 passed as a function gives the same as the built-in one."""
    q, k, v, g = example(is_causal, 70)
    k[0, 0, 0] = k[1, :, 4] = 0.0  # no kink there
    expected = run(q, k, v, g, is_causal, valid_lens=[70, 33])
    features = {"feature_map": lambda x: elu_plus_one(x), "valid_lens": [70, 33]}
    close(run(q, k, v, g, is_causal, **features), expected)
    wider = {"feature_map": lambda x: mg.concat([mg.relu(x), mg.relu(-x)], -1)}
    o = linear_attention(q, k, v, is_causal, **wider).data
    a, b = (np.concatenate([np.maximum(x, 0), np.maximum(-x, 0)], -1) for x in (q, k))
    head = (1, 1)
    wanted = scan(a[head], b[head], v[head], is_causal=is_causal, eps=1e-6, elu=False)
    close([o[head]], [wanted])


def test_elu_plus_one():
    x = np.array([-800.0, -30.0, -1e-9, 0.0, 1e-9, 2.0, np.nan, -np.inf])
    found = elu_plus_one(x).data
    expected = [0, np.exp(-30), 1 - 1e-9, 1, 1 + 1e-9, 3, np.nan, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    for point in 0.0, -1e-3, 1e-3:
        t = Tensor([point], requires_grad=True)
        elu_plus_one(t).sum().backward()
        np.testing.assert_allclose(t.grad, np.exp(min(point, 0)))


def test_weights_sum_to_1_and_the_identity_shows_them():
    q, k, v, _ = example(True)
    for is_causal in (False, True):
        ones = linear_attention(q, k, np.ones((S, 1)), is_causal, eps=0).data
        np.testing.assert_allclose(ones, 1, rtol=1e-13)
        w = linear_attention(q, k, np.eye(S), is_causal).data
        assert (w >= 0).all() and (not is_causal or (np.triu(w, 1) == 0).all())
        close([w @ v], [linear_attention(q, k, v, is_causal).data])


def test_leading_axes_broadcast(backend):
    q, k, v, g = draw((B, H, L, E), (H, S, E), (S, Ev), (B, H, L, Ev))
    found = run(q, k, v, g, valid_lens=[4, 0])
    full = [np.broadcast_to(x, (B, H, *x.shape[-2:])).copy() for x in (q, k, v)]
    o, dq, dk, dv = run(*full, g, valid_lens=[4, 0])
    close(found, [o, dq, dk.sum(0), dv.sum((0, 1))])
    for b, h in np.ndindex(B, H):
        alone = run(q[b, h], k[h], v, g[b, h], key_mask=np.arange(S) < [4, 0][b])
        close(alone[:2], [o[b, h], dq[b, h]])


# masks


@both
def test_masks_of_keys_and_lengths(backend, is_causal):
    arrays = example(is_causal)
    lengths, keys = np.array([5, 7]), np.arange(S) != 1
    keep = ((np.arange(S) < lengths[:, None]) & keys)[:, None]
    expected = run(*arrays, is_causal, linear_attention_by_pairs, keep=keep)
    close(run(*arrays, is_causal, valid_lens=lengths, key_mask=keys), expected)
    each = np.broadcast_to(keys, (1, H, S))
    close(run(*arrays, is_causal, valid_lens=lengths, key_mask=each), expected)


@both
def test_a_masked_key_has_no_influence(backend, is_causal):
    """Even if it is NaN."""
    q, k, v, g = example(is_causal, 70)
    keep = np.random.default_rng(1).random((B, H, 70)) < 0.5
    keep[0, 0] = False
    for options in ({}, {"feature_map": lambda x: elu_plus_one(x)}):
        clean = run(q, k, v, g, is_causal, key_mask=keep, **options)
        assert (clean[0][0, 0] == 0).all() and (clean[1][0, 0] == 0).all()
        assert (clean[2][~keep] == 0).all() and (clean[3][~keep] == 0).all()
        for filling in 7.0, np.nan:
            other_k, other_v = k.copy(), v.copy()
            other_k[~keep] = other_v[~keep] = filling
            close(
                run(q, other_k, other_v, g, is_causal, key_mask=keep, **options), clean
            )


@pytest.mark.parametrize("at", [3, CHUNK - 1, CHUNK, 100])
def test_later_tokens_have_no_influence(backend, at):
    """On outputs before them, and on gradients of those outputs."""
    q, k, v, g = example(True, 130)
    g[..., at:, :] = 0
    expected = run(q, k, v, g, True)
    changed = [x.copy() for x in (q, k, v)]
    for x in changed:
        x[..., at:, :] = 3.0
    found = run(*changed, g, True)
    close(*([x[..., :at, :] for x in each] for each in (found, expected)))


# the state of a decoder


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("prompt", [0, 1, 9])
def test_step_by_step_equals_one_call(prompt, dtype):
    q, k, v, _ = example(True, 70, dtype=dtype)
    whole = linear_attention(q, k, v, True).data
    state = LinearAttentionState()
    if prompt:
        state.extend(k[..., :prompt, :], v[..., :prompt, :])
    for t in range(prompt, 70):
        o = state.step(*(x[..., t, :] for x in (q, k, v)))
        assert o.dtype == dtype and o.shape == (B, H, Ev)
        close([o.data], [whole[..., t, :]], roundings=100)
    assert state.S.shape == (B, H, E, Ev) and state.z.shape == (B, H, E)
    assert state.length == 70
    assert repr(state) == "LinearAttentionState(S=(2, 3, 4, 6), length=70)"


def test_a_prompt_with_padding_and_other_features():
    q, k, v, _ = example(True, 9)
    keep = np.arange(9) < np.array([5, 9]).reshape(2, 1, 1)  # (B, 1, 9)
    options = {"feature_map": mg.softplus, "eps": 0.1}
    whole = linear_attention(q, k, v, True, key_mask=keep, **options).data
    k, v = (np.where(keep[..., None], x, 9.0) for x in (k, v))
    state = LinearAttentionState(**options)
    state.extend(k[..., :8, :], v[..., :8, :], keep[..., :8])
    k[0, :, 8] = v[0, :, 8] = -900.0  # so far below 0 that softplus is 0
    o = state.step(*(x[..., 8, :] for x in (q, k, v)))
    close([o.data], [whole[..., 8, :]])


def test_a_state_whose_features_are_0_gives_0():
    state = LinearAttentionState(feature_map=mg.relu, eps=0)
    assert repr(state) == "LinearAttentionState(empty, length=0)"
    assert (state.step(np.ones(3), -np.ones(3), np.ones(2)).data == 0).all()


def test_gradients_through_the_state():
    *arrays, g = example(True, 9, ())
    expected = run(*arrays, g, True)
    leaves = [Tensor(x, requires_grad=True) for x in arrays]
    state = LinearAttentionState()
    o = mg.stack([state.step(*(x[t] for x in leaves)) for t in range(9)])
    o.backward(g)
    close([o.data, *(x.grad for x in leaves)], expected)


# precision, memory, threads


@both
@pytest.mark.parametrize("scale", [0.1, 1, 3])
def test_float32_is_as_exact_as_the_matrix_of_pairs(backend, is_causal, scale):
    """At most twice the error of plain float32, three times in gradients."""
    arrays = draw((2, 300, 32), (2, 300, 32), (2, 300, 16), (2, 300, 16), dtype="f")
    arrays = [x * np.float32(scale) for x in arrays[:2]] + arrays[2:]
    exact = run(
        *(x.astype(float) for x in arrays), is_causal, linear_attention_by_pairs
    )
    ours, theirs = (
        [np.abs(x - y).max() for x, y in zip(run(*arrays, is_causal, f), exact)]
        for f in (linear_attention, linear_attention_by_pairs)
    )
    for error, bound, times in zip(ours, theirs, (2, 3, 3, 3)):
        assert error <= times * bound


@both
def test_memory_grows_linearly(backend, is_causal):
    """No array (L, S) and none (L, E, Ev), forward and backward."""
    width, used = 16, []
    for n in (1024, 4096):
        arrays = draw(*[(n, width)] * 4, dtype="f")
        run(*(x[:64] for x in arrays), is_causal)  # compiled
        tracemalloc.start()
        try:
            run(*arrays, is_causal)
            used.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert used[1] < 4.2 * used[0]
    states, pairs = 4 * n * width * width, 4 * n * n
    assert used[1] < states and used[1] < 0.05 * pairs


def test_no_state_is_kept_for_the_backward(backend):
    n = 1000
    leaves = [Tensor(x, requires_grad=True) for x in draw(*[(n, 16)] * 3)]
    o = linear_attention(*leaves, True)
    nodes = reachable(o._node)
    kept = {a.ctypes.data: a.nbytes for node in nodes for a in saved_arrays(node)}
    assert sum(kept.values()) <= 8 * n * (4 * 16 + 1)  # q, k, v, o; the denominators


@both
def test_any_memory_layout(backend, is_causal):
    *arrays, g = example(is_causal, 70, (2,))
    keep = np.arange(140).reshape(2, 70) % 3 > 0
    expected = run(*arrays, g, is_causal, key_mask=keep)
    for change in (
        np.asfortranarray,
        lambda x: np.repeat(x, 2, -1)[..., ::2],
        lambda x: np.flip(np.flip(x).copy()),
    ):
        q, k, v, gc = map(change, (*arrays, g))
        o, backward = linear_scan.raw(
            q, k, v, change(keep), is_causal=is_causal, eps=1e-6
        )
        found = [o, *backward(gc, (True,) * 3)[:3]]
        for x, y in zip(found, expected):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-13)


@pytest.mark.deep
def test_dtypes_without_a_kernel(backend):
    exact = example(True)
    expected = run(*exact, True)
    for dtype, tolerance in ((np.float16, 2e-2), (np.longdouble, 1e-13)):
        for x, y in zip(run(*(a.astype(dtype) for a in exact), True), expected):
            assert x.dtype == dtype
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@pytest.mark.deep
def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(pool, "WORTH_A_THREAD", 0)
    before, results = kernels.threads(), []
    try:
        with kernels.backend("numba"):
            for is_causal in (False, True):
                arrays = example(is_causal, 130, (7,), np.float32)
                for n in (1, 2, 3, 8):
                    kernels.threads(n)
                    results.append(run(*arrays, is_causal))
                for other in results[-3:]:
                    for x, y in zip(other, results[-4]):
                        np.testing.assert_array_equal(x, y)
            for kernel in (
                linear.forward_loop,
                linear_backward.query_loop,
                linear_backward.key_loop,
            ):
                loop = kernel.version(np.dtype(np.float32))
                assert len(loop.signatures) == 1 and not loop._can_compile
    finally:
        kernels.threads(before)


def test_only_needed_gradients_are_computed(backend):
    arrays = example(True, 70)
    o, backward = linear_scan.raw(*arrays[:3], is_causal=True, eps=1e-6)
    dq, dk, dv, _ = backward(arrays[3], (True, False, False))
    assert dk is None and dv is None
    again, dk, dv, _ = backward(arrays[3], (False, False, True))
    assert again is None
    close([o, dq, dk, dv], run(*arrays, True), roundings=10)
