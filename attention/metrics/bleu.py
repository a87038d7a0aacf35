"""BLEU: how many n-grams a translation shares with a reference, from 0 to 100.

An n-gram is a sequence of n words. The translation is called the hypothesis.

    p_n  = sum_s sum_g min(h_sg, r_sg) / sum_s sum_g h_sg
    BP   = 1 if c >= r, otherwise exp(1 - r / c)
    BLEU = 100 BP exp(1/N sum_n log p_n)          N = 4

    s      a sentence                 g      an n-gram of its hypothesis
    h_sg   how often g occurs in the hypothesis
    r_sg   how often g occurs in that reference of s in which it occurs most often
    c      the number of words of all hypotheses
    r      the sum over the sentences of the length of one reference: the one nearest
           in length to the hypothesis (the shorter one if two are equally near)

The minimum clips the count: a repeated word counts at most as often as in a reference.
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

    Equal texts have 100; or 0 if no sentence has four words, and ``effective_order``
    is False. The arguments are those of ``bleu_parts``.
    """
    return bleu_parts(hypotheses, references, **options).score


def bleu_parts(
    hypotheses,
    references,
    max_order=4,
    smoothing="exp",
    several=False,
    effective_order=False,
):
    """Return the BLEU of all sentences together with its factors: a ``Bleu``.

    hypotheses        sentences: strings, split at white space, or lists of tokens
    references        one sentence for each hypothesis; with ``several``, a list of
                      sentences for each
    max_order         N, the longest n-gram
    smoothing         "none", or "exp", the usual one
    effective_order   True: if all hypotheses have fewer than N words, N is the length
                      of the longest. False: the score is then 0
    """
    N = whole("BLEU", "max_order", max_order, 1)
    one_of("BLEU", "smoothing", smoothing, ("none", "exp"))
    matches, totals = [0] * N, [0] * N
    c = r = 0
    for hypothesis, options in _tokenized(hypotheses, references, several):
        c += len(hypothesis)
        r += min(
            (len(option) for option in options),
            key=lambda length: (abs(length - len(hypothesis)), length),
        )
        for n in range(1, N + 1):
            counts, largest = _ngrams(hypothesis, n), Counter()
            for option in options:
                largest |= _ngrams(option, n)  # the larger of the two counts
            matches[n - 1] += (counts & largest).total()  # the smaller: clipped
            totals[n - 1] += counts.total()
    penalty = 1.0 if c >= r else math.exp(1 - r / c) if c else 0.0
    if not any(matches):  # nothing to smooth
        return Bleu(0.0, [0.0] * N, penalty, c, r)
    precisions = _precisions(matches, totals, smoothing)
    used = precisions[: sum(n > 0 for n in totals)] if effective_order else precisions
    score = 0.0
    if min(used) > 0:
        score = penalty * math.exp(math.fsum(map(math.log, used)) / len(used))
    return Bleu(score, precisions, penalty, c, r)


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


def _tokenized(hypotheses, references, several):
    """Return [(tokens of a hypothesis, [tokens of each of its references]), …]."""
    for name, x in ("hypotheses", hypotheses), ("references", references):
        if isinstance(x, str):
            raise TypeError(
                f"BLEU: {name} is one string; expected a list of sentences. Put one "
                "sentence in a list, and use effective_order=True."
            )
    if len(hypotheses) != len(references) or not len(hypotheses):
        raise ValueError(
            f"BLEU: found {len(hypotheses)} hypotheses and {len(references)} "
            "references; expected one entry of references for each hypothesis, and one "
            "or more."
        )
    pairs = []
    for i, (hypothesis, given) in enumerate(zip(hypotheses, references)):
        options = [_tokens(option) for option in (given if several else [given])]
        if not options or not all(options):
            raise ValueError(
                f"BLEU: a reference of hypothesis {i} is empty; expected a sentence."
            )
        pairs.append((_tokens(hypothesis), options))
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
                "A whole sentence is a string; a list of several references for each "
                "hypothesis needs several=True."
            )
    return tokens
