"""The template of attention equals its definition in plain loops."""

import math

import numpy as np
import pytest

import minigrad as mg
from attention.attend import attend
from attention.scores import additive, dot, general, scaled_dot
from minigrad import Tensor

from ..minigrad.array_cases import draw
from .attend_cases import (
    DEFINITIONS,
    KINDS,
    LENS,
    B,
    Dq,
    Ev,
    L,
    S,
    bound,
    close,
    example,
    lens_as_mask,
)


def by_loops(score, query, keys, values, allowed, bias=None, temperature=1.0):
    """The definition: a sum over the allowed keys, for each example and each query."""
    context = np.zeros((*query.shape[:2], values.shape[2]))
    weights = np.zeros((*query.shape[:2], keys.shape[1]))
    for b in range(query.shape[0]):
        for i in range(query.shape[1]):
            js = [j for j in range(keys.shape[1]) if allowed[b, i, j]]
            s = {j: score(query[b, i], keys[b, j]) for j in js}
            if bias is not None:
                s = {j: s[j] + bias[b, i, j] for j in js}
            total = sum(math.exp(s[j] / temperature) for j in js)
            for j in js:
                weights[b, i, j] = math.exp(s[j] / temperature) / total
                context[b, i] += weights[b, i, j] * values[b, j]
    return context, weights


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("valid_lens", LENS)
def test_the_template_is_its_definition(kind, valid_lens):
    query, keys, values, parameters = example(kind)
    context, weights = attend(
        query, keys, values, bound(kind, parameters), valid_lens=valid_lens
    )
    allowed = lens_as_mask([S, S] if valid_lens is None else valid_lens)
    c, w = by_loops(
        lambda q, k: DEFINITIONS[kind](q, k, *parameters), query, keys, values, allowed
    )
    np.testing.assert_allclose(weights.data, w, **close)
    np.testing.assert_allclose(context.data, c, **close)
    assert (weights.data[~allowed] == 0).all()  # exactly
    empty = ~allowed.any(-1)
    assert (context.data[empty] == 0).all()
    np.testing.assert_allclose(weights.data.sum(-1), np.where(empty, 0, 1), **close)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("valid_lens", LENS)
def test_gradients_into_query_keys_values_and_parameters(kind, valid_lens):
    *inputs, parameters = example(kind)

    def context(query, keys, values, *parameters):
        score = bound(kind, parameters)
        return attend(query, keys, values, score, valid_lens=valid_lens)[0]

    assert mg.gradcheck(context, [*inputs, *parameters]).ok


def test_the_weights_have_gradients_too():
    query, keys, values, _ = example("scaled")

    def weights(query, keys):
        return attend(query, keys, values, valid_lens=[2, 5], temperature=0.5)[1]

    assert mg.gradcheck(weights, [query, keys]).ok


def test_self_attention_sums_the_gradients_of_its_three_roles():
    (x,) = draw((B, S, 4))
    assert mg.gradcheck(lambda x: attend(x, x, x, valid_lens=[3, 5])[0], [x]).ok
    shared = Tensor(x, requires_grad=True)
    roles = [Tensor(x, requires_grad=True) for _ in range(3)]
    g = draw((B, S, 4), seed=1)[0]
    attend(shared, shared, shared)[0].backward(g)
    attend(*roles)[0].backward(g)
    np.testing.assert_allclose(shared.grad, sum(r.grad for r in roles), **close)


def test_bias_mask_and_temperature_as_defined():
    query, keys, values, _ = example("dot")
    (bias,) = draw((B, L, S), seed=1)
    mask = np.random.default_rng(2).random((B, L, S)) < 0.6
    bias[0, 0] += np.where(mask[0, 0], 0, 50)  # the bias cannot unmask: it comes before
    context, weights = attend(
        query, keys, values, "dot", mask=mask, bias=bias, temperature=1.7
    )
    c, w = by_loops(DEFINITIONS["dot"], query, keys, values, mask, bias, 1.7)
    np.testing.assert_allclose(weights.data, w, **close)
    np.testing.assert_allclose(context.data, c, **close)


def test_gradients_into_a_bias_that_is_broadcast():
    query, keys, values, _ = example("dot")
    (bias,) = draw((L, 1), seed=1)  # one number for each query changes no weight
    leaf = Tensor(bias, requires_grad=True)
    attend(query, keys, values, bias=leaf)[0].backward(draw((B, L, Ev))[0])
    assert leaf.grad.shape == (L, 1)
    np.testing.assert_allclose(leaf.grad, 0, atol=1e-14)  # sums of numbers near 1

    (bias,) = draw((L, S), seed=1)  # shared by the examples

    def context(query, bias):
        return attend(query, keys, values, bias=bias, valid_lens=[2, 5])[0]

    assert mg.gradcheck(context, [query, bias]).ok


@pytest.mark.parametrize("kind", KINDS)
def test_permuting_keys_and_values_together_changes_nothing(kind):
    query, keys, values, parameters = example(kind)
    score, p = bound(kind, parameters), [3, 0, 4, 2, 1]
    context, weights = attend(query, keys, values, score)
    permuted, moved = attend(query, keys[:, p], values[:, p], score)
    np.testing.assert_allclose(permuted.data, context.data, **close)
    np.testing.assert_allclose(moved.data, weights.data[..., p], **close)
    assert (
        np.abs(attend(query, keys[:, p], values, score)[0].data - context.data).max()
        > 0.1
    )


# Masks


def test_mask_and_valid_lens_both_hold():
    query, keys, values, _ = example("scaled")
    mask = np.tril(np.ones((L, S), bool))
    _, weights = attend(query, keys, values, mask=mask, valid_lens=[2, 5])
    np.testing.assert_array_equal(weights.data > 0, mask & lens_as_mask([2, 5]))


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
    "mask for all queries": {"mask": lens_as_mask([2, 5])[:, :1]},
    "float mask": {"mask": np.where(lens_as_mask([2, 5]), 0.0, -np.inf)},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("masking", MASKINGS)
@pytest.mark.parametrize("filling", [1e6, np.nan, np.inf])
@pytest.mark.filterwarnings("error")
def test_excluded_keys_and_values_have_no_influence(kind, masking, filling):
    """Outputs and gradients are the same to the bit, even if the padding is NaN."""
    query, keys, values, parameters = example(kind)
    masking = MASKINGS[masking]
    before = run(kind, query, keys, values, parameters, **masking)
    for array in (keys, values):
        array[0, 2:] = filling  # no query of example 0 may attend to these
    after = run(kind, query, keys, values, parameters, **masking)
    for a, b in zip(before, after):
        np.testing.assert_array_equal(a, b)
    dkeys, dvalues = after[3:5]
    assert (dkeys[0, 2:] == 0).all() and (dvalues[0, 2:] == 0).all()
    assert (dkeys[0, :2] != 0).any() and (dvalues[0, :2] != 0).any()


def test_a_nan_in_an_allowed_value_reaches_the_context():
    query, keys, values, _ = example("scaled")
    values[0, 1] = np.nan
    context, weights = attend(query, keys, values, valid_lens=[2, 5])
    assert np.isnan(context.data[0]).all() and np.isfinite(context.data[1]).all()
    assert np.isfinite(weights.data).all()


def test_padding_of_shared_keys_is_that_of_each_example():
    """Keys without a batch axis: padding for one example need not be for another."""
    query, keys, values, _ = example("scaled")
    keys, values = keys[0], values[0]
    keys[4:] = values[4:] = np.nan
    context, weights = attend(query, keys, values, valid_lens=[2, 4])
    clean, _ = attend(query, keys[:4], values[:4], valid_lens=[2, 4])
    np.testing.assert_allclose(context.data, clean.data, **close)
    assert (weights.data[..., 4] == 0).all()


# Values known from elsewhere


def test_the_worked_example_of_chapter_38_1():
    s, h = np.array([[1.0, -0.5, 0.3, 0.8]]), np.array([[0.6, 0.2, -0.4, 1.0]])
    np.testing.assert_allclose(dot(s, h).data, [[1.18]], rtol=1e-12)
    np.testing.assert_allclose(scaled_dot(s, h).data, [[0.59]], rtol=1e-12)
    context, weights = attend(s, h, h)
    np.testing.assert_array_equal(weights.data, [[1]])  # of a single key
    np.testing.assert_array_equal(context.data, h)


def test_the_worked_example_of_chapter_6_2_5_corrected():
    """The chapter prints e = (.458, .121, .512, .389); from its own projections it is
    (.457, .127, .047, .443), so that the token it ranks first is in truth the last."""
    W_s_s = np.array([[0.3, -0.1, 0.5, 0.2]])
    W_h_h = np.array(
        [
            [0.4, 0.2, -0.3, 0.6],
            [-0.2, 0.5, 0.3, -0.1],
            [0.7, -0.3, 0.4, 0.2],
            [0.1, 0.4, -0.2, 0.5],
        ]
    )
    v, one = np.array([0.3, 0.5, -0.2, 0.4]), np.eye(4)  # they are projected already

    def score(q, k):
        return additive(q, k, one, one, v)

    np.testing.assert_array_equal(
        score(Tensor(W_s_s), Tensor(W_h_h)).data.round(3),
        [[0.457, 0.127, 0.047, 0.443]],
    )
    context, weights = attend(W_s_s, W_h_h, np.eye(4), score)
    np.testing.assert_array_equal(weights.data.round(3), [[0.297, 0.213, 0.197, 0.293]])
    np.testing.assert_allclose(context.data, weights.data, rtol=1e-15)


def test_general_with_the_identity_is_dot():
    query, keys, values, _ = example("dot")
    by_general, _ = attend(query, keys, values, lambda q, k: general(q, k, np.eye(Dq)))
    np.testing.assert_allclose(
        by_general.data, attend(query, keys, values, "dot")[0].data, **close
    )


def test_torch_agrees():
    """In value and in every gradient, apart from the order of its sums."""
    torch = pytest.importorskip("torch")
    arrays = draw((B, 4, L, 6), (B, 4, S, 6), (B, 4, S, Ev), (B, 4, L, Ev))
    mask = np.random.default_rng(2).random((B, 1, L, S)) < 0.6
    mask[..., 0] = True  # no row is empty
    ours = [Tensor(a, requires_grad=True) for a in arrays[:3]]
    context, _ = attend(*ours, mask=mask)
    context.backward(arrays[3])
    theirs = [torch.tensor(a, requires_grad=True) for a in arrays[:3]]
    expected = torch.nn.functional.scaled_dot_product_attention(
        *theirs, attn_mask=torch.tensor(mask)
    )
    expected.backward(torch.tensor(arrays[3]))
    np.testing.assert_allclose(context.data, expected.detach().numpy(), **close)
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a.grad, b.grad.numpy(), **close)


def test_scores_by_name():
    query, keys, values, _ = example("dot")
    for name, function in {"dot": dot, "scaled_dot": scaled_dot}.items():
        np.testing.assert_array_equal(
            attend(query, keys, values, name)[0].data,
            attend(query, keys, values, function)[0].data,
        )
    np.testing.assert_array_equal(
        attend(query, keys, values)[0].data,
        attend(query, keys, values, "scaled_dot")[0].data,
    )


# Axes, dtypes and dropout


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


@pytest.mark.parametrize(
    "b, n_queries, n_keys", [(0, L, S), (B, 0, S), (B, L, 0)], ids=["B", "L", "S"]
)
def test_sizes_of_zero(b, n_queries, n_keys):
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
