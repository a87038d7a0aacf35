"""BLEU: how many runs of words a translation shares with a reference, from 0 to 100.

    p_n = sum over sentences, over n-grams g, of min(count of g in the hypothesis,
          the most times g stands in one reference)  /  number of n-grams said
    BP = 1 where c >= r, else exp(1 - r / c)
    BLEU = 100 BP exp(1/N sum_n log p_n)          N = 4

The min is the clipping: a hypothesis cannot gain by saying a good word seven times.
The brevity penalty BP stands for recall: c words were said, r should have been, where r
sums, over the sentences, the length of the reference nearest in length (of two, the
shorter). The counts of all sentences are summed before they are divided: the BLEU of a
corpus is not the mean of its sentences'.

A p_n of 0 makes BLEU 0, and in short texts no four words match. Hence smoothing, by the
names that sacrebleu gave them:

    none     BLEU is then 0
    floor    a count of 0 becomes ``value``, 0.1
    add-k    ``value``, 1, is added to counts and totals, but for n = 1
    exp      the k-th count of 0 becomes 1 / 2^k

Scale, smoothing and numbers are sacrebleu's, with tokenize="none": words are what
stands between spaces, or the tokens that are passed. So a score can be compared only
with one of the same tokens.

Papineni et al. 2002; for smoothing Chen and Cherry 2014, techniques 1 to 3; Post 2018.
"""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from ..checks import whole

SMOOTHING = {"none": None, "floor": 0.1, "add-k": 1.0, "exp": None}  # default values


@dataclass(frozen=True)
class Bleu:
    """What BLEU is made of."""

    score: float  # 0 to 100
    precisions: list  # of n = 1 to N, 0 to 100, smoothed
    brevity_penalty: float  # 0 to 1
    hypothesis_length: int  # c
    reference_length: int  # r


def corpus_bleu(
    hypotheses,
    references,
    max_order=4,
    smoothing="exp",
    value=None,
    several=False,
    effective_order=False,
):
    """The BLEU of all sentences together, from 0 to 100: 100 where they are equal.

    hypotheses        sentences: strings, split at white space, or lists of tokens
    references        one sentence for each hypothesis; with ``several``, a list of
                      sentences for each
    max_order         N, the longest n-gram that counts
    smoothing         "none", "floor", "add-k" or "exp", the usual one
    value             of floor and add-k; None: 0.1 and 1
    effective_order   True: orders of which the hypotheses hold no n-gram are left out;
                      else they make the score 0, except with add-k

    Raises TypeError and ValueError, in a sentence, for arguments that do not fit.
    """
    return bleu_parts(
        hypotheses, references, max_order, smoothing, value, several, effective_order
    ).score


def sentence_bleu(
    hypothesis, reference, max_order=4, smoothing="exp", value=None, several=False
):
    """The BLEU of one sentence, with the effective order.

    Noisy: one sentence has few n-grams. For a corpus use ``corpus_bleu``.
    """
    return corpus_bleu(
        [hypothesis], [reference], max_order, smoothing, value, several, True
    )


def bleu_parts(
    hypotheses,
    references,
    max_order=4,
    smoothing="exp",
    value=None,
    several=False,
    effective_order=False,
):
    """``corpus_bleu`` with all that it is computed from: a ``Bleu``."""
    N = whole("BLEU", "max_order", max_order, 1)
    value = _checked_value(smoothing, value)
    pairs = _checked_sentences(hypotheses, references, several)
    right, said = np.zeros(N), np.zeros(N)
    c = r = 0
    for hypothesis, options in pairs:
        c += len(hypothesis)
        r += min(
            (len(option) for option in options),
            key=lambda length: (abs(length - len(hypothesis)), length),
        )
        for n in range(1, N + 1):
            counts, most = _ngrams(hypothesis, n), Counter()
            for option in options:
                most |= _ngrams(option, n)  # the larger of the two counts
            right[n - 1] += (counts & most).total()  # the smaller: clipped
            said[n - 1] += counts.total()
    penalty = 1.0 if c >= r else math.exp(1 - r / c) if c else 0.0
    if not right.any():  # nothing to smooth
        return Bleu(0.0, [0.0] * N, penalty, c, r)
    if smoothing == "add-k":
        right[1:] += value
        said[1:] += value
    precisions = _precisions(right, said, smoothing, value)
    used = precisions[: np.count_nonzero(said)] if effective_order else precisions
    score = 0.0
    if min(used) > 0:
        score = penalty * math.exp(math.fsum(map(math.log, used)) / len(used))
    return Bleu(score, precisions, penalty, c, r)


def _precisions(right, said, smoothing, value):
    """p_1 to p_N in percent."""
    precisions, zeros = [], 0
    for matches, total in zip(right.tolist(), said.tolist()):
        if total and not matches:
            zeros += 1
            if smoothing == "floor":
                matches = value
            elif smoothing == "exp":
                matches = 0.5**zeros
        precisions.append(100 * matches / total if total else 0.0)
    return precisions


def _ngrams(tokens, n):
    return Counter(zip(*(tokens[i:] for i in range(n))))


def _checked_value(smoothing, value):
    if smoothing not in SMOOTHING:
        raise ValueError(
            f"BLEU: there is no smoothing {smoothing!r}; choose from "
            f"{', '.join(SMOOTHING)}."
        )
    if value is None:
        return SMOOTHING[smoothing]
    if SMOOTHING[smoothing] is None:
        raise ValueError(
            f"BLEU: value is {value!r}, and smoothing {smoothing!r} takes none; it "
            "belongs to floor and add-k."
        )
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float, np.number))
        or not (math.isfinite(value) and value > 0)
    ):
        raise ValueError(f"BLEU: value is {value!r}; expected a positive number.")
    return float(value)


def _checked_sentences(hypotheses, references, several):
    """[(tokens of a hypothesis, [tokens of each of its references]), …]"""
    for name, x in ("hypotheses", hypotheses), ("references", references):
        if isinstance(x, str):
            raise TypeError(
                f"BLEU: {name} is one string; expected a list of sentences. For one "
                "sentence there is sentence_bleu."
            )
    hypotheses, references = list(hypotheses), list(references)
    if len(hypotheses) != len(references):
        raise ValueError(
            f"BLEU: {len(hypotheses)} hypotheses and {len(references)} references; "
            "expected one entry of references for each hypothesis."
        )
    if not hypotheses:
        raise ValueError("BLEU: there are no hypotheses; expected one or more.")
    pairs = []
    for i, (hypothesis, given) in enumerate(zip(hypotheses, references)):
        if several and (
            isinstance(given, str) or not hasattr(given, "__len__") or not len(given)
        ):
            raise ValueError(
                f"BLEU: the references of hypothesis {i} are {given!r}; with several="
                "True, expected a list of one sentence or more."
            )
        options = [
            _tokens(f"reference {k} of hypothesis {i}", option)
            for k, option in enumerate(given if several else [given])
        ]
        if not all(options):
            raise ValueError(
                f"BLEU: reference {options.index([])} of hypothesis {i} is empty; "
                "expected a sentence."
            )
        pairs.append((_tokens(f"hypothesis {i}", hypothesis), options))
    return pairs


def _tokens(which, sentence):
    """A sentence as a list of strings or of whole numbers."""
    if isinstance(sentence, str):
        return sentence.split()
    if not hasattr(sentence, "__iter__"):
        raise TypeError(
            f"BLEU: {which} is {sentence!r}; expected a string or a list of tokens."
        )
    tokens = sentence.tolist() if isinstance(sentence, np.ndarray) else list(sentence)
    for token in tokens:
        if isinstance(token, str) and len(token.split()) == 1:
            continue
        if isinstance(token, (int, np.integer)) and not isinstance(token, bool):
            continue
        raise TypeError(
            f"BLEU: {which} holds {token!r}; expected tokens, strings without spaces "
            "or ids. For several references of each hypothesis pass several=True."
        )
    return tokens
