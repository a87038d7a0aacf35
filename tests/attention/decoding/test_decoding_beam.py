"""Beam search finds what its definition finds; each way returns complete rows."""

import numpy as np
import pytest

import minigrad as mg
from attention.decoding.beam import beam_search, hypotheses
from attention.decoding.greedy import greedy
from attention.tasks.batch import EOS, PAD, SOS
from attention.transformer.config import TransformerConfig
from attention.transformer.decoder_only import DecoderOnly

from .decoding_cases import (
    LENGTHS,
    MODELS,
    SOURCE,
    N,
    S,
    Table,
    V,
    decoded,
    every_sentence,
    every_way,
    log_probability,
    tiny,
)

ALL = len(list(every_sentence()))


@pytest.mark.parametrize("alpha", [0, 1.0])
@pytest.mark.parametrize("name", MODELS)
def test_a_beam_of_one_is_greedy(name, alpha):
    for length in 1, 7:
        one = beam_search(MODELS[name](), SOURCE, LENGTHS, length, 1, alpha=alpha)
        g = greedy(MODELS[name](), SOURCE, LENGTHS, length)
        np.testing.assert_array_equal(one.ids, g.ids)
        np.testing.assert_array_equal(one.lengths, g.lengths)
        if g.weights is None:
            assert one.weights is None
        else:
            np.testing.assert_allclose(one.weights, g.weights, atol=1e-6)
        if not alpha:
            np.testing.assert_allclose(one.scores, g.scores, rtol=1e-5)


def by_definition(model, b, K, alpha):
    """Return [(s, ln P, y)], best first, of the search, one beginning a call."""
    going, finished = [[]], []
    for _ in range(N):
        candidates = []
        for place, y in enumerate(going):
            for token in range(2, V):
                logp, _ = log_probability(model, SOURCE[b], LENGTHS[b], [*y, token])
                candidates.append((-logp, place, token, [*y, token]))
        kept = [y for *_, y in sorted(candidates)[: K - len(finished)]]
        going = [y for y in kept if y[-1] != EOS]
        finished += [y for y in kept if y[-1] == EOS]
    found = []
    for y in finished + going:
        logp, _ = log_probability(model, SOURCE[b], LENGTHS[b], y)
        found.append((logp / ((5 + len(y)) / 6) ** alpha, logp, y))
    return sorted(found, key=lambda one: -one[0])


@pytest.mark.parametrize("K", [1, 2, 5, ALL])
@pytest.mark.parametrize("alpha", [0, 0.6, 1.5])
def test_a_beam_of_any_width_is_its_definition(K, alpha):
    for seed in range(2):
        model = Table(seed, sharp=0.7)
        found = hypotheses(model, SOURCE, LENGTHS, N, K, alpha=alpha)
        best = beam_search(model, SOURCE, LENGTHS, N, K, alpha=alpha)
        for b, each in enumerate(found):
            scores, logs, ids = zip(*by_definition(model, b, K, alpha))
            assert [h.ids for h in each] == [*ids]
            np.testing.assert_allclose([h.score for h in each], scores)
            np.testing.assert_allclose([h.log_probability for h in each], logs)
            # ending early loses nothing
            assert decoded(best)[b] == ids[0]
            if K == ALL:  # the probabilities of all sentences sum to 1
                assert np.exp(logs).sum() == pytest.approx(1)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("K", [1, 3])
def test_a_batch_is_as_good_as_one_at_a_time(name, K):
    model = MODELS[name]()
    together = beam_search(model, SOURCE, LENGTHS, 6, K, alpha=0.5)
    for b in range(len(SOURCE)):
        n = LENGTHS[b]
        alone = beam_search(model, SOURCE[b : b + 1, :n], None, 6, K, alpha=0.5)
        assert decoded(alone)[0] == decoded(together)[b]
        np.testing.assert_allclose(alone.scores[0], together.scores[b], rtol=1e-4)
        if alone.weights is not None:
            k = alone.weights.shape[1]
            weights = together.weights[b]
            np.testing.assert_allclose(weights[:k, :n], alone.weights[0], atol=1e-5)
            assert not weights[k:].any() and not weights[:, n:].any()


@pytest.mark.parametrize("K", [1, 5])
@pytest.mark.parametrize("name", ["lstm-fed-coverage", "local"])
def test_weights_belong_to_the_sentence_they_come_with(name, K):
    """Teacher forcing of the same sentence gives the same weights."""
    model = MODELS[name]()
    for b, each in enumerate(hypotheses(model, SOURCE, LENGTHS, 5, K)):
        for h in each:
            target_in = np.array([[SOS, *h.ids[:-1]]])
            out = model.forced(SOURCE[b : b + 1], target_in, LENGTHS[b : b + 1])
            np.testing.assert_allclose(h.weights, out.weights.data[0], atol=1e-5)
            assert h.weights.shape == (len(h.ids), S)


def test_the_search_ends_as_soon_as_possible():
    certain = Table(sharp=0.0)  # all tokens alike: EOS, the first among them, wins
    certain.of = lambda source, said: (np.array([0, 0, 20.0, 0, 0]), np.zeros(S))
    for K in 1, 4:
        certain.calls = 0
        d = beam_search(certain, SOURCE, LENGTHS, 50, K, alpha=1.0)
        assert decoded(d) == [[EOS]] * 4 and certain.calls == 1
    certain.calls = 0
    greedy(certain, SOURCE, LENGTHS, 50)
    assert certain.calls == 1
    # hypotheses returns all K
    assert [len(each) for each in hypotheses(certain, SOURCE, LENGTHS, 50, 4)] == [
        4
    ] * 4


def test_equals_are_ordered_by_row_and_then_by_id():
    class Flat(Table):
        def of(self, source, said):
            return np.zeros(self.V), np.full(S, 1 / S)

    assert decoded(greedy(Flat(), SOURCE, LENGTHS, 3)) == [[EOS]] * 4
    each = hypotheses(Flat(), SOURCE[:1], LENGTHS[:1], 2, 4)[0]
    assert [h.ids for h in each] == [[EOS], [3, EOS], [3, 3], [3, 4]]


# -- greedy, beam search and sampling --------------------------------------------------


@pytest.mark.parametrize("way", every_way())
@pytest.mark.parametrize("name", MODELS)
def test_rows_end_once_and_hold_neither_pad_nor_sos(name, way):
    d = every_way()[way](MODELS[name](), SOURCE, LENGTHS, 6)
    assert d.ids.dtype == np.int64 and d.ids.shape == (4, d.lengths.max())
    for row, n in zip(d.ids.tolist(), d.lengths):
        said = row[:n]
        assert not {PAD, SOS} & set(said) and set(row[n:]) <= {PAD}
        assert EOS not in said[:-1] and (said[-1] == EOS or n == 6)
    if d.weights is not None:
        assert d.weights.shape == (*d.ids.shape, S)
        for b, n in enumerate(d.lengths):
            assert not d.weights[b, n:].any()
            assert not d.weights[b, :, LENGTHS[b] :].any()


@pytest.mark.parametrize("way", ["greedy", "sample"])
@pytest.mark.parametrize("name", ["table", "gru", "transformer"])
def test_scores_are_log_probabilities(name, way):
    model = MODELS[name]()
    d = every_way()[way](model, SOURCE, LENGTHS, 5)
    with mg.no_grad():
        for b, y in enumerate(decoded(d)):
            logp, looked = log_probability(model, SOURCE[b], LENGTHS[b], y)
            np.testing.assert_allclose(d.scores[b], logp, rtol=1e-4)
            np.testing.assert_allclose(d.weights[b, : len(y)], looked, atol=1e-5)


@pytest.mark.parametrize("way", every_way())
def test_a_model_is_decoded_without_dropout_and_its_mode_restored(way):
    model = tiny(dropout=0.5).train()
    model.encoder.eval()
    modes = [part.training for part in model.modules()]
    recorded = []
    step = model.step

    def recording(state, tokens):
        recorded.append([part.training for part in model.modules()])
        logits, state, weights = step(state, tokens)
        assert not logits.requires_grad and not weights.requires_grad
        return logits, state, weights

    model.step = recording
    d = every_way()[way](model, SOURCE, LENGTHS, 4)
    assert recorded and not any(map(any, recorded))
    assert [part.training for part in model.modules()] == modes
    if way in ("greedy", "beam"):
        plain = every_way()[way](tiny(), SOURCE, LENGTHS, 4)
        np.testing.assert_array_equal(d.ids, plain.ids)
    model.step = lambda state, tokens: 1 / 0
    with pytest.raises(ZeroDivisionError):
        every_way()[way](model, SOURCE, LENGTHS, 4)
    assert [part.training for part in model.modules()] == modes


@pytest.mark.parametrize("way", ["greedy", "beam"])
def test_a_prompt_is_continued(way):
    """The state of a prompt has logits already, and there is no SOS."""
    model = DecoderOnly(TransformerConfig(vocabulary=7, width=8, heads=2),
                        np.random.default_rng(0)).eval()  # fmt: skip
    d = every_way()[way](model, SOURCE, LENGTHS, 5)
    assert d.weights is None
    if way == "beam":
        return
    for b, n in enumerate(LENGTHS):
        ids = SOURCE[b, :n].tolist()
        for token in decoded(d)[b]:
            logits = model(np.array([ids])).data[0, -1].copy()
            logits[[PAD, SOS]] = -np.inf
            assert token == logits.argmax()
            ids.append(token)
