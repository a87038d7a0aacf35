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
from ...ops.linear import scan
from ..kernels.kernel_cases import BACKENDS, running

CHUNK = linear.CHUNK
B, H, L, S, E, Ev = 2, 3, 5, 7, 4, 6
both = pytest.mark.parametrize("is_causal", [False, True])


@pytest.fixture(params=[pytest.param("numba", marks=pytest.mark.deep), "numpy"])
def backend(request):
    """Run a test on both backends; compiling these kernels takes long."""
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


@both
@pytest.mark.parametrize("n", [1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 5])
def test_definition(backend, n, is_causal):
    """The definition, the matrix of pairs, and the scan, compiled or not."""
    arrays = example(is_causal, n)
    keep = np.random.default_rng(1).random((B, H, n)) < 0.7
    found = run(*arrays, is_causal, key_mask=keep)
    close(found, run(*arrays, is_causal, linear_attention_by_pairs, keep=keep))
    head = (1, 2)
    q, k, v, keys = (x[head] for x in (*arrays[:3], keep))
    wanted = scan(q, k, v, keys, is_causal=is_causal, eps=1e-6)
    close([found[0][head]], [wanted])


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


@pytest.mark.deep
@both
@pytest.mark.parametrize("dtype", ["d", "f"])
@pytest.mark.parametrize("width", [1, 17, 64])  # without and with vectors
def test_kernel_and_numpy_agree_in_any_width(width, dtype, is_causal):
    pytest.importorskip("numba")
    arrays = draw(*[(70, width)] * 2, *[(70, 81 - width)] * 2, dtype=dtype)
    results = []
    for name in BACKENDS:
        with kernels.backend(name):
            results.append(run(*arrays, is_causal))
    assert all(x.dtype == dtype for x in results[0])
    close(*results, roundings=50)


@pytest.mark.parametrize(
    "is_causal", [True, pytest.param(False, marks=pytest.mark.deep)]
)
@pytest.mark.parametrize("backend", ["numpy"], indirect=True)  # which numba equals
def test_gradients(backend, is_causal):
    q, k, v, _ = example(is_causal, heads=(B,))

    def attention(*leaves, **options):
        return linear_attention(*leaves, is_causal, **options)

    for options in (
        {"key_mask": np.arange(S) != 2, "eps": 0.5},
        {"feature_map": mg.softplus, "valid_lens": [S, 4]},
    ):
        result = mg.gradcheck(lambda *x: attention(*x, **options), [q, k, v])
        assert result.ok, result.message


@both
def test_other_features(backend, is_causal):
    q, k, v, _ = example(is_causal, 70)
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


def test_leading_axes_broadcast(backend):
    q, k, v, g = draw((B, H, L, E), (H, S, E), (S, Ev), (B, H, L, Ev))
    found = run(q, k, v, g, valid_lens=[4, 0])
    full = [np.broadcast_to(x, (B, H, *x.shape[-2:])).copy() for x in (q, k, v)]
    o, dq, dk, dv = run(*full, g, valid_lens=[4, 0])
    close(found, [o, dq, dk.sum(0), dv.sum((0, 1))])


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
    k[~keep] = v[~keep] = 7.0
    clean = run(q, k, v, g, is_causal, key_mask=keep)
    assert (clean[0][0, 0] == 0).all() and (clean[1][0, 0] == 0).all()
    assert (clean[2][~keep] == 0).all() and (clean[3][~keep] == 0).all()
    k[~keep] = v[~keep] = np.nan
    close(run(q, k, v, g, is_causal, key_mask=keep), clean)


@both
def test_a_query_without_a_gradient_has_no_influence_backward(backend, is_causal):
    """Even if it is NaN."""
    q, k, v, g = example(is_causal, 70)
    g[..., 5, :] = 0.0
    clean = run(q, k, v, g, is_causal)[1:]
    q[..., 5, :] = np.nan
    close(run(q, k, v, g, is_causal)[1:], clean)
    assert (clean[0][..., 5, :] == 0).all()


def test_the_time_of_a_scan_counts_each_product_once():
    """linear_attention has the formula: 2 n E Ev, and 64 n (E + Ev) more if causal."""
    n, (q, k, v, _) = 70, example(True, 70, (2,))
    for is_causal, more in (False, 0), (True, CHUNK * n * (E + Ev)):
        time = linear.Scan.of(q, k, v, None, is_causal, True).nanoseconds()
        assert time == pytest.approx(linear.MULTIPLY_NS * 2 * (2 * n * E * Ev + more))


# the state of a decoder


@pytest.mark.parametrize("prompt", [0, 9])
def test_step_by_step_equals_one_call(prompt):
    q, k, v, _ = example(True, 70, dtype=np.float32)
    whole = linear_attention(q, k, v, True).data
    state = LinearAttentionState()
    if prompt:
        state.extend(k[..., :prompt, :], v[..., :prompt, :])
    for t in range(prompt, 70):
        o = state.step(*(x[..., t, :] for x in (q, k, v)))
        assert o.dtype == np.float32 and o.shape == (B, H, Ev)
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


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("feature_map", [elu_plus_one, mg.exp, lambda x: x**2])
@pytest.mark.parametrize("x", [np.nan, np.inf, 1e300])
def test_a_masked_key_of_a_state_has_no_influence(feature_map, x):
    keep, outcomes = np.array([True, False, True]), []
    q, k, v = draw((E,), (3, E), (3, Ev))
    k[1] = v[1] = x
    for rows, mask in (slice(None), keep), (keep, None):
        leaves = [Tensor(y[rows], requires_grad=True) for y in (k, v)]
        state = LinearAttentionState(feature_map)
        state.extend(*leaves, mask)
        o = state.step(q, k[2], v[2])
        o.sum().backward()
        outcomes.append([o.data, *(leaf.grad for leaf in leaves)])
    (o, *grads), (expected, *of_kept) = outcomes
    close([o, *(x[keep] for x in grads)], [expected, *of_kept])
    assert not any(x[1].any() for x in grads)


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
def test_memory_grows_linearly(backend, is_causal):
    """No array (L, S) and none (L, E, Ev), forward and backward."""
    width, used = 16, []
    for n in (1024, 4096):
        arrays = draw(*[(n, width)] * 4)
        run(*(x[:64] for x in arrays), is_causal)  # compiled
        tracemalloc.start()
        try:
            run(*arrays, is_causal)
            used.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert used[1] < 4.2 * used[0]
    states, pairs = 8 * n * width * width, 8 * n * n
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
    for change in np.asfortranarray, lambda x: np.flip(np.flip(x).copy()):
        q, k, v, gc = map(change, (*arrays, g))
        o, backward = linear_scan.raw(
            q, k, v, change(keep), is_causal=is_causal, eps=1e-6
        )
        found = [o, *backward(gc)[:3]]
        for x, y in zip(found, expected):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-13)


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
    found = []
    for needs in (True, False, False), (False, False, True):
        o, backward = linear_scan.raw(
            *arrays[:3], is_causal=True, eps=1e-6, needs=needs
        )
        found.append(backward(arrays[3]))
    (dq, *unneeded, _), (again, dk, dv, _) = found
    assert unneeded == [None, None] and again is None
    close([o, dq, dk, dv], run(*arrays, True), roundings=10)
