"""Search for a translation, word by word: greedy, or with a beam.

    score(y_1 ... y_n) = sum_t ln P(y_t | y_<t, x) / n^a         a: length_penalty

**Greedy** takes the most probable word, and again, until EOS.

**Beam search** keeps K beginnings. Each step prolongs all of them by all words, and the
2 K best of these K V are looked at, best first: one that ends in EOS is finished, if it
is among the first K; of the others the first K go on. The K best finished ones are
remembered. When K are finished it ends

    early_stopping=True      at once
    False                    if the best beginning, divided by its length^a, is no
                             better than the worst of them: it may still become so
                             where a > 0, which this does not see
    "never"                  the same, divided by max_length^a if a > 0, which misses
                             nothing

2 K are enough: K may end, and K are then left. At ``max_length`` everything ends, with
EOS if ``config.forced_eos_token_id`` says so. ``config.bad_words_ids`` never come:
PAD among them, which an untrained row of the table would otherwise make possible.

A step costs one word of the decoder a beginning: keys and values are kept (KVCache),
and follow the beginning that they belong to.
Sources: Sutskever et al. 2014, section 3.2; Wu et al. 2016, equation 14, where the
penalty is another; the particulars are those of transformers' ``generate``.
"""

import numpy as np

from minigrad import no_grad

from .config import is_penalty
from .inputs import as_count, as_ids, as_mask


def generate(model, source, max_length, num_beams, penalty, early_stopping, mask):
    """(B, n) ids, as ``Marian.generate`` says."""
    c = model.config
    source = as_ids("source_ids", source, c.vocab_size)
    mask = as_mask(source != c.pad_token_id if mask is None else mask, source.shape)
    if max_length is None:
        max_length = min(c.max_length, c.max_position_embeddings)
    max_length = as_count("max_length", max_length)
    if not 2 <= max_length <= c.max_position_embeddings + 1:
        raise ValueError(
            f"Marian: max_length is {max_length}; expected a number from 2 to "
            f"{c.max_position_embeddings + 1}."
        )
    K = as_count("num_beams", num_beams)
    a = c.length_penalty if penalty is None else penalty
    if not is_penalty(a):
        raise ValueError(
            f"Marian: length_penalty is {a!r}; expected a number from -100 to 100."
        )
    early = c.early_stopping if early_stopping is None else early_stopping
    if not (isinstance(early, bool) or early == "never"):
        raise ValueError(
            f"Marian: early_stopping is {early!r}; expected True, False or 'never'."
        )
    with no_grad():
        if K == 1:
            return greedy(model.start(source, mask), len(source), max_length)
        found = [
            beam_search(
                model.start(source[b : b + 1], mask[b : b + 1]), max_length, K, a, early
            )
            for b in range(len(source))
        ]
    longest = max(map(len, found), default=1)
    rows = [row + [c.pad_token_id] * (longest - len(row)) for row in found]
    return np.array(rows, np.int64).reshape(len(found), longest)


def greedy(decoding, B, max_length):
    """The most probable word each time: (B, n) ids."""
    c = decoding.model.config
    ids = np.full((B, max_length), c.pad_token_id)
    ids[:, 0] = c.decoder_start_token_id
    ended = np.zeros(B, bool)
    for n in range(1, max_length):
        if ended.all():
            return ids[:, :n]
        scores = _allowed(c, decoding.step(ids[:, n - 1]), n + 1 == max_length)
        ids[~ended, n] = scores.argmax(-1)[~ended]
        ended |= ids[:, n] == c.eos_token_id
    return ids


def beam_search(decoding, max_length, K, a, early_stopping):
    """The best of the sentences that a beam of width K finds: a list of ids."""
    c = decoding.model.config
    going = [[c.decoder_start_token_id]]
    scores = np.zeros(1, np.float32)  # of those that go on, best first
    finished = []  # (score, ids), best first
    for n in range(1, max_length):
        logits = decoding.step(np.array([row[-1] for row in going]))
        logp = _allowed(c, _log_softmax(logits), n + 1 == max_length)
        if c.renormalize_logits:
            logp = _log_softmax(logp)
        next_going = []
        for place, (score, k, word) in enumerate(_best(logp + scores[:, None], 2 * K)):
            row = going[k] + [word]
            if word == c.eos_token_id or n + 1 == max_length:
                if place < K:
                    finished.append((score / float(n) ** a, row))
            elif len(next_going) < K:
                next_going.append((score, k, row))
        finished = sorted(finished, key=lambda one: -one[0])[:K]
        if not next_going:
            break
        scores = np.array([score for score, _, _ in next_going], np.float32)
        going = [row for _, _, row in next_going]
        decoding.select([k for _, k, _ in next_going])
        if len(finished) == K:
            length = max_length - 1 if early_stopping == "never" and a > 0 else n
            hoped = scores[0] / float(length) ** a
            if early_stopping is True or hoped <= finished[-1][0]:
                break
    return finished[0][1]


def _allowed(c, scores, last):
    """scores (..., V) with -inf for the words that may not come."""
    scores = np.array(scores, np.float32)
    if not np.isfinite(scores).all():
        raise ValueError(
            "Marian: the logits are NaN or infinite; the weights of this model are too "
            "large to compute with."
        )
    if last and c.forced_eos_token_id is not None:
        scores[:] = -np.inf
        scores[..., c.forced_eos_token_id] = 0
        return scores
    banned = [word for (word,) in c.bad_words_ids if word != c.eos_token_id]
    scores[..., banned] = -np.inf
    return scores


def _best(scores, n):
    """[(score, row, word)] of the n best of (K, V), the best first, none of them -inf.

    Among equals the first.
    """
    flat = scores.reshape(-1)
    if n < flat.size:
        least = np.partition(flat, flat.size - n)[flat.size - n]
        places = np.flatnonzero(flat >= least)
    else:
        places = np.arange(flat.size)
    places = places[np.argsort(-flat[places], kind="stable")][:n]
    rows, words = np.divmod(places, scores.shape[1])
    found = zip(flat[places], rows.tolist(), words.tolist())
    return [one for one in found if one[0] > -np.inf]


def _log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))
