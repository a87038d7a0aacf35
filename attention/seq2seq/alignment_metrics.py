"""Where attention looks, against where it should, and how sharply.

A (T, S) matrix of weights links every target t to the source it looks at most:

    A = {(t, argmax_s w_ts)}

Gold links are of two kinds: sure ones S, which must be found, and possible ones P,
among them the sure, which may. Alignment error rate, 0 (right) to 1:

    AER = 1 - (|A & S| + |A & P|) / (|A| + |S|)

Without possible links it is 1 - F1. To judge a number, compare it with those of two
alignments that know nothing: ``uniform_baseline``, ``diagonal_baseline``.

The entropy of a row says how sharp it is, in nats: 0 for one source, log S for all.

    H_t = - sum_s w_ts log w_ts

AER: Och and Ney 2003, equation 12.
"""

import numpy as np

from ..checks import plain, whole, wholes

SUM = 1e-2  # how far from 1 a row of weights may sum to: float16 is welcome


def alignment_error_rate(weights, gold, possible=None):
    """AER of one sentence, from 0 to 1.

    weights    (T, S), a row for each target; a row of zeros links to nothing, and of
               equal weights the first counts. Leave padding out: weights[:T, :S]
    gold       the sure links: a set of (t, s), or a bool matrix (T, S)
    possible   links that are no error, in the same form; the sure ones always are

    Raises TypeError and ValueError, in a sentence, for arguments that do not fit.
    """
    return _rate(*_counts("alignment_error_rate", weights, gold, possible))


def corpus_alignment_error_rate(weights, golds, possibles=None):
    """AER of many sentences: their counts are summed before they are divided.

    weights, golds, possibles   lists with the arguments of ``alignment_error_rate``
    """
    name = "corpus_alignment_error_rate"
    weights, golds = list(weights), list(golds)
    possibles = [None] * len(golds) if possibles is None else list(possibles)
    if not len(weights) == len(golds) == len(possibles):
        raise ValueError(
            f"{name}: {len(weights)} weights, {len(golds)} golds and {len(possibles)} "
            "possibles; expected as many, one a sentence."
        )
    counts = [_counts(name, *each) for each in zip(weights, golds, possibles)]
    return _rate(*np.sum(counts, axis=0)) if counts else _rate(0, 0, 0)


def links(weights):
    """{(t, s)}: for each target with weights, the source that it looks at most."""
    weights = checked_weights("links", weights)
    attends = weights.any(1)
    return {(t, int(s)) for t, s in enumerate(weights.argmax(1)) if attends[t]}


def diagonal_links(T, S):
    """{(t, s)}: a straight line from the first pair of places to the last."""
    T, S = whole("diagonal_links", "T", T), whole("diagonal_links", "S", S, 1)
    return {(t, round(t * (S - 1) / max(T - 1, 1))) for t in range(T)}


def diagonal_baseline(T, S, gold, possible=None):
    """AER of ``diagonal_links``: what is known without reading either sentence."""
    weights = np.zeros((T, S))
    weights[tuple(zip(*diagonal_links(T, S)))] = 1
    return _rate(*_counts("diagonal_baseline", weights, gold, possible))


def uniform_baseline(T, S, gold, possible=None):
    """The AER to expect of guessing: each target linked to any source, all alike."""
    name = "uniform_baseline"
    T, S = whole(name, "T", T), whole(name, "S", S, 1)
    sure, allowed = _gold(name, (T, S), gold, possible)
    # A guess hits each link with probability 1/S; |A| = T whatever is guessed
    return _rate(len(sure) / S, len(allowed) / S, T + len(sure))


def attention_entropy(weights, source_lengths=None):
    """The entropy of every row, in nats: (..., L, S) -> (..., L), float64.

    source_lengths   (B,), for weights (B, ..., L, S): what lies beyond is padding. It
                     is left out, and the rest of the row divided by its sum

    A row without weights, that of a query with nothing to attend to, has entropy 0.
    Raises ValueError where other rows do not sum to 1: scores are no weights. Those of
    local-p do not either, by design; ``renormalized`` brings them to 1.
    """
    w = checked_weights("attention_entropy", weights, axes=None)
    if source_lengths is not None:
        w = np.where(_real("source_lengths", source_lengths, w, -1), w, 0)
        total = w.sum(-1, keepdims=True)
        w = w / np.where(total > 0, total, 1)
    return np.abs(w * np.log(np.where(w > 0, w, 1))).sum(-1)  # 0 log 0 = 0


def mean_attention_entropy(weights, source_lengths=None, target_lengths=None):
    """The mean of ``attention_entropy`` over all rows, as a float.

    target_lengths   (B,), for weights (B, ..., L, S): rows beyond count for nothing, as
                     rows without weights always do
    """
    H = attention_entropy(weights, source_lengths)  # (..., L)
    w = np.asarray(plain(weights), np.float64)
    counts = w.any(-1)
    if source_lengths is not None:
        counts = (w * _real("source_lengths", source_lengths, w, -1)).any(-1)
    if target_lengths is not None:
        counts &= _real("target_lengths", target_lengths, w, -2)[..., 0]
    if not counts.any():
        raise ValueError("mean_attention_entropy: no row of weights is left to count.")
    return float(H[counts].mean())


def checked_weights(name, weights, axes=2):
    """Weights as float64: no axis missing, no number below 0, rows that sum to 1 or 0.

    axes   how many there must be; None: two or more
    """
    w = plain(weights)
    if w.dtype.kind not in "fiu":
        raise TypeError(f"{name}: weights are {w.dtype}; expected numbers.")
    if w.ndim < 2 or not w.shape[-1] or (axes and w.ndim != axes):
        expected = "(T, S), of one sentence and one head" if axes else "(..., L, S)"
        raise ValueError(f"{name}: weights have shape {w.shape}; expected {expected}.")
    w = w.astype(np.float64)
    total = w.sum(-1)
    wrong = ~(np.isclose(total, 1, rtol=0, atol=SUM) | (total == 0)) | (w < 0).any(-1)
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        row = f"row {place[0] if len(place) == 1 else place}"
        why = f"sums to {total[place]:.4g}"
        if (w[place] < 0).any():
            why = f"holds {w[place].min():.4g}"
        raise ValueError(
            f"{name}: {row} of the weights {why}; expected numbers from 0 up that sum "
            f"to 1, as of a softmax, or zeros alone.{_hint(w[place])}"
        )
    return w


def _hint(row):
    below = (row >= 0).all() and row.sum() < 1
    return " renormalized(weights) brings those of local-p to 1." if below else ""


def renormalized(weights):
    """The weights (..., L, S) with each row divided by its sum; zeros stay zeros.

    Those of local-p sum to less than 1 by design (``attention/variants/local.py``). What is
    asked of weights here, which source has most of them and how sharp a row is, makes
    sense of such rows once they are brought to 1.

    Raises ValueError for rows that sum to more than 1: scores are no weights.
    """
    w = plain(weights).astype(np.float64)
    total = w.sum(-1, keepdims=True)
    if (total > 1 + SUM).any() or (w < 0).any():
        checked_weights("renormalized", w, axes=None)  # which says where
    return w / np.where(total > 0, total, 1)


def _counts(name, weights, gold, possible):
    """|A & S|, |A & P|, |A| + |S|."""
    weights = checked_weights(name, weights)
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
    sure = _pairs(name, "gold", gold, shape)
    if possible is None:
        return sure, sure
    return sure, sure | _pairs(name, "possible", possible, shape)


def _pairs(name, which, given, shape):
    """A set of (t, s), of such a set or of a bool matrix."""
    if hasattr(given, "dtype"):
        matrix = plain(given)
        if matrix.dtype != bool or matrix.shape != shape:
            raise ValueError(
                f"{name}: {which} is {matrix.dtype} of shape {matrix.shape}; expected "
                f"bool of shape {shape}, or a set of (t, s)."
            )
        return {(t, s) for t, s in np.argwhere(matrix).tolist()}
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise TypeError(
            f"{name}: {which} is {given!r}; expected a set of (t, s), or a bool matrix "
            "(T, S)."
        )
    pairs = set()
    for link in given:
        try:
            t, s = (whole(name, which, i) for i in link)
        except (TypeError, ValueError):
            raise TypeError(
                f"{name}: {which} holds {link!r}; expected pairs (t, s) of whole "
                "numbers, 0 or more."
            ) from None
        if t >= shape[0] or s >= shape[1]:
            raise ValueError(
                f"{name}: {which} holds the link {(t, s)}, and there are {shape[0]} "
                f"targets and {shape[1]} sources; expected (t, s), both from 0."
            )
        pairs.add((t, s))
    return pairs


def _real(which, lengths, w, axis):
    """What is no padding along ``axis``: bool, to be broadcast with w."""
    name = "attention_entropy"
    lengths = wholes(name, which, lengths, {1: "(B,), one an example"})
    B, size = w.shape[0], w.shape[axis]
    if w.ndim < 3 or lengths.shape != (B,):
        raise ValueError(
            f"{name}: {which} have shape {lengths.shape} and weights {w.shape}; "
            "expected (B,) and (B, ..., L, S)."
        )
    if lengths.size and not 0 <= lengths.min() <= lengths.max() <= size:
        raise ValueError(
            f"{name}: {which} hold {lengths.min()} to {lengths.max()}; expected 0 to "
            f"{size}, an axis of the weights."
        )
    real = np.arange(size) < lengths[:, None]  # (B, size)
    shape = [B] + [1] * (w.ndim - 1)
    shape[axis] = size
    return real.reshape(shape)
