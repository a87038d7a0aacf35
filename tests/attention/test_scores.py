"""The score functions against their definitions, written for one query and one key."""

import math
import tracemalloc

import numpy as np
import pytest

import minigrad as mg
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

from ..minigrad.array_cases import draw

B, L, S, Dq, Dk, A = 2, 3, 5, 7, 4, 6  # no two alike: a lost transpose shows


pytestmark = pytest.mark.usefixtures("backend")  # numba and numpy
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
    "tanh_scores": (tanh_scores, lambda q, k, w_v: w_v @ np.tanh(q + k), Dq, ((Dq,),)),
    "tanh_scores_definition": (
        tanh_scores_definition, lambda q, k, w_v: w_v @ np.tanh(q + k), Dq, ((Dq,),)
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


@pytest.mark.parametrize("leading", LEADING[-2:], ids=str)  # both broadcast
@pytest.mark.parametrize("name", SCORES)
def test_gradients_into_every_argument(name, leading):
    function, _, arrays = example(name, *leading)
    assert mg.gradcheck(function, arrays).ok


@pytest.mark.parametrize("name", SCORES)
def test_float32_stays_float32(name):
    function, _, arrays = example(name, dtype=np.float32)
    leaves = [Tensor(x, requires_grad=True) for x in arrays]
    e = function(*leaves)
    e.backward(draw(e.shape, dtype=np.float32)[0])
    assert {x.dtype for x in (e, *(leaf.grad for leaf in leaves))} == {np.dtype("f")}


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("sizes", [(0, L, S), (B, 0, S), (B, L, 0), (B, 1, 1)])
def test_sizes_of_0_and_1(name, sizes):
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
