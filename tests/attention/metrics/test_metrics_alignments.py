"""Accuracies, alignment error rates and entropies equal hand counts and loops."""

import itertools
import math

import numpy as np
import pytest

import minigrad as mg
from attention.metrics import (
    alignment_error_rate,
    attention_entropy,
    corpus_alignment_error_rate,
    diagonal_baseline,
    exact_match,
    renormalized,
    token_accuracy,
    uniform_baseline,
)
from attention.metrics.alignment import diagonal_links, links


def test_accuracy_and_exact_match():
    target = np.array([[5, 6, 2, 0], [7, 2, 0, 0], [5, 6, 7, 2]])
    decoded = np.array([[5, 6, 2, 9], [7, 9, 9, 9], [5, 9, 7, 2]])
    assert token_accuracy(decoded, target) == 7 / 9
    assert exact_match(decoded, target) == 1 / 3
    assert token_accuracy(target, target) == exact_match(target, target) == 1
    # missing tokens are wrong; tokens beyond the target do not count
    assert token_accuracy(decoded[:, :2], target) == 4 / 9
    assert exact_match(decoded[:, :2], target) == 0
    wide = np.concatenate([decoded, decoded], axis=1)
    assert token_accuracy(wide, target) == 7 / 9


def one_hot(sources, S):
    return np.eye(S)[list(sources)]


def test_alignment_error_rate_by_hand():
    w = one_hot([0, 2, 1, 3], 5) * 0.6 + 0.08
    assert links(w) == {(0, 0), (1, 2), (2, 1), (3, 3)}
    gold = {(0, 0), (1, 2), (2, 1), (3, 3)}
    assert alignment_error_rate(w, gold) == 0
    assert alignment_error_rate(w, {(0, 1), (1, 0)}) == 1
    # 2 of 4 found links are right, and 2 of 3 gold ones found
    gold = {(0, 0), (1, 2), (2, 4)}
    assert alignment_error_rate(w, gold) == pytest.approx(1 - 4 / 7)
    # (3, 3) is allowed now: 2 sure and 3 possible ones
    assert alignment_error_rate(w, gold, {(3, 3), (3, 4)}) == pytest.approx(1 - 5 / 7)
    # the possible links include the sure ones
    assert alignment_error_rate(w, gold, gold | {(3, 3)}) == pytest.approx(1 - 5 / 7)
    assert alignment_error_rate(w, set(), {(0, 0)}) == pytest.approx(1 - 1 / 4)


def test_ties_and_rows_of_nothing():
    w = np.array([[0.5, 0.5, 0], [0, 0, 0], [0.2, 0.4, 0.4]])
    assert links(w) == {(0, 0), (2, 1)}
    assert alignment_error_rate(w, {(0, 0), (2, 1)}) == 0


def test_of_many_sentences_the_counts_are_summed():
    a, b = one_hot([0], 3), one_hot([0, 1, 2, 2], 3)
    golds = {(0, 1)}, {(0, 0), (1, 1), (2, 2)}
    rates = [alignment_error_rate(w, g) for w, g in zip((a, b), golds)]
    assert rates == [1, pytest.approx(1 - 6 / 7)]
    assert corpus_alignment_error_rate([a, b], golds) == pytest.approx(1 - 6 / 9)
    found = corpus_alignment_error_rate([a, b], golds, [{(0, 0)}, None])
    assert found == pytest.approx(1 - 7 / 9)


def test_baselines():
    assert diagonal_links(3, 5) == {(0, 0), (1, 2), (2, 4)}
    assert diagonal_links(1, 5) == {(0, 0)} and diagonal_links(0, 5) == set()
    gold = {(0, 0), (1, 1), (2, 3), (3, 2)}
    assert diagonal_baseline(4, 4, gold) == pytest.approx(1 - 4 / 8)
    assert diagonal_baseline(4, 4, {(t, t) for t in range(4)}) == 0
    # every way to guess, 4^3 of them, in the mean
    sure, possible = {(0, 0), (2, 1)}, {(2, 2)}
    rates = [
        alignment_error_rate(one_hot(guess, 4), sure, possible)
        for guess in itertools.product(range(4), repeat=3)
    ]
    assert uniform_baseline(3, 4, sure, possible) == pytest.approx(np.mean(rates))


@pytest.mark.filterwarnings("error")
def test_entropy_by_a_loop():
    w = np.random.default_rng(1).dirichlet(np.ones(5), (3, 2, 4))  # (B, H, L, S)
    H = attention_entropy(w)
    assert H.shape == (3, 2, 4)
    for i in np.ndindex(H.shape):
        assert H[i] == pytest.approx(-sum(x * math.log(x) for x in w[i]), abs=1e-12)
    w = np.array([[1, 0, 0, 0], [0.25] * 4, [0.5, 0.5, 0, 0], [0] * 4])
    H = attention_entropy(w)
    assert H == pytest.approx([0, math.log(4), math.log(2), 0]) and not np.signbit(H[0])


def test_rows_that_sum_to_less_than_one_by_design():
    """Local-p multiplies its softmax by a Gaussian."""
    p = np.random.default_rng(2).dirichlet(np.ones(6), (3, 4))
    w = p * np.linspace(0.2, 0.9, 4)[:, None]
    w[0, 0] = 0
    p[0, 0] = 0
    np.testing.assert_allclose(renormalized(w), p, atol=1e-15)
    assert attention_entropy(renormalized(mg.Tensor(w))) == pytest.approx(
        attention_entropy(p)
    )
    gold = {(1, 1), (2, 3)}
    assert alignment_error_rate(renormalized(w[1]), gold) == pytest.approx(
        alignment_error_rate(p[1], gold)
    )
