"""Beam search with the rules of transformers' ``generate``, as published models use it.

    score(y_1 ... y_n) = sum_t ln P(y_t | y_<t, x) / n^a         a: length_penalty

The search keeps K prefixes. Each step extends all of them by all V words and takes the
2 K best of these K V candidates, in the order of their scores. A candidate that ends
with EOS is finished if it is among the first K. Of the other candidates, the first K
are the next prefixes. The K best finished sentences are kept. When K sentences are
finished, the search ends

    early_stopping=True      at once
    False                    if ln P of the best prefix, divided by its present
                             length^a, is not above the worst finished score. For a > 0
                             this may miss a better sentence: ln P < 0 is divided by
                             more when the prefix is longer
    "never"                  the same, but divided by (max_length - 1)^a if a > 0.
                             This misses no better sentence

2 K candidates are enough, because at most K of them end with EOS. At ``max_length`` all
prefixes end, with EOS if ``forced_eos_token_id`` is set. (In decoding/beam.py, K
becomes smaller by one with each finished sentence, and other penalties rank them.)

Sources: Sutskever et al. 2014, section 3.2; Wu et al. 2016, equation 14, with another
penalty; the details are those of transformers' ``generate``.
"""

from dataclasses import dataclass

import numpy as np

from minigrad.arguments import flag, number, one_of, whole

from ..decoding.beam import largest_candidates
from ..decoding.greedy import evaluation, first_step, log_probabilities

NAME = "generate"


@dataclass
class Search:
    """The settings of a search, under the names of ``generation_config.json``.

    max_length            the largest number of ids of a sentence, with the first one
    num_beams             K; 1 is greedy search
    length_penalty, early_stopping   of beam search
    forced_eos_token_id   the last id of a sentence of max_length ids; None: any
    renormalize_logits    whether P is a distribution without the ids that are never
                          generated
    """

    max_length: int = 512
    num_beams: int = 1
    length_penalty: float = 1.0
    early_stopping: bool | str = False
    forced_eos_token_id: int | None = None
    renormalize_logits: bool = False

    def __post_init__(self):
        whole(NAME, "max_length", self.max_length, 2)
        whole(NAME, "num_beams", self.num_beams, 1)
        number(NAME, "length_penalty", self.length_penalty)
        one_of(NAME, "early_stopping", self.early_stopping, (True, False, "never"))
        flag(NAME, "renormalize_logits", self.renormalize_logits)


def beam_search(model, source, lengths, search):
    """Return the best sentence that a beam finds for one source: a list of ids.

    model, source, lengths   as of ``decoding.greedy``, with one row
    """
    K, a, special = search.num_beams, search.length_penalty, model.special
    prefixes, scores = [[]], np.zeros(1)  # best first
    finished = []  # (score, ids), best first
    with evaluation(model):
        logits, state, _ = first_step(model, source, lengths)
        for n in range(1, search.max_length):
            last_step = n + 1 == search.max_length
            log_p = _log_p(logits, special, search, last_step) + scores[:, None]
            candidates = largest_candidates(log_p, 2 * K)
            kept = []  # (score, row, ids) of the next prefixes
            for rank, (score, row, word) in enumerate(candidates):
                ids = prefixes[row] + [word]
                if word == special.end or last_step:
                    if rank < K:
                        finished.append((score / float(n) ** a, ids))
                elif len(kept) < K:
                    kept.append((score, row, ids))
            finished = sorted(finished, key=lambda pair: -pair[0])[:K]
            if not kept:
                break
            scores = np.array([score for score, _, _ in kept])
            prefixes = [ids for _, _, ids in kept]
            if len(finished) == K:
                grows = search.early_stopping == "never" and a > 0
                length = search.max_length - 1 if grows else n
                bound = scores[0] / float(length) ** a
                if search.early_stopping is True or bound <= finished[-1][0]:
                    break
            state.select([row for _, row, _ in kept])
            words = np.array([ids[-1] for ids in prefixes])
            logits, state, _ = model.step(state, words)
    return finished[0][1]


def _log_p(logits, special, search, last_step):
    """Return ln P (K, V) of the next word, -inf for those that are not allowed."""
    never = list(special.never)
    log_p = log_probabilities(logits, never if search.renormalize_logits else ())
    log_p[:, never] = -np.inf
    if last_step and search.forced_eos_token_id is not None:
        log_p[:] = -np.inf
        log_p[:, search.forced_eos_token_id] = 0
    return log_p
