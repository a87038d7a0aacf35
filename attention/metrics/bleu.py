"""BLEU: how many n-grams a translation shares with a reference, from 0 to 100.

An n-gram is a sequence of n words. The translation is called the hypothesis.

    p_n  = sum_s sum_g min(h_sg, r_sg) / sum_s sum_g h_sg
    BP   = 1 if c >= r, otherwise exp(1 - r / c)
    BLEU = 100 BP exp(1/N sum_n log p_n)          N = 4

    s      a sentence                 g      an n-gram of its hypothesis
    h_sg   how often g occurs in the hypothesis
    r_sg   how often g occurs in the reference of s
    c      the number of words of all hypotheses
    r      the number of words of all references

The minimum clips the count: a repeated word counts as often as in the reference at
most.
The brevity penalty BP replaces recall. The counts of all sentences are summed before
they are divided, so the BLEU of a corpus is not the mean of the BLEU of its sentences.

If one p_n is 0, BLEU is 0, and short texts often share no four words. There are two
kinds of smoothing, with the names of sacrebleu:

    none     BLEU is 0
    exp      the k-th count of 0 becomes 1 / 2^k

Scale, smoothing and numbers are those of sacrebleu with tokenize="none": words are
separated by spaces, or are the given tokens. Compare BLEU scores only if both use the
same tokenization.

Papineni et al. 2002; for smoothing Chen and Cherry 2014; Post 2018.
"""

import math
import numbers
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from minigrad.arguments import one_of, whole


@dataclass(frozen=True)
class Bleu:
    """A BLEU score and its factors."""

    score: float  # 0 to 100
    precisions: list  # of n = 1 to N, 0 to 100, smoothed
    brevity_penalty: float  # 0 to 1
    hypothesis_length: int  # c
    reference_length: int  # r


def corpus_bleu(hypotheses, references, **options):
    """Return the BLEU of all sentences together, from 0 to 100.

    Equal texts have 100; or 0 if no sentence has four words. The arguments are those
    of ``bleu_parts``.
    """
    return bleu_parts(hypotheses, references, **options).score


def bleu_parts(hypotheses, references, max_order=4, smoothing="exp"):
    """Return the BLEU of all sentences together with its factors: a ``Bleu``.

    hypotheses   sentences: strings, split at white space, or lists of tokens
    references   one sentence for each hypothesis
    max_order    N, the longest n-gram
    smoothing    "none", or "exp", the usual one
    """
    N = whole("BLEU", "max_order", max_order, 1)
    one_of("BLEU", "smoothing", smoothing, ("none", "exp"))
    counts = sentence_counts(hypotheses, references, N)
    *of_orders, c, r = (sum(column) for column in zip(*counts))
    matches, totals = of_orders[:N], of_orders[N:]
    penalty = 1.0 if c >= r else math.exp(1 - r / c) if c else 0.0
    if not any(matches):  # nothing to smooth
        return Bleu(0.0, [0.0] * N, penalty, c, r)
    precisions = _precisions(matches, totals, smoothing)
    score = 0.0
    if min(precisions) > 0:
        score = penalty * math.exp(math.fsum(map(math.log, precisions)) / N)
    return Bleu(score, precisions, penalty, c, r)


def sentence_counts(hypotheses, references, N):
    """Return what BLEU is made of: 2 N + 2 whole numbers of each sentence.

    The matching n-grams, n = 1 to N; the n-grams of the hypothesis; the words of the
    hypothesis; the words of the reference.
    """
    rows = []
    for hypothesis, reference in _tokenized(hypotheses, references):
        matches, totals = [], []
        for n in range(1, N + 1):
            counts = _ngrams(hypothesis, n)
            clipped = counts & _ngrams(reference, n)  # the smaller of the two counts
            matches.append(clipped.total())
            totals.append(counts.total())
        rows.append([*matches, *totals, len(hypothesis), len(reference)])
    return rows


def _precisions(matches, totals, smoothing):
    """Return p_1 to p_N in percent."""
    precisions, zeros = [], 0
    for right, total in zip(matches, totals):
        if total and not right and smoothing == "exp":
            zeros += 1
            right = 0.5**zeros
        precisions.append(100 * right / total if total else 0.0)
    return precisions


def _ngrams(tokens, n):
    return Counter(zip(*(tokens[i:] for i in range(n))))


def _tokenized(hypotheses, references):
    """Return [(tokens of a hypothesis, tokens of its reference), …]."""
    for name, x in ("hypotheses", hypotheses), ("references", references):
        if isinstance(x, str):
            raise TypeError(
                f"BLEU: {name} is one string; expected a list of sentences. Put one "
                "sentence in a list."
            )
    if len(hypotheses) != len(references) or not len(hypotheses):
        raise ValueError(
            f"BLEU: found {len(hypotheses)} hypotheses and {len(references)} "
            "references; expected one entry of references for each hypothesis, and one "
            "or more."
        )
    pairs = []
    for i, pair in enumerate(zip(hypotheses, references)):
        hypothesis, reference = map(_tokens, pair)
        if not reference:
            raise ValueError(
                f"BLEU: the reference of hypothesis {i} is empty; expected a sentence."
            )
        pairs.append((hypothesis, reference))
    return pairs


def _tokens(sentence):
    """Return the words of a string; check those of a list."""
    if isinstance(sentence, str):
        return sentence.split()
    tokens = list(sentence) if isinstance(sentence, Iterable) else [sentence]
    for token in tokens:
        is_token = isinstance(token, (str, numbers.Integral))
        if not is_token or " " in str(token).strip():  # " the" is a piece of a tokenizer
            raise ValueError(
                f"BLEU: a sentence has the token {token!r}; expected a word, or an id. "
                "A whole sentence is a string; each hypothesis has one reference."
            )
    return tokens
