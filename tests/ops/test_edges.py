"""Edges: extremes, ties, corners, NaN, padding, chance, dtypes that change."""

import itertools
import math
import warnings

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor
from minigrad.registry import OPS

inf, nan, ln2 = math.inf, math.nan, math.log(2)


def value_and_gradient(op, x, g=None, dtype=np.float64, **options):
    """y and dL/dx, with every warning and every floating-point flag an error."""
    t = Tensor(np.asarray(x, dtype), requires_grad=True)
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        y = op(t, **options)
        y.backward(np.ones(y.shape) if g is None else np.asarray(g))
    assert y.dtype == t.grad.dtype == dtype
    return y.data, t.grad


def equal(found, expected, dtype):
    """To the last few digits; infinities and zeros exactly."""
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps, atol=0)


POINTS = [-inf, -1e4, -1e3, 1e3, 1e4, inf]
SATURATED = {
    "tanh": ([-1, -1, -1, 1, 1, 1], [0, 0, 0, 0, 0, 0]),
    "sigmoid": ([0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 0]),
    "softplus": ([0, 0, 0, 1e3, 1e4, inf], [0, 0, 0, 1, 1, 1]),
    "relu": ([0, 0, 0, 1e3, 1e4, inf], [0, 0, 0, 1, 1, 1]),
    "elu": ([-1, -1, -1, 1e3, 1e4, inf], [0, 0, 0, 1, 1, 1]),
}
both_precisions = pytest.mark.parametrize("dtype", [np.float64, np.float32])


@both_precisions
@pytest.mark.parametrize("name", SATURATED)
def test_saturated(name, dtype):
    y, slope = value_and_gradient(OPS[name], POINTS, dtype=dtype)
    equal(y, SATURATED[name][0], dtype)
    equal(slope, SATURATED[name][1], dtype)


@both_precisions
@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_saturated_gelu(approximate, dtype):
    y, slope = value_and_gradient(
        mg.gelu, POINTS[1:-1], dtype=dtype, approximate=approximate
    )
    equal(y, [0, 0, 1e3, 1e4], dtype)
    equal(slope, [0, 0, 1, 1], dtype)


ROWS = np.array([[1e4, 0, -1e4], [-inf, 0, ln2], [1e4, 1e4, -1e4]])
P = np.array([[1, 0, 0], [0, 1 / 3, 2 / 3], [0.5, 0.5, 0]])
LSE = np.array([1e4, math.log(3), 1e4 + ln2])
G = np.array([[0.5, -2, 3], [1, -3, 0.25], [-1, 2, 0.125]])


@both_precisions
def test_extreme_rows(dtype):
    options = {"axis": -1, "dtype": dtype}
    total = G.sum(1, keepdims=True)

    y, dx = value_and_gradient(mg.softmax, ROWS, G, **options)
    equal(y, P, dtype)
    equal(dx, P * (G - (G * P).sum(1, keepdims=True)), dtype)

    y, dx = value_and_gradient(mg.log_softmax, ROWS, G, **options)
    equal(
        y,
        [[0, -1e4, -2e4], *(ROWS - LSE[:, None])[1:2], [-ln2, -ln2, -2e4 - ln2]],
        dtype,
    )
    equal(dx, G - P * total, dtype)

    y, dx = value_and_gradient(mg.logsumexp, ROWS, G[0], **options)
    equal(y, LSE, dtype)
    equal(dx, P * G[0][:, None], dtype)


@both_precisions
def test_extreme_cross_entropy(dtype):
    y, dx = value_and_gradient(
        lambda z: mg.cross_entropy(z, np.array([1, 2, 0]), reduction="none"),
        ROWS,
        G[0],
        dtype,
    )
    equal(y, [1e4, math.log(1.5), ln2], dtype)
    equal(dx, (P - np.eye(3)[[1, 2, 0]]) * G[0][:, None], dtype)


@pytest.mark.parametrize(
    "op",
    [mg.tanh, mg.sigmoid, mg.relu, mg.elu, mg.gelu, mg.softplus, mg.abs]
    + [mg.softmax, mg.log_softmax, mg.logsumexp, mg.max, mg.min, mg.sum]
    + [
        lambda x: mg.maximum(x, 0.5),
        lambda x: mg.minimum(0.5, x),
        lambda x: mg.clip(x, 0, 1),
        lambda x: mg.layer_norm(x),
    ],
)
def test_nan_is_not_hidden(op):
    y = op(np.array([1.0, nan, 2.0])).data
    assert np.isnan(y if y.ndim == 0 else y[1])


def test_what_where_did_not_choose_gets_no_gradient_not_even_of_infinity():
    x, y = Tensor([1.0, 2.0], requires_grad=True), Tensor([3.0, 4.0], True)
    mg.where(np.array([True, False]), x, y).backward(np.array([inf, nan]))
    assert x.grad.tolist() == [inf, 0]
    assert y.grad[0] == 0 and np.isnan(y.grad[1])


def test_dropout_keeps_a_fraction_and_scales_it():
    x, p, n = np.full(100_000, 3.0), 0.3, 100_000
    y, dx = value_and_gradient(
        lambda x: mg.dropout(x, p, True, np.random.default_rng(5)), x
    )
    kept = y != 0
    np.testing.assert_allclose(y[kept], 3 / 0.7, rtol=1e-15)
    np.testing.assert_allclose(dx, kept / 0.7, rtol=1e-15)
    deviation = math.sqrt(n * p * (1 - p))  # of the number kept; five of them: 6e-7
    assert abs(kept.sum() - n * (1 - p)) < 5 * deviation


def test_dropout_follows_its_generator():
    x = np.ones(1000)
    one, same, other = (
        mg.dropout(x, 0.5, True, np.random.default_rng(seed)).data for seed in (1, 1, 2)
    )
    assert (one == same).all() and (one != other).any()


def test_dropout_of_everything():
    y, dx = value_and_gradient(lambda x: mg.dropout(x, 1.0), [1.0, 2.0])
    assert not y.any() and not dx.any()


def test_astype_changes_the_dtype_and_the_gradient_changes_back():
    x = Tensor(np.float32([1, 2]), requires_grad=True)
    y = mg.astype(x, np.float64)
    y.backward(np.array([3.0, 4.0]))
    assert y.dtype == np.float64
    assert x.grad.dtype == np.float32 and x.grad.tolist() == [3, 4]
    assert mg.astype(Tensor([1, 2]), np.float32).dtype == np.float32


@pytest.mark.parametrize(
    "subscripts, shapes",
    [("ij,jk->ik", [(3, 1), (5, 7)]), ("ij,jk->ik", [(3, 5), (1, 7)]),
     ("ij,jk,k->i", [(3, 5), (1, 1), (7,)]), ("i,i->i", [(1,), (5,)]),
     ("ij,ij->", [(1, 5), (3, 1)])],
)  # fmt: skip
def test_an_axis_of_length_one_is_repeated_in_einsum(subscripts, shapes):
    """NumPy's einsum does so; the gradient is the same as of the repeated operand."""
    letters = subscripts.split("->")[0].split(",")
    pairs = zip("".join(letters), itertools.chain(*shapes))
    sizes = {letter: n for letter, n in pairs if n > 1}
    found, expected = [], []
    for repeat, results in (False, found), (True, expected):
        leaves, operands = [], []
        for text, shape in zip(letters, shapes):
            values = np.random.default_rng(len(leaves)).normal(size=shape)
            leaves.append(Tensor(values, requires_grad=True))
            wide = tuple(sizes.get(a, 1) for a in text)
            operands.append(mg.expand(leaves[-1], wide) if repeat else leaves[-1])
        y = mg.einsum(subscripts, *operands)
        (y * y).sum().backward()
        results += [y.data, *(x.grad for x in leaves)]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize(
    "op",
    [mg.exp, mg.sqrt, mg.tanh, mg.sigmoid, mg.elu, mg.gelu, mg.softplus]
    + [mg.mean, mg.var, mg.softmax, mg.log_softmax, mg.logsumexp, mg.layer_norm],
)
def test_integers_become_float64(op):
    y = op(np.array([1, 2, 4]))
    assert y.dtype == np.float64
    equal(y.data, op(np.array([1.0, 2.0, 4.0])).data, np.float64)


@pytest.mark.parametrize("number", [2, 2.0, np.float64(2), np.int64(2), True])
@pytest.mark.parametrize("op", [mg.add, mg.sub, mg.mul, mg.div, mg.pow, mg.maximum])
def test_numbers_never_change_the_precision(op, number):
    x = Tensor(np.float32([1, 2]), requires_grad=True)
    for y in (op(x, number), op(number, x)):
        assert y.dtype == np.float32
        y.backward(np.ones(2))
        assert x.grad.dtype == np.float32
