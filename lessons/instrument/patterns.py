"""Name the pattern of an attention matrix, by simple rules.

For weights (T, S) between two sentences, p_t is the source with the largest weight in
row t, the row of target t. The first name that fits is returned:

    uniform       the mean entropy of a row is 0.9 or more of the largest possible
    many-to-one   1/3 or more of the targets share their source with an earlier target
    reordering    p_{t+1} < p_t for 1/10 or more of the steps
    diagonal      otherwise: the order is kept

For weights (T, T) within one sentence, a pattern is a region of the matrix. Its excess
is the share of all weights in this region, minus the share that uniform weights would
have. Of diagonal, block and column, the name with the largest excess is returned, if
this excess is 0.3 or more.

    uniform       as above; it is tested first
    diagonal      |i - j| <= 1: each position attends to itself and its neighbours
    block         runs of 3 or more positions, each attending within the run; the
                  sentence is cut into runs in the way with the largest excess
    column        all positions attend to one position, often a delimiter
    long-range    no pattern above fits; |i - j| > T / 4 has an excess of 0.3 or more
    mixed         otherwise

The thresholds are choices, so a name is only a summary of a matrix.
``self_attention_excess`` returns the excesses.

The column is here because in BERT much of the attention goes to delimiters (Clark et
al. 2019, section 3.2). Kovaleva et al. 2019 call this pattern vertical.
"""

import numpy as np

from attention.metrics.alignment import attention_entropy, validated_weights

UNIFORM = 0.9  # of the largest entropy
REPEATED = 1 / 3  # of the targets
BACKWARD = 1 / 10  # of the steps
EXCESS = 0.3  # of all weights
SHORTEST = 3  # positions of a block; a run of two would be diagonal
FAR = 1 / 4  # of the length


def alignment_pattern(weights):
    """Return "uniform", "many-to-one", "reordering" or "diagonal".

    weights (T, S); rows of zeros are left out. If T > 1.5 S, many targets must share
    a source, so the result is many-to-one or uniform.
    """
    w = validated_weights("alignment_pattern", weights)
    w = w[w.any(1)]
    if len(w) < 2:
        raise ValueError(
            f"alignment_pattern: weights have {len(w)} rows above zero; expected "
            "two or more."
        )
    if _normalized_entropy(w) >= UNIFORM:
        return "uniform"
    p = w.argmax(1)
    if 1 - len(np.unique(p)) / len(p) >= REPEATED:
        return "many-to-one"
    return "reordering" if (np.diff(p) < 0).mean() >= BACKWARD else "diagonal"


def self_attention_pattern(weights):
    """Return "uniform", "diagonal", "block", "column", "long-range" or "mixed".

    weights   (T, T), T >= 8: in a shorter sentence everything is near
    """
    w = _square("self_attention_pattern", weights)
    if _normalized_entropy(w) >= UNIFORM:
        return "uniform"
    excess = _excess(w)
    far = excess.pop("long-range")
    name = max(excess, key=excess.get)
    if excess[name] >= EXCESS:
        return name
    return "long-range" if far >= EXCESS else "mixed"


def self_attention_excess(weights):
    """Return the excess of each pattern over uniform weights (T, T), T >= 8.

    -> {"diagonal": …, "block": …, "column": …, "long-range": …}
    """
    return _excess(_square("self_attention_excess", weights))


def _excess(w):
    T = len(w)
    surplus = (w - 1 / T) / w.any(1).sum()  # summed over a region: its excess
    surplus[~w.any(1)] = 0
    distance = np.abs(np.arange(T)[:, None] - np.arange(T))
    return {
        "diagonal": float(surplus[distance <= 1].sum()),
        "block": _best_blocks(surplus),
        "column": float(surplus.sum(0).max()),
        "long-range": float(surplus[distance > FAR * T].sum()),
    }


def _best_blocks(surplus):
    """Return the largest sum of surplus in runs of positions that cover the sentence.

    best[j] is the largest sum for the first j positions. Their last run is that of the
    positions i to j - 1, for the best i.
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


def _normalized_entropy(w):
    """Return the mean over rows of H / log n, n the number of sources."""
    rows, n = w.any(1), w.shape[1]
    if n == 1:  # one source alone is not spread
        return 0.0
    return float((attention_entropy(w[rows]) / np.log(n)).mean())


def _square(name, weights):
    """Return the weights of one sentence as an array (T, T)."""
    w = validated_weights(name, weights)
    if w.shape != (len(w),) * 2 or len(w) < 8:
        raise ValueError(
            f"{name}: weights have shape {w.shape}; expected (T, T) with 8 or more "
            "positions."
        )
    if not w.any():
        raise ValueError(f"{name}: weights are all zero.")
    return w
