"""Patterns of attention: constructed matrices, and the rules by plain loops."""

import itertools

import numpy as np
import pytest

from lessons.instrument.patterns import (
    alignment_pattern,
    self_attention_excess,
    self_attention_pattern,
)


def shape(allowed, sharpness=0.9):
    """Rows spread over what is allowed, and a little over all."""
    allowed = np.asarray(allowed, float)
    inside = allowed / allowed.sum(1, keepdims=True)
    return inside * sharpness + (1 - sharpness) / allowed.shape[1]


def distance(T):
    return np.abs(np.arange(T)[:, None] - np.arange(T))


def blocks(*sizes):
    """True within runs of these sizes."""
    number = np.repeat(np.arange(len(sizes)), sizes)
    return number[:, None] == number


@pytest.mark.parametrize(
    "sources, S, name",
    [
        (range(6), 6, "diagonal"),
        ([0, 0, 1, 2, 3, 4], 5, "diagonal"),  # a word said with two
        ([0, 1, 3, 2, 4, 5, 6, 7], 8, "reordering"),
        (range(5, -1, -1), 6, "reordering"),  # reversal
        ([0, 1, 1, 1, 1, 2], 3, "many-to-one"),
        ([2] * 5, 6, "many-to-one"),
    ],
)
def test_alignments(sources, S, name):
    links = np.eye(S)[list(sources)]
    for sharpness, found in ((0.7, name), (1.0, name), (0.1, "uniform")):
        assert alignment_pattern(shape(links, sharpness)) == found


@pytest.mark.parametrize("T", [10, 31])
def test_self_attention(T):
    near, d = distance(T), np.arange(T)
    previous = np.maximum(d - 1, 0)
    last = np.zeros((T, T), bool)
    last[:, -1] = True
    patterns = {
        "uniform": [np.ones((T, T))],
        "diagonal": [near == 0, near <= 1, np.eye(T)[previous]],
        "block": [blocks(T // 2, T - T // 2), blocks(4, 3, T - 7)],
        "column": [last, np.roll(last, 3, axis=1)],
        "long-range": [np.eye(T)[(d + T // 2) % T], np.eye(T)[(d - T // 2) % T]],
    }
    for name, examples in patterns.items():
        for i, allowed in enumerate(examples):
            for sharpness in (0.85, 1.0):
                found = self_attention_pattern(shape(allowed, sharpness))
                assert found == name, (i, sharpness)


def test_half_this_and_half_that():
    T = 16
    w = shape(distance(T) <= 1) * 0.2 + shape(np.eye(T)[::-1]) * 0.2
    w += 0.2 * shape(np.eye(T)[np.zeros(T, int)]) + 0.4 / T
    assert self_attention_pattern(w) == "mixed"


@pytest.mark.parametrize("seed", range(2))
def test_excess_by_loops_over_every_cut(seed):
    T, rng = 9, np.random.default_rng(seed)
    w = rng.dirichlet(np.full(T, 0.4), T)
    w[0] = 0  # nothing to attend to
    surplus = np.zeros((T, T))
    for i in range(1, T):
        for j in range(T):
            surplus[i, j] = (w[i, j] - 1 / T) / (T - 1)
    best = -np.inf
    for k in range(T):
        for cuts in itertools.combinations(range(1, T), k):
            ends = [0, *cuts, T]
            if all(b - a >= 3 for a, b in zip(ends, ends[1:])):
                caught = sum(surplus[a:b, a:b].sum() for a, b in zip(ends, ends[1:]))
                best = max(best, caught)
    wanted = {
        "diagonal": surplus[distance(T) <= 1].sum(),
        "block": best,
        "column": max(surplus[:, j].sum() for j in range(T)),
        "long-range": surplus[distance(T) > T / 4].sum(),
    }
    found = self_attention_excess(w)
    assert found == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize(
    "wrong, fragment",
    [
        (lambda: alignment_pattern([[1, 0], [0, 0]]), "1 rows"),
        (lambda: self_attention_pattern(np.eye(7)), r"\(7, 7\)"),
        (lambda: self_attention_excess(np.zeros((8, 8))), "all zero"),
    ],
)
def test_weights_that_do_not_fit(wrong, fragment):
    with pytest.raises(ValueError, match=fragment):
        wrong()
