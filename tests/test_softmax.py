"""Masked softmax against its definition, written as plain loops."""

import math
import warnings

import numpy as np
import pytest

import minigrad as mg
from attention import kernels
from attention.softmax import masked_softmax
from minigrad import Tensor

B, H, L, S = 2, 3, 4, 5


@pytest.fixture(params=["numba", "numpy"], autouse=True)
def backend(request):
    if request.param == "numba":
        pytest.importorskip("numba")
    with kernels.backend(request.param), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def draw(*shape, seed=0, dtype=float):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def weights(scores, allowed, temperature=1.0):
    """The definition: row by row, over the allowed keys."""
    p = np.zeros(scores.shape)
    for row in np.ndindex(scores.shape[:-1]):
        keys = [j for j in range(scores.shape[-1]) if allowed[row][j]]
        e = {j: math.exp(scores[row][j] / temperature) for j in keys}
        for j in keys:
            p[row][j] = e[j] / sum(e.values())
    return p


def allowed_by(lens, shape):
    """allowed[b, ..., i, j] = j < lens[b], or j < lens[b, i]"""
    allowed = np.zeros(shape, bool)
    for b, *heads, i, j in np.ndindex(shape):
        n = lens[b] if np.ndim(lens) == 1 else lens[b][i]
        allowed[(b, *heads, i, j)] = j < n
    return allowed


LENS = [[2, 5], [0, 3], [[1, 2, 3, 4], [5, 0, 5, 1]]]
SHAPES = [(B, L, S), (B, H, L, S), (B, 2, H, L, S)]


@pytest.mark.parametrize("lens", LENS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_lengths(shape, lens):
    scores = draw(*shape)
    expected = weights(scores, allowed_by(lens, shape))
    for given in (lens, tuple(lens), np.array(lens), Tensor(lens), np.uint8(lens)):
        p = masked_softmax(Tensor(scores), given).data
        np.testing.assert_allclose(p, expected, rtol=1e-14)
        assert not p[expected == 0].any()


def test_lengths_of_single_queries():
    """Scores (B, S), of one query each."""
    scores = draw(B, S)
    allowed = np.array([[j < n for j in range(S)] for n in (2, 5)])
    expected = weights(scores, allowed)
    np.testing.assert_allclose(masked_softmax(scores, [2, 5]).data, expected)


def test_one_number_a_query_is_told_by_the_axes_alone():
    """Where L = B, (B,) still means one length for each example."""
    scores = draw(3, 3, S)
    lens = np.array([1, 2, 3])
    by_example = masked_softmax(scores, lens).data
    by_query = masked_softmax(scores, np.tile(lens, (3, 1))).data
    assert (by_example > 0).sum(-1).tolist() == [[n] * 3 for n in (1, 2, 3)]
    assert (by_query > 0).sum(-1).tolist() == [[1, 2, 3]] * 3


def test_the_example_of_the_chapter():
    """Scores (2, 2, 4) with valid_lens [2, 3] and [[1, 3], [2, 4]]."""
    scores = draw(2, 2, 4, dtype=np.float32)
    for lens in ([2, 3], [[1, 3], [2, 4]]):
        p = masked_softmax(scores, lens).data
        assert p.dtype == np.float32
        np.testing.assert_allclose(p.sum(-1), 1, rtol=1e-6)
        np.testing.assert_array_equal(p > 0, allowed_by(lens, p.shape))
    assert masked_softmax(scores, [[1, 3], [2, 4]]).data[0, 0, 0] == 1


def masks():
    some = np.random.default_rng(1).random((B, H, L, S)) < 0.5
    some[1, 2, 3] = False  # a query with nothing to attend to
    return {
        "full": some,
        "keys": some[:, :1, :1],
        "pairs": some[0, 0],
        "queries": some[..., :1],
        "one": np.array(True),
        "none": np.array(False),
    }


@pytest.mark.parametrize("name", masks())
def test_bool_masks(name):
    scores, mask = draw(B, H, L, S), masks()[name]
    allowed = np.broadcast_to(mask, scores.shape)
    p = masked_softmax(scores, mask=mask).data
    np.testing.assert_allclose(p, weights(scores, allowed), rtol=1e-14)
    np.testing.assert_array_equal(p > 0, allowed)
    as_tensor = masked_softmax(scores, mask=Tensor(mask)).data
    np.testing.assert_array_equal(as_tensor, p)


def test_a_mask_and_lengths_must_both_allow():
    scores, mask = draw(B, H, L, S), masks()["full"]
    both = mask & allowed_by([2, 4], scores.shape)
    p = masked_softmax(scores, [2, 4], mask).data
    np.testing.assert_allclose(p, weights(scores, both), rtol=1e-14)


@pytest.mark.parametrize("shape", [(B, H, L, S), (L, S), (H, 1, S), (1,)], ids=str)
def test_a_float_mask_is_added(shape):
    scores, bias = draw(B, H, L, S), draw(*shape, seed=1)
    everything = np.ones(scores.shape, bool)
    expected = weights(scores + bias, everything, 0.7)
    p = masked_softmax(scores, mask=bias, temperature=0.7).data
    np.testing.assert_allclose(p, expected, rtol=1e-13)


def test_a_float_mask_of_minus_infinity_masks():
    scores, mask = draw(B, H, L, S), masks()["full"]
    p = masked_softmax(scores, mask=np.where(mask, 0, -np.inf)).data
    np.testing.assert_array_equal(p, masked_softmax(scores, mask=mask).data)


def test_a_float_mask_has_the_dtype_of_the_scores():
    scores = draw(L, S, dtype=np.float32)
    bias = np.where(np.arange(S) < 3, 0.0, -1e300)  # float64; -inf in float32
    for mask in (bias, Tensor(bias)):
        p = masked_softmax(scores, mask=mask)
        assert p.dtype == np.float32
        assert not p.data[:, 3:].any()


def test_the_order_of_temperature_and_mask():
    scores = draw(L, S)
    bias = draw(L, S, seed=1)
    everything = np.ones((L, S), bool)
    for T in (0.1, 1, 30.0, np.float32(2)):
        p = masked_softmax(scores, mask=bias, temperature=T).data
        expected = weights(scores + bias, everything, float(T))
        np.testing.assert_allclose(p, expected, rtol=1e-13)


def test_the_limits_of_the_temperature():
    scores = np.array([[1.0, 3.0, 3.0, -2.0]])
    allowed = np.array([True, True, True, False])
    cold = masked_softmax(scores, mask=allowed, temperature=1e-30).data
    hot = masked_softmax(scores, mask=allowed, temperature=1e30).data
    np.testing.assert_array_equal(cold, [[0, 0.5, 0.5, 0]])  # ties share
    np.testing.assert_array_equal(hot, [[1 / 3, 1 / 3, 1 / 3, 0]])
    wide = np.array([[1e38, -1e38, 3e38]], np.float32)
    for T in (1e-30, 1.0, 1e30):
        p = masked_softmax(wide, temperature=T).data
        assert p[0].argmax() == 2 and p.sum() == 1


@pytest.mark.parametrize("axis", [0, 1, 2, -2, -1])
def test_any_axis(axis):
    scores = draw(3, 4, 5)
    mask = np.random.default_rng(2).random((3, 4, 5)) < 0.7
    expected = np.moveaxis(
        weights(np.moveaxis(scores, axis, -1), np.moveaxis(mask, axis, -1)), -1, axis
    )
    p = masked_softmax(scores, mask=mask, axis=axis).data
    np.testing.assert_allclose(p, expected, rtol=1e-13)
    bias = draw(4, 1, seed=3)  # fewer axes than the scores
    p = masked_softmax(scores, mask=bias, axis=axis).data
    other = masked_softmax(scores + bias, axis=axis).data
    np.testing.assert_array_equal(p, other)
    lower = masked_softmax(scores, mask=mask[0], axis=axis).data
    full = np.broadcast_to(mask[0], mask.shape)
    np.testing.assert_array_equal(
        lower, masked_softmax(scores, mask=full, axis=axis).data
    )


def test_lengths_along_another_axis():
    """Keys first, queries last: (B, S, L)."""
    scores = draw(B, L, S)
    for lens in LENS:
        p = masked_softmax(scores.swapaxes(1, 2), lens, axis=1).data
        np.testing.assert_array_equal(p.swapaxes(1, 2), masked_softmax(scores, lens))


# Empty rows, NaN, infinity


def test_a_row_with_nothing_in_it():
    """Weights 0 and gradient 0, and the other rows as if it were not there."""
    scores, g = draw(B, L, S), draw(B, L, S, seed=1)
    leaf = Tensor(scores, requires_grad=True)
    p = masked_softmax(leaf, [[0, 5, 3, 0], [2, 0, 5, 1]])
    p.backward(g)
    empty = np.array([[1, 0, 0, 1], [0, 1, 0, 0]], bool)
    assert not p.data[empty].any() and not leaf.grad[empty].any()
    np.testing.assert_allclose(p.data[~empty].sum(-1), 1)
    assert leaf.grad[0, 1].any()


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf, 1e300])
def test_what_is_masked_has_no_influence(poison):
    scores, g = draw(B, L, S), draw(B, L, S, seed=1)
    mask = np.random.default_rng(4).random((B, L, S)) < 0.6

    def results(fill):
        leaf = Tensor(np.where(mask, scores, fill), requires_grad=True)
        p = masked_softmax(leaf, [3, 5], mask)
        p.backward(np.where(mask, g, fill))
        return p.data, leaf.grad

    for clean, foul in zip(results(0.0), results(poison)):
        np.testing.assert_array_equal(foul, clean)


def test_large_scores_and_infinities():
    inf, nan = np.inf, np.nan
    scores = np.array(
        [[1e4, -1e4, 0], [-1e4, -1e4, -1e4], [-inf, 0, 0], [-inf, -inf, -inf]]
    )
    p = masked_softmax(scores).data
    expected = [[1, 0, 0], [1 / 3] * 3, [0, 0.5, 0.5], [0, 0, 0]]
    np.testing.assert_allclose(p, expected, rtol=1e-15)
    p = masked_softmax(np.array([[nan, 0, 0], [inf, 0, 0], [0, 0, 0]])).data
    assert np.isnan(p[0]).all() and np.isnan(p[1, 0]) and not p[1, 1:].any()
    np.testing.assert_allclose(p[2], 1 / 3)


def test_shifting_a_row_changes_nothing():
    scores = draw(L, S)
    p = masked_softmax(scores, mask=scores > -0.5).data
    shifted = masked_softmax(scores + 1000.0, mask=scores > -0.5).data
    np.testing.assert_allclose(shifted, p, rtol=1e-12)


@pytest.mark.parametrize("shape", [(0, L, S), (B, 0, S), (B, L, 0), (0,)], ids=str)
def test_empty_scores(shape):
    leaf = Tensor(np.zeros(shape), requires_grad=True)
    lens = np.zeros(shape[0], int) if len(shape) > 1 else None
    p = masked_softmax(leaf, lens, np.ones(shape, bool))
    p.backward(np.zeros(shape))
    assert p.shape == leaf.grad.shape == shape


# Gradients


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"valid_lens": [2, 5]},
        {"valid_lens": [[5, 2, 0, 3], [1, 5, 4, 5]]},
        {"mask": masks()["full"][:, 0]},
        {"mask": masks()["pairs"], "valid_lens": [4, 3], "temperature": 0.4},
        {"axis": 0},
        {"axis": 1, "valid_lens": [3, 2], "temperature": 2.0},
    ],
    ids=lambda options: "-".join(options) or "free",
)
def test_gradient(options):
    assert mg.gradcheck(lambda s: masked_softmax(s, **options), [draw(B, L, S)]).ok


@pytest.mark.parametrize("shape", [(B, L, S), (L, S), (B, 1, S)], ids=str)
def test_gradient_into_a_float_mask(shape):
    def function(scores, bias):
        return masked_softmax(scores, [3, 5], bias, temperature=0.6)

    assert mg.gradcheck(function, [draw(B, L, S), draw(*shape, seed=1)]).ok


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes_are_kept(dtype):
    leaf = Tensor(draw(B, L, S), requires_grad=True).detach().astype(dtype)
    leaf.requires_grad_()
    p = masked_softmax(leaf, [3, 5], temperature=np.float64(2))
    p.backward(draw(B, L, S, dtype=dtype))
    assert p.dtype == leaf.grad.dtype == dtype


def test_inputs_are_left_alone():
    scores, mask = draw(B, L, S), masks()["pairs"]
    lens = np.array([2, 5])
    for array in (scores, mask, lens):
        array.flags.writeable = False
    leaf = Tensor(scores, requires_grad=True)
    p = masked_softmax(leaf, lens, mask)
    p.backward(draw(B, L, S))
    np.testing.assert_array_equal(leaf.data, scores)


# What is refused


BAD = [
    (
        {"scores": np.zeros((B, L, S), int)},
        TypeError,
        "masked_softmax: scores are int64; expected floating-point numbers. Write 1.0 "
        "for 1, or use .astype(np.float32).",
    ),
    (
        {"mask": np.ones((L, S), int)},
        TypeError,
        "masked_softmax: mask is int64; expected bool, where True = may attend, or "
        "float, which is added. Ones and zeros could be meant either way: write mask "
        "== 1 to allow the ones.",
    ),
    (
        {"mask": np.ones((L, S + 1), bool)},
        ValueError,
        "masked_softmax: mask has shape (4, 6); expected one that broadcasts to the "
        "scores, (2, 4, 5).",
    ),
    (
        {"mask": np.zeros((3, 1, L, S))},
        ValueError,
        "masked_softmax: mask has shape (3, 1, 4, 5); expected one that broadcasts to "
        "the scores, (2, 4, 5).",
    ),
    (
        {"valid_lens": [2, 6]},
        ValueError,
        "masked_softmax: valid_lens contain 6; expected lengths from 0 to 5, the "
        "number of keys in scores of shape (2, 4, 5).",
    ),
    (
        {"valid_lens": [-1, 3]},
        ValueError,
        "masked_softmax: valid_lens contain -1; expected lengths from 0 to 5, the "
        "number of keys in scores of shape (2, 4, 5).",
    ),
    (
        {"valid_lens": [2.0, 3.0]},
        TypeError,
        "masked_softmax: valid_lens are float64; expected whole numbers, how many keys "
        "may be attended to.",
    ),
    (
        {"valid_lens": [True, False]},
        TypeError,
        "masked_softmax: valid_lens are bool; expected whole numbers, how many keys "
        "may be attended to.",
    ),
    (
        {"valid_lens": [2, 3, 4]},
        ValueError,
        "masked_softmax: valid_lens have shape (3,) and scores (2, 4, 5); expected "
        "(B,) for scores (B, …, S), one for each example, or (B, L) for scores (B, …, "
        "L, S), one for each query.",
    ),
    (
        {"valid_lens": np.zeros((B, S), int)},
        ValueError,
        "masked_softmax: valid_lens have shape (2, 5) and scores (2, 4, 5); expected "
        "(B,) for scores (B, …, S), one for each example, or (B, L) for scores (B, …, "
        "L, S), one for each query.",
    ),
    (
        {"temperature": 0.0},
        ValueError,
        "masked_softmax: temperature is 0.0; expected a positive number, from 1e-30 "
        "to 1e30.",
    ),
    (
        {"temperature": float("nan")},
        ValueError,
        "masked_softmax: temperature is nan; expected a positive number, from 1e-30 "
        "to 1e30.",
    ),
    (
        {"temperature": Tensor(1.0)},
        TypeError,
        "masked_softmax: temperature is a Tensor; expected a number. To learn it, "
        "divide the scores by it.",
    ),
    (
        {"axis": 3},
        ValueError,
        "masked_softmax: there is no axis 3 in scores of shape (2, 4, 5).",
    ),
    (
        {"axis": None},
        TypeError,
        "masked_softmax: axis is None; expected the whole number of one axis.",
    ),
]


@pytest.mark.parametrize("change, kind, message", BAD)
def test_messages(change, kind, message):
    with pytest.raises(kind) as error:
        masked_softmax(**{"scores": draw(B, L, S), **change})
    assert str(error.value) == message


@pytest.mark.parametrize("shape, lens", [((S,), [3]), ((B, S), [[1], [2]])])
def test_too_few_axes_for_the_lengths(shape, lens):
    with pytest.raises(ValueError, match=r"valid_lens have shape \(.*\) and scores"):
        masked_softmax(draw(*shape), lens)
