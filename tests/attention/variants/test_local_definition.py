"""Local attention is its definition in loops, in values and in gradients."""

import math

import numpy as np
import pytest

import minigrad as mg
from attention.layers import AdditiveAttention, DotProductAttention, GeneralAttention
from attention.variants.local import LocalAttention
from minigrad import Tensor

from ...minigrad.array_cases import draw
from .local_cases import KINDS, B, Ev, L, S, close, example, layer


def general(q, k, W_a):
    return sum(q[a] * W_a[a, b] * k[b] for a in range(len(q)) for b in range(len(k)))


def in_the_window(p, D, length):
    return [s for s in range(length) if p - D <= s <= p + D]


def by_loops(query, keys, values, length, p, D, score, gaussian, renormalize=False):
    """One query: align over the window, times the Gaussian, and the sum."""
    window = in_the_window(p, D, length)
    total = sum(math.exp(score(query, keys[s])) for s in window)
    weights, context = np.zeros(len(keys)), np.zeros(values.shape[1])
    for s in window:
        weights[s] = math.exp(score(query, keys[s])) / total
        if gaussian:
            weights[s] *= math.exp(-((s - p) ** 2) / (2 * (D / 2) ** 2))
    if renormalize and window:
        weights /= weights.sum()
    for s in window:
        context += weights[s] * values[s]
    return context, weights


def predicted(query, length, W_p, v_p):
    """p_t = S sigmoid(v_p . tanh(W_p q))"""
    z = sum(v_p[a] * math.tanh(W_p[a] @ query) for a in range(len(v_p)))
    return length / (1 + math.exp(-z))


def whole_by_loops(module, arrays, lengths):
    """All examples and queries; lengths (B,) or (B, L)."""
    queries, keys, values = arrays
    context = np.zeros((*queries.shape[:2], values.shape[2]))
    weights = np.zeros((*queries.shape[:2], keys.shape[1]))
    W_a = module.score.W_a.data
    lengths = np.reshape(lengths, (len(queries), -1))  # (B, 1) or (B, L)
    for b, t in np.ndindex(queries.shape[:2]):
        length = int(np.broadcast_to(lengths, queries.shape[:2])[b, t])
        if module.kind == "p":
            p = predicted(queries[b, t], length, module.W_p.data, module.v_p.data)
        else:
            p = t if module.centre is None else module.centre(t, length)
        context[b, t], weights[b, t] = by_loops(
            queries[b, t], keys[b], values[b], length, p, module.D,
            lambda q, k: general(q, k, W_a), module.kind == "p", module.renormalize,
        )  # fmt: skip
    return context, weights


LENS = [None, [9, 5], [1, 0], [[9, 4, 1, 0], [2, 9, 3, 7]]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("valid_lens", LENS)
def test_the_layer_is_its_definition(kind, valid_lens):
    module, arrays = layer(**KINDS[kind]), example()
    context = module(*arrays, valid_lens)
    c, w = whole_by_loops(module, arrays, [S, S] if valid_lens is None else valid_lens)
    np.testing.assert_allclose(module.attention_weights.data, w, **close)
    np.testing.assert_allclose(context.data, c, **close)
    assert (module.attention_weights.data[w == 0] == 0).all()  # exactly
    assert (context.data[(w == 0).all(-1)] == 0).all()


def mid_cell(module, queries, lengths):
    """Whether no bound of a window is near a key: there the values jump."""
    W_p, v_p = module.W_p.data, module.v_p.data
    p = [
        predicted(queries[b, t], lengths[b], W_p, v_p) % 1
        for b, t in np.ndindex(queries.shape[:2])
    ]
    return 0.1 < min(p) and max(p) < 0.9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", [[S, S], [9, 5]])
def test_gradients_into_parameters_and_inputs(kind, lengths):
    module, arrays = layer(**KINDS[kind]), example(seed=42)
    if module.kind == "p":  # then a small step crosses none
        assert mid_cell(module, arrays[0], lengths)
    result = mg.gradcheck_module(
        module, *arrays, lengths, no_gradient=("score.W_a", "0", "1") * (module.D == 0)
    )
    assert result.ok, result


@pytest.mark.parametrize("score", ["dot", "concat", "additive", "scaled", "general"])
@pytest.mark.parametrize("kind", ["m", "p"])
def test_gradients_with_other_scores(kind, score):
    make = {
        "dot": lambda: "dot",
        "concat": lambda: "concat",
        "additive": lambda: AdditiveAttention(4, 4, 7, rng=np.random.default_rng(3)),
        "scaled": lambda: DotProductAttention(),
        "general": lambda: GeneralAttention(4, 4, rng=np.random.default_rng(3)),
    }[score]
    module = LocalAttention(4, 4, 2, kind, make(), rng=np.random.default_rng(0))
    arrays = draw((B, L, 4), (B, S, 4), (B, S, Ev))
    assert mg.gradcheck_module(module, *arrays, [9, 5]).ok


def test_the_gradients_of_local_p_are_those_on_the_page():
    """By hand, for each query: dG, dalign, ds and dp as the formulas have them."""
    module, arrays = layer(D=3, kind="p"), example()
    (g,) = draw((B, L, Ev), seed=9)
    lengths = [9, 5]
    leaves = [Tensor(a, requires_grad=True) for a in arrays]
    module(*leaves, lengths).backward(g)

    (queries, keys, values), D, sigma = arrays, 3, 3 / 2
    W_a, W_p, v_p = (p.data for p in (module.score.W_a, module.W_p, module.v_p))
    dq, dk, dv, dW_a, dW_p, dv_p = map(np.zeros_like, (*arrays, W_a, W_p, v_p))
    for b, t in np.ndindex(B, L):
        q, length = queries[b, t], lengths[b]
        y = np.tanh(W_p @ q)
        p = length / (1 + np.exp(-v_p @ y))
        s = np.array(in_the_window(p, D, length))
        e = np.exp(keys[b, s] @ W_a.T @ q)
        align, gaussian = e / e.sum(), np.exp(-((s - p) ** 2) / (2 * sigma**2))
        da = values[b, s] @ g[b, t]
        dv[b, s] += np.outer(align * gaussian, g[b, t])
        dG, dalign = da * align, da * gaussian
        ds = align * (dalign - (align * dalign).sum())
        dp = (dG * gaussian * (s - p)).sum() / sigma**2
        dz = dp * p * (1 - p / length)
        dy = dz * v_p * (1 - y**2)
        dv_p += dz * y
        dW_p += np.outer(dy, q)
        dq[b, t] += W_p.T @ dy + W_a @ (ds @ keys[b, s])
        dk[b, s] += np.outer(ds, W_a.T @ q)
        dW_a += np.outer(q, ds @ keys[b, s])
    found = (*leaves, module.score.W_a, module.W_p, module.v_p)
    for leaf, d in zip(found, (dq, dk, dv, dW_a, dW_p, dv_p)):
        np.testing.assert_allclose(leaf.grad, d, **close)


def test_only_the_gaussian_leads_to_the_centre():
    """Where all values are alike, and weights are normalised last, no p is better."""
    module, (queries, keys, values) = layer(kind="p"), example()
    same = np.broadcast_to(values[:, :1], values.shape)
    for renormalize in False, True:
        module.renormalize = renormalize
        module.zero_grad()
        module(queries, keys, same).backward(draw((B, L, Ev), seed=9)[0])
        if renormalize:
            np.testing.assert_allclose(module.W_p.grad, 0, atol=1e-14)
        else:
            assert abs(module.W_p.grad).max() > 0.1


def test_weights_of_local_p_sum_to_less_than_1_unless_renormalized():
    arrays = example()
    for renormalize in False, True:
        module = layer(kind="p", renormalize=renormalize)
        module(*arrays, [9, 5])
        sums = module.attention_weights.data.sum(-1)
        if renormalize:
            np.testing.assert_allclose(sums, 1, rtol=1e-12)
        else:
            assert (sums < 0.99).all()
    module = layer()
    module(*arrays, [9, 5])
    np.testing.assert_allclose(module.attention_weights.data.sum(-1), 1, rtol=1e-12)
