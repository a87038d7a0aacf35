"""The template of attention equals its definition."""

import numpy as np
import pytest

from attention import definitions
from attention.template import attend
from attention.scores import additive, dot, scaled_dot
from minigrad import Tensor

from ..minigrad.array_cases import draw
from .definition_cases import check

B, L, S, Dq, Dk, A, Ev = 2, 3, 5, 7, 4, 6, 11  # no two alike: a lost transpose shows
# The same sums in another order: a few rounding errors of numbers near 1.
close = {"rtol": 1e-12, "atol": 1e-13}


def example(dtype=float):
    """Return arrays query, keys and values."""
    return draw((B, L, Dq), (B, S, Dq), (B, S, Ev), dtype=dtype)


def test_bias_mask_and_temperature():
    """Contexts and weights, and the gradients of both, also into a shared bias."""
    mask = np.random.default_rng(2).random((B, L, S)) < 0.6
    bias = draw((L, S), seed=1)[0]
    bias[0] += np.where(mask[0, 0], 0, 50)  # the bias cannot unmask: it comes before

    def definition(query, keys, values, bias):
        s = np.stack([definitions.scaled_dot(*x) for x in zip(query, keys)])
        p = definitions.softmax((s + bias) / 1.7, mask)
        return p @ values, p

    check(
        lambda q, k, v, b: attend(q, k, v, mask=mask, bias=b, temperature=1.7),
        definition,
        [*example(), bias],
    )


# Masks


def run(*arrays, **masking):
    """Context, weights, and the gradients into everything, for a fixed cotangent."""
    leaves = [Tensor(a, requires_grad=True) for a in arrays]
    context, weights = attend(*leaves, **masking)
    context.backward(draw(context.shape, seed=9)[0])
    return [context.data, weights.data, *(leaf.grad for leaf in leaves)]


FIRST = np.broadcast_to(np.arange(S) < np.reshape([2, 5], (B, 1, 1)), (B, L, S))
MASKINGS = {
    "lens": {"lengths": [2, 5]},
    "lens for each query": {"lengths": [[1, 0, 2], [4, 5, 2]]},
    "mask": {"mask": FIRST},
    "float mask": {"mask": np.where(FIRST, 0.0, -np.inf)},
}


@pytest.mark.parametrize("masking", MASKINGS)
@pytest.mark.parametrize("filling", [1e6, np.nan])
@pytest.mark.filterwarnings("error")
def test_excluded_keys_and_values_have_no_influence(masking, filling):
    """On outputs and gradients, even if the padding is NaN."""
    (query, keys, values), masking = example(), MASKINGS[masking]
    before = run(query, keys, values, **masking)
    for array in (keys, values):
        array[0, 2:] = filling  # no query of example 0 may attend to these
    after = run(query, keys, values, **masking)
    for a, b in zip(before, after):
        np.testing.assert_allclose(a, b, **close)
    for gradient in after[3:]:  # of keys and values
        assert not gradient[0, 2:].any() and gradient[0, :2].any()


def test_a_nan_in_an_allowed_value_reaches_the_context():
    query, keys, values = example()
    values[0, 1] = np.nan
    context, weights = attend(query, keys, values, lengths=[2, 5])
    assert np.isnan(context.data[0]).all() and np.isfinite(context.data[1]).all()
    assert np.isfinite(weights.data).all()


# Known values


def test_the_worked_example_of_chapter_38_1():
    s, h = np.array([[1.0, -0.5, 0.3, 0.8]]), np.array([[0.6, 0.2, -0.4, 1.0]])
    np.testing.assert_allclose(dot(s, h).data, [[1.18]], rtol=1e-12)
    np.testing.assert_allclose(scaled_dot(s, h).data, [[0.59]], rtol=1e-12)
    context, weights = attend(s, h, h)
    np.testing.assert_allclose(weights.data, [[1]])  # of a single key
    np.testing.assert_allclose(context.data, h)


def test_the_worked_example_of_chapter_6_2_5_corrected():
    """The chapter prints e = (.458, .121, .512, .389); from its own projections it is
    (.457, .127, .047, .443), so that the token it ranks first is in truth the last."""
    W_s_s = np.array([[0.3, -0.1, 0.5, 0.2]])
    W_h_h = np.array([
        [0.4, 0.2, -0.3, 0.6],
        [-0.2, 0.5, 0.3, -0.1],
        [0.7, -0.3, 0.4, 0.2],
        [0.1, 0.4, -0.2, 0.5],
    ])  # fmt: skip
    v, one = np.array([0.3, 0.5, -0.2, 0.4]), np.eye(4)  # they are projected already

    def score(q, k):
        return additive(q, k, one, one, v)

    three_digits = {"rtol": 0, "atol": 5e-4}
    e = score(Tensor(W_s_s), Tensor(W_h_h)).data
    np.testing.assert_allclose(e, [[0.457, 0.127, 0.047, 0.443]], **three_digits)
    _, weights = attend(W_s_s, W_h_h, np.eye(4), score)
    expected = [[0.297, 0.213, 0.197, 0.293]]
    np.testing.assert_allclose(weights.data, expected, **three_digits)


# Axes, dtypes and dropout


def test_dropout_acts_on_weights_and_in_training_only():
    query, keys, values = example()
    plain, weights = attend(query, keys, values, lengths=[2, 5])

    def dropped(seed, **options):
        options |= {"lengths": [2, 5], "dropout_p": 0.5}
        rng = np.random.default_rng(seed)
        return attend(query, keys, values, rng=rng, **options)

    context, before = dropped(0)
    np.testing.assert_allclose(before.data, weights.data, **close)  # before dropout
    assert (context.data != plain.data).any()
    np.testing.assert_allclose(dropped(0)[0].data, context.data, **close)
    assert (dropped(1)[0].data != context.data).any()
    evaluated, _ = dropped(0, training=False)
    np.testing.assert_allclose(evaluated.data, plain.data, **close)


