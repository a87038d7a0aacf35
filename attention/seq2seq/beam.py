"""Beam search: the best of many sentences, without examining all of them.

    s(y) = ln P(y | x) / lp(y) + cp(y)
    lp(y) = ((5 + |y|) / 6)^alpha                  |y| tokens, EOS included
    cp(y) = beta sum_j ln min(sum_t a_tj, 1)       over the tokens j of the source

ln P falls with every token and favours short sentences; lp compensates. alpha = 0 ranks
by ln P alone; the paper finds 0.2 best. cp is 0 when each token of the source received
a total weight of 1, and falls for tokens that were left out. Totals below LEAST count
as LEAST: ln 0 would make all those sentences equal. Wu et al. 2016, equation 14.

**The search.** It extends K beginnings of sentences; at first there is one, SOS. Each
step extends all of them by all tokens and keeps the K most probable. Those with EOS are
finished, keep their place, and K becomes smaller (Sutskever et al. 2014, section 3.2).
The search ends when K is 0, at ``max_length``, where unfinished sentences are taken as
they are, or when no beginning can still become one of the best: its s is at most
ln P / lp(max_length), since ln P only falls and cp is at most 0.

All beginnings of a step have the same length, so they are compared by ln P; lp and cp
rank finished sentences. K = 1 is ``greedy``. If K is the number of all sentences, the
best is certainly found. Equals are ordered by the row of their beginning, then by id.

Cost: a step of the model for at most B K rows, and K V candidates a sentence.
"""

from dataclasses import dataclass

import numpy as np

from minigrad.checks import number, plain, whole

from ..tasks.batch import EOS, PAD
from .decoding import Decoded, evaluation, first_step, log_probabilities

LEAST = 1e-6  # of the total weight of a source token
NAME = "beam_search"


@dataclass
class Hypothesis:
    """One sentence that a beam has found."""

    ids: list  # with EOS at the end, if it ended
    score: float  # s(y)
    log_probability: float  # ln P(y | x)
    weights: np.ndarray | None  # (|y|, S)


def beam_search(model, source, lengths, max_length, beam=4, *, alpha=0.0, beta=0.0):
    """Return the best sentence of a beam for each row of source: ``Decoded``.

    model, source, lengths, max_length   as of ``greedy``
    beam          K, the number of beginnings
    alpha, beta   of the length and of the coverage; 0 switches either off
    """
    options = dict(alpha=alpha, beta=beta, best=1)
    found = hypotheses(model, source, lengths, max_length, beam, **options)
    best = [each[0] for each in found]
    counts = np.array([len(h.ids) for h in best])
    ids = np.full((len(best), counts.max()), PAD)
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
    """Return the ``best`` sentences for each row of source, best first; None: K.

    As ``beam_search``  ->  a list of B lists of ``Hypothesis``
    """
    source = np.asarray(source)
    max_length = whole(NAME, "max_length", max_length, 1)
    K = whole(NAME, "beam", beam, 1)
    best = K if best is None else whole(NAME, "best", best, 1)
    for name, value in ("alpha", alpha), ("beta", beta):
        if number(NAME, name, value) < 0:
            raise ValueError(f"{NAME}: {name} is {value}; expected 0 or more.")
    with evaluation(model):
        beams = _Beams(source, lengths, max_length, K, alpha, beta, best)
        logits, state, weights = first_step(model, source, lengths)
        while True:
            rows, tokens = beams.advance(log_probabilities(logits), weights)
            if not len(rows):
                return beams.finished
            state.select(rows)
            logits, state, weights = model.step(state, tokens)


class _Beams:
    """The beginnings of all sentences, one a row, those of one sentence together."""

    def __init__(self, source, lengths, max_length, K, alpha, beta, best):
        B, S = source.shape
        self.max_length, self.alpha, self.beta = max_length, alpha, beta
        self.best = best
        self.owner = np.arange(B)  # (n,) the sentence of each row
        self.scores = np.zeros(B)  # (n,) ln P so far
        self.places = np.full(B, K)  # beginnings of each sentence that may go on
        self.finished = [[] for _ in range(B)]  # Hypotheses, best first
        lengths = np.full(B, S) if lengths is None else np.asarray(lengths)
        self.real = np.arange(S) < lengths[:, None]  # (B, S), not padding
        self.coverage = np.zeros((B, S))  # (n, S): sum of weights
        self.steps = []  # (rows, tokens) that each step kept
        self.weights = []  # (n, S) of each step, in its rows; or None

    def advance(self, logp, weights):
        """Choose the rows and tokens to continue with, from logp (n, V)."""
        if weights is None and self.beta:
            raise ValueError(
                f"{NAME}: beta is {self.beta}, and the model has no weights; expected "
                "a model with attention, or beta 0."
            )
        weights = None if weights is None else plain(weights)
        self.weights.append(weights)
        if weights is not None:
            self.coverage += weights
        n = len(self.steps) + 1  # tokens of a beginning, with the new one
        rows, tokens, scores = [], [], []
        starts = np.searchsorted(self.owner, np.arange(len(self.places) + 1))
        for b, (first, stop) in enumerate(zip(starts, starts[1:])):
            candidates = self.scores[first:stop, None] + logp[first:stop]  # (k, V)
            continued = []
            for score, k, token in largest(candidates, self.places[b]):
                if token == EOS or n == self.max_length:
                    self._finish(b, score, first + k, token)
                    self.places[b] -= 1
                else:
                    continued.append((score, first + k, token))
            if continued and not self._settled(b, continued[0][0]):
                for each, value in zip((scores, rows, tokens), zip(*continued)):
                    each.extend(value)
        rows, tokens = np.array(rows, np.intp), np.array(tokens, np.intp)
        self.steps.append((rows, tokens))
        self.scores, self.owner = np.array(scores), self.owner[rows]
        self.coverage = self.coverage[rows]
        return rows, tokens

    def _finish(self, b, log_probability, row, token):
        """Follow a sentence back to its first token, and enter it as finished."""
        ids, weights, at = [token], [], row
        for t in reversed(range(len(self.steps) + 1)):
            if self.weights[t] is not None:
                weights.append(self.weights[t][at])
            if t:
                rows, tokens = self.steps[t - 1]
                ids.append(int(tokens[at]))
                at = rows[at]
        score = log_probability / self._length_penalty(len(ids))
        if self.beta:
            coverage = self.coverage[row][self.real[b]]
            score += self.beta * float(np.log(np.clip(coverage, LEAST, 1)).sum())
        weights = np.stack(weights[::-1]) if weights else None
        found = Hypothesis(ids[::-1], score, log_probability, weights)
        found = sorted([*self.finished[b], found], key=lambda h: -h.score)
        self.finished[b] = found[: self.best]  # among equals the earlier stays first

    def _settled(self, b, score):
        """Return whether no beginning of sentence b can become one of the best."""
        found = self.finished[b]
        if len(found) < self.best:
            return False
        return score / self._length_penalty(self.max_length) <= found[-1].score

    def _length_penalty(self, n):
        return ((5 + n) / 6) ** self.alpha


def largest(scores, n):
    """Return [(score, row, token)] of the n largest of (k, V) that are not -inf.

    Among equals the first, by row and then by token.
    """
    flat = scores.reshape(-1)
    found = np.arange(flat.size)
    if n < flat.size:
        least = np.partition(flat, flat.size - n)[flat.size - n]
        found = np.flatnonzero(flat >= least)
    found = found[np.argsort(-flat[found], kind="stable")][:n]
    found = found[flat[found] > -np.inf]
    rows, tokens = np.divmod(found, scores.shape[1])
    return list(zip(flat[found].tolist(), rows.tolist(), tokens.tolist()))
