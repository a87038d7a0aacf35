"""The template gives what texts, torch and its other scores say it should."""

import numpy as np
import pytest

from attention.attend import attend
from attention.scores import additive, concat, dot, general, scaled_dot
from minigrad import Tensor

from ..minigrad.array_cases import draw
from .attend_cases import A, B, Dk, Dq, Ev, L, S, close, example


def test_the_shapes_of_the_page():
    """Scoring functions, the two demos: a batch of two with one query each."""
    queries, keys, values = draw((2, 1, 2), (2, 10, 2), (2, 10, 4))
    context, weights = attend(queries, keys, values, valid_lens=np.array([2, 6]))
    assert context.shape == (2, 1, 4) and weights.shape == (2, 1, 10)
    np.testing.assert_array_equal((weights.data > 0).sum(-1), [[2], [6]])
    W_q, W_k, w_v = draw((8, 20), (8, 2), (8,))
    context, weights = attend(
        draw((2, 1, 20))[0],
        keys,
        values,
        lambda q, k: additive(q, k, W_q, W_k, w_v),
        valid_lens=np.array([2, 6]),
    )
    assert context.shape == (2, 1, 4) and weights.shape == (2, 1, 10)
    np.testing.assert_array_equal((weights.data > 0).sum(-1), [[2], [6]])


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


def test_additive_is_concat_with_its_matrix_sliced():
    query, keys, values, _ = example("additive")
    W_a, v_a = draw((A, Dq + Dk), (A,), seed=1)
    got = []
    for score in (
        lambda q, k, W, v: concat(q, k, W, v),
        lambda q, k, W, v: additive(q, k, W[:, :Dq], W[:, Dq:], v),
    ):
        leaves = [
            Tensor(a, requires_grad=True) for a in (query, keys, values, W_a, v_a)
        ]
        q, k, x, W, v = leaves
        context, _ = attend(q, k, x, lambda q, k: score(q, k, W, v), valid_lens=[2, 5])
        context.backward(draw((B, L, Ev), seed=9)[0])
        got.append([context.data, *(leaf.grad for leaf in leaves)])
    for a, b in zip(*got):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)


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


def test_names_of_scores():
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
