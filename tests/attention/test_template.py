"""The template of attention equals its definition."""

import numpy as np
import pytest

import minigrad as mg
from attention import definitions
from attention.template import attend
from attention.scores import additive, dot, general, scaled_dot
from minigrad import Tensor

from ..minigrad.array_cases import draw
from .definition_cases import check

B, L, S, Dq, Dk, A, Ev = 2, 3, 5, 7, 4, 6, 11  # no two alike: a lost transpose shows
KINDS = {  # function, width of the keys, shapes of its parameters
    "scaled": (scaled_dot, Dq, ()),
    "general": (general, Dk, ((Dq, Dk),)),
    "additive": (additive, Dk, ((A, Dq), (A, Dk), (A,))),
}
# The same sums in another order: a few rounding errors of numbers near 1.
close = {"rtol": 1e-12, "atol": 1e-13}


def example(kind):
    """Arrays query, keys, values, and the parameters of the score."""
    _, width, shapes = KINDS[kind]
    query, keys, values, *parameters = draw(
        (B, L, Dq), (B, S, width), (B, S, Ev), *shapes
    )
    return query, keys, values, parameters


def bound(kind, parameters):
    """The score as a function of query and keys alone."""
    return lambda q, k: KINDS[kind][0](q, k, *parameters)


def lens_as_mask(valid_lens):
    lens = np.asarray(valid_lens)
    lens = lens[:, None] if lens.ndim == 1 else lens
    return np.broadcast_to(np.arange(S) < lens[..., None], (B, L, S))


def defined(kind, allowed, temperature=1.0):
    """Return the definition of contexts and weights, of all examples."""

    def attention(query, keys, values, *parameters, bias=None):
        definition = getattr(definitions, KINDS[kind][0].__name__)
        both = []
        for b, (q, k, v) in enumerate(zip(query, keys, values)):
            s = definition(q, k, *parameters)
            s = (s if bias is None else s + bias[b]) / temperature
            rows = allowed[b]
            p = definitions.softmax(s, rows)
            both.append((definitions.attend(s, v, rows), p))
        return [np.stack(each) for each in zip(*both)]

    return attention


def test_bias_mask_and_temperature():
    query, keys, values, _ = example("scaled")
    (bias,) = draw((B, L, S), seed=1)
    mask = np.random.default_rng(2).random((B, L, S)) < 0.6
    bias[0, 0] += np.where(mask[0, 0], 0, 50)  # the bias cannot unmask: it comes before
    definition = defined("scaled", mask, 1.7)
    check(
        lambda q, k, v, b: attend(q, k, v, mask=mask, bias=b, temperature=1.7),
        lambda q, k, v, b: definition(q, k, v, bias=b),
        [query, keys, values, bias],
    )


# Gradients


def test_gradients_of_the_weights_and_into_a_shared_bias():
    query, keys, values, _ = example("scaled")
    (bias,) = draw((L, S), seed=1)

    def both(query, keys, bias):
        return attend(
            query, keys, values, bias=bias, valid_lens=[2, 5], temperature=0.5
        )

    assert mg.gradcheck(both, [query, keys, bias]).ok


def test_gradients_with_dropout():
    query, keys, values, _ = example("scaled")

    def context(query, keys, values):
        rng = np.random.default_rng(5)  # each call drops the same weights
        return attend(query, keys, values, valid_lens=[2, 5], dropout_p=0.4, rng=rng)[0]

    assert mg.gradcheck(context, [query, keys, values]).ok


# Masks


def run(kind, query, keys, values, parameters, **masking):
    """Context, weights, and the gradients into everything, for a fixed cotangent."""
    leaves = [Tensor(a, requires_grad=True) for a in (query, keys, values, *parameters)]
    context, weights = attend(*leaves[:3], bound(kind, leaves[3:]), **masking)
    context.backward(draw(context.shape, seed=9)[0])
    return [context.data, weights.data, *(leaf.grad for leaf in leaves)]


MASKINGS = {
    "lens": {"valid_lens": [2, 5]},
    "lens for each query": {"valid_lens": [[1, 0, 2], [4, 5, 2]]},
    "mask": {"mask": lens_as_mask([2, 5])},
    "float mask": {"mask": np.where(lens_as_mask([2, 5]), 0.0, -np.inf)},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("masking", MASKINGS)
@pytest.mark.parametrize("filling", [1e6, np.nan])
@pytest.mark.filterwarnings("error")
def test_excluded_keys_and_values_have_no_influence(kind, masking, filling):
    """On outputs and gradients, even if the padding is NaN."""
    query, keys, values, parameters = example(kind)
    masking = MASKINGS[masking]
    before = run(kind, query, keys, values, parameters, **masking)
    for array in (keys, values):
        array[0, 2:] = filling  # no query of example 0 may attend to these
    after = run(kind, query, keys, values, parameters, **masking)
    for a, b in zip(before, after):
        np.testing.assert_allclose(a, b, **close)
    dkeys, dvalues = after[3:5]
    assert (dkeys[0, 2:] == 0).all() and (dvalues[0, 2:] == 0).all()
    assert (dkeys[0, :2] != 0).any() and (dvalues[0, :2] != 0).any()


def test_a_nan_in_an_allowed_value_reaches_the_context():
    query, keys, values, _ = example("scaled")
    values[0, 1] = np.nan
    context, weights = attend(query, keys, values, valid_lens=[2, 5])
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


def test_scores_by_name():
    query, keys, values, _ = example("scaled")
    for score, function in ({"score": "dot"}, dot), ({}, scaled_dot):
        expected = attend(query, keys, values, function)[0].data
        found = attend(query, keys, values, **score)[0].data
        np.testing.assert_allclose(found, expected, **close)


# Axes, dtypes and dropout


@pytest.mark.parametrize("kind", KINDS)
def test_float32_stays_float32(kind):
    *inputs, parameters = example(kind)
    leaves = [Tensor(a.astype(np.float32), True) for a in (*inputs, *parameters)]
    context, weights = attend(
        *leaves[:3],
        bound(kind, leaves[3:]),
        valid_lens=[2, 5],
        bias=np.zeros((L, S), np.float32),
        temperature=np.float64(2.0),
        dropout_p=0.5,
    )
    assert context.dtype == weights.dtype == np.float32
    context.backward(np.ones(context.shape))
    assert {leaf.grad.dtype for leaf in leaves} == {np.dtype(np.float32)}


def test_dropout_acts_on_weights_and_in_training_only():
    query, keys, values, _ = example("scaled")
    plain, weights = attend(query, keys, values, valid_lens=[2, 5])

    def dropped(seed, **options):
        options |= {"valid_lens": [2, 5], "dropout_p": 0.5}
        rng = np.random.default_rng(seed)
        return attend(query, keys, values, rng=rng, **options)

    context, before = dropped(0)
    np.testing.assert_allclose(before.data, weights.data, **close)  # before dropout
    assert (context.data != plain.data).any()
    np.testing.assert_allclose(dropped(0)[0].data, context.data, **close)
    assert (dropped(1)[0].data != context.data).any()
    evaluated, _ = dropped(0, training=False)
    np.testing.assert_allclose(evaluated.data, plain.data, **close)
