"""scaled_dot_product_attention: two paths in two backends equal the definition."""

import functools
import warnings

import numpy as np
import pytest

import minigrad as mg
from attention import kernels
from attention.exact.sdpa import (
    dense_attention,
    scaled_dot_product_attention,
    tiled_attention,
)
from minigrad import Tensor

from .sdpa_cases import cases, definition

CASES = cases()
PATHS = {"dense": dense_attention, "tiled": tiled_attention}
PATHS_AND_BACKENDS = [(p, b) for p in PATHS for b in ("numba", "numpy")]


@pytest.fixture(params=PATHS_AND_BACKENDS, ids="-".join)
def attention(request):
    """Each path in each backend, with every warning an error."""
    path, backend = request.param
    if backend == "numba":
        pytest.importorskip("numba")
    with kernels.backend(backend), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield PATHS[path]


@functools.cache
def exact(name):
    return CASES[name].exact()


def close(found, expected, dtype=float):
    """Equal up to some hundred roundings of a number as large as the largest."""
    assert found.shape == expected.shape and found.dtype == dtype
    finite = np.abs(expected[np.isfinite(expected)])
    atol = 200 * np.finfo(dtype).eps * finite.max(initial=1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def draw(*shapes, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize(
    "dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.deep)]
)
@pytest.mark.parametrize("name", CASES)
def test_is_its_definition(attention, name, dtype):
    """Values and every gradient; a query without keys has exactly nothing."""
    results = CASES[name].run(attention, dtype)
    for found, expected in zip(results, exact(name)):
        close(found, expected, dtype)
    o, lse, dq, *_ = results
    empty = exact(name)[1] == -np.inf
    assert (lse[empty] == -np.inf).all()
    assert not o[empty].any() and not dq[empty].any()


@pytest.mark.parametrize("wanted", [(), ("bias",), ("attn_mask", "bias")])
def test_gradcheck(attention, wanted):
    """Finite differences with all terms of a score at once."""
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal((2, n, 3)) for n in (5, 7, 7))
    terms = {"bias": rng.standard_normal((2, 11)), "attn_mask": rng.random((5, 7))}

    def function(q, k, v, *learned):
        options = terms | dict(zip(wanted, learned))
        o, lse = attention(
            q, k, v, softcap=1.1, is_causal=True, return_lse=True, **options
        )
        return o, lse

    result = mg.gradcheck(function, [q, k, v, *(terms[name] for name in wanted)])
    assert result.ok, result.message


# What only the whole matrix can do


def test_weights():
    shape = B, H, L, S = 2, 4, 70, 90
    q, k, v = draw((B, H, L, 5), (B, 2, S, 5), (B, 2, S, 3))
    options = {"enable_gqa": True, "is_causal": True}
    o, p, lse = scaled_dot_product_attention(
        q, k, v, return_weights=True, return_lse=True, **options
    )
    allowed = np.broadcast_to(np.tri(L, S, dtype=bool), shape)
    nothing = np.zeros(shape), np.zeros((B, H, L, 3)), np.zeros((B, H, L))
    bias, g, gl = nothing
    (_, exact_p, _), _ = definition(
        q, k, v, allowed, bias, 5**-0.5, None, np.ones(shape), (g, bias, gl)
    )
    close(p.data, exact_p)
    assert not p.data[~allowed].any()
    tiled = tiled_attention(q, k, v, return_lse=True, **options)
    for found, expected in zip(tiled, (o, lse)):
        close(found.data, expected.data)
    _, alone = scaled_dot_product_attention(q, k, v, return_weights=True, **options)
    np.testing.assert_array_equal(alone.data, p.data)


def test_weights_have_a_gradient():
    q, k, v = draw((2, 5, 4), (2, 7, 4), (2, 7, 3))

    def function(q, k, v):
        return scaled_dot_product_attention(
            q, k, v, is_causal=True, return_weights=True, return_lse=True
        )

    result = mg.gradcheck(function, [q, k, v])
    assert result.ok, result.message


def test_dropout():
    q, k, v, g = draw((2, 3, 70, 5), (2, 3, 90, 5), (2, 3, 90, 4), (2, 3, 70, 4))
    draws = lambda: np.random.default_rng(9)  # noqa: E731
    shape = (2, 3, 70, 90)
    run = functools.partial(
        scaled_dot_product_attention, dropout_p=0.4, rng=draws(), return_weights=True
    )
    picked, kept = run(q, k, np.eye(90))  # the values tell which: z_ij p_ij
    z = picked.data / kept.data
    assert 0.5 < (z == 0).mean() / 0.4 < 1.5
    close(z[z != 0], np.full((z != 0).sum(), 1 / 0.6))
    (o, p, _), gradients = definition(
        q, k, v, np.ones(shape, bool), np.zeros(shape), 5**-0.5, None, z,
        (g, np.zeros(shape), np.zeros(shape[:-1])),
    )  # fmt: skip
    tensors = [Tensor(x, requires_grad=True) for x in (q, k, v)]
    found, weights = scaled_dot_product_attention(
        *tensors, dropout_p=0.4, rng=draws(), return_weights=True
    )
    close(found.data, o)
    close(weights.data, p)  # those before dropout
    found.backward(g)
    for t, expected in zip(tensors, gradients):
        close(t.grad, expected)


def test_score_mod():
    """A learned slope for each head, in a batch with any leading axes."""
    q, k, v, g = draw((2, 3, 4, 9, 5), (2, 3, 4, 12, 5), (2, 3, 4, 12, 3), (4, 9, 3))
    distance = np.abs(np.arange(9)[:, None] - np.arange(12))
    slopes, others = (
        Tensor(np.array([1.0, 0.5, 0.25, 0.125]), requires_grad=True) for _ in range(2)
    )

    def alibi(score, b, h, q_idx, kv_idx):
        assert score.shape == np.broadcast(b, h, q_idx, kv_idx).shape == (6, 4, 9, 12)
        return score - slopes[h] * np.abs(q_idx - kv_idx)

    run = functools.partial(scaled_dot_product_attention, q, k, v, is_causal=True)
    found = run(score_mod=alibi)
    expected = run(bias=others.reshape(4, 1, 1) * -distance)
    close(found.data, expected.data)
    (found * g).sum().backward()
    (expected * g).sum().backward()
    close(slopes.grad, others.grad)


# Which path


def op(**options):
    L = options.pop("L", 64)
    q, k, v = (Tensor(x, requires_grad=True) for x in draw((L, 4), (80, 4), (80, 4)))
    o = scaled_dot_product_attention(q, k, v, **options)
    return (o[0] if isinstance(o, tuple) else o)._node.op


def test_which_path_it_takes():
    rng = np.random.default_rng(0)
    for options in (
        {},
        {"attn_mask": np.ones((64, 80), bool), "bias": np.zeros((1, 143))},
        {"return_lse": True},
        {"dropout_p": 0.5, "rng": rng},
    ):
        assert op(**options) == "flash_attention[0]", options
    for options in (
        {"L": 63},
        {"return_weights": True},
        {"dropout_p": 0.5, "rng": rng, "return_weights": True},
        {"score_mod": lambda s, *_: s},
    ):
        assert op(**options) == "attention_average[0]", options


@pytest.mark.parametrize("shapes", [
    [(2, 3, 9, 4), (12, 4), (3, 12, 2)],
    [(9, 4), (2, 3, 12, 4), (3, 12, 2)],
    [(2, 1, 3, 9, 4), (5, 1, 12, 4), (1, 12, 2)],
    [(4, 9, 4), (1, 12, 4), (1, 12, 2)],
])  # fmt: skip
def test_leading_axes_are_broadcast(attention, shapes):
    arrays = draw(*shapes)
    lead = np.broadcast_shapes(*(s[:-2] for s in shapes))
    wide = [np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in arrays]
    results = []
    for inputs in arrays, wide:
        tensors = [Tensor(x, requires_grad=True) for x in inputs]
        o = attention(*tensors, is_causal=True)
        (o * np.cos(np.arange(o.size)).reshape(o.shape)).sum().backward()
        results.append([o.data, *(t.grad for t in tensors)])
    (o, *narrow), (expected, *gradients) = results
    close(o, expected)
    for d, g in zip(narrow, gradients):
        close(d, mg.unbroadcast(g, d.shape))


@pytest.mark.deep
def test_other_dtypes(attention):
    arrays = draw((3, 70, 4), (3, 70, 4), (3, 70, 2))
    expected = attention(*arrays, is_causal=True).data
    for dtype, tolerance in (np.float16, 5e-3), (np.longdouble, 1e-14), (">f4", 1e-6):
        inputs = [Tensor(x.astype(dtype), requires_grad=True) for x in arrays]
        o = attention(*inputs, is_causal=True)
        o.backward(np.ones(o.shape))
        assert o.dtype.itemsize == np.dtype(dtype).itemsize
        np.testing.assert_allclose(o.data.astype(float), expected, 0, tolerance)


def test_masks_and_biases_of_another_precision_are_cast(attention):
    q, k, v = draw((9, 4), (12, 4), (12, 2), dtype=np.float32)
    mask = Tensor(np.where(np.tri(9, 12), 0.5, -1e300), requires_grad=True)
    bias = Tensor(np.zeros((1, 20)), requires_grad=True)
    o = attention(q, k, v, mask, bias=bias)
    o.sum().backward()
    assert o.dtype == np.float32 and mask.grad.dtype == bias.grad.dtype == np.float64
    close(o.data, attention(q, k, v, is_causal=True).data, np.float32)


# Scores that are large


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_scores_pick_the_largest(attention, dtype):
    q = np.eye(3, dtype=dtype) * dtype(1e4)
    v = np.arange(9, dtype=dtype).reshape(3, 3)
    for sign, row in (1, v), (-1, None):
        tensors = [
            Tensor(x, requires_grad=True) for x in (sign * q, np.eye(3, dtype=dtype), v)
        ]
        o, lse = attention(*tensors, scale=1.0, return_lse=True)
        o.backward(np.ones((3, 3)))
        expected = v if sign > 0 else (v.sum(0) - v) / 2
        np.testing.assert_allclose(o.data, expected, rtol=1e-6)
        np.testing.assert_allclose(lse.data, 1e4 if sign > 0 else np.log(2), rtol=1e-6)
        assert all(np.isfinite(t.grad).all() for t in tensors)


def test_all_scores_very_low_are_no_mask(attention):
    """-1e30 everywhere is a softmax like any other; a sentinel would be ambiguous."""
    q, k, v = draw((5, 4), (7, 4), (7, 2))
    o = attention(q * 0, k, v, bias=np.full((5, 7), -1e30))
    close(o.data, np.broadcast_to(v.mean(0), (5, 2)))
