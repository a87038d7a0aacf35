"""The entropy of attention is a loop over its rows, which must sum to one."""

import math

import numpy as np
import pytest

import minigrad as mg
from attention.seq2seq.metrics import (
    alignment_error_rate,
    attention_entropy,
    mean_attention_entropy,
    renormalized,
)


def test_entropy_by_a_loop():
    rng = np.random.default_rng(1)
    w = rng.dirichlet(np.ones(5), (3, 2, 4))  # (B, H, L, S)
    lengths, targets = [5, 3, 1], [4, 2, 0]
    H, kept = attention_entropy(w, lengths), []
    assert H.shape == (3, 2, 4)
    for b, h, t in np.ndindex(H.shape):
        row = w[b, h, t, : lengths[b]]
        wanted = -sum(x * math.log(x) for x in row / row.sum())
        assert H[b, h, t] == pytest.approx(wanted, abs=1e-12)
        if t < targets[b]:
            kept.append(wanted)
    assert mean_attention_entropy(w, lengths, targets) == pytest.approx(np.mean(kept))
    assert mean_attention_entropy(w) == pytest.approx(attention_entropy(w).mean())


@pytest.mark.filterwarnings("error")
def test_entropy_of_one_of_all_and_of_none():
    w = np.array([[1, 0, 0, 0], [0.25] * 4, [0.5, 0.5, 0, 0], [0] * 4])
    H = attention_entropy(w)
    assert H == pytest.approx([0, math.log(4), math.log(2), 0]) and not np.signbit(H[0])
    assert mean_attention_entropy(w) == pytest.approx((math.log(4) + math.log(2)) / 3)
    # all that the last row looks at is padding
    w = np.array([[[0.5, 0.25, 0.25], [0, 0, 1]]])
    assert attention_entropy(w, [2])[0, 1] == 0
    wanted = -(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3))
    assert mean_attention_entropy(w, [2]) == pytest.approx(wanted)


def test_entropy_of_half_precision_and_of_a_tensor():
    w = np.random.default_rng(1).dirichlet(np.ones(50), 20)
    wanted = attention_entropy(w)
    for half in (w.astype(np.float16), mg.Tensor(w.astype(np.float32))):
        assert attention_entropy(half) == pytest.approx(wanted, rel=1e-2)


def test_rows_that_sum_to_less_than_one_by_design():
    """As of local-p: a Gaussian stands upon the softmax."""
    p = np.random.default_rng(2).dirichlet(np.ones(6), (3, 4))
    w = p * np.linspace(0.2, 0.9, 4)[:, None]
    w[0, 0] = 0
    with pytest.raises(
        ValueError, match=r"renormalized\(weights\) brings those of loc"
    ):
        attention_entropy(w)
    p[0, 0] = 0
    np.testing.assert_allclose(renormalized(w), p, atol=1e-15)
    assert attention_entropy(renormalized(mg.Tensor(w))) == pytest.approx(
        attention_entropy(p)
    )
    gold = {(1, 1), (2, 3)}
    assert alignment_error_rate(renormalized(w[1]), gold) == pytest.approx(
        alignment_error_rate(p[1], gold)
    )
    for scores in p * 2, p - 0.5:  # they are no weights
        with pytest.raises(ValueError, match="renormalized: row .* of the weights "):
            renormalized(scores)
