"""Sampling follows its definitions, in decoding, in training and with drafts."""

import math

import numpy as np
import pytest

import minigrad as mg
from attention.decoding.drafts import verify
from attention.decoding.greedy import greedy
from attention.decoding.sampling import (
    draw,
    filtered_probabilities,
    mixed_inputs,
    sample,
)
from attention.seq2seq.config import ATTENTIONS, Seq2SeqConfig
from attention.seq2seq.model import Seq2Seq
from attention.tasks.batch import PAD, SOS
from attention.tasks.batching import in_order
from minigrad import Tensor

from .decoding_cases import (
    LENGTHS,
    SOURCE,
    Table,
    decoded,
    every_sentence,
    log_probability,
    tiny,
)


def filtered_by_hand(logits, T, k, p):
    """One row: what is left, by sorting and adding up."""
    q = [math.exp((z - max(logits)) / T) for z in logits]
    order = sorted(range(len(q)), key=lambda v: (-q[v], v))
    kept = order if k is None else order[:k]
    if p is not None:
        total, so_far, nucleus = sum(q[v] for v in kept), 0.0, []
        for v in kept:
            if nucleus and so_far / total >= p:
                break
            nucleus.append(v)
            so_far += q[v]
        kept = nucleus
    total = sum(q[v] for v in kept)
    return [q[v] / total if v in kept else 0.0 for v in range(len(q))]


@pytest.mark.parametrize("T", [0.3, 4.0])
@pytest.mark.parametrize("k", [None, 1, 3, 99])
@pytest.mark.parametrize("p", [None, 1e-9, 0.5, 0.9, 1.0])
def test_filters_are_their_definition(T, k, p):
    logits = np.random.default_rng(0).standard_normal((6, 9))
    logits[:, :2] = -np.inf
    q = filtered_probabilities(logits, T, k, p)
    expected = [filtered_by_hand(row.tolist(), T, k, p) for row in logits]
    np.testing.assert_allclose(q, expected, rtol=1e-12, atol=0)
    np.testing.assert_allclose(q.sum(-1), 1)


def test_the_nucleus_holds_the_token_that_reaches_p():
    q = np.log([[0.5, 0.25, 0.125, 0.125]])
    for p, left in (0.4, 1), (0.5, 1), (0.51, 2), (0.75, 2), (0.76, 3), (0.9, 4):
        assert (filtered_probabilities(q, top_p=p) > 0).sum() == left
    q = filtered_probabilities([[0.0, -50.0]], top_p=1.0)
    assert q[0, 1] > 0  # 1 + e^-50 is 1, rounded
    # after top_k: 0.5 and 0.25 are then 2/3 and 1/3
    assert (filtered_probabilities(q, top_k=2, top_p=0.6) > 0).sum() == 1
    # of equals the least ids stay
    equals = np.random.default_rng(0).integers(0, 2, (1, 300)).astype(float)
    _, left = np.nonzero(filtered_probabilities(equals, top_k=40))
    np.testing.assert_array_equal(left, np.flatnonzero(equals)[:40])


@pytest.mark.filterwarnings("error")
def test_a_low_temperature_is_greedy():
    model = Table(1)
    expected = greedy(model, SOURCE, LENGTHS, 6)
    for T in 1e-3, 1e-300, 5e-324:
        d = sample(model, SOURCE, LENGTHS, 6, temperature=T)
        np.testing.assert_array_equal(d.ids, expected.ids)
    d = sample(model, SOURCE, LENGTHS, 6, top_k=1)
    np.testing.assert_array_equal(d.ids, expected.ids)


@pytest.mark.deep
def test_sentences_come_as_often_as_they_are_probable():
    model, n = Table(2), 6000
    source, lengths = np.repeat(SOURCE[:1], n, 0), np.repeat(LENGTHS[:1], n)
    state = model.of
    known = {}
    model.of = lambda s, said: known.setdefault(said, state(s, said))  # each once
    d = sample(model, source, lengths, 3, rng=np.random.default_rng(0))
    counts = {}
    for y in decoded(d):
        counts[tuple(y)] = counts.get(tuple(y), 0) + 1
    chi = 0.0
    sentences = list(every_sentence(3))
    for y in sentences:
        expected = n * math.exp(log_probability(model, SOURCE[0], LENGTHS[0], y)[0])
        chi += (counts.get(tuple(y), 0) - expected) ** 2 / expected
    degrees = len(sentences) - 1
    assert chi < degrees + 4 * math.sqrt(2 * degrees)  # four standard deviations


def test_draw_never_takes_a_token_of_probability_0():
    class Edge:
        def __init__(self, u):
            self.u = u

        def random(self, shape):
            return np.full(shape, self.u)

    q = np.array([[0.0, 0.3, 0.0, 0.7, 0.0], [1.0, 0, 0, 0, 0]])
    np.testing.assert_array_equal(draw(q, Edge(0.0)), [1, 0])
    np.testing.assert_array_equal(draw(q, Edge(1 - 2**-53)), [3, 0])
    np.testing.assert_array_equal(draw(q, Edge(1.0)), [3, 0])  # rounded up
    np.testing.assert_array_equal(draw(q, Edge(0.3)), [3, 0])
    np.testing.assert_array_equal(draw(q, Edge(0.2999)), [1, 0])
    np.testing.assert_array_equal(draw(2 * q, Edge(0.4)), [3, 0])  # whatever the sum


def test_samples_repeat_with_their_generator():
    model = tiny()

    def rows(rng=None):
        return sample(model, SOURCE, LENGTHS, 6, rng=rng).ids.tolist()

    assert rows(np.random.default_rng(3)) == rows(np.random.default_rng(3))
    mg.manual_seed(5)
    first, second = rows(), rows()
    mg.manual_seed(5)
    assert (rows(), rows()) == (first, second)
    assert len({str(rows()) for _ in range(6)}) > 1


# scheduled sampling


def sampling_model(attention="bahdanau"):
    c = Seq2SeqConfig(9, 9, hidden=6, embedding=5, attention=attention, dropout=0.5)
    return Seq2Seq(c, np.random.default_rng(3))


def sampling_batch():
    pairs = [([3, 4, 5], [3, 4, 5, 6, 7]), ([8, 7], [4, 4]), ([6], [5, 3, 8])]
    return next(in_order(pairs, 3))


@pytest.mark.parametrize("p", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_mixed_inputs_by_their_definition(p, attention):
    model, batch = sampling_model(attention), sampling_batch()
    before = batch.target_in.copy()
    mixed = mixed_inputs(model, batch, p, np.random.default_rng(5))
    assert (batch.target_in == before).all() and model.training
    own = np.random.default_rng(5).random(before.shape) < p
    want = before.copy()
    model.eval()
    for t in range(1, before.shape[1]):  # from the start for every position
        logits = model(batch.source, want, batch.lengths).numpy()[:, t - 1].copy()
        logits[:, [PAD, SOS]] = -np.inf
        here = own[:, t] & (before[:, t] != PAD)
        want[here, t] = logits[here].argmax(-1)
    np.testing.assert_array_equal(mixed, want)
    assert (mixed == before).all() == (p == 0)


# -- drafts ----------------------------------------------------------------------------


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
