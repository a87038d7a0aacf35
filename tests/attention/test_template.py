"""The template of attention and its softmax equal their definitions."""

import numpy as np
import pytest

from attention import definitions, masks
from attention.softmax import masked_softmax
from attention.template import attend
from minigrad import Tensor

from ..minigrad.array_cases import draw
from .definition_cases import check

B, L, S, Dq, Dk, A, Ev = 2, 3, 5, 7, 4, 6, 11  # no two alike: a lost transpose shows
# The same sums in another order: a few rounding errors of numbers near 1.
close = {"rtol": 1e-12, "atol": 1e-13}


def example(dtype=float):
    """Return arrays query, keys and values."""
    return draw((B, L, Dq), (B, S, Dq), (B, S, Ev), dtype=dtype)


# The softmax

backends = pytest.mark.usefixtures("backend")  # numba and numpy


@backends
def test_the_first_of_three_axes_counts_examples():
    lengths, qkv = np.array([1, 4]), example()
    _, expected = attend(*qkv, lengths=lengths)
    for mask in (masks.padding(lengths), lambda b, h, q_idx, k_idx: k_idx < lengths[b]):
        _, weights = attend(*qkv, mask=mask)
        np.testing.assert_array_equal(weights.data, expected.data)


def test_lengths_are_read_by_their_axes():
    """(B,) has one length for each example, also where L = B."""
    (scores,) = draw((3, 3, S))
    lens = np.array([1, 2, 3])
    by_example = masked_softmax(scores, lens).data
    by_query = masked_softmax(scores, np.tile(lens, (3, 1))).data
    assert (by_example > 0).sum(-1).tolist() == [[n] * 3 for n in (1, 2, 3)]
    assert (by_query > 0).sum(-1).tolist() == [[1, 2, 3]] * 3


@backends
def test_a_float_mask_has_the_dtype_of_the_scores():
    (scores,) = draw((L, S), dtype=np.float32)
    bias = np.where(np.arange(S) < 3, 0.0, -1e300)  # float64; -inf in float32
    p = masked_softmax(scores, mask=bias)
    assert p.dtype == np.float32
    assert not p.data[:, 3:].any()


@backends
def test_the_limits_of_the_temperature():
    scores = np.array([[1.0, 3.0, 3.0, -2.0]])
    allowed = np.array([True, True, True, False])
    cold = masked_softmax(scores, mask=allowed, temperature=1e-30).data
    hot = masked_softmax(scores, mask=allowed, temperature=1e30).data
    np.testing.assert_allclose(cold, [[0, 0.5, 0.5, 0]])  # ties share
    np.testing.assert_allclose(hot, [[1 / 3, 1 / 3, 1 / 3, 0]])
    wide = np.array([[1e38, -1e38, 3e38]], np.float32)
    for T in (1e-30, 1.0, 1e30):
        p = masked_softmax(wide, temperature=T).data
        assert p[0].argmax() == 2 and p.sum() == pytest.approx(1)


@backends
@pytest.mark.parametrize("shape", [(L, S), (B, 1, S)], ids=str)
def test_gradients_of_scores_and_float_mask(shape):
    lens = np.array([[5, 2, 0], [1, 5, 4]])
    allowed = np.arange(S) < lens[..., None]  # (B, L, S)
    check(
        lambda scores, bias: masked_softmax(scores, lens, bias, temperature=0.6),
        lambda scores, bias: definitions.softmax((scores + bias) / 0.6, allowed),
        draw((B, L, S), shape),
    )


def test_a_masked_score_has_the_gradient_0_whatever_arrives():
    for g in (np.nan, np.inf, -3e38):  # -3e38 - 3e38 is -inf in float32
        scores = Tensor(np.zeros((1, 2), np.float32), requires_grad=True)
        masked_softmax(scores, [1]).backward(np.float32([[3e38, g]]))
        assert scores.grad.tolist() == [[0, 0]]


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


