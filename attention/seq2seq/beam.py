"""Beam search: the best of many sentences, without looking at all of them.

    s(y) = ln P(y | x) / lp(y) + cp(y)
    lp(y) = ((5 + |y|) / 6)^alpha                  |y| tokens, EOS among them
    cp(y) = beta sum_j ln min(sum_t a_tj, 1)       over the tokens j of the source

ln P falls with every token, so that of two sentences the shorter wins; lp makes up for
it. alpha = 0 ranks by ln P alone; the paper has 0.2 for the best. cp is 0 when each
token of the source was looked at with a weight of 1 in all, and falls for what was left
out. A sum below LEAST counts as LEAST: ln 0 would make all those sentences equal.
Wu et al. 2016, equation 14.

**The search.** K beginnings go on; at first there is one, SOS. Each step prolongs all
of them by all tokens, and of these the K most probable are kept, those with EOS are
finished, take their place with them, and K becomes less (Sutskever et al. 2014, section
3.2). It ends when no place is left, at ``max_length``, where what goes on is taken as
it is, or when nothing can still become one of the best: s of a beginning is never more
than ln P / lp(max_length), for ln P and cp only fall or are at most 0.

All beginnings of a step have the same length, so only their ln P is compared: cp, which
will change, and lp count among finished sentences. K = 1 is ``greedy``. With K as large
as there are sentences, nothing is dropped and the best is found. Equals go by the place
of their beginning, then by the id of the token.

Cost: a step of the model for at most B K rows, and K V candidates a sentence.
"""

import math
from dataclasses import dataclass

import numpy as np

from ..checks import whole
from ..tasks.batch import EOS, PAD
from .decoding import (
    Decoded,
    checked,
    checked_weights,
    decoding,
    first_step,
    log_probabilities,
)

LEAST = 1e-6  # the least that a token of the source can count as looked at
NAME = "beam_search"


@dataclass
class Hypothesis:
    """One sentence that a beam has found."""

    ids: list  # with EOS at the end, if it ended
    score: float  # s(y)
    log_probability: float  # ln P(y | x)
    weights: np.ndarray | None  # (|y|, S)


def beam_search(model, source, lengths, max_length, beam=4, *, alpha=0.0, beta=0.0):
    """The best sentence that a beam finds for each row of source: ``Decoded``.

    model, source, lengths, max_length   as of ``greedy``
    beam          K, how many beginnings of a sentence go on
    alpha, beta   of the length and of the coverage; 0 switches either off

    Raises TypeError and ValueError, in a sentence, for arguments that do not fit.
    """
    found = hypotheses(
        model, source, lengths, max_length, beam, alpha=alpha, beta=beta, best=1
    )
    best = [each[0] for each in found]
    said = np.array([len(h.ids) for h in best])
    ids = np.full((len(best), said.max()), PAD)
    weights = None
    if best[0].weights is not None:
        S = best[0].weights.shape[1]
        weights = np.zeros((*ids.shape, S), best[0].weights.dtype)
    for b, h in enumerate(best):
        ids[b, : said[b]] = h.ids
        if weights is not None:
            weights[b, : said[b]] = h.weights
    return Decoded(ids, said, np.array([h.score for h in best]), weights)


def hypotheses(
    model, source, lengths, max_length, beam=4, *, alpha=0.0, beta=0.0, best=None
):
    """The ``best`` sentences for each row of source, best first; None: as many as K.

    As ``beam_search``  ->  a list of B lists of ``Hypothesis``
    """
    source, lengths = checked(NAME, source, lengths)
    max_length, K = (
        whole(NAME, "max_length", max_length, 1),
        whole(NAME, "beam", beam, 1),
    )
    best = K if best is None else whole(NAME, "best", best, 1)
    alpha, beta = _factor("alpha", alpha), _factor("beta", beta)
    with decoding(model):
        beams = _Beams(source, lengths, max_length, K, alpha, beta, best)
        logits, state, weights = first_step(model, source, lengths)
        while True:
            logp = log_probabilities(NAME, logits, len(beams.owner))
            rows, tokens = beams.advance(logp, weights)
            if not len(rows):
                return beams.finished
            state.select(rows)
            logits, state, weights = model.step(state, tokens)


class _Beams:
    """The beginnings of all sentences: rows, those of one sentence side by side."""

    def __init__(self, source, lengths, max_length, K, alpha, beta, best):
        B, S = source.shape
        self.max_length, self.alpha, self.beta = max_length, alpha, beta
        self.best = best
        self.owner = np.arange(B)  # (n,) which sentence a row belongs to
        self.scores = np.zeros(B)  # (n,) ln P so far
        self.places = np.full(B, K)  # how many beginnings of each may go on
        self.finished = [[] for _ in range(B)]  # Hypotheses, best first
        lengths = np.full(B, S) if lengths is None else lengths
        self.real = np.arange(S) < lengths[:, None]  # (B, S), not padding
        self.covered = np.zeros((B, S))  # (n, S): sum of weights
        self.steps = []  # (rows, tokens) that went on from each step
        self.looked = []  # weights (n, S) of each step, rows as they were then; or None

    def advance(self, logp, weights):
        """Choose among all that can follow: which rows go on, and with which token."""
        if weights is None and self.beta:
            raise ValueError(
                f"{NAME}: beta is {self.beta}, and the model returned no weights; "
                "expected weights (n, S) for a coverage penalty, or beta 0."
            )
        weights = checked_weights(NAME, weights, self.covered.shape)
        self.looked.append(weights)
        if weights is not None:
            self.covered += weights
        n = len(self.steps) + 1  # tokens, with the one that is chosen now
        rows, tokens, scores = [], [], []
        starts = np.searchsorted(self.owner, np.arange(len(self.places) + 1))
        for b, (first, stop) in enumerate(zip(starts, starts[1:])):
            candidates = self.scores[first:stop, None] + logp[first:stop]  # (k, V)
            going = []
            for score, k, token in most(candidates, self.places[b]):
                if token == EOS or n == self.max_length:
                    self._finish(b, score, first + k, token)
                    self.places[b] -= 1
                else:
                    going.append((score, first + k, token))
            if going and not self._settled(b, going[0][0]):
                for each, value in zip((scores, rows, tokens), zip(*going)):
                    each.extend(value)
        rows, tokens = np.array(rows, np.intp), np.array(tokens, np.intp)
        self.steps.append((rows, tokens))
        self.scores, self.owner = np.array(scores), self.owner[rows]
        self.covered = self.covered[rows]
        return rows, tokens

    def _finish(self, b, log_probability, row, token):
        ids, weights, at = [token], [], row
        for t in reversed(range(len(self.steps) + 1)):
            if self.looked[t] is not None:
                weights.append(self.looked[t][at])
            if t:
                before, said = self.steps[t - 1]
                ids.append(int(said[at]))
                at = before[at]
        score = log_probability / self._penalty(len(ids))
        if self.beta:
            looked = self.covered[row][self.real[b]]
            score += self.beta * float(np.log(np.clip(looked, LEAST, 1)).sum())
        weights = np.stack(weights[::-1]) if weights else None
        found = Hypothesis(ids[::-1], score, log_probability, weights)
        found = sorted([*self.finished[b], found], key=lambda h: -h.score)
        self.finished[b] = found[: self.best]  # among equals the earlier stays first

    def _settled(self, b, score):
        """Whether no beginning of sentence b can still become one of the best."""
        found = self.finished[b]
        if len(found) < self.best:
            return False
        return score / self._penalty(self.max_length) <= found[-1].score

    def _penalty(self, n):
        return ((5 + n) / 6) ** self.alpha


def most(scores, n):
    """[(score, row, token)] of the n greatest of (k, V), none of them -inf.

    Among equals the first, by row and then by token.
    """
    flat = scores.reshape(-1)
    places = np.arange(flat.size)
    if n < flat.size:
        least = np.partition(flat, flat.size - n)[flat.size - n]
        places = np.flatnonzero(flat >= least)
    places = places[np.argsort(-flat[places], kind="stable")][:n]
    places = places[flat[places] > -np.inf]
    rows, tokens = np.divmod(places, scores.shape[1])
    return list(zip(flat[places].tolist(), rows.tolist(), tokens.tolist()))


def _factor(name, value):
    number = isinstance(value, (int, float, np.integer, np.floating))
    if isinstance(value, (bool, np.bool_)) or not number:
        raise TypeError(f"{NAME}: {name} is {value!r}; expected a number.")
    if not 0 <= value < math.inf:
        raise ValueError(f"{NAME}: {name} is {value}; expected a number, 0 or more.")
    return float(value)
