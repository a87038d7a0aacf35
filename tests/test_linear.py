"""Linear attention: its definition, its twin, its kernels, and a decoder's state."""

import itertools
import tracemalloc
import warnings

import numpy as np
import pytest

import minigrad as mg
from attention import kernels
from attention.kernels import linear, linear_backward, pool
from attention.linear import LinearAttentionState, elu_plus_one, linear_attention
from attention.linear_scan import backward_twin, forward_twin, linear_scan
from minigrad import Tensor
from minigrad.graph import kept_arrays, reachable

from .ops.linear import feature, scan

BACKENDS, CHUNK = ["numba", "numpy"], linear.CHUNK
B, H, L, S, E, Ev = 2, 3, 5, 7, 4, 6
both = pytest.mark.parametrize("is_causal", [False, True])


@pytest.fixture(params=BACKENDS)
def backend(request):
    if request.param == "numba":
        pytest.importorskip("numba")
    with kernels.backend(request.param), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield request.param


def draw(*shapes, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


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


def close(found, expected, roundings=400):
    for x, y in zip(found, expected, strict=True):
        assert x.shape == y.shape
        atol = roundings * np.finfo(x.dtype).eps * np.abs(y).max(initial=1)
        np.testing.assert_allclose(x, y, rtol=0, atol=atol)


# What it is


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


# Masks, NaN, nothing


@both
def test_masks_of_keys_and_lengths(backend, is_causal):
    arrays = example(is_causal)
    lengths, keys = np.array([5, 7]), np.arange(S) != 1
    expected = run(
        *arrays, is_causal, by_pairs,
        keep=((np.arange(S) < lengths[:, None]) & keys)[:, None],
    )  # fmt: skip
    close(run(*arrays, is_causal, valid_lens=lengths, key_mask=keys), expected)
    each = np.broadcast_to(keys, (1, H, S))
    close(run(*arrays, is_causal, valid_lens=lengths, key_mask=each), expected)


@both
@pytest.mark.parametrize("filling", [7.0, np.nan, np.inf])
def test_what_is_masked_may_hold_anything(backend, is_causal, filling):
    q, k, v, g = example(is_causal, 70)
    keep = np.random.default_rng(1).random((B, H, 70)) < 0.5
    keep[0, 0] = False
    for options in ({}, {"feature_map": lambda x: elu_plus_one(x)}):
        clean = run(q, k, v, g, is_causal, key_mask=keep, **options)
        assert (clean[0][0, 0] == 0).all() and (clean[1][0, 0] == 0).all()
        assert (clean[2][~keep] == 0).all() and (clean[3][~keep] == 0).all()
        dirty_k, dirty_v = k.copy(), v.copy()
        dirty_k[~keep], dirty_v[~keep] = filling, filling
        dirty = run(q, dirty_k, dirty_v, g, is_causal, key_mask=keep, **options)
        for x, y in zip(dirty, clean):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("place", [0, 3, CHUNK - 1, CHUNK, 100])
def test_the_future_changes_nothing(backend, place):
    """Not a bit, in the outputs before it and in their gradients; nor if it is NaN."""
    q, k, v, g = example(True, 130)
    g[..., place:, :] = 0
    expected = run(q, k, v, g, True)
    for filling in (3.0, np.nan, np.inf):
        changed = [x.copy() for x in (q, k, v)]
        for x in changed:
            x[..., place:, :] = filling
        found = run(*changed, g, True)
        for x, y in zip(found, expected):
            np.testing.assert_array_equal(x[..., :place, :], y[..., :place, :])
        if np.isnan(filling):
            assert np.isnan(found[0][..., place:, :]).all()


@pytest.mark.parametrize("which", [0, 1, 2])
def test_nan_reaches_the_queries_that_attend_to_it(backend, which):
    arrays = example(True, 130)
    arrays[which][0, 0, 70, 1] = np.nan
    o = linear_attention(*arrays[:3], True).data
    bad = np.isnan(o)
    later = np.arange(130) == 70 if which == 0 else np.arange(130) >= 70
    assert (bad[0, 0].any(-1) == later).all() and not bad[0, 1:].any()
    assert not bad[1].any()
    arrays = example(False, 130)
    arrays[which][0, 0, 70, 1] = np.nan
    bad = np.isnan(linear_attention(*arrays[:3]).data).any(-1)
    assert bad[0, 0, 70] and bad.sum() == (1 if which == 0 else 133)


@both
def test_a_query_that_nobody_asked_takes_part_in_nothing(backend, is_causal):
    """Padding among the queries may be NaN, where the loss does not look at it."""
    q, k, v, g = example(is_causal, 70)
    g[0, :, 20:] = 0
    expected = run(q, k, v, g, is_causal)
    q[0, :, 20:] = np.nan
    for x, y in zip(run(q, k, v, g, is_causal)[1:], expected[1:]):
        np.testing.assert_array_equal(x, y)


def test_nan_in_a_query_reaches_the_gradients_of_its_own_keys_alone(backend):
    *arrays, g = example(True, 130)
    keep = np.arange(130) != 66
    expected = run(*arrays, g, True, key_mask=keep)
    arrays[0][0, 0, 70] = np.nan
    _, *found = run(*arrays, g, True, key_mask=keep)
    spoilt = np.zeros((3, B, H, 130), bool)
    spoilt[0, 0, 0, 70] = True
    spoilt[1:, 0, 0, :71] = keep[:71]
    for x, y, bad in zip(found, expected[1:], spoilt):
        np.testing.assert_array_equal(np.isnan(x).all(-1), bad)
        np.testing.assert_array_equal(x[~bad], y[~bad])


@both
@pytest.mark.parametrize("eps", [0, 1e-6])
def test_a_query_without_keys(backend, is_causal, eps):
    q, k, v, g = example(is_causal, 70)
    found = run(q, k, v, g, is_causal, valid_lens=[0, 70], eps=eps)
    for x in found:
        assert (x[0] == 0).all() and np.isfinite(x).all() and (x[1] != 0).any()
    nothing = run(q, k[..., :0, :], v[..., :0, :], g, eps=eps)
    assert (nothing[0] == 0).all() and (nothing[1] == 0).all()


@both
def test_features_of_nothing(backend, is_causal):
    """phi = 0 everywhere: a denominator of 0 that no mask announces."""
    q, k, v, g = example(is_causal)
    found = run(q, -abs(k), v, g, is_causal, feature_map=mg.relu, eps=0)
    assert all(np.isfinite(x).all() for x in found) and (found[0] == 0).all()


@both
@pytest.mark.parametrize(
    "shapes",
    [((0, S, E), (0, S, E), (0, S, Ev)), ((2, 0, E), (2, 0, E), (2, 0, Ev))]
    + [((S, 0), (S, 0), (S, Ev)), ((S, E), (S, E), (S, 0))],
)
def test_nothing_at_all(backend, shapes, is_causal):
    arrays = draw(*shapes)
    g = np.ones((*shapes[0][:-1], shapes[2][-1]))
    found = run(*arrays, g, is_causal)
    for x, shape in zip(found, (g.shape, *shapes)):
        assert x.shape == shape and (x == 0).all()


# Precision, memory, threads


@both
@pytest.mark.parametrize("scale", [0.1, 1, 3])
def test_as_exact_in_float32_as_the_matrix_of_pairs(backend, is_causal, scale):
    """At most 2 times the error of plain float32, 3 times in the gradients."""
    arrays = draw((2, 300, 32), (2, 300, 32), (2, 300, 16), (2, 300, 16), dtype="f")
    arrays = [x * np.float32(scale) for x in arrays[:2]] + arrays[2:]
    exact = run(*(x.astype(float) for x in arrays), is_causal, by_pairs)
    ours, theirs = (
        [np.abs(x - y).max() for x, y in zip(run(*arrays, is_causal, f), exact)]
        for f in (linear_attention, by_pairs)
    )
    for error, bound, times in zip(ours, theirs, (2, 3, 3, 3)):
        assert error <= times * bound


@both
def test_memory_grows_with_the_sequence_alone(backend, is_causal):
    """Nothing (L, S), and nothing (L, E, Ev), forward and backward."""
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
    kept = {a.ctypes.data: a.nbytes for node in nodes for a in kept_arrays(node)}
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
            np.testing.assert_array_equal(x, y)


def test_dtypes_without_a_kernel(backend):
    exact = example(True)
    expected = run(*exact, True)
    for dtype, tolerance in ((np.float16, 2e-2), (np.longdouble, 1e-13)):
        for x, y in zip(run(*(a.astype(dtype) for a in exact), True), expected):
            assert x.dtype == dtype
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def test_one_version_and_the_same_bits_with_any_number_of_threads(monkeypatch):
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


def test_only_what_is_wanted_is_computed(backend):
    arrays = example(True, 70)
    o, backward = linear_scan.raw(*arrays[:3], is_causal=True, eps=1e-6)
    dq, dk, dv, _ = backward(arrays[3], (True, False, False))
    assert dk is None and dv is None
    again, dk, dv, _ = backward(arrays[3], (False, False, True))
    assert again is None
    close([o, dq, dk, dv], run(*arrays, True), roundings=0)


# A decoder's state


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("prompt", [0, 1, 9])
def test_step_by_step_is_all_at_once(backend, prompt, dtype):
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
    k, v = (np.where(keep[..., None], x, np.nan) for x in (k, v))
    state = LinearAttentionState(**options)
    state.extend(k[..., :8, :], v[..., :8, :], keep[..., :8])
    k[0, :, 8] = v[0, :, 8] = -900.0  # far below 0: softplus gives nothing
    o = state.step(*(x[..., 8, :] for x in (q, k, v)))
    close([o.data], [whole[..., 8, :]])


def test_a_state_without_anything_in_it_answers_0():
    state = LinearAttentionState(feature_map=mg.relu, eps=0)
    assert repr(state) == "LinearAttentionState(empty, length=0)"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (state.step(np.ones(3), -np.ones(3), np.ones(2)).data == 0).all()


def test_gradients_through_the_state():
    *arrays, g = example(True, 9, ())
    expected = run(*arrays, g, True)
    leaves = [Tensor(x, requires_grad=True) for x in arrays]
    state = LinearAttentionState()
    o = mg.stack([state.step(*(x[t] for x in leaves)) for t in range(9)])
    o.backward(g)
    close([o.data, *(x.grad for x in leaves)], expected)


# What is refused


def test_what_a_call_refuses():
    q, k, v, _ = example(False)
    for kind, words, arguments, options in (
        (TypeError, "q is int64", (q.astype(int), k, v), {}),
        (TypeError, "k is float32", (q, k.astype("f"), v), {}),
        (ValueError, "queries as wide as keys", (q[..., :3], k, v), {}),
        (ValueError, "one value for each key", (q, k, v[..., :3, :]), {}),
        (ValueError, "has shape (4,)", (q[0, 0, 0], k, v), {}),
        (ValueError, "leading axes", (q[:, :2], k, v), {}),
        (ValueError, "10 queries and 7 keys", (q, k, v), {"is_causal": True}),
        (TypeError, "is_causal is 1", (q, k, v), {"is_causal": 1}),
        (TypeError, "key_mask is int64", (q, k, v), {"key_mask": np.ones(S, int)}),
        (ValueError, "no pairs", (q, k, v), {"key_mask": np.ones((10, S), bool)}),
        (ValueError, "(2, 7)", (q, k, v), {"key_mask": np.ones((B, S), bool)}),
        (ValueError, "(2, 3, 1)", (q, k, v), {"key_mask": np.ones((B, H, 1), bool)}),
        (ValueError, "holds 8", (q, k, v), {"valid_lens": [8, 1]}),
        (TypeError, "holds float64", (q, k, v), {"valid_lens": [7.0, 1.0]}),
        (ValueError, "(3,)", (q, k, v), {"valid_lens": [1, 2, 3]}),
        (ValueError, "(B,)", (q[0, 0], k[0, 0], v[0, 0]), {"valid_lens": [1]}),
        (TypeError, "eps is a str", (q, k, v), {"eps": "1e-6"}),
        (ValueError, "eps is -1.0", (q, k, v), {"eps": -1.0}),
        (ValueError, "eps is nan", (q, k, v), {"eps": np.nan}),
        (ValueError, "made a float", (q, k, v), {"feature_map": lambda x: 1.0}),
        (
            ValueError,
            "rows of one width",
            (q, k, v),
            {"feature_map": lambda x: x[..., : x.shape[-2] - 5]},
        ),
    ):
        with pytest.raises(kind) as error:
            linear_attention(*arguments, **options)
        message = str(error.value)
        assert message.startswith("linear_attention: ") and words in message, message


def test_what_a_state_refuses():
    state = LinearAttentionState()
    state.step(*draw((B, E), (B, E), (B, Ev)))
    for shapes, words in (
        (((B, E), (B, 3), (B, Ev)), "k (2, 3)"),
        (((B, E), (B, E), (Ev,)), "v (6,)"),
        (((3, E), (3, E), (3, Ev)), "the state holds float64 (2, 4, 6)"),
    ):
        with pytest.raises(ValueError) as error:
            state.step(*draw(*shapes))
        assert str(error.value).startswith("LinearAttentionState.step: ")
        assert words in str(error.value)
    with pytest.raises(ValueError, match="k has shape"):
        state.extend(*draw((B, S, E), (B, 3, Ev)))
    with pytest.raises(ValueError, match="float32"):
        state.step(*draw((B, E), (B, E), (B, Ev), dtype="f"))
    assert state.length == 1
