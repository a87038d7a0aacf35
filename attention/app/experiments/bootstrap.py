"""How far a BLEU score might be off: it is computed again for resampled test sets.

Sentences are drawn with replacement, as many as there are, and BLEU is that of those
drawn (Koehn 2004). Of several models that differ by their seed alone, as many are drawn
with replacement as well, and the mean of their BLEU is taken. What lies between the
2.5th and the 97.5th percentile is the interval. It thus holds two kinds of chance:
which sentences were asked, and which seeds were taken.

With three seeds the second is a rough guess, since three numbers say little about the
ones that were not drawn, and the interval is rather too narrow than too wide.

BLEU needs of a sentence only its counts, so a resampling is a product of a matrix, of
how often each sentence was drawn, with the counts.
"""

import numpy as np

from ...seq2seq.bleu import bleu_parts

N = 4  # the longest n-gram


def counts(said, wanted):
    """What BLEU is made of, of each sentence: (n, 2 N + 2) whole numbers.

    In a row: the n-grams that are right, n = 1 to N; those that were said; the words
    that were said; those that were wanted.
    """
    rows = []
    for mine, right in zip(said, wanted):
        parts = bleu_parts([mine], [right], N, "none")
        total = [max(len(mine) - n, 0) for n in range(N)]
        matches = [round(p * t / 100) for p, t in zip(parts.precisions, total)]
        rows.append([*matches, *total, len(mine), len(right)])
    return np.array(rows)


def bleu(sums):
    """BLEU (...) of summed counts (..., 2 N + 2), with smoothing "exp"."""
    sums = np.asarray(sums, float)
    right, total = sums[..., :N], sums[..., N : 2 * N]
    c, r = sums[..., -2], sums[..., -1]
    zeros = (right == 0) & (total > 0)
    smoothed = np.where(zeros, 0.5 ** zeros.cumsum(-1), right)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.where(total > 0, smoothed / total, 0))
        penalty = np.where(c >= r, 1.0, np.exp(1 - r / c))
    score = 100 * penalty * np.exp(logs.mean(-1))
    return np.where((right.sum(-1) > 0) & (c > 0), score, 0.0)


def resampled(models, seed=0, times=2000):
    """BLEU of each kind of model, in each of ``times`` resamplings: {kind: (times,)}.

    models   {kind: (seeds, n, 2 N + 2)}: counts of the same n sentences by each seed

    All kinds are asked the same drawn sentences, so their differences are fair; which
    seeds are drawn is each kind's own affair.
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
    """[low, high]: 95 % of the values lie between."""
    return np.percentile(values, [2.5, 97.5]).tolist()
