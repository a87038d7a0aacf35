"""Coverage is its definition in loops, and back through time by hand."""

import numpy as np
import pytest

import minigrad as mg
from attention.variants.coverage import coverage_loss
from minigrad import Tensor

from ...minigrad.array_cases import draw
from .coverage_cases import B, Ev, L, S, by_loops, close, example, layer

LENS = [None, [5, 3], [[5, 2, 0, 1], [3, 0, 4, 4]]]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("valid_lens", LENS)
def test_the_layer_is_its_definition(valid_lens, bias):
    module, arrays = layer(bias=bias), example()
    found = module(*arrays, valid_lens)
    lengths = [S, S] if valid_lens is None else valid_lens
    for a, b in zip(found, by_loops(module, *arrays, lengths)):
        np.testing.assert_allclose(a.data, b, **close)
    np.testing.assert_array_equal(module.attention_weights.data, found[1].data)
    allowed = np.arange(S) < np.reshape(lengths, (B, -1, 1))
    assert (found[1].data[~np.broadcast_to(allowed, (B, L, S))] == 0).all()


def test_the_sum_excludes_the_present_step():
    _, weights, coverages = layer()(*example(), [5, 3])
    a, c = weights.data, coverages.data
    assert (c[:, 0] == 0).all()
    np.testing.assert_allclose(c, a.cumsum(1) - a, **close)
    np.testing.assert_allclose(c.sum(-1), np.arange(L) * np.ones((B, 1)), **close)


def everything(module, *arrays):
    """Contexts and the loss, so that the gradient goes all ways."""
    contexts, weights, coverages = module(*arrays)
    return contexts, coverage_loss(weights, coverages, [4, 2])


class Everything(mg.nn.Module):
    def __init__(self, **options):
        self.layer = layer(**options)

    def forward(self, *arrays):
        return everything(self.layer, *arrays)


def test_no_tie_is_near_where_gradients_are_checked():
    for valid_lens in LENS:
        _, weights, coverages = layer()(*example(), valid_lens)
        a, c = weights.data, coverages.data
        assert abs(a - c)[(a > 0) | (c > 0)].min() > 1e-3


@pytest.mark.parametrize("valid_lens", LENS)
def test_gradients_into_parameters_and_inputs(valid_lens):
    result = mg.gradcheck_module(Everything(), *example(), valid_lens)
    assert result.ok, result


def test_gradients_with_a_bias():
    result = mg.gradcheck_module(Everything(bias=True), *example(), [5, 3])
    assert result.ok, result


def test_the_gradient_of_weights_and_of_coverages_as_outputs():
    module, arrays = layer(), example()
    for output in 1, 2:
        queries, keys, values = arrays
        assert mg.gradcheck(
            lambda q, k: module(q, k, values)[output], [queries, keys]
        ).ok


def test_back_through_time_by_hand():
    """The recursion on the page of the specification: C^t = dL/dc^t, from the end."""
    module, arrays = layer(bias=True), example()
    queries, keys, values = arrays
    (g,) = draw((B, L, Ev), seed=9)
    leaves = [Tensor(a, requires_grad=True) for a in arrays]
    contexts, weights, coverages = module(*leaves, [5, 3])
    loss = coverage_loss(weights, coverages, [4, 2])
    ((contexts * Tensor(g)).sum() + loss).backward()

    names = "W_q", "W_k", "w_v", "w_c", "b"
    W_q, W_k, w_v, w_c, b_attn = (getattr(module, n).data for n in names)
    a, c, lengths, steps = weights.data, coverages.data, [5, 3], [4, 2]
    dq, dk, dv = map(np.zeros_like, arrays)
    dW_q, dW_k, dw_v, dw_c, db = map(np.zeros_like, (W_q, W_k, w_v, w_c, b_attn))
    for b in range(B):
        n = lengths[b]
        C = np.zeros(n)  # dL/dc^{t+1}
        for t in reversed(range(L)):
            k, a_t, c_t = keys[b, :n], a[b, t, :n], c[b, t, :n]
            share = 1 / (steps[b] * B) if t < steps[b] else 0
            u = np.tanh(queries[b, t] @ W_q.T + k @ W_k.T + np.outer(c_t, w_c) + b_attn)
            da = values[b, :n] @ g[b, t] + C + share * (a_t < c_t)
            de = a_t * (da - (a_t * da).sum())
            dz = np.outer(de, w_v) * (1 - u**2)  # (n, A)
            dv[b, :n] += np.outer(a_t, g[b, t])
            dw_v += de @ u
            dw_c += c_t @ dz
            db += dz.sum(0)
            dW_q += np.outer(dz.sum(0), queries[b, t])
            dW_k += dz.T @ k
            dq[b, t] += dz.sum(0) @ W_q
            dk[b, :n] += dz @ W_k
            C = C + share * (c_t <= a_t) + dz @ w_c
    by_hand = dq, dk, dv, dW_q, dW_k, dw_v, dw_c, db
    for leaf, d in zip((*leaves, *(getattr(module, n) for n in names)), by_hand):
        np.testing.assert_allclose(leaf.grad, d, **close)
