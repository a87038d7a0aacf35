"""The complexity ledger: what each variant of attention costs, told before it is run.

    ledger("dense", L=32_768).score_bytes        4_294_967_296, one matrix, one head
    ledger("additive", L=1, S=50, E=96).multiplications

for B examples of H heads, L queries and S keys, whose widths are E (queries), Dk (keys)
and Ev (values); A is the hidden width of the additive score. All numbers are exact:
tally.py counts the same multiplications one by one.

A multiplication here goes with an addition: two floating-point operations. exp, tanh
and divisions are not counted. Chapter 38 prints the costs of one query and leaves the
average of the values out, which is the same for all its scores.
"""

from typing import NamedTuple

import numpy as np

from .checks import whole
from .kernels.plan import SIZE

ONCE = ("once", "steps", "pairs")
PROJECTED = {  # which projections there are of queries and keys; the first is usual
    "general": ("queries", "keys", "pairs"),
    "additive": ONCE,
    "concat": ONCE,
}
SCORES = ("dot", "scaled", "general", "additive", "concat")
LEARNED = (*PROJECTED, "multi-head")
VARIANTS = (*SCORES, "dense", "multi-head", "tiled", "window", "bigbird", "linear")
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
    blocks=(64, 3, 3, 2),
    tile=SIZE,
    threads=1,
    dtype="float32",
):
    """The cost of one variant at one shape: a ``Cost`` of whole numbers.

    variant     "dot", "scaled", "general", "additive", "concat"   scores of scores.py
                "dense"        scaled dot products, with the whole matrix of scores
                "multi-head"   the same for H heads out of H E numbers, and back
                "tiled"        the same in tiles of which none is kept (flash.py)
                "window"       the pairs of a sliding window alone
                "bigbird"      those of masks.bigbird
                "linear"       exp, softmax and all pairs replaced by a product of phi's
    S, Dk, Ev   None: L, E and E       A      None: E         Hk    None: H
    projected   "general"   "queries": W_a^T q_i once a query; "keys": W_a k_j once a
                            key; "pairs": the same again for every pair
                "additive", "concat"   "once": W_q q_i once a query and W_k k_j once a
                            key; "steps": the keys again for every query, as a decoder
                            without a cache does; "pairs": both for every pair
    fused       whether "additive" and "concat" do without the array (B, H, L, S, A)
    window      (left, right), of "tiled" and "window": keys i - left to i + right; -1
                for all. "tiled" computes every tile that such a pair lies in, and whole
    threads     each has a few tiles to itself
    blocks      (block, window, n_random, n_global), of "bigbird"; L and S in blocks

    extra_bytes are what the functions of this package hold at their widest point, with
    compiled kernels and without a graph.

    Raises ValueError for what does not fit.
    """
    S = L if S is None else S
    Dk = E if Dk is None else Dk
    Ev = E if Ev is None else Ev
    A = E if A is None else A
    Hk = H if Hk is None else Hk
    sizes = dict(L=L, S=S, B=B, H=H, E=E, Dk=Dk, Ev=Ev, A=A, Hk=Hk)
    for name, value in (sizes | dict(tile=tile, threads=threads)).items():
        whole("ledger", name, value, least=1)
    _check(variant, E, Dk, H, Hk, projected)
    note = ", or -1 for all keys on that side"
    _check_numbers("window", window, -1, ("left", "right"), note)
    _check_numbers("blocks", blocks, 0, ("block", "window", "n_random", "n_global"))
    N, w = B * H, np.dtype(dtype).itemsize
    how = projected or PROJECTED.get(variant, (None,))[0]
    parameters, projecting, projected_numbers = _projections(variant, how, N=N, **sizes)
    pairs = N * _pairs(variant, L, S, window, blocks, tile)
    out, matrix = N * L * Ev, N * L * S
    if variant == "linear":
        scoring, averaging = N * L * E, N * (S + L) * E * Ev
        # the sums over all keys, and a chunk of phi(q), phi(k), v, o and scores
        in_hand = min(threads, N) * (E * Ev + E + (2 * E + 2 * Ev + tile) * tile)
        return Cost(0, 0, scoring, averaging, 0, w * (out + N * L + in_hand))
    if variant in ("tiled", "window", "bigbird"):
        visits = 0
        if variant == "tiled":  # the sum so far is rescaled at each tile, and so is o
            visits = N * sum(i * t for i, t, _ in _tiles(L, S, window, tile))
        scoring, averaging = N * L * E + pairs * E, pairs * Ev + visits * (Ev + 1)
        in_hand = threads * (2 * tile + E) * tile
        held = w * (out + HELD * N * L + in_hand)
        held += _plan_bytes(variant, N, L, S, blocks, tile)
        return Cost(0, 0, scoring, averaging, 0, held)
    width = {"general": Dk if how == "queries" else E, "additive": A, "concat": A}
    scoring = pairs * width.get(variant, E)
    at_scores = matrix + projected_numbers  # what was projected is needed no longer
    if variant in ("scaled", "dense", "multi-head"):
        scoring += N * L * E  # the queries are scaled, not the scores
        at_scores += N * L * E
    if variant in ("additive", "concat") and not fused:
        at_scores += matrix * A
    at_weights = 2 * matrix + out  # scores and weights
    if variant == "multi-head":  # it has them still
        at_weights += projected_numbers
    numbers = max(at_scores, at_weights)
    return Cost(parameters, projecting, scoring, pairs * Ev, w * matrix, w * numbers)


def pairs_within(L, S, left=-1, right=-1):
    """How many pairs (i, j) have i - left <= j <= i + right; -1 for no limit.

    0 <= i < L and 0 <= j < S. The pairs with j - i <= r are  sum_i clip(i + r + 1, 0,
    S), a difference of two sums over all clipped integers up to a number.
    """

    def clipped(m):  # the sum of clip(x, 0, S) over the integers x <= m
        m = max(m, 0)
        return m * (m + 1) // 2 if m <= S else S * (S + 1) // 2 + (m - S) * S

    def up_to(r):
        return clipped(r + L) - clipped(r)

    above = up_to(right if right >= 0 else S)
    return above - (up_to(-left - 1) if left >= 0 else 0)


def _pairs(variant, L, S, window, blocks, tile):
    """The pairs of one head of which a score is computed."""
    if variant == "window":
        return pairs_within(L, S, *window)
    if variant == "tiled":
        return sum(i * keys for i, _, keys in _tiles(L, S, window, tile))
    if variant == "bigbird":
        return _bigbird_blocks(L, S, *blocks) * blocks[0] ** 2
    return L * S


def _tiles(L, S, window, tile):
    """For each block of queries: its queries, the tiles that it meets, their keys."""
    left, right = window
    for start in range(0, L, tile):
        stop = min(start + tile, L)
        low = max(start - left, 0) if left >= 0 else 0
        high = min(stop + right, S) if right >= 0 else S
        if low < high:
            first, last = low // tile, -(-high // tile)
            yield stop - start, last - first, min(last * tile, S) - first * tile


def _bigbird_blocks(L, S, block, window, n_random, n_global):
    """The blocks of pairs: those of the window, global ones and random ones."""
    if L % block or S % block:
        raise ValueError(
            f"ledger: bigbird has blocks of {block} tokens; expected L and S in whole "
            f"blocks, found {L} and {S}."
        )
    i, columns = np.arange(L // block), S // block
    first, last = -(-n_global // 2), n_global // 2
    low = np.clip(i - window // 2, 0, columns)
    high = np.clip(i + window // 2 + 1, 0, columns)
    # the window's blocks between the global columns at the start and at the end
    start, stop = min(first, columns), max(columns - last, min(first, columns))
    own = np.maximum(np.minimum(high, stop) - np.maximum(low, start), 0)
    own = own + start + columns - stop
    drawn = np.minimum(n_random, columns - own)
    everything = (i < first) | (i >= len(i) - last)
    return int(np.where(everything, columns, own + drawn).sum())


def _plan_bytes(variant, N, L, S, blocks, tile):
    """What says which tiles there are: 16 bytes a query, and 8 a head and block."""
    rows, columns = -(-L // tile), -(-S // tile)
    held = 16 * L + (16 + 8 * N) * rows + 16 * columns
    if variant == "bigbird":  # one byte for each pair of blocks, and the tiles' list
        held += rows * columns + 16 * _bigbird_blocks(L, S, *blocks)
    return held


def _projections(variant, how, *, N, L, S, B, H, E, Dk, Ev, A, Hk):
    """Parameters, the multiplications by them, and the numbers that come of those."""
    if variant == "general":
        rows = {"queries": L, "keys": S, "pairs": L * S}[how]
        return E * Dk, N * rows * E * Dk, N * {"queries": L * Dk}.get(how, S * E)
    if variant in ("additive", "concat"):
        queries, keys = {"once": (L, S), "steps": (L, L * S), "pairs": (L * S, L * S)}[
            how
        ]
        multiplications = N * A * (queries * E + keys * Dk)
        return A * (E + Dk + 1), multiplications, N * (L + S) * A
    if variant == "multi-head":
        D = H * E
        parameters = D * D + Hk * (E + Ev) * D + H * Ev * D
        multiplications = B * (L * D * D + S * D * Hk * (E + Ev) + L * H * Ev * D)
        numbers = B * (L * D + S * Hk * (E + Ev))
        return parameters, multiplications, numbers
    return 0, 0, 0


def _check(variant, E, Dk, H, Hk, projected):
    if variant not in VARIANTS:
        raise ValueError(
            f"ledger: there is no variant {variant!r}; expected one of "
            f"{', '.join(VARIANTS)}."
        )
    if E != Dk and variant not in PROJECTED:
        raise ValueError(
            f"ledger: {variant!r} needs queries and keys of one width; found E {E} and "
            f"Dk {Dk}."
        )
    if H % Hk:
        raise ValueError(f"ledger: H is {H}; expected a multiple of Hk, {Hk}.")
    if projected is not None and projected not in PROJECTED.get(variant, ()):
        choices = ", ".join(map(repr, PROJECTED.get(variant, ()))) or "None"
        raise ValueError(
            f"ledger: projected is {projected!r}; expected {choices} for {variant!r}."
        )


def _check_numbers(name, value, least, letters, note=""):
    """ValueError unless ``value`` is a whole number for each of the letters."""
    fits = isinstance(value, (tuple, list)) and len(value) == len(letters)
    if not fits or not all(isinstance(n, int) and n >= least for n in value):
        raise ValueError(
            f"ledger: {name} is {value!r}; expected ({', '.join(letters)}), whole "
            f"numbers{note}."
        )
