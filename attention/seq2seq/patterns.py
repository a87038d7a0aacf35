"""What an attention matrix looks like, by rules that can be read and argued with.

Between two sentences, weights (T, S), with p_t the source that target t looks at most:

    uniform       a row's entropy is, in the mean, 0.9 or more of the largest there is
    many-to-one   1/3 or more of the targets look where one before them has looked
    reordering    1 step in 10 or more, from p_t to p_{t+1}, goes back
    diagonal      else: the order is kept

Within one sentence, weights (T, T). Each shape catches the share of all weights that
lies in it, and by its size alone would catch a part of evenly spread ones: the
difference, its excess, must be 0.3 or more. Diagonal, block and column compete, and the
largest excess wins.

    uniform       as above, before the others are asked
    diagonal      |i - j| <= 1: each position looks at itself and its neighbours
    block         runs of 3 or more positions look within the run; of all ways to cut
                  the sentence into runs, the best
    column        all look at one position: a delimiter, often
    long-range    |i - j| > T / 4, and none of those above
    mixed         else

The thresholds are choices: a name is a summary of a matrix, not a property of it.
``self_attention_excess`` has the numbers behind.

The four patterns of the literature leave out the column, though in BERT the delimiters
draw much of all attention: Clark et al. 2019, section 3.2.
"""

import numpy as np

from ..checks import plain
from .alignment_metrics import attention_entropy, checked_weights

UNIFORM = 0.9  # of the largest entropy
REPEATED = 1 / 3  # of the targets
BACK = 1 / 10  # of the steps
EXCESS = 0.3  # of all weights
SHORTEST = 3  # positions of a block: two are neighbours
FAR = 1 / 4  # of the length


def alignment_pattern(weights):
    """ "uniform", "many-to-one", "reordering" or "diagonal", of weights (T, S).

    Rows without weights are left out. Of a target longer than its source some words
    must share one, so T > 1.5 S is always many-to-one, or uniform. Raises ValueError
    where fewer than two rows are left.
    """
    w = checked_weights("alignment_pattern", weights)
    w = w[w.any(1)]
    if len(w) < 2:
        raise ValueError(
            f"alignment_pattern: weights have {len(w)} rows that attend to anything; "
            "expected two or more."
        )
    if _evenness(w, None) >= UNIFORM:
        return "uniform"
    p = w.argmax(1)
    if 1 - len(np.unique(p)) / len(p) >= REPEATED:
        return "many-to-one"
    return "reordering" if (np.diff(p) < 0).mean() >= BACK else "diagonal"


def self_attention_pattern(weights, mask=None):
    """ "uniform", "diagonal", "block", "column", "long-range" or "mixed".

    weights (T, T), T >= 8: in a shorter sentence everything is near
    mask (T, T)   bool, True = may attend; for a causal model np.tri(T, dtype=bool), or
                  what is spread over all that is allowed is not seen as uniform
    """
    w, mask = _checked_square("self_attention_pattern", weights, mask)
    if _evenness(w, mask) >= UNIFORM:
        return "uniform"
    excess = _excess(w, mask)
    far = excess.pop("long-range")
    name = max(excess, key=excess.get)
    if excess[name] >= EXCESS:
        return name
    return "long-range" if far >= EXCESS else "mixed"


def self_attention_excess(weights, mask=None):
    """How much more each shape catches than it would of evenly spread weights.

    -> {"diagonal": …, "block": …, "column": …, "long-range": …}, arguments as of
    ``self_attention_pattern``
    """
    return _excess(*_checked_square("self_attention_excess", weights, mask))


def _excess(w, mask):
    T = len(w)
    even = mask / np.maximum(mask.sum(1, keepdims=True), 1)  # (T, T)
    surplus = (w - even) / max(w.any(1).sum(), 1)  # summed over a shape: its excess
    surplus[~w.any(1)] = 0
    distance = np.abs(np.arange(T)[:, None] - np.arange(T))
    return {
        "diagonal": float(surplus[distance <= 1].sum()),
        "block": _best_blocks(surplus),
        "column": float(surplus.sum(0).max()),
        "long-range": float(surplus[distance > FAR * T].sum()),
    }


def _best_blocks(surplus):
    """The most that runs of positions, side by side, can catch.

    best[j] is that of the first j positions: the last run is i to j, for the best i.
    """
    T = len(surplus)
    area = np.zeros((T + 1, T + 1))  # area[i, j]: the sum of surplus[:i, :j]
    area[1:, 1:] = surplus.cumsum(0).cumsum(1)
    best = np.full(T + 1, -np.inf)
    best[0] = 0
    for j in range(SHORTEST, T + 1):
        i = np.arange(j - SHORTEST + 1)
        block = area[j, j] - area[i, j] - area[j, i] + area[i, i]
        best[j] = (best[i] + block).max()
    return float(best[T])


def _evenness(w, mask):
    """The mean over rows of H / log n, n the number of sources that are allowed."""
    n = np.full(len(w), w.shape[1]) if mask is None else mask.sum(1)
    rows = w.any(1) & (n > 1)  # with one source there is nothing to spread over
    if not rows.any():
        return 0.0
    return float((attention_entropy(w[rows]) / np.log(n[rows])).mean())


def _checked_square(name, weights, mask):
    w = checked_weights(name, weights)
    T = len(w)
    if w.shape != (T, T) or T < 8:
        raise ValueError(
            f"{name}: weights have shape {w.shape}; expected (T, T), a sentence of 8 "
            "or more positions that looks at itself."
        )
    mask = np.ones((T, T), bool) if mask is None else plain(mask)
    if mask.dtype != bool or mask.shape != (T, T):
        raise ValueError(
            f"{name}: mask is {mask.dtype} of shape {mask.shape}; expected bool of "
            f"shape {(T, T)}, where True = may attend."
        )
    if (w[~mask] > 0).any():
        raise ValueError(f"{name}: there are weights where the mask is False.")
    if not w.any():
        raise ValueError(f"{name}: no row attends to anything.")
    return w, mask
