"""Coverage attention and its loss against their definitions; its calls."""

import functools

import numpy as np
import pytest

from attention import definitions
from attention.variants.coverage import CoverageAttention, coverage_loss
from minigrad import Tensor

from ...minigrad.array_cases import draw
from ..definition_cases import check

B, L, S, Dq, Dk, A, Ev = 2, 4, 5, 3, 7, 6, 8  # no two equal: a lost transpose shows
close = dict(rtol=1e-11, atol=1e-12)  # sums of order one; errors add up over steps


def example(seed=0, dtype=float):
    return draw((B, L, Dq), (B, S, Dk), (B, S, Ev), seed=seed, dtype=dtype)


def layer(dtype=np.float64, **options):
    """Return a layer with random parameters, also those that are 0 at first."""
    module = CoverageAttention(Dq, Dk, A, rng=np.random.default_rng(0), **options)
    rng = np.random.default_rng(1)
    for name, parameter in module.named_parameters():
        values = parameter.data
        if name in ("w_c", "b"):
            values = 2 * rng.standard_normal(A)
        parameter.data = values.astype(dtype)
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


def run_with_loss(module, lengths, *arrays, target_lens=None):
    contexts, weights, coverages = module(*arrays, lengths)
    return contexts, weights, coverages, coverage_loss(weights, coverages, target_lens)


def test_definition():
    """All results, and the gradients of all, the loss included."""
    module, arrays, lengths = layer(bias=True), example(), [5, 3]

    def with_loss(*arrays):
        contexts, weights, coverages = defined(module, lengths)(*arrays)
        loss = [definitions.coverage_loss(p) for p in weights]
        return contexts, weights, coverages, np.mean(loss)

    run = functools.partial(run_with_loss, module, lengths)
    check(run, with_loss, arrays, module.parameters())
    _, weights, coverages = module(*arrays, lengths)
    np.testing.assert_array_equal(module.attention_weights.data, weights.data)
    assert not weights.data[1, :, 3:].any()  # exactly 0


def test_keys_are_projected_once(monkeypatch):
    module, count = layer(), []
    project = module.project
    monkeypatch.setattr(module, "project", lambda k: count.append(1) or project(k))
    module(*example())
    assert len(count) == 1


def test_parameters_and_representation():
    shapes = {n: p.shape for n, p in layer(bias=True).named_parameters()}
    matrices = {"W_q": (A, Dq), "W_k": (A, Dk)}
    assert shapes == matrices | {"w_v": (A,), "w_c": (A,), "b": (A,)}
    fresh = CoverageAttention(Dq, Dk, A)
    assert (fresh.w_c.data == 0).all() and fresh.b is None
    assert repr(fresh) == "CoverageAttention(3, 7, 6, dropout=0.0)"


# the loss


@pytest.mark.parametrize("target_lens", [None, [4, 2], [0, 3]])
def test_loss_definition(target_lens):
    module = layer()
    parameters = [p.data for p in module.parameters()]
    _, weights, coverages = defined(module, [5, 3])(*example(), *parameters)
    losses = [
        definitions.coverage_loss(p[:n]) if n else 0
        for p, n in zip(weights, target_lens or [L, L])
    ]
    loss = coverage_loss(weights, coverages, target_lens)
    assert loss.shape == ()
    np.testing.assert_allclose(loss.item(), np.mean(losses), **close)
    assert 0 <= loss.item() <= 1


def test_loss_of_no_examples_steps_or_keys():
    for shape in (0, L, S), (B, 0, S), (B, L, 0):
        assert coverage_loss(np.zeros(shape), np.zeros(shape)).item() == 0


def test_equal_numbers_share_the_gradient_of_the_loss():
    a = Tensor([[[0.5, 0.2, 0.3]]], requires_grad=True)
    c = Tensor([[[0.5, 0.9, 0.1]]], requires_grad=True)
    coverage_loss(a, c).backward()
    np.testing.assert_array_equal(a.grad, [[[0.5, 1, 0]]])
    np.testing.assert_array_equal(c.grad, [[[0.5, 0, 1]]])
