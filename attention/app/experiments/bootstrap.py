"""Confidence intervals of BLEU scores: BLEU is computed again for resampled test sets.

Sentences are drawn with replacement, as many as there are, and BLEU is that of the
drawn ones (Koehn 2004). Where several models differ by their seed alone, as many seeds
are drawn with replacement as well, and the mean of their BLEU is taken. The interval
reaches from the 2.5th to the 97.5th percentile. It covers two kinds of chance: which
sentences are in the test set, and which seeds were trained. With three seeds the second
is a rough guess, and the interval is too narrow rather than too wide.

BLEU needs only the counts of a sentence, so a resampling is one matrix product: how
often each sentence was drawn, times the counts.
"""

import numpy as np

from ...metrics.bleu import sentence_counts

N = 4  # the longest n-gram


def counts(outputs, references):
    """Count what BLEU is made of: (sentences, 2 N + 2), see ``sentence_counts``."""
    return np.array(sentence_counts(outputs, references, N))


def bleu(sums):
    """Compute BLEU (...) of summed counts (..., 2 N + 2), with smoothing "exp"."""
    sums = np.asarray(sums, float)
    matches, total = sums[..., :N], sums[..., N : 2 * N]
    c, r = sums[..., -2], sums[..., -1]
    zeros = (matches == 0) & (total > 0)
    smoothed = np.where(zeros, 0.5 ** zeros.cumsum(-1), matches)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.where(total > 0, smoothed / total, 0))
        penalty = np.where(c >= r, 1.0, np.exp(1 - r / c))
    score = 100 * penalty * np.exp(logs.mean(-1))
    return np.where((matches.sum(-1) > 0) & (c > 0), score, 0.0)


def resampled(models, seed=0, times=2000):
    """Resample BLEU of each kind of model ``times`` times: {kind: (times,)}.

    models   {kind: (seeds, n, 2 N + 2)}: counts of the same n sentences by each seed

    All kinds are scored on the same drawn sentences, so their differences are fair;
    the seeds are drawn for each kind separately.
    """
    rng = np.random.default_rng(seed)
    n = next(iter(models.values())).shape[1]
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=times)  # (times, n)
    found = {}
    for kind, each in models.items():
        scores = bleu(np.einsum("tn,snk->tsk", drawn, each))  # (times, seeds)
        chosen = rng.integers(len(each), size=scores.shape)
        found[kind] = np.take_along_axis(scores, chosen, 1).mean(1)
    return found


def interval(values):
    """Return [low, high]: 95 % of the values lie between."""
    return np.percentile(values, [2.5, 97.5]).tolist()
