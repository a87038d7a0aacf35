"""Coverage counts step by step, forbids, and lets no padding or later query in."""

import numpy as np
import pytest

import minigrad as mg
from attention.layers import AdditiveAttention
from attention.variants.coverage import CoverageAttention, coverage_loss
from minigrad import Tensor

from ...minigrad.array_cases import draw
from .coverage_cases import A, B, Dk, Dq, Ev, L, S, close, example, layer


def test_step_by_step_is_the_whole_sequence():
    """With the keys projected once, and gradients that come back from every step."""
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


def test_the_keys_are_projected_once_for_all_steps(monkeypatch):
    module, count = layer(), []
    project = module.project
    monkeypatch.setattr(module, "project", lambda k: count.append(1) or project(k))
    module(*example())
    assert len(count) == 1


def test_without_coverage_it_is_the_additive_score():
    """And so a trained AdditiveAttention can go on with coverage, from w_c = 0."""
    trained = AdditiveAttention(Dq, Dk, A, rng=np.random.default_rng(5))
    module = CoverageAttention(Dq, Dk, A)
    missing, unexpected = module.load_state_dict(trained.state_dict(), strict=False)
    assert (missing, unexpected) == (["w_c"], [])
    arrays = example(dtype=np.float32)
    contexts, weights, _ = module(*arrays, [5, 3])
    expected = trained(*arrays, [5, 3])
    # float32: the same products, gathered differently
    np.testing.assert_allclose(contexts.data, expected.data, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        weights.data, trained.attention_weights.data, rtol=1e-5, atol=1e-6
    )
    contexts.backward(draw(contexts.shape, seed=9)[0])
    assert abs(module.w_c.grad).max() > 1e-3  # 0 is where it starts, not where it stays


def test_coverage_can_forbid_to_look_twice():
    """With a score that falls with coverage, each key is looked at in its turn."""
    module = CoverageAttention(1, 1, 1)
    for name, value in {"W_q": [[0]], "W_k": [[1]], "w_v": [60], "w_c": [-2]}.items():
        parameter = getattr(module, name)
        parameter.data = np.array(value, np.float64)
    keys = np.array([[[0.3], [0.9], [0.6]]])
    queries = np.zeros((1, 3, 1))
    _, weights, coverages = module(queries, keys, keys)
    np.testing.assert_array_equal(weights.data[0].argmax(-1), [1, 2, 0])
    assert coverage_loss(weights, coverages).item() < 0.01
    module.w_c.data = np.zeros(1)  # without it, the largest key again and again
    _, weights, coverages = module(queries, keys, keys)
    np.testing.assert_array_equal(weights.data[0].argmax(-1), [1, 1, 1])
    # 0 in the first of the three steps, and 1, nearly, in the others
    assert abs(coverage_loss(weights, coverages).item() - 2 / 3) < 0.01


def test_no_step_knows_of_later_queries():
    module, (queries, keys, values) = layer(), example()
    before = module(queries, keys, values, [5, 3])
    changed = queries.copy()
    changed[:, 2:] += 10
    after = module(changed, keys, values, [5, 3])
    for a, b in zip(before, after):
        np.testing.assert_array_equal(a.data[:, :2], b.data[:, :2])
    assert (before[2].data[:, 3] != after[2].data[:, 3]).any()  # but of earlier ones


def test_padding_has_no_influence():
    def run(filling=None):
        module, (queries, keys, values) = layer(), example()
        if filling is not None:
            keys[1, 3:] = values[1, 3:] = filling
        leaves = [Tensor(a, requires_grad=True) for a in (queries, keys, values)]
        contexts, weights, coverages = module(*leaves, [5, 3])
        ((contexts * contexts).sum() + coverage_loss(weights, coverages)).backward()
        grads = [x.grad for x in (*leaves, *module.parameters())]
        return [contexts.data, weights.data, coverages.data, *grads]

    clean = run()
    assert all(np.isfinite(a).all() for a in clean)
    assert (clean[4][1, 3:] == 0).all() and (clean[5][1, 3:] == 0).all()
    for a, b in zip(clean, run(7.0)):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("b, n_queries, n_keys", [(0, L, S), (B, 0, S), (B, L, 0)])
def test_nothing_at_all(b, n_queries, n_keys):
    module = layer()
    arrays = draw((b, n_queries, Dq), (b, n_keys, Dk), (b, n_keys, Ev))
    leaves = [Tensor(a, requires_grad=True) for a in arrays]
    contexts, weights, coverages = module(*leaves, np.zeros(b, int))
    assert contexts.shape == (b, n_queries, Ev) and (contexts.data == 0).all()
    assert weights.shape == coverages.shape == (b, n_queries, n_keys)
    assert coverage_loss(weights, coverages).item() == 0
    contexts.backward(np.ones(contexts.shape))
    assert all((leaf.grad == 0).all() for leaf in leaves)


def test_one_key_is_looked_at_again_and_again():
    queries, keys, values = example()
    module = layer()
    _, weights, coverages = module(queries, keys[:, :1], values[:, :1])
    np.testing.assert_array_equal(weights.data, 1)
    np.testing.assert_array_equal(coverages.data[0, :, 0], range(L))
    assert coverage_loss(weights, coverages).item() == (L - 1) / L


def test_leading_axes():
    module, arrays = layer(), draw((B, 3, L, Dq), (B, 3, S, Dk), (B, 3, S, Ev))
    found = module(*arrays)
    for h in range(3):
        for a, b in zip(found, module(*(x[:, h] for x in arrays))):
            np.testing.assert_allclose(a.data[:, h], b.data, **close)
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


def test_dropout_is_in_the_contexts_alone():
    """Coverage counts the weights before dropout."""
    module = layer(dropout=0.5)
    plain = module.eval()(*example(), [5, 3])
    dropped = module.train()(*example(), [5, 3])
    for a, b in zip(plain[1:], dropped[1:]):
        np.testing.assert_array_equal(a.data, b.data)
    assert (plain[0].data != dropped[0].data).any()


def test_parameters():
    shapes = {n: p.shape for n, p in layer(bias=True).named_parameters()}
    assert shapes == {
        "W_q": (A, Dq),
        "W_k": (A, Dk),
        "w_v": (A,),
        "w_c": (A,),
        "b": (A,),
    }
    fresh = CoverageAttention(Dq, Dk, A)
    assert (fresh.w_c.data == 0).all() and fresh.b is None
    assert repr(fresh) == "CoverageAttention(3, 7, 6, dropout=0.0)"
    assert (
        repr(layer(bias=True)) == "CoverageAttention(3, 7, 6, dropout=0.0, bias=True)"
    )
