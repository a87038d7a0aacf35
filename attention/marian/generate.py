"""Search a probable translation word by word: greedily, or with a beam.

    score(y_1 ... y_n) = sum_t ln P(y_t | y_<t, x) / n^a         a: length_penalty

**Greedy search** takes the most probable word at each step, until EOS.

**Beam search** keeps K prefixes. Each step extends all of them by all words, and reads
the 2 K best of these K V candidates, best first: a candidate that ends in EOS is
finished, if it is among the first K; of the others, the first K are the next prefixes.
The K best finished sentences are kept. After K are finished the search ends

    early_stopping=True      at once
    False                    if the score of the best prefix, with its length of now, is
                             no better than the worst finished one. For a > 0 its score
                             may still grow, which this rule ignores
    "never"                  the same with max_length for a > 0, which misses nothing

2 K candidates are enough: K may be finished, and K are left. At ``max_length`` all
prefixes end, with EOS if ``config.forced_eos_token_id`` says so. The ids of
``config.bad_words_ids`` are never generated, among them PAD, whose row in the embedding
table is not trained.

A step computes one word of the decoder for each prefix: a KVCache keeps the keys and
values, and follows the prefixes that go on.
Sources: Sutskever et al. 2014, section 3.2; Wu et al. 2016, equation 14, with another
penalty; the details are those of transformers' ``generate``.
"""

from dataclasses import dataclass

import numpy as np

from minigrad.checks import number, one_of, whole


@dataclass
class Search:
    """The settings of a search.

    max_length      the number of ids of a sentence, the first PAD included
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
        logits = _allowed(c, model.step(state, ids[:, n - 1]), n + 1 == max_length)
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
        logp = _allowed(c, _log_softmax(logits), last_step)
        if c.renormalize_logits:
            logp = _log_softmax(logp)
        going = []  # (score, row of the prefix, ids)
        for rank, (score, k, word) in enumerate(_best(logp + scores[:, None], 2 * K)):
            ids = prefixes[k] + [word]
            if word == c.eos_token_id or last_step:
                if rank < K:
                    finished.append((score / float(n) ** a, ids))
            elif len(going) < K:
                going.append((score, k, ids))
        finished = sorted(finished, key=lambda pair: -pair[0])[:K]
        if not going:
            break
        scores = np.array([score for score, _, _ in going], np.float32)
        prefixes = [ids for _, _, ids in going]
        state.select([k for _, k, _ in going])
        if len(finished) == K:
            grows = search.early_stopping == "never" and a > 0
            length = search.max_length - 1 if grows else n
            bound = scores[0] / float(length) ** a
            if search.early_stopping is True or bound <= finished[-1][0]:
                break
    return finished[0][1]


def _allowed(c, scores, last_step):
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
        scores[..., c.banned] = -np.inf
    return scores


def _best(scores, n):
    """Return [(score, row, word)] of the n best of (K, V), best first, without -inf.

    Of equal scores the first comes first.
    """
    flat = scores.reshape(-1)
    candidates = np.arange(flat.size)
    if n < flat.size:  # sort only those that reach the n-th best score
        candidates = np.flatnonzero(flat >= np.partition(flat, -n)[-n])
    best = candidates[np.argsort(-flat[candidates], kind="stable")][:n]
    rows, words = np.divmod(best, scores.shape[1])
    found = zip(flat[best], rows.tolist(), words.tolist())
    return [each for each in found if each[0] > -np.inf]


def _log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))
