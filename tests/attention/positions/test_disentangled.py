"""DeBERTa's disentangled score equals its loops; its gradients."""

import math

import numpy as np
import pytest

import minigrad as mg
from attention.attend import attend
from attention.positions import disentangled_scores
from attention.scores import dot
from attention.softmax import masked_softmax
from minigrad import Tensor

SIZES = [(5, 7), (7, 5), (5, 5), (1, 7), (7, 1), (1, 1)]
every_size = pytest.mark.parametrize("L, S", SIZES)
both_alignments = pytest.mark.parametrize("align", ["upper_left", "lower_right"])
CLOSE = {"rtol": 0, "atol": 1e-13}  # a few roundings of sums of order one


def disentangled_by_loops(q, k, q_r, k_r, align="upper_left", scale=None):
    (L, D), S, span = q.shape, len(k), len(k_r) // 2

    def d(i, j):
        return min(max(i - j + span, 0), 2 * span - 1)

    s = np.zeros((L, S))
    for row in range(L):
        for j in range(S):
            i = row + S - L if align == "lower_right" else row
            s[row, j] = q[row] @ k[j] + q[row] @ k_r[d(i, j)] + k[j] @ q_r[d(j, i)]
    return s * (1 / math.sqrt(3 * D) if scale is None else scale)


def deberta(L, S, D=3, span=2, leading=(), tables=()):
    shapes = (*leading, L, D), (*leading, S, D), (*tables, 2 * span, D)
    return [
        np.random.default_rng(n).normal(size=s)
        for n, s in enumerate([*shapes, shapes[-1]])
    ]


@every_size
@both_alignments
@pytest.mark.parametrize("span", [1, 2, 9])
def test_disentangled_scores_by_loops(L, S, align, span):
    arrays = deberta(L, S, span=span)
    found = disentangled_scores(*arrays, causal_align=align).data
    np.testing.assert_allclose(found, disentangled_by_loops(*arrays, align), **CLOSE)
    found = disentangled_scores(*arrays, 0.5, align).data
    by_loops = disentangled_by_loops(*arrays, align, 0.5)
    np.testing.assert_allclose(found, by_loops, **CLOSE)


def test_disentangled_scores_of_batches_and_heads():
    """(B, H, L, D) with one table a head."""
    q, k, q_r, k_r = deberta(5, 7, leading=(2, 3), tables=(3,))
    found = disentangled_scores(q, k, q_r, k_r).data
    for b in range(2):
        for h in range(3):
            expected = disentangled_by_loops(q[b, h], k[b, h], q_r[h], k_r[h])
            np.testing.assert_allclose(found[b, h], expected, **CLOSE)


@every_size
@both_alignments
def test_disentangled_gradcheck(L, S, align):
    result = mg.gradcheck(
        lambda *t: disentangled_scores(*t, causal_align=align),
        deberta(L, S, leading=(2, 3), tables=(3,)),
    )
    assert result.ok, result


def test_disentangled_with_tables_of_0_is_the_dot_product():
    q, k, q_r, k_r = deberta(5, 7)
    found = disentangled_scores(q, k, 0 * q_r, 0 * k_r).data
    np.testing.assert_allclose(found, dot(q, k).data / 3, **CLOSE)  # D = 3


def test_disentangled_as_the_score_of_attention():
    q, k, q_r, k_r = deberta(5, 7, leading=(2,))
    v = np.random.default_rng(9).normal(size=(2, 7, 4))
    context, weights = attend(q, k, v, lambda q, k: disentangled_scores(q, k, q_r, k_r))
    s = disentangled_scores(q, k, q_r, k_r)
    np.testing.assert_array_equal(weights.data, masked_softmax(s).data)


def test_disentangled_keeps_float32_and_allows_empty_arrays():
    arrays = [Tensor(x.astype(np.float32), requires_grad=True) for x in deberta(5, 7)]
    s = disentangled_scores(*arrays)
    s.backward(np.ones((5, 7)))
    assert s.dtype == np.float32
    assert all(x.grad.dtype == np.float32 for x in arrays)
    for L, S in (0, 5), (5, 0), (0, 0):
        assert disentangled_scores(*deberta(L, S)).shape == (L, S)
