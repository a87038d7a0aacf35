"""Compare attention weights with correct word alignments, and measure their sharpness.

Weights w (T, S) link each of T targets to the source that has its largest weight. These
links are a set:

    found = {(t, argmax_s w_ts)}

There are two kinds of correct links. The sure links must be found. The possible links
may be found, and the sure links are among them. With |x| for the number of links in a
set x, and & for the intersection, the alignment error rate is from 0 (no error) to 1:

    AER = 1 - (|found & sure| + |found & possible|) / (|found| + |sure|)

If all possible links are sure, it is 1 - F1. Compare an AER with those of two
alignments that ignore the sentences: ``uniform_baseline`` and ``diagonal_baseline``.

The entropy of a row measures its sharpness, in nats: 0 for one source, log S for all.

    H_t = - sum_s w_ts log w_ts

AER: Och and Ney 2003.
"""

import numpy as np

from minigrad.arguments import plain

TOLERANCE = 1e-2  # of the sum of a row of weights, which may be float16


def alignment_error_rate(weights, gold, possible=None):
    """Return the AER of one sentence, from 0 to 1.

    weights    (T, S), a row for each target; a row of zeros links to nothing, and of
               equal weights the first counts. Leave padding out: weights[:T, :S]
    gold       the sure links: a set of (t, s), or a bool matrix (T, S)
    possible   the possible links, in the same form; the sure links need not be included
    """
    return _rate(*_counts("alignment_error_rate", weights, gold, possible))


def corpus_alignment_error_rate(weights, golds, possibles=None):
    """Return the AER of many sentences: counts are summed before they are divided.

    weights, golds, possibles   lists with the arguments of ``alignment_error_rate``
    """
    name = "corpus_alignment_error_rate"
    possibles = [None] * len(golds) if possibles is None else possibles
    if not len(weights) == len(golds) == len(possibles):
        raise ValueError(
            f"{name}: found {len(weights)} weights, {len(golds)} golds and "
            f"{len(possibles)} possibles; expected one of each for every sentence."
        )
    each = zip(weights, golds, possibles)
    counts = [_counts(name, *sentence) for sentence in each]
    return _rate(*np.sum(counts, axis=0)) if counts else _rate(0, 0, 0)


def links(weights):
    """Return {(t, s)}: for each target t, the s of the largest of weights (T, S).

    A target whose weights are all 0 has no link.
    """
    weights = validated_weights("links", weights)
    attends = weights.any(1)
    return {(t, int(s)) for t, s in enumerate(weights.argmax(1)) if attends[t]}


def diagonal_links(T, S):
    """Return {(t, s)} on a straight line from the first pair of words to the last."""
    return {(t, round(t * (S - 1) / max(T - 1, 1))) for t in range(T)}


def diagonal_baseline(T, S, gold, possible=None):
    """Return the AER of ``diagonal_links``, which does not read the sentences."""
    weights = np.zeros((T, S))
    weights[tuple(zip(*diagonal_links(T, S)))] = 1
    return _rate(*_counts("diagonal_baseline", weights, gold, possible))


def uniform_baseline(T, S, gold, possible=None):
    """Return the expected AER of guessing: each target linked to a random source."""
    sure, allowed = _gold("uniform_baseline", (T, S), gold, possible)
    # a guess is in a set with probability 1/S for each link; |found| is always T
    return _rate(len(sure) / S, len(allowed) / S, T + len(sure))


def attention_entropy(weights):
    """Return the entropy of every row, in nats: (..., L, S) -> (..., L), float64.

    A row of zeros (a query without keys) has entropy 0. All other rows must sum to 1.
    The rows of local-p do not: pass them to ``renormalized`` first.
    """
    w = validated_weights("attention_entropy", weights)
    return np.abs(w * np.log(np.where(w > 0, w, 1))).sum(-1)  # 0 log 0 = 0


def validated_weights(name, weights):
    """Return weights (..., L, S) as float64 if each row sums to 1 or is all 0."""
    w = plain(weights).astype(np.float64)
    if w.ndim < 2:
        raise ValueError(f"{name}: weights have shape {w.shape}; expected (..., L, S).")
    total = w.sum(-1)
    one = np.isclose(total, 1, rtol=0, atol=TOLERANCE)
    wrong = ~(one | (total == 0)) | (w < 0).any(-1)
    if wrong.any():
        row = tuple(np.argwhere(wrong)[0].tolist())
        raise ValueError(
            f"{name}: row {row} of the weights sums to {total[row]:.4g}, its least "
            f"number is {w[row].min():.4g}; expected numbers of 0 or more that sum to "
            "1, as a softmax has them, or zeros. renormalized(weights) divides the "
            "weights of local-p by their sums."
        )
    return w


def renormalized(weights):
    """Return the weights (..., L, S) with each row divided by its sum; zeros stay.

    The rows of local-p sum to less than 1 by design (``attention/variants/local.py``).
    AER, patterns and entropy are defined for rows that sum to 1.
    """
    w = plain(weights).astype(np.float64)
    total = w.sum(-1, keepdims=True)
    if (total > 1 + TOLERANCE).any() or (w < 0).any():
        validated_weights("renormalized", w)  # raises: these are scores, not weights
    return w / np.where(total > 0, total, 1)


def _counts(name, weights, gold, possible):
    """Return |found & sure|, |found & possible|, |found| + |sure|."""
    weights = validated_weights(name, weights)
    sure, allowed = _gold(name, weights.shape, gold, possible)
    found = links(weights)
    return len(found & sure), len(found & allowed), len(found) + len(sure)


def _rate(of_sure, of_possible, total):
    if not total:
        raise ValueError(
            "The alignment error rate is not defined: there is neither a row of "
            "weights nor a sure link."
        )
    return float(1 - (of_sure + of_possible) / total)


def _gold(name, shape, gold, possible):
    """Return the sure links and the possible links, as sets of (t, s)."""
    sure = _link_set(name, "gold", gold, shape)
    if possible is None:
        return sure, sure
    return sure, sure | _link_set(name, "possible", possible, shape)


def _link_set(name, argument, links, shape):
    """Return links, given as a set of (t, s) or as a bool matrix, as a set."""
    if hasattr(links, "dtype"):
        matrix = plain(links)
        if matrix.dtype != bool or matrix.shape != shape:
            raise ValueError(
                f"{name}: {argument} is {matrix.dtype} of shape {matrix.shape}; "
                f"expected bool of shape {shape}, or a set of (t, s)."
            )
        return {(t, s) for t, s in np.argwhere(matrix).tolist()}
    links = {(t, s) for t, s in links}
    for t, s in links:
        if not (0 <= t < shape[0] and 0 <= s < shape[1]):
            raise ValueError(
                f"{name}: {argument} holds the link {(t, s)}, and there are {shape[0]} "
                f"targets and {shape[1]} sources; expected (t, s), counted from 0."
            )
    return links
