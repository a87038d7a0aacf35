"""Beam search: find a sentence with a high score, without scoring all sentences.

    s(y) = ln P(y | x) / lp(y)             the score of the sentence y
    lp(y) = ((5 + |y|) / 6)^alpha          |y| tokens, EOS included

Every token makes ln P smaller, so ln P prefers short sentences; lp corrects this. With
alpha = 0 the rank depends on ln P alone. Wu et al. 2016, equation 14, without its
coverage penalty; they find alpha = 0.2 best.

**The search.** A prefix is the beginning of a sentence. The first prefix is SOS, the
start of a sentence; EOS is its end. Each step extends all prefixes of a sentence by all
tokens and keeps the K most probable. A prefix that ends with EOS is finished, and K
becomes smaller by one (Sutskever et al. 2014, section 3.2). The search ends

    when K is 0;
    at ``max_length``: the unfinished prefixes are then taken as sentences;
    when no prefix can become one of the best sentences. ln P is negative, and it only
    decreases as a prefix grows. So no sentence with this prefix has a higher score
    than ln P / lp(max_length).

All prefixes of a step have the same length, so they are compared by ln P; lp ranks the
finished sentences. K = 1 is ``greedy``. If K is the number of all sentences,
the best one is found. Of two candidates with equal ln P, the one that extends the
better prefix comes first, then the one with the smaller id.

Cost: for B sentences and V tokens, a step of the model for at most B K rows, and K V
candidates for each sentence.
"""

from dataclasses import dataclass

import numpy as np

from minigrad.arguments import number, plain, whole

from .greedy import Decoded, evaluation, first_step, log_probabilities, special_of

NAME = "beam_search"


@dataclass
class Hypothesis:
    """One sentence that the search has found."""

    ids: list  # with EOS at the end, if it ended
    score: float  # s(y)
    log_probability: float  # ln P(y | x)
    weights: np.ndarray | None  # (|y|, S)


def beam_search(model, source, lengths, max_length, beam=4, *, alpha=0.0):
    """Return the best sentence of a beam for each row of source: ``Decoded``.

    source (B, S) ids, lengths (B,) or None; model and max_length are as of ``greedy``

    beam    K, the number of prefixes
    alpha   the strength of the length penalty lp; 0: none
    """
    options = dict(alpha=alpha, best=1)
    found = hypotheses(model, source, lengths, max_length, beam, **options)
    best = [each[0] for each in found]
    counts = np.array([len(h.ids) for h in best])
    ids = np.full((len(best), counts.max()), special_of(model).pad)
    weights = None
    if best[0].weights is not None:
        S = best[0].weights.shape[1]
        weights = np.zeros((*ids.shape, S), best[0].weights.dtype)
    for b, h in enumerate(best):
        ids[b, : counts[b]] = h.ids
        if weights is not None:
            weights[b, : counts[b]] = h.weights
    return Decoded(ids, counts, np.array([h.score for h in best]), weights)


def hypotheses(
    model, source, lengths, max_length, beam=4, *, alpha=0.0, best=None
):
    """Return, for each row of source, a list of ``Hypothesis``, the best first.

    best   the largest number of sentences in each list; None: K

    The other arguments are those of ``beam_search``.
    """
    source = np.asarray(source)
    max_length = whole(NAME, "max_length", max_length, 1)
    K = whole(NAME, "beam", beam, 1)
    best = K if best is None else whole(NAME, "best", best, 1)
    number(NAME, "alpha", alpha, least=0)
    special = special_of(model)
    with evaluation(model):
        beams = _Beams(len(source), max_length, K, alpha, best, special.end)
        logits, state, weights = first_step(model, source, lengths)
        while True:
            logp = log_probabilities(logits, special.never)
            rows, tokens = beams.advance(logp, weights)
            if not len(rows):
                return beams.finished
            state.select(rows)
            logits, state, weights = model.step(state, tokens)


class _Beams:
    """The prefixes of all sentences, one in each row, ordered by sentence."""

    def __init__(self, B, max_length, K, alpha, best, end):
        self.max_length, self.alpha = max_length, alpha
        self.best, self.end = best, end
        self.sentence = np.arange(B)  # (n,) the sentence of each row
        self.log_p = np.zeros(B)  # (n,) ln P so far
        self.widths = np.full(B, K)  # the current K of each sentence
        self.finished = [[] for _ in range(B)]  # Hypotheses, best first
        self.steps = []  # (rows, tokens) that each step kept
        self.weights = []  # (n, S) of each step, in its rows; or None

    def advance(self, logp, weights):
        """Return the rows and tokens of the next prefixes, from logp (n, V)."""
        self.weights.append(None if weights is None else plain(weights))
        n = len(self.steps) + 1  # tokens of a prefix, including the new one
        kept = []  # (ln P, row, token) of the next prefixes
        # the first row of each sentence, and the end
        starts = np.searchsorted(self.sentence, np.arange(len(self.widths) + 1))
        for b, (first, stop) in enumerate(zip(starts, starts[1:])):
            candidates = self.log_p[first:stop, None] + logp[first:stop]  # (rows, V)
            unfinished = []
            for log_p, row, token in largest_candidates(candidates, self.widths[b]):
                if token == self.end or n == self.max_length:
                    self._finish(b, log_p, first + row, token)
                    self.widths[b] -= 1
                else:
                    unfinished.append((log_p, first + row, token))
            if unfinished and not self._is_decided(b, unfinished[0][0]):
                kept += unfinished
        log_p, rows, tokens = zip(*kept) if kept else ((), (), ())
        rows, tokens = np.array(rows, np.intp), np.array(tokens, np.intp)
        self.steps.append((rows, tokens))
        self.log_p, self.sentence = np.array(log_p), self.sentence[rows]
        return rows, tokens

    def _finish(self, b, log_p, row, token):
        """Collect a sentence from its last token to its first, and record it.

        The weights of step t belong to token t; step 0 had no prefix before it.
        """
        ids, weights, i = [token], [], row
        for t in reversed(range(len(self.steps) + 1)):
            if self.weights[t] is not None:
                weights.append(self.weights[t][i])
            if t:
                rows, tokens = self.steps[t - 1]
                ids.append(int(tokens[i]))
                i = rows[i]  # the row of the shorter prefix
        score = log_p / self._length_penalty(len(ids))
        weights = np.stack(weights[::-1]) if weights else None
        found = Hypothesis(ids[::-1], score, log_p, weights)
        found = sorted([*self.finished[b], found], key=lambda h: -h.score)
        self.finished[b] = found[: self.best]  # of equal scores the earlier is first

    def _is_decided(self, b, log_p):
        """Return whether no prefix of sentence b, with at most this ln P, can win."""
        found = self.finished[b]
        if len(found) < self.best:
            return False
        return log_p / self._length_penalty(self.max_length) <= found[-1].score

    def _length_penalty(self, n):
        return ((5 + n) / 6) ** self.alpha


def largest_candidates(log_p, n):
    """Return [(ln P, row, token)] of the n largest of (rows, V) that are not -inf.

    Equal ones are ordered by row, then by token.
    """
    flat = log_p.reshape(-1)
    found = np.arange(flat.size)
    if n < flat.size:
        least = np.partition(flat, flat.size - n)[flat.size - n]
        found = np.flatnonzero(flat >= least)
    found = found[np.argsort(-flat[found], kind="stable")][:n]
    found = found[flat[found] > -np.inf]
    rows, tokens = np.divmod(found, log_p.shape[1])
    return list(zip(flat[found].tolist(), rows.tolist(), tokens.tolist()))
