"""Edges: extremes, ties, corners, NaN, padding, chance, dtypes that change.

Among them is what the docstrings of minigrad.ops promise, word for word: the choices
made at ties, borders and zeros.
"""

import math
import warnings

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor
from minigrad.registry import OPS

inf, nan, ln2 = math.inf, math.nan, math.log(2)


def value_and_gradient(op, x, g=None, dtype=None, **options):
    """y and dL/dx for g (None: ones), with every warning and flag an error."""
    t = Tensor(np.asarray(x, dtype), requires_grad=True)
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        y = op(t, **options)
        y.backward(np.ones(y.shape) if g is None else np.asarray(g))
    assert y.dtype == t.grad.dtype == t.dtype
    return y.data, t.grad


def gradient(op, x, g=None):
    """The same as lists, which have an order and are equal or not."""
    return tuple(each.tolist() for each in value_and_gradient(op, x, g))


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


def test_dropout_of_everything():
    y, dx = value_and_gradient(lambda x: mg.dropout(x, 1.0), [1.0, 2.0])
    assert not y.any() and not dx.any()


@pytest.mark.parametrize("number", [2, 2.0, np.float64(2), np.int64(2), True])
@pytest.mark.parametrize("op", [mg.add, mg.sub, mg.mul, mg.div, mg.pow, mg.maximum])
def test_numbers_never_change_the_precision(op, number):
    x = Tensor(np.float32([1, 2]), requires_grad=True)
    for y in (op(x, number), op(number, x)):
        assert y.dtype == np.float32
        y.backward(np.ones(2))
        assert x.grad.dtype == np.float32


# What the docstrings promise


def refuses(error, sentence, call, *args, **options):
    with pytest.raises(error, match=rf"^{call.__name__}: .*{sentence}"):
        call(*args, **options)


@both_precisions
def test_pow_at_zero_and_below(dtype):
    x = np.array([-2.0, 0.0, 3.0], dtype)
    assert gradient(lambda x: x**2, x) == ([4, 0, 9], [-4, 0, 6])
    assert gradient(lambda x: x**1, x) == ([-2, 0, 3], [1, 1, 1])
    assert gradient(lambda x: x**0, x) == ([1, 1, 1], [0, 0, 0])
    exponents = np.array([0, 1, 3], dtype)
    assert gradient(lambda x: x**exponents, x) == ([1, 0, 27], [0, 1, 27])
    assert gradient(lambda x: x**0.5, np.zeros(1, dtype)) == ([0], [inf])


@both_precisions
def test_pow_exponent_over_base_zero_and_below(dtype):
    base = np.array([0, 0, 1, -2], dtype)
    y, g = gradient(lambda b: mg.pow(base, b), np.array([0, 2, 5, 3], dtype))
    assert y == [1, 0, 1, -8]
    assert g[:3] == [0, 0, 0] and np.isnan(g[3])
    exponents = np.array([0, 0.5, 2], dtype)
    assert gradient(lambda b: 0**b, exponents) == ([1, 0, 0], [0, 0, 0])


def test_corners_and_poles_at_zero():
    assert gradient(mg.relu, [-1.0, 0.0, 1.0]) == ([0, 0, 1], [0, 0, 1])
    assert gradient(mg.elu, [0.0]) == ([0], [1])
    assert gradient(mg.abs, [-2.0, 0.0, 3.0]) == ([2, 0, 3], [-1, 0, 1])
    assert gradient(mg.sqrt, [0.0, 4.0]) == ([0, 2], [inf, 0.25])
    with pytest.warns(RuntimeWarning, match="divide by zero"):  # NumPy's own word
        assert mg.log(np.array([0.0])).tolist() == [-inf]


def test_ties_are_shared_evenly():
    b = mg.Tensor([3.0, 2.0, 1.0], requires_grad=True)
    y, g = gradient(lambda a: mg.maximum(a, b), [1.0, 2.0, 3.0])
    assert (y, g, b.grad.tolist()) == ([3, 2, 3], [0, 0.5, 1], [1, 0.5, 0])
    y, g = gradient(lambda a: mg.minimum(a, 2.0), [1.0, 2.0, 3.0])
    assert (y, g) == ([1, 2, 2], [1, 0.5, 0])
    x = [[1.0, 5.0, 5.0], [4.0, 4.0, 4.0]]
    y, g = gradient(lambda x: mg.max(x, axis=1), x, [1.0, 3.0])
    assert (y, g) == ([5, 4], [[0, 0.5, 0.5], [1, 1, 1]])
    assert gradient(mg.min, x) == (1, [[1, 0, 0], [0, 0, 0]])


def test_nan_propagates_and_receives_a_gradient():
    """As in PyTorch; a gradient of 0 would hide the NaN."""
    x, g = [-2.0, nan, 3.0], [5.0, 6.0, 7.0]
    for op, expected in {
        mg.relu: [0, 6, 7],
        mg.elu: [5 * np.exp(-2.0), 6, 7],
        mg.abs: [-5, nan, 7],
        (lambda x: mg.clip(x, 0.0, 1.0)): [0, 6, 0],
        (lambda x: mg.maximum(x, 0.0)): [0, 6, 7],
        (lambda x: mg.minimum(x, 0.0)): [5, 6, 0],
        (lambda x: mg.maximum(0.0, x)): [0, 6, 7],
    }.items():
        y, d = gradient(op, x, g)
        assert np.isnan(y).tolist() == [False, True, False]
        np.testing.assert_allclose(d, expected)
    for op in (mg.max, mg.min):
        y, d = gradient(op, [1.0, nan, 3.0, nan])
        assert np.isnan(y) and d == [0, 0.5, 0, 0.5]
        y, d = gradient(lambda x: op(x, axis=1), [[nan, 1.0], [2.0, 2.0]], [3.0, 8.0])
        assert np.isnan(y).tolist() == [True, False] and d == [[3, 0], [4, 4]]


def test_clip_at_its_borders_and_into_its_bounds():
    x = [-2.0, -1.0, 0.0, 1.0, 2.0]
    low, high = (mg.Tensor([v], requires_grad=True) for v in (-1.0, 1.0))
    y, g = gradient(lambda x: mg.clip(x, low, high), x, [1.0, 2.0, 3.0, 4.0, 5.0])
    assert (y, g) == ([-1, -1, 0, 1, 1], [0, 2, 3, 4, 0])
    assert (low.grad.tolist(), high.grad.tolist()) == ([1], [5])
    assert gradient(lambda x: mg.clip(x, min=0), x)[1] == [0, 0, 1, 1, 1]
    assert gradient(lambda x: mg.clip(x, max=0), x)[1] == [1, 1, 1, 0, 0]
    assert gradient(mg.clip, x)[0] == x
    # crossed bounds: y is the upper one, which has all gradients
    low, high = (mg.Tensor(v, requires_grad=True) for v in (4.0, 2.0))
    assert gradient(lambda x: mg.clip(x, low, high), x) == ([2] * 5, [0] * 5)
    assert (low.grad, high.grad) == (0, 5)


class KeepSecond(np.random.Generator):
    """Draws that make dropout keep the second of two entries."""

    def __init__(self):
        super().__init__(np.random.PCG64(0))

    def random(self, size, dtype):
        return np.array([0.1, 0.9], dtype)


@pytest.mark.parametrize(
    "choose",
    [
        mg.relu,
        lambda x: mg.maximum(x, 0.0),
        lambda x: mg.clip(x, 0.0),
        lambda x: mg.where(np.array([False, True]), x, 0.0),
        lambda x: mg.dropout(x, 0.5, rng=KeepSecond()),
    ],
)
def test_an_infinite_gradient_does_not_reach_what_was_not_chosen(choose):
    g = gradient(lambda x: mg.sqrt(choose(x)), [-3.0, 4.0])[1]
    assert g[0] == 0 and np.isfinite(g[1])


def test_sigmoid_and_softplus_keep_small_values_exact():
    for fn in (mg.sigmoid, mg.softplus):  # both are e^x to first order, e^x = 1e-13
        y, g = gradient(fn, [-30.0])
        assert y + g == pytest.approx([np.exp(-30.0)] * 2, rel=1e-12, abs=0)


@both_precisions
def test_logsumexp_of_rows_with_nothing_to_add(dtype):
    x = np.array([[0.0, -inf], [-inf, -inf]], dtype)
    y, g = gradient(lambda x: mg.logsumexp(x, axis=1), x)
    assert (y, g) == ([0, -inf], [[1, 0], [0, 0]])
    assert mg.logsumexp(np.zeros((3, 0), dtype), axis=1).tolist() == [-inf] * 3


def test_reductions_over_no_values():
    x = np.zeros((3, 0))
    assert mg.sum(x, axis=1).tolist() == [0, 0, 0]
    for op in (mg.mean, mg.max, mg.min, mg.var):
        assert op(x, axis=0).shape == (0,)  # nothing is wanted, and nothing is missing
        refuses(ValueError, r"no values along axis 1 of shape \(3, 0\)", op, x, axis=1)
        refuses(ValueError, r"no values of shape \(3, 0\)", op, x)


def test_numbers_and_repeats_in_a_list_of_tensors():
    y, g = gradient(lambda x: mg.stack([x, 1.0, x]), np.float32(2.0))
    assert (y, g) == ([2, 1, 2], 2)
    y, g = gradient(lambda x: mg.concat([x, x]), [5.0, 6.0], [1.0, 2.0, 3.0, 4.0])
    assert (y, g) == ([5, 6, 5, 6], [4, 6])


def test_embedding_with_small_integers_and_padding():
    ids = np.array([100, 3, 100], np.uint8)  # 100 * 5 is beyond uint8
    W = mg.Tensor(np.zeros((101, 5)), requires_grad=True)
    mg.embedding(ids, W, padding_idx=3).backward(np.ones((3, 5)))
    assert np.flatnonzero(W.grad.sum(1)).tolist() == [100]
    assert W.grad[100].tolist() == [2] * 5


def test_softmax_of_nothing_but_minus_infinity_is_nan_without_a_warning():
    for op in (mg.softmax, mg.log_softmax):
        assert np.isnan(gradient(op, [-inf, -inf])[0]).all()
        assert op(np.zeros((3, 0))).shape == (3, 0)


@pytest.mark.parametrize(
    "reduction, value", [("mean", 0), ("sum", 0), ("none", [0, 0])]
)
def test_cross_entropy_where_nothing_counts(reduction, value):
    def loss(z):
        return mg.cross_entropy(z, np.array([-100, -100]), reduction=reduction)

    # not even where the logits are no numbers at all
    assert gradient(loss, [[1.0, np.nan], [-inf, -inf]]) == (value, [[0, 0], [0, 0]])


def test_cross_entropy_of_an_impossible_target_and_of_no_positions():
    assert gradient(lambda z: mg.cross_entropy(z, 1), [0.0, -inf]) == (inf, [1, -1])
    assert mg.cross_entropy(np.zeros((0, 5)), np.zeros(0, int)).item() == 0


def test_manual_seed_makes_dropout_repeat():
    def draw():
        return mg.dropout(np.ones(50), 0.5).tolist()

    mg.manual_seed(3)
    first, second = draw(), draw()
    assert first != second
    mg.manual_seed(3)
    assert [draw(), draw()] == [first, second]
