"""Coverage attention and its loss against their definitions; its calls."""

import numpy as np
import pytest

from attention import definitions
from attention.variants.coverage import CoverageAttention, coverage_loss
from minigrad import Tensor

from ...minigrad.array_cases import draw
from ..definition_cases import check

B, L, S, Dq, Dk, A, Ev = 2, 4, 5, 3, 7, 6, 8  # no two equal: a lost transpose shows


def example():
    return draw((B, L, Dq), (B, S, Dk), (B, S, Ev))


def layer(**options):
    """Return a layer with random parameters, also those that are 0 at first."""
    module, rng = CoverageAttention(Dq, Dk, A, **options), np.random.default_rng(1)
    for parameter in module.parameters():
        parameter.data = rng.standard_normal(parameter.shape)
    return module


def defined(module, lengths):
    """Return the definition of contexts, weights and coverages, for all examples."""

    def coverage(queries, keys, values, *parameters):
        P = dict(zip(dict(module.named_parameters()), parameters, strict=True))
        contexts = np.zeros((B, L, values.shape[2]))
        weights = np.zeros((B, L, S))
        for b, n in enumerate([S, S] if lengths is None else lengths):
            q, k, v = queries[b], keys[b, :n], values[b, :n]
            contexts[b] = definitions.coverage(q, k, v, **P)
            weights[b, :, :n] = definitions.coverage(q, k, np.eye(n), **P)
        return contexts, weights, np.cumsum(weights, 1) - weights

    return coverage


@pytest.mark.parametrize("target_lens", [None, [4, 2], [0, 3]])
def test_definition(target_lens):
    """All results, and the gradients of all, the loss included."""
    module, arrays, lengths = layer(bias=True), example(), [5, 3]

    def run(*arrays):
        contexts, weights, coverages = module(*arrays, lengths)
        loss = coverage_loss(weights, coverages, target_lens)
        return contexts, weights, coverages, loss

    def with_loss(*arrays):
        contexts, weights, coverages = defined(module, lengths)(*arrays)
        losses = [
            definitions.coverage_loss(p[:n]) if n else 0
            for p, n in zip(weights, target_lens or [L, L])
        ]
        return contexts, weights, coverages, np.mean(losses)

    check(run, with_loss, arrays, module.parameters())
    _, weights, coverages = module(*arrays, lengths)
    np.testing.assert_array_equal(module.attention_weights.data, weights.data)
    assert not weights.data[1, :, 3:].any()  # exactly 0


def test_each_query_may_have_its_own_number_of_keys():
    lengths = np.array([[5, 1, 3, 2], [2, 4, 1, 5]])
    _, weights, _ = layer()(*example(), lengths)
    np.testing.assert_array_equal(weights.data > 0, np.arange(S) < lengths[..., None])


def test_keys_are_projected_once(monkeypatch):
    module, count = layer(), []
    project = module.project
    monkeypatch.setattr(module, "project", lambda k: count.append(1) or project(k))
    module(*example())
    assert len(count) == 1


def test_a_new_layer_is_additive_attention():
    assert not CoverageAttention(Dq, Dk, A).w_c.data.any()


# the loss


def test_loss_of_no_examples_steps_or_keys():
    for shape in (0, L, S), (B, 0, S), (B, L, 0):
        assert coverage_loss(np.zeros(shape), np.zeros(shape)).item() == 0


def test_equal_numbers_share_the_gradient_of_the_loss():
    a = Tensor([[[0.5, 0.2, 0.3]]], requires_grad=True)
    c = Tensor([[[0.5, 0.9, 0.1]]], requires_grad=True)
    coverage_loss(a, c).backward()
    np.testing.assert_array_equal(a.grad, [[[0.5, 1, 0]]])
    np.testing.assert_array_equal(c.grad, [[[0.5, 0, 1]]])
