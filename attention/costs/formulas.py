"""What one call of a variant costs: multiplications, and the bytes that it holds.

    matrix      a score and a weight for each pair, L S of each
    tiles       scores computed, used and dropped: what grows is the output, L Ev
    windows     copies of the 2 D + 1 keys and values of every query, 3 (2 D + 1) L E
    coverage    a step at a time, and every step's weights and coverage kept, 4 L S
    linear      no pairs: sums over the keys of E Ev numbers

The first line is the memory that FlashAttention does away with; a million tokens take
terabytes of it. Windows, patterns and phi's have less work as well. What is told here
was held against the functions of this package, with compiled kernels and no graph.

Dao et al. 2022, section 3.1; Luong et al. 2015; Katharopoulos et al. 2020, section 3.2.
"""

from typing import NamedTuple

import numpy as np

from ..checks import flag, whole
from ..kernels.tile_plan import SIZE
from .arguments import LOCAL, PATTERNS, check_patterns, check_variant
from .pair_counts import pairs_kept
from .projections import projections, width_of_score
from .tiles import plan_bytes, tiled_work

HELD = 3  # numbers a query that the tiles keep: the largest score, the sum, its log


class Cost(NamedTuple):
    """What one call costs, forward."""

    parameters: int
    projecting: int  # multiplications by parameters, before and after the attention
    scoring: int  # multiplications that scores take, or what stands in their place
    averaging: int  # multiplications by the values
    score_bytes: int  # of one array with a number for each pair; 0 if there is none
    extra_bytes: int  # of all that is held beside inputs and parameters; the output too

    @property
    def multiplications(self):
        return self.projecting + self.scoring + self.averaging


def ledger(
    variant,
    *,
    L,
    S=None,
    B=1,
    H=1,
    E=64,
    Dk=None,
    Ev=None,
    A=None,
    Hk=None,
    projected=None,
    fused=True,
    window=(-1, -1),
    dilation=2,
    global_tokens=(0,),
    blocks=(64, 3, 3, 2),
    D=10,
    tile=SIZE,
    threads=1,
    dtype="float32",
):
    """The cost of one variant at one shape: a ``Cost`` of whole numbers.

    variant     "dot", "scaled", "general", "additive", "concat"   scores of scores.py
                "gaussian"     |q - k|^2, a square for each coordinate (gaussian.py)
                "coverage"     "additive", and w_c c_j from the second query on
                "local-m"      dot products with a window of 2 D + 1 keys (local.py)
                "local-p"      the same around p_t, with a Gaussian on the values
                "dense"        scaled dot products, with the whole matrix of scores
                "multi-head"   the same for H heads out of H E numbers, and back
                "tiled"        the same in tiles of which none is kept (flash.py)
                "window"       the pairs of a sliding window alone
                "dilated"      of these the ones at multiples of ``dilation``
                "longformer"   those of the window, and all with a global token
                "bigbird"      those of masks.bigbird
                "linear"       exp, softmax and all pairs replaced by a product of phi's
    S, Dk, Ev   None: L, E and E       A      None: E         Hk    None: H
    projected   "general"   "queries": W_a^T q_i once a query; "keys": W_a k_j once a
                            key; "pairs": the same again for every pair
                "additive", "concat"   "once": W_q q_i once a query and W_k k_j once a
                            key; "steps": the keys again for every query, as a decoder
                            without a cache does; "pairs": both for every pair
    fused       whether "additive" and "concat" do without the array (B, H, L, S, A)
    window      (left, right): keys i - left to i + right; -1 for all. Of "tiled",
                "window", "dilated" and "longformer"
    dilation    of "dilated", 1 or more
    global_tokens   of "longformer": positions, as of masks.global_tokens
    blocks      (block, window, n_random, n_global), of "bigbird"; L and S in blocks
    D           of "local-m" and "local-p"
    threads     each has a few tiles to itself

    Multiplications of "window", "dilated", "longformer" and "bigbird" are those of the
    pairs kept, each once. The kernel computes more, whole tiles, every one that such a
    pair lies in; for a window, "tiled" with that window tells how much. Their bytes are
    the kernel's, with a list of tiles where a query's keys are not one range. A local
    window has min(2 D + 1, S) places for every query, also where the source ends: so
    the layer computes it.

    extra_bytes are what the functions of this package hold at their widest point, with
    compiled kernels and without a graph. "coverage" has the weights and the coverage of
    every step in them, which it returns.

    Raises TypeError and ValueError for what does not fit.
    """
    S = L if S is None else S
    Dk = E if Dk is None else Dk
    Ev = E if Ev is None else Ev
    A = E if A is None else A
    Hk = H if Hk is None else Hk
    sizes = dict(L=L, S=S, B=B, H=H, E=E, Dk=Dk, Ev=Ev, A=A, Hk=Hk)
    sizes = {name: whole("ledger", name, n, least=1) for name, n in sizes.items()}
    L, S, B, H, E, Dk, Ev, A, Hk = sizes.values()  # Python's: no product is too large
    tile = whole("ledger", "tile", tile, least=1)
    threads = whole("ledger", "threads", threads, least=1)
    fused = flag("ledger", "fused", fused)
    check_variant(variant, E, Dk, H, Hk, projected)
    pattern = window, dilation, global_tokens, blocks
    check_patterns(variant, L, S, *pattern, D)
    N, w = B * H, np.dtype(dtype).itemsize
    learned = projections(variant, projected, **sizes)
    width = width_of_score(variant, projected, E=E, Dk=Dk, A=A)
    if variant == "linear":
        return _linear(w, N, L, S, E, Ev, tile, threads)
    if variant in LOCAL:
        return _local(variant, w, N, L, S, E, Ev, D, learned)
    if variant == "coverage":
        return _coverage(w, N, L, S, Ev, A, learned)
    if variant == "tiled" or variant in PATTERNS:
        lists = plan_bytes(variant, N, L, S, *pattern, tile)
        if variant == "tiled":
            pairs, visits = tiled_work(L, S, window, tile)
        else:
            pairs, visits = pairs_kept(variant, L, S, *pattern), 0
        in_hand = threads * (2 * tile + E) * tile
        return _tiles(w, N, L, E, Ev, N * pairs, N * visits, in_hand, lists)
    own = 0 if fused or variant not in ("additive", "concat") else A
    return _matrix(variant, w, N, L, S, E, Ev, width, own, learned)


def _matrix(variant, w, N, L, S, E, Ev, width, own, learned):
    """A score and a weight for each pair; ``own``: numbers of each pair besides."""
    parameters, projecting, projected = learned
    out, matrix = N * L * Ev, N * L * S
    scoring = matrix * width
    at_scores = matrix + projected + matrix * own  # projected: needed no longer
    if variant in ("scaled", "dense", "multi-head"):
        scoring += N * L * E  # the queries are scaled, not the scores
        at_scores += N * L * E
    if variant == "gaussian":  # differences of one coordinate, squared where they are
        at_scores += matrix
    at_weights = 2 * matrix + out  # scores and weights
    if variant == "multi-head":  # it has them still
        at_weights += projected
    numbers = max(at_scores, at_weights)
    return Cost(parameters, projecting, scoring, matrix * Ev, w * matrix, w * numbers)


def _tiles(w, N, L, E, Ev, pairs, visits, in_hand, lists):
    """None of the tiles is kept: the output, HELD numbers a query, and the plan.

    At each tile the sum so far is rescaled, and so is o: Ev + 1 for each visit.
    """
    scoring, averaging = N * L * E + pairs * E, pairs * Ev + visits * (Ev + 1)
    held = w * (N * L * Ev + HELD * N * L + in_hand) + lists
    return Cost(0, 0, scoring, averaging, 0, held)


def _local(variant, w, N, L, S, E, Ev, D, learned):
    """Windows of keys and values copied out, min(2 D + 1, S) places a query.

    For p: S sigmoid once a query; the Gaussian takes 2 a place, and meets the values.
    (It also meets the weights that the layer shows, which are not counted.)
    At its widest it holds the windows, and once more those of the keys, as NumPy's
    product with one query each copies them, or the values before the Gaussian.
    """
    parameters, projecting, _ = learned
    places = N * L * min(2 * D + 1, S)
    scoring, averaging = places * E, places * Ev
    numbers = places * (E + Ev + 1) + N * L * E  # a score a place, and the query
    indices = places * (8 + 1 + 1) + N * L * 4 * 8  # positions, two masks; 4 a query
    if variant == "local-m":
        numbers += places * E
    else:
        scoring += N * L + 2 * places
        averaging += places * Ev
        numbers += places * (max(E, Ev) + 2)  # distances and Gaussian
    held = w * numbers + indices
    return Cost(parameters, projecting, scoring, averaging, w * places, held)


def _coverage(w, N, L, S, Ev, A, learned):
    """One step after another. The first has seen nothing: no w_c c.

    In the end there are weights, coverage and context of all steps twice, step by step
    and as one array. While it goes, keys with their coverage stand beside the keys, and
    one more array for w_c c. (Python's own objects, a kilobyte a step, are not told.)
    """
    parameters, projecting, projected = learned
    matrix, out = N * L * S, N * L * Ev
    scoring = matrix * A + N * (L - 1) * S * A
    at_end = 4 * matrix + 2 * out
    at_last_step = 2 * matrix + out + (2 * N * S * A if L > 1 else 0)
    numbers = projected + max(at_end, at_last_step)
    return Cost(parameters, projecting, scoring, matrix * Ev, w * matrix, w * numbers)


def _linear(w, N, L, S, E, Ev, tile, threads):
    """No pairs. In hand: the sums over all keys, and a chunk of all else.

    That is of phi(q), phi(k), v, o and scores.
    """
    scoring, averaging = N * L * E, N * (S + L) * E * Ev
    in_hand = min(threads, N) * (E * Ev + E + (2 * E + 2 * Ev + tile) * tile)
    return Cost(0, 0, scoring, averaging, 0, w * (N * L * Ev + N * L + in_hand))
