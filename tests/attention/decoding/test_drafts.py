"""Verified drafts have the distribution of the large model."""

import numpy as np
import pytest

from attention.decoding.drafts import verify
from minigrad import Tensor


def test_many_verified_drafts_have_the_distribution_of_the_large_model():
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(3), 3), rng.dirichlet(np.ones(3), 2)
    n, first, second = 5_000, np.zeros(3), np.zeros(3)
    for _ in range(n):
        tokens = verify(p, q, [rng.choice(3, p=each) for each in q], rng)
        first[tokens[0]] += 1
        if len(tokens) > 1:
            second[tokens[1]] += 1
    for found, wanted in zip((first, second), p):
        error = np.sqrt(wanted * (1 - wanted) / found.sum())
        assert (np.abs(found / found.sum() - wanted) < 4 * error).all()


def test_equal_models_keep_all_drafts_and_others_none():
    p = np.full((4, 3), 1 / 3)
    assert len(verify(p, p[:3], [0, 1, 2], np.random.default_rng(0))) == 4
    certain = np.eye(3)[[0, 0, 0, 0]]
    assert verify(certain, np.eye(3)[[1, 1, 1]], [1, 1, 1]) == [0]


class Largest:
    """A generator whose uniform numbers are the largest below 1."""

    def random(self, size=None):
        return np.full(size or (), 1 - 2**-53)


@pytest.mark.filterwarnings("error")
def test_models_that_are_equal_up_to_rounding(monkeypatch):
    """A draft is rejected by rounding, and no token has p > q."""
    monkeypatch.setattr("attention.decoding.drafts.generator", lambda _, rng: rng)
    p = np.array([[0.5, 0.5]] * 2)
    q = np.nextafter(p[:1], 1)
    assert verify(p, q, [0], Largest()) == [1]


@pytest.mark.parametrize("kind", [np.asarray, Tensor])
@pytest.mark.parametrize("seed", range(9))
def test_arrays_and_tensors_of_float32(kind, seed):
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(50), 3).astype("f"), rng.dirichlet(np.ones(50), 2)
    drafts = q.argmax(1)
    given = kind(p), kind(q.astype("f")), kind(drafts)
    tokens = verify(*given, np.random.default_rng(seed))
    exact = p.astype(float), q.astype("f").astype(float), drafts
    assert tokens == verify(*exact, np.random.default_rng(seed))
