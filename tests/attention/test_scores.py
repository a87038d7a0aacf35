"""The score functions against their definitions, written for one query and one key."""

import math
import tracemalloc
import warnings

import numpy as np
import pytest

import minigrad as mg
from attention import kernels
from attention.scores import (
    additive,
    concat,
    dot,
    general,
    scaled_dot,
    tanh_scores,
    tanh_scores_definition,
)
from minigrad import Tensor

B, L, S, Dq, Dk, A = 2, 3, 5, 7, 4, 6  # no two alike: a lost transpose shows


@pytest.fixture(params=["numba", "numpy"], autouse=True)
def backend(request):
    if request.param == "numba":
        pytest.importorskip("numba")
    with kernels.backend(request.param), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def draw(*shapes, dtype=float, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


SCORES = {  # function, its definition for one pair, width of the keys, parameters
    "dot": (dot, lambda q, k: q @ k, Dq, ()),
    "scaled": (scaled_dot, lambda q, k: q @ k / math.sqrt(Dq), Dq, ()),
    "scaled-by": (
        lambda q, k: scaled_dot(q, k, scale=0.3), lambda q, k: 0.3 * (q @ k), Dq, ()
    ),
    "general": (general, lambda q, k, W_a: q @ W_a @ k, Dk, ((Dq, Dk),)),
    "additive": (
        additive,
        lambda q, k, W_q, W_k, w_v: w_v @ np.tanh(W_q @ q + W_k @ k),
        Dk,
        ((A, Dq), (A, Dk), (A,)),
    ),
    "concat": (
        concat,
        lambda q, k, W_a, v_a: v_a @ np.tanh(W_a @ np.concatenate([q, k])),
        Dk,
        ((A, Dq + Dk), (A,)),
    ),
    "tanh_scores": (
        tanh_scores, lambda q, k, w_v: w_v @ np.tanh(q + k), Dq, ((Dq,),)
    ),
}  # fmt: skip
LEADING = [((), ()), ((B,), (B,)), ((B, 3), (B, 3)), ((B,), ()), ((B, 1), (3,))]


def by_pairs(definition, queries, keys, parameters):
    leading = np.broadcast_shapes(queries.shape[:-2], keys.shape[:-2])
    queries = np.broadcast_to(queries, (*leading, *queries.shape[-2:]))
    keys = np.broadcast_to(keys, (*leading, *keys.shape[-2:]))
    e = np.zeros((*leading, queries.shape[-2], keys.shape[-2]))
    for *batch, i, j in np.ndindex(e.shape):
        q, k = queries[(*batch, i)], keys[(*batch, j)]
        e[(*batch, i, j)] = definition(q, k, *parameters)
    return e


def example(name, of_queries=(B,), of_keys=(B,), dtype=float):
    function, definition, width, shapes = SCORES[name]
    shapes = ((*of_queries, L, Dq), (*of_keys, S, width), *shapes)
    return function, definition, draw(*shapes, dtype=dtype)


@pytest.mark.parametrize("leading", LEADING, ids=str)
@pytest.mark.parametrize("name", SCORES)
def test_each_score_is_its_definition(name, leading):
    function, definition, (queries, keys, *parameters) = example(name, *leading)
    expected = by_pairs(definition, queries, keys, parameters)
    e = function(queries, keys, *parameters)
    assert isinstance(e, Tensor)
    np.testing.assert_allclose(e.data, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("leading", LEADING, ids=str)
@pytest.mark.parametrize("name", SCORES)
def test_gradients_into_every_argument(name, leading):
    function, _, arrays = example(name, *leading)
    assert mg.gradcheck(function, arrays).ok


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SCORES)
def test_dtypes_are_kept(name, dtype):
    function, _, arrays = example(name, dtype=dtype)
    leaves = [Tensor(x, requires_grad=True) for x in arrays]
    e = function(*leaves)
    e.backward(draw(e.shape, dtype=dtype)[0])
    assert e.dtype == dtype
    assert all(leaf.grad.dtype == dtype for leaf in leaves)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("sizes", [(0, L, S), (B, 0, S), (B, L, 0), (B, 1, 1)])
def test_sizes_of_nothing_and_one(name, sizes):
    b, n, m = sizes
    function, definition, (_, _, *parameters) = example(name)
    width = SCORES[name][2]
    queries, keys = draw((b, n, Dq), (b, m, width))
    leaves = [Tensor(x, requires_grad=True) for x in (queries, keys, *parameters)]
    e = function(*leaves)
    expected = by_pairs(definition, queries, keys, parameters)
    np.testing.assert_allclose(e.data, expected, rtol=1e-12, atol=1e-14)
    e.backward(np.ones(e.shape))
    assert [leaf.grad.shape for leaf in leaves] == [leaf.shape for leaf in leaves]


# How the scores are related


def test_concat_is_additive_with_the_columns_of_its_matrix():
    _, _, (queries, keys, W_a, v_a) = example("concat")
    W_q, W_k = W_a[:, :Dq], W_a[:, Dq:]
    results = []
    for function, parameters in ((concat, (W_a, v_a)), (additive, (W_q, W_k, v_a))):
        leaves = [Tensor(x, requires_grad=True) for x in (queries, keys, *parameters)]
        e = function(*leaves)
        e.backward(draw(e.shape, seed=1)[0])
        results.append([e.data, *(leaf.grad for leaf in leaves)])
    (e, dq, dk, dW_a, dv), (e2, dq2, dk2, dW_q, dW_k, dv2) = results
    for a, b in ((e, e2), (dq, dq2), (dk, dk2), (dv, dv2)):
        np.testing.assert_allclose(a, b, rtol=1e-14)
    np.testing.assert_allclose(dW_a, np.hstack([dW_q, dW_k]), rtol=1e-14)


def test_general_with_the_identity_is_dot_and_scaled_is_dot_over_the_root():
    queries, keys = draw((B, L, Dq), (B, S, Dq))
    e = dot(queries, keys).data
    np.testing.assert_allclose(general(queries, keys, np.eye(Dq)).data, e, atol=1e-14)
    scaled = scaled_dot(queries, keys).data
    np.testing.assert_allclose(scaled, e / math.sqrt(Dq), atol=1e-14)
    np.testing.assert_allclose(scaled_dot(queries, keys, 1).data, e, atol=1e-14)


def test_scaling_keeps_the_variance_at_one():
    """1 for independent entries of variance 1, here within 4 standard errors.

    The mean of n x n squares has the variance 4 / (n D), as rows and columns have norms
    of their own, and about 10 / n^2 besides.
    """
    n = 200
    for D in (1, 16, 256):
        queries, keys = draw((n, D), (n, D), seed=D)
        variance = (scaled_dot(queries, keys).data ** 2).mean()
        assert abs(variance - 1) < 4 * math.sqrt(4 / (n * D) + 10 / n**2)


@pytest.mark.parametrize("leading", LEADING, ids=str)
def test_tanh_scores_equal_their_definition(leading):
    """The single operation equals the small ones, in value and in all gradients."""
    of_queries, of_keys = leading
    arrays = draw((*of_queries, L, A), (*of_keys, S, A), (A,))
    results = []
    for function in (tanh_scores, tanh_scores_definition):
        leaves = [Tensor(x, requires_grad=True) for x in arrays]
        e = function(*leaves)
        e.backward(draw(e.shape, seed=1)[0])
        results.append([e.data, *(leaf.grad for leaf in leaves)])
    for fused, expected in zip(*results):
        np.testing.assert_allclose(fused, expected, rtol=1e-12, atol=1e-13)


def test_tanh_scores_never_store_all_hidden_units():
    b, n, m, a = 4, 60, 60, 128
    q, k, w, g = draw((b, n, a), (b, m, a), (a,), (b, n, m), dtype=np.float32)

    def forward_and_backward():
        leaves = [Tensor(x, requires_grad=True) for x in (q, k, w)]
        e = tanh_scores(*leaves)
        kept = tracemalloc.get_traced_memory()[0] if tracemalloc.is_tracing() else 0
        e.backward(g)
        return kept

    forward_and_backward()  # compiled
    tracemalloc.start()
    try:
        kept = forward_and_backward()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    everything = 4 * b * n * m * a
    assert peak < 0.25 * everything
    assert kept < 0.1 * everything  # between forward and backward


def test_tanh_scores_equal_those_of_torch():
    torch = pytest.importorskip("torch")
    arrays = draw((B, L, A), (B, S, A), (A,), dtype=np.float32)
    (g,) = draw((B, L, S), dtype=np.float32, seed=1)
    ours = [Tensor(x, requires_grad=True) for x in arrays]
    theirs = [torch.tensor(x, requires_grad=True) for x in arrays]
    q, k, w = theirs
    e, peer = tanh_scores(*ours), torch.tanh(q.unsqueeze(2) + k.unsqueeze(1)) @ w
    e.backward(g)
    peer.backward(torch.tensor(g))
    np.testing.assert_allclose(e.data, peer.detach().numpy(), rtol=1e-4, atol=1e-5)
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a.grad, b.grad.numpy(), rtol=1e-4, atol=1e-5)
