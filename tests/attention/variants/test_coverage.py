"""Coverage attention and its loss against their definitions by loops; its calls."""

import math

import numpy as np
import pytest

import minigrad as mg
from attention.layers import AdditiveAttention
from attention.variants.coverage import CoverageAttention, coverage_loss
from minigrad import Tensor

from ...minigrad.array_cases import draw

B, L, S, Dq, Dk, A, Ev = 2, 4, 5, 3, 7, 6, 8  # no two equal: a lost transpose shows
close = dict(rtol=1e-11, atol=1e-12)  # sums of order one; errors add up over steps
LENS = [None, [5, 3], [[5, 2, 0, 1], [3, 0, 4, 4]]]


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


def by_loops(module, queries, keys, values, lengths):
    """One step, one example, one key at a time; lengths (B,) or (B, L)."""
    W_q, W_k, w_v, w_c = (getattr(module, n).data for n in ("W_q", "W_k", "w_v", "w_c"))
    b_attn = 0 if module.b is None else module.b.data
    lengths = np.broadcast_to(np.reshape(lengths, (B, -1)), (B, L))
    contexts, weights, coverages = (np.zeros((B, L, n)) for n in (Ev, S, S))
    for b in range(B):
        for t in range(L):
            for j in range(S):
                coverages[b, t, j] = sum(weights[b, u, j] for u in range(t))
            e = {}
            for j in range(lengths[b, t]):
                z = W_q @ queries[b, t] + W_k @ keys[b, j] + w_c * coverages[b, t, j]
                e[j] = w_v @ np.tanh(z + b_attn)
            total = sum(math.exp(x) for x in e.values())
            for j in e:
                weights[b, t, j] = math.exp(e[j]) / total
                contexts[b, t] += weights[b, t, j] * values[b, j]
    return contexts, weights, coverages


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("valid_lens", LENS)
def test_definition(valid_lens, bias):
    module, arrays = layer(bias=bias), example()
    found = module(*arrays, valid_lens)
    lengths = [S, S] if valid_lens is None else valid_lens
    for a, b in zip(found, by_loops(module, *arrays, lengths)):
        np.testing.assert_allclose(a.data, b, **close)
    np.testing.assert_array_equal(module.attention_weights.data, found[1].data)
    allowed = np.arange(S) < np.reshape(lengths, (B, -1, 1))
    assert (found[1].data[~np.broadcast_to(allowed, (B, L, S))] == 0).all()


class ContextsAndLoss(mg.nn.Module):
    """The layer with two outputs, so that gradients flow through all results."""

    def __init__(self, **options):
        self.layer = layer(**options)

    def forward(self, *arrays):
        contexts, weights, coverages = self.layer(*arrays)
        return contexts, coverage_loss(weights, coverages, [3, 2])


@pytest.mark.parametrize(
    "bias, valid_lens",
    [
        pytest.param(True, [3, 2], marks=pytest.mark.deep),
        (False, [[3, 2, 0], [3, 0, 1]]),
    ],
)
def test_gradients(bias, valid_lens):
    arrays = [x[:, :3] for x in example(seed=4)]  # three queries and three keys
    _, weights, coverages = layer(bias=bias)(*arrays, valid_lens)
    a, c = weights.data, coverages.data
    assert abs(a - c)[(a > 0) | (c > 0)].min() > 1e-3  # no kink of min(a, c) is near
    module = ContextsAndLoss(bias=bias)
    result = mg.gradcheck_module(module, *arrays, valid_lens)
    assert result.ok, result


def test_step_by_step_equals_one_call():
    results = []
    for whole in True, False:
        module = layer()
        leaves = [Tensor(a, requires_grad=True) for a in example()]
        queries, keys, values = leaves
        if whole:
            contexts, weights, coverages = module(queries, keys, values, [5, 3])
        else:
            projected, coverage, steps = module.precompute(keys), None, []
            for t in range(L):
                context, weight = module.step(
                    queries[:, t], projected, values, coverage, [5, 3]
                )
                before = weight * 0.0 if coverage is None else coverage
                steps.append((context, weight, before))
                coverage = before + weight
            contexts, weights, coverages = (mg.stack(x, 1) for x in zip(*steps))
        loss = coverage_loss(weights, coverages)
        (loss + (contexts * contexts).sum()).backward()
        grads = [x.grad for x in (*leaves, *module.parameters())]
        results.append([contexts.data, weights.data, coverages.data, loss.data, *grads])
    for a, b in zip(*results):
        np.testing.assert_allclose(a, b, **close)


def test_keys_are_projected_once(monkeypatch):
    module, count = layer(), []
    project = module.project
    monkeypatch.setattr(module, "project", lambda k: count.append(1) or project(k))
    module(*example())
    assert len(count) == 1


def test_with_w_c_0_it_is_additive_attention():
    trained = AdditiveAttention(Dq, Dk, A, rng=np.random.default_rng(5))
    module = CoverageAttention(Dq, Dk, A)
    missing, unexpected = module.load_state_dict(trained.state_dict(), strict=False)
    assert (missing, unexpected) == (["w_c"], [])
    arrays = example(dtype=np.float32)
    contexts, weights, _ = module(*arrays, [5, 3])
    expected = trained(*arrays, [5, 3])
    # float32: the same products in another grouping
    np.testing.assert_allclose(contexts.data, expected.data, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        weights.data, trained.attention_weights.data, rtol=1e-5, atol=1e-6
    )
    contexts.backward(draw(contexts.shape, seed=9)[0])
    assert abs(module.w_c.grad).max() > 1e-3  # it can be learned


def test_leading_axes():
    module, arrays = layer(), draw((B, 3, L, Dq), (B, 3, S, Dk), (B, 3, S, Ev))
    found = module(*arrays)
    for a, b in zip(found, module(*(x[0, 1] for x in arrays))):
        np.testing.assert_allclose(a.data[0, 1], b.data, **close)


def test_float32_stays_float32():
    module = layer(np.float32, bias=True)
    leaves = [Tensor(a, requires_grad=True) for a in example(dtype=np.float32)]
    found = module(*leaves, [5, 3])
    loss = coverage_loss(*found[1:], [4, 2])
    assert {x.dtype for x in (*found, loss)} == {np.dtype(np.float32)}
    ((found[0] * found[0]).sum() + loss).backward()
    for leaf in (*leaves, *module.parameters()):
        assert leaf.grad.dtype == np.float32


def test_dropout_changes_contexts_but_not_coverage():
    module = layer(dropout=0.5)
    plain = module.eval()(*example(), [5, 3])
    dropped = module.train()(*example(), [5, 3])
    for a, b in zip(plain[1:], dropped[1:]):
        np.testing.assert_allclose(a.data, b.data, **close)
    assert (plain[0].data != dropped[0].data).any()


def test_parameters_and_representation():
    shapes = {n: p.shape for n, p in layer(bias=True).named_parameters()}
    matrices = {"W_q": (A, Dq), "W_k": (A, Dk)}
    assert shapes == matrices | {"w_v": (A,), "w_c": (A,), "b": (A,)}
    fresh = CoverageAttention(Dq, Dk, A)
    assert (fresh.w_c.data == 0).all() and fresh.b is None
    assert repr(fresh) == "CoverageAttention(3, 7, 6, dropout=0.0)"


# the loss


def loss_by_loops(weights, coverages, counts):
    """Return the mean over the counted steps, then over the examples."""
    losses = []
    for b in range(len(weights)):
        steps = [
            sum(min(a, c) for a, c in zip(weights[b, t], coverages[b, t]))
            for t in range(len(counts[b]))
            if counts[b][t]
        ]
        losses.append(sum(steps) / len(steps) if steps else 0.0)
    return sum(losses) / len(losses)


@pytest.mark.parametrize(
    "options, counts",
    [
        ({}, [[1, 1, 1, 1], [1, 1, 1, 1]]),
        ({"target_lens": [4, 2]}, [[1, 1, 1, 1], [1, 1, 0, 0]]),
        ({"target_lens": [0, 3]}, [[0, 0, 0, 0], [1, 1, 1, 0]]),
    ],
)
def test_loss_definition(options, counts):
    _, weights, coverages = by_loops(layer(), *example(), [5, 3])
    expected = loss_by_loops(weights, coverages, counts)
    loss = coverage_loss(weights, coverages, **options)
    assert loss.shape == ()
    np.testing.assert_allclose(loss.item(), expected, **close)
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
