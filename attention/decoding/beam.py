"""Beam search: find a sentence with a high score, without scoring all sentences.

    s(y) = ln P(y | x) / lp(y) + cp(y)             the score of the sentence y
    lp(y) = ((5 + |y|) / 6)^alpha                  |y| tokens, EOS included
    cp(y) = beta sum_j ln min(sum_t a_tj, 1)       over the tokens j of the source

Every token makes ln P smaller, so ln P prefers short sentences; lp corrects this. With
alpha = 0 the rank depends on ln P alone; the paper finds alpha = 0.2 best. cp is 0 if
each token of the source has a total weight of 1 or more, and negative otherwise. Totals
below LEAST count as LEAST, because ln 0 = -inf would make all such sentences equal. Wu
et al. 2016, equation 14.

**The search.** A prefix is the beginning of a sentence. The first prefix is SOS, the
start of a sentence; EOS is its end. Each step extends all prefixes of a sentence by all
tokens and keeps the K most probable. A prefix that ends with EOS is finished, and K
becomes smaller by one (Sutskever et al. 2014, section 3.2). The search ends

    when K is 0;
    at ``max_length``: the unfinished prefixes are then taken as sentences;
    when no prefix can become one of the best sentences. ln P is negative, it only
    decreases as a prefix grows, and cp is at most 0. So no sentence with this prefix
    has a higher score than ln P / lp(max_length).

All prefixes of a step have the same length, so they are compared by ln P; lp and cp
rank the finished sentences. K = 1 is ``greedy``. If K is the number of all sentences,
the best one is found. Of two candidates with equal ln P, the one that extends the
better prefix comes first, then the one with the smaller id.

Cost: for B sentences and V tokens, a step of the model for at most B K rows, and K V
candidates for each sentence.
"""

from dataclasses import dataclass

import numpy as np

from minigrad.arguments import number, plain, whole

from .greedy import Decoded, evaluation, first_step, log_probabilities, special_of

LEAST = 1e-6  # the smallest total weight of a source token
NAME = "beam_search"


@dataclass
class Hypothesis:
    """One sentence that the search has found."""

    ids: list  # with EOS at the end, if it ended
    score: float  # s(y)
    log_probability: float  # ln P(y | x)
    weights: np.ndarray | None  # (|y|, S)


def beam_search(model, source, lengths, max_length, beam=4, *, alpha=0.0, beta=0.0):
    """Return the best sentence of a beam for each row of source: ``Decoded``.

    source (B, S) ids, lengths (B,) or None; model and max_length are as of ``greedy``

    beam    K, the number of prefixes
    alpha   the strength of the length penalty lp; 0: none
    beta    the strength of the coverage penalty cp; 0: none
    """
    options = dict(alpha=alpha, beta=beta, best=1)
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
    model, source, lengths, max_length, beam=4, *, alpha=0.0, beta=0.0, best=None
):
    """Return, for each row of source, a list of ``Hypothesis``, the best first.

    best   the largest number of sentences in each list; None: K

    The other arguments are those of ``beam_search``.
    """
    source = np.asarray(source)
    max_length = whole(NAME, "max_length", max_length, 1)
    K = whole(NAME, "beam", beam, 1)
    best = K if best is None else whole(NAME, "best", best, 1)
    for name, value in ("alpha", alpha), ("beta", beta):
        if number(NAME, name, value) < 0:
            raise ValueError(f"{NAME}: {name} is {value}; expected 0 or more.")
    special = special_of(model)
    with evaluation(model):
        beams = _Beams(source, lengths, max_length, K, alpha, beta, best, special.end)
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

    def __init__(self, source, lengths, max_length, K, alpha, beta, best, end):
        B, S = source.shape
        self.max_length, self.alpha, self.beta = max_length, alpha, beta
        self.best, self.end = best, end
        self.sentence = np.arange(B)  # (n,) the sentence of each row
        self.log_p = np.zeros(B)  # (n,) ln P so far
        self.widths = np.full(B, K)  # the current K of each sentence
        self.finished = [[] for _ in range(B)]  # Hypotheses, best first
        lengths = np.full(B, S) if lengths is None else np.asarray(lengths)
        self.is_token = np.arange(S) < lengths[:, None]  # (B, S), False: padding
        self.coverage = np.zeros((B, S))  # (n, S): sum of weights
        self.steps = []  # (rows, tokens) that each step kept
        self.weights = []  # (n, S) of each step, in its rows; or None

    def advance(self, logp, weights):
        """Return the rows and tokens of the next prefixes, from logp (n, V)."""
        if weights is None and self.beta:
            raise ValueError(
                f"{NAME}: beta is {self.beta}, and the model has no weights; expected "
                "a model with attention, or beta 0."
            )
        if weights is not None:
            weights = plain(weights)
            if np.isnan(weights).any():
                raise FloatingPointError(
                    f"{NAME}: the model's weights hold NaN; expected numbers. Check "
                    "its parameters for NaN."
                )
            self.coverage += weights
        self.weights.append(weights)
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
        self.coverage = self.coverage[rows]
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
        if self.beta:
            coverage = self.coverage[row][self.is_token[b]]
            score += self.beta * float(np.log(np.clip(coverage, LEAST, 1)).sum())
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
