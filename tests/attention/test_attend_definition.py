"""The template of attention is its definition, written as plain loops."""

import math

import numpy as np
import pytest

import minigrad as mg
from attention.attend import attend
from minigrad import Tensor

from ..minigrad.array_cases import draw
from .attend_cases import (
    DEFINITIONS,
    KINDS,
    LENS,
    B,
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
