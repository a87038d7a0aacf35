"""Scheduled sampling feeds a model its own words, as its definition says."""

import numpy as np
import pytest

from attention.seq2seq.config import Seq2SeqConfig
from attention.seq2seq.decoding import greedy
from attention.seq2seq.model import Seq2Seq
from attention.seq2seq.scheduled_sampling import mixed_inputs
from attention.tasks.batch import EOS, PAD, SOS
from attention.tasks.batching import in_order


def sampling_model(attention="bahdanau"):
    c = Seq2SeqConfig(9, 9, hidden=6, embedding=5, attention=attention, dropout=0.5)
    return Seq2Seq(c, np.random.default_rng(3))


def sampling_batch():
    pairs = [([3, 4, 5], [3, 4, 5, 6, 7]), ([8, 7], [4, 4]), ([6], [5, 3, 8])]
    return next(in_order(pairs, 3))


@pytest.mark.parametrize("p", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("attention", ["none", "bahdanau", "luong"])
def test_mixed_inputs_by_their_definition(p, attention):
    model, batch = sampling_model(attention), sampling_batch()
    before = batch.target_in.copy()
    mixed = mixed_inputs(model, batch, p, np.random.default_rng(5))
    assert (batch.target_in == before).all() and model.training
    own = np.random.default_rng(5).random(before.shape) < p
    want = before.copy()
    model.eval()
    for t in range(1, before.shape[1]):  # all over again for every place
        logits = model(batch.source, want, batch.lengths).numpy()[:, t - 1].copy()
        logits[:, [PAD, SOS]] = -np.inf
        here = own[:, t] & (before[:, t] != PAD)
        want[here, t] = logits[here].argmax(-1)
    np.testing.assert_array_equal(mixed, want)
    assert (mixed == before).all() == (p == 0)


def test_with_all_words_its_own_it_reads_what_greedy_says():
    model, batch = sampling_model(), sampling_batch()
    mixed = mixed_inputs(model, batch, 1.0, np.random.default_rng(0))
    said = greedy(model, batch.source, batch.lengths, 5).ids
    for b, n in enumerate(batch.target_lengths):
        ended = np.flatnonzero(said[b] == EOS)
        n = min(n - 1, ended[0] if len(ended) else n)
        assert mixed[b, 1 : n + 1].tolist() == said[b, :n].tolist()


def test_a_share_that_is_none_is_refused():
    with pytest.raises(ValueError, match="p is 1.5; expected a number from 0 to 1"):
        mixed_inputs(sampling_model(), sampling_batch(), 1.5, None)
