"""Search for a probable translation, word by word: greedily, or with a beam.

    score(y_1 ... y_n) = sum_t ln P(y_t | y_<t, x) / n^a         a: length_penalty

**Greedy search** takes the most probable word at each step, until EOS.

**Beam search** keeps K prefixes. Each step extends all prefixes by all words and takes
the 2 K best of these K V candidates, in the order of their scores. A candidate that
ends with EOS is finished if it is among the first K. Of the other candidates, the first
K are the next prefixes. The K best finished sentences are kept. When K sentences are
finished, the search ends

    early_stopping=True      at once
    False                    if ln P of the best prefix, divided by its present
                             length^a, is not above the worst finished score. For a > 0
                             this may miss a better sentence: ln P < 0 is divided by
                             more when the prefix is longer
    "never"                  the same, but divided by (max_length - 1)^a if a > 0.
                             This misses no better sentence

2 K candidates are enough, because at most K of them end with EOS. At ``max_length`` all
prefixes end, with EOS if ``config.forced_eos_token_id`` is set. The ids of
``config.bad_words_ids``, except EOS, are never generated. In published models PAD is
one of them: its row in the embedding table is not trained.

A step computes one word for each prefix; a KVCache holds the earlier keys and values.

Sources: Sutskever et al. 2014, section 3.2; Wu et al. 2016, equation 14, with another
penalty; the details are those of transformers' ``generate``.
"""

from dataclasses import dataclass

import numpy as np

from minigrad.arguments import number, one_of, whole

from ..decoding.beam import largest_candidates


@dataclass
class Search:
    """The settings of a search.

    max_length      the largest number of ids of a sentence, including the first PAD
    num_beams       K; 1 is greedy search
    length_penalty, early_stopping   of beam search
    """

    max_length: int
    num_beams: int
    length_penalty: float
    early_stopping: bool | str

    def __post_init__(self):
        whole("Marian", "max_length", self.max_length, least=1)
        whole("Marian", "num_beams", self.num_beams, least=1)
        number("Marian", "length_penalty", self.length_penalty)
        one_of("Marian", "early_stopping", self.early_stopping, (True, False, "never"))


def greedy(model, state, max_length):
    """Return ids (B, n), the most probable word at each step."""
    c, B = model.config, len(state)
    ids = np.full((B, max_length), c.pad_token_id)
    ids[:, 0] = c.decoder_start_token_id
    ended = np.zeros(B, bool)
    for n in range(1, max_length):
        if ended.all():
            return ids[:, :n]
        logits = _exclude_words(
            c, model.step(state, ids[:, n - 1]), n + 1 == max_length
        )
        ids[~ended, n] = logits.argmax(-1)[~ended]
        ended |= ids[:, n] == c.eos_token_id
    return ids


def beam_search(model, state, search):
    """Return the best sentence that a beam finds for one source: a list of ids."""
    c, K, a = model.config, search.num_beams, search.length_penalty
    prefixes = [[c.decoder_start_token_id]]
    scores = np.zeros(1, np.float32)  # of the prefixes, best first
    finished = []  # (score, ids), best first
    for n in range(1, search.max_length):
        last_step = n + 1 == search.max_length
        logits = model.step(state, np.array([prefix[-1] for prefix in prefixes]))
        logp = _exclude_words(c, _log_softmax(logits), last_step)
        if c.renormalize_logits:
            logp = _log_softmax(logp)
        kept = []  # (score, row, ids) of the next prefixes
        candidates = largest_candidates(logp + scores[:, None], 2 * K)
        for rank, (score, row, word) in enumerate(candidates):
            ids = prefixes[row] + [word]
            if word == c.eos_token_id or last_step:
                if rank < K:
                    finished.append((np.float32(score) / float(n) ** a, ids))
            elif len(kept) < K:
                kept.append((score, row, ids))
        finished = sorted(finished, key=lambda pair: -pair[0])[:K]
        if not kept:
            break
        scores = np.array([score for score, _, _ in kept], np.float32)
        prefixes = [ids for _, _, ids in kept]
        state.select([row for _, row, _ in kept])
        if len(finished) == K:
            grows = search.early_stopping == "never" and a > 0
            length = search.max_length - 1 if grows else n
            bound = scores[0] / float(length) ** a
            if search.early_stopping is True or bound <= finished[-1][0]:
                break
    return finished[0][1]


def _exclude_words(c, scores, last_step):
    """Return scores (..., V) with -inf for the words that are not allowed."""
    scores = np.array(scores, np.float32)
    if not np.isfinite(scores).all():
        raise ValueError(
            "Marian: the logits are NaN or infinite; the weights of this model are too "
            "large to compute with."
        )
    if last_step and c.forced_eos_token_id is not None:
        scores[:] = -np.inf
        scores[..., c.forced_eos_token_id] = 0
    else:
        scores[..., c.banned_ids] = -np.inf
    return scores


def _log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))
