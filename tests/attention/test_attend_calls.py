"""The template takes any leading axes, sizes, dtypes and layouts, and drops out."""

import math

import numpy as np
import pytest

import minigrad as mg
from attention.attend import attend
from minigrad import Tensor

from ..minigrad.array_cases import draw
from .attend_cases import KINDS, B, Ev, L, S, bound, close, example


def test_leading_axes_are_examples_and_heads():
    H = 4
    query, keys, values = draw((B, H, L, 6), (B, H, S, 6), (B, H, S, Ev))
    context, weights = attend(query, keys, values, valid_lens=[2, 5])
    assert context.shape == (B, H, L, Ev) and weights.shape == (B, H, L, S)
    for h in range(H):
        c, w = attend(query[:, h], keys[:, h], values[:, h], valid_lens=[2, 5])
        np.testing.assert_allclose(context.data[:, h], c.data, **close)
        np.testing.assert_allclose(weights.data[:, h], w.data, **close)


def test_heads_may_share_keys_and_values():
    query, keys, values = draw((B, 4, L, 6), (B, 1, S, 6), (B, 1, S, Ev))
    shared, _ = attend(query, keys, values)
    repeated, _ = attend(query, np.repeat(keys, 4, 1), np.repeat(values, 4, 1))
    np.testing.assert_allclose(shared.data, repeated.data, **close)


def test_one_example_needs_no_batch_axis():
    query, keys, values, _ = example("scaled")
    context, weights = attend(query[0], keys[0], values[0])
    batch = attend(query, keys, values)
    np.testing.assert_allclose(context.data, batch[0].data[0], **close)
    np.testing.assert_allclose(weights.data, batch[1].data[0], **close)


@pytest.mark.parametrize(
    "b, n_queries, n_keys", [(0, L, S), (B, 0, S), (B, L, 0)], ids=["B", "L", "S"]
)
def test_nothing_at_all(b, n_queries, n_keys):
    query, keys, values = draw((b, n_queries, 6), (b, n_keys, 6), (b, n_keys, Ev))
    leaves = [Tensor(a, requires_grad=True) for a in (query, keys, values)]
    context, weights = attend(*leaves, valid_lens=np.zeros(b, int))
    assert context.shape == (b, n_queries, Ev) and weights.shape == (
        b,
        n_queries,
        n_keys,
    )
    assert (context.data == 0).all()
    context.backward(np.ones(context.shape))
    assert all((leaf.grad == 0).all() for leaf in leaves)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dropout_p", [0.0, 0.5])
def test_float32_stays_float32(kind, dropout_p):
    *inputs, parameters = example(kind)
    leaves = [Tensor(a.astype(np.float32), True) for a in (*inputs, *parameters)]
    context, weights = attend(
        *leaves[:3],
        bound(kind, leaves[3:]),
        valid_lens=[2, 5],
        bias=np.zeros((L, S), np.float32),
        temperature=np.float64(2.0),
        dropout_p=dropout_p,
    )
    assert context.dtype == weights.dtype == np.float32
    context.backward(np.ones(context.shape))
    assert {leaf.grad.dtype for leaf in leaves} == {np.dtype(np.float32)}


def test_inputs_may_be_read_only_or_strided_and_are_not_changed():
    query, keys, values, _ = example("scaled")
    context, _ = attend(query, keys, values, valid_lens=[2, 5])
    strided = [np.asfortranarray(a) for a in (query, keys, values)]
    for array in strided:
        array.flags.writeable = False
    again, _ = attend(*strided, valid_lens=[2, 5])
    np.testing.assert_allclose(again.data, context.data, **close)


def test_dropout_only_in_training_and_only_on_what_the_values_see():
    query, keys, values, _ = example("scaled")
    plain, weights = attend(query, keys, values, valid_lens=[2, 5])

    def dropped(seed, **options):
        rng = np.random.default_rng(seed)
        return attend(
            query, keys, values, valid_lens=[2, 5], dropout_p=0.5, rng=rng, **options
        )

    context, before = dropped(0)
    np.testing.assert_array_equal(
        before.data, weights.data
    )  # before dropout: sums of 1
    assert (context.data != plain.data).any()
    np.testing.assert_array_equal(
        dropped(0)[0].data, context.data
    )  # the generator rules
    assert (dropped(1)[0].data != context.data).any()
    np.testing.assert_array_equal(dropped(0, training=False)[0].data, plain.data)


def test_dropout_without_a_generator_follows_manual_seed():
    query, keys, values, _ = example("scaled")
    contexts = []
    for _ in range(2):
        mg.manual_seed(3)
        contexts.append(attend(query, keys, values, dropout_p=0.5)[0].data)
    np.testing.assert_array_equal(*contexts)


def test_dropout_keeps_the_mean():
    """n contexts of values 1 under uniform weights 1/S: each is a mean of S variables
    of mean 1 and variance p / (1 - p), so their mean is 1 with a deviation of sigma."""
    n, p = 20_000, 0.25
    zeros, ones = np.zeros((n, 2)), np.ones((S, 1))
    context, weights = attend(
        zeros, ones @ [[1.0, 1.0]], ones, dropout_p=p, rng=np.random.default_rng(0)
    )
    np.testing.assert_allclose(weights.data, 1 / S)
    sigma = math.sqrt(p / (1 - p) / S / n)
    assert abs(context.data.mean() - 1) < 4 * sigma
    kept = context.data * S * (1 - p)  # how many of the S weights were kept
    np.testing.assert_allclose(kept, kept.round(), atol=1e-12)
    assert set(kept.round().ravel()) == set(range(S + 1))


def test_gradients_with_dropout():
    query, keys, values, _ = example("scaled")

    def context(query, keys, values):
        rng = np.random.default_rng(
            5
        )  # anew in each call: the same weights are dropped
        return attend(query, keys, values, valid_lens=[2, 5], dropout_p=0.4, rng=rng)[0]

    assert mg.gradcheck(context, [query, keys, values]).ok
