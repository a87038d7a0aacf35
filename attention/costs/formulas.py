"""What one forward call of each variant of attention costs, as formulas of its sizes.

    L, S    queries and keys              E, Dk, Ev   widths of queries, keys, values
    H, Hk   heads of queries, of keys     A           hidden width of additive scores
    P       pairs that a sparse pattern keeps; for "tiled", all pairs in its tiles
    V       for "tiled": the sum over the queries of the tiles that a query meets
    W       keys in a local window, min(2 D + 1, S)
    w       bytes of one number

A multiplication and the addition after it count as one. Divisions are not counted;
exponentials are exp and tanh. Tests compare the operations with those that counted.py
counts, and the bytes with those that a call holds. (Chapter 6 of the textbook counts
one query, and leaves out the average of the values, which is the same for all scores.)

Dao et al. 2022, section 3.1; Bahdanau et al. 2015; Luong et al. 2015; See et al. 2017;
Vaswani et al. 2017; Katharopoulos et al. 2020, section 3.2.
"""

from typing import NamedTuple

import numpy as np

from minigrad.arguments import one_of, whole

from ..variants.table import PATTERNS
from . import pair_counts

TILE = 64  # queries, and keys, of a kernel's tile


MATRICES = "w*(2*L*S + L*Ev)"  # scores, weights and the output
TILES = "w*(L*Ev + 3*L)"  # the output; a query's largest score, its sum, and the log


class Formulas(NamedTuple):
    """The costs of one head of one example, as Python expressions of the sizes.

    They are strings, so that a table can print them. The defaults are the costs of dot
    products of all pairs. The formulas of "multi-head" are those of all heads together.

    ``held`` is the largest sum of arrays that exist at the same time. For example, dot
    attention ends with the scores, the weights and the output: w (2 L S + L Ev). With
    "scaled", the scores are made from a copy of the queries, w (L S + L E), and the
    larger of the two sums counts.
    """

    parameters: str = "0"
    projecting: str = "0"  # multiplications by parameters
    scoring: str = "L*S*E"  # multiplications that the scores take
    averaging: str = "L*S*Ev"  # multiplications by the values
    exponentials: str = "L*S"  # exp and tanh
    scores: str = "L*S"  # numbers in the matrix of scores
    held: str = MATRICES  # bytes beside inputs and parameters, with the output


# the queries are scaled, and not the scores
SCALED = Formulas(scoring="L*E + L*S*E", held="w*max(L*S + L*E, 2*L*S + L*Ev)")
# W_a^T q_i is computed once for each query
GENERAL = Formulas(
    parameters="E*Dk",
    projecting="L*E*Dk",
    scoring="L*S*Dk",
    held="w*max(L*S + L*Dk, 2*L*S + L*Ev)",
)
# W_a k_j is computed once for each key
GENERAL_KEYS = Formulas(
    parameters="E*Dk", projecting="S*E*Dk", held="w*max(L*S + S*E, 2*L*S + L*Ev)"
)
# W_q q_i is computed once for each query, and W_k k_j once for each key
ADDITIVE = Formulas(
    parameters="A*(E + Dk + 1)",
    projecting="A*(L*E + S*Dk)",
    scoring="L*S*A",
    exponentials="L*S*A + L*S",
    held="w*max(L*S + (L + S)*A, 2*L*S + L*Ev)",
)
UNFUSED = "w*max(L*S + (L + S)*A + L*S*A, 2*L*S + L*Ev)"  # with the array of all tanh
# W_k k_j is computed again for each query, as in a decoder that does not keep it
ADDITIVE_STEPS = ADDITIVE._replace(projecting="A*(L*E + L*S*Dk)")
# W_q q_i and W_k k_j are computed again for each pair
ADDITIVE_PAIRS = ADDITIVE._replace(projecting="A*(L*S*E + L*S*Dk)")
PATTERN = Formulas(
    scoring="L*E + P*E", averaging="P*Ev", exponentials="P", scores="0", held=TILES
)

FORMULAS = {
    "dot": Formulas(),
    "scaled": SCALED,
    "general": GENERAL,
    "general, keys": GENERAL_KEYS,
    "general, pairs": GENERAL._replace(projecting="L*S*E*Dk", held=GENERAL_KEYS.held),
    "additive": ADDITIVE,
    "additive, steps": ADDITIVE_STEPS,
    "additive, pairs": ADDITIVE_PAIRS,
    "concat": ADDITIVE,  # W_a [q; k] = W_q q + W_k k
    "concat, steps": ADDITIVE_STEPS,
    "concat, pairs": ADDITIVE_PAIRS,
    "gaussian": Formulas(),  # a square for each coordinate of q_i - k_j
    # additive, and w_c c_j from the second query on. Weights, coverages and contexts of
    # all steps are held twice: step by step, and as one array.
    "coverage": Formulas(
        parameters="A*(E + Dk + 2)",
        projecting="A*(L*E + S*Dk)",
        scoring="L*S*A + (L - 1)*S*A",
        exponentials="L*S*A + L*S",
        held="w*((1 + S)*A + 2*L*S + L*Ev + max(2*L*S + L*Ev, 2*S*A*min(L - 1, 1)))",
    ),
    # For each query: the keys, values and weights of its window; for each key its
    # position (8 bytes), and whether it exists and is allowed (2 bytes); and the centre
    # of the window, the number of keys, and the two ends (32 bytes).
    "local-m": Formulas(
        scoring="L*W*E",
        averaging="L*W*Ev",
        exponentials="L*W",
        scores="L*W",
        held="w*(L*W*(E + Ev + 1) + L*E) + 10*L*W + 32*L",
    ),
    # the same around a predicted centre, with a Gaussian on the values
    "local-p": Formulas(
        parameters="E*E + E",
        projecting="L*(E*E + E)",
        scoring="L*W*E + L + 2*L*W",
        averaging="2*L*W*Ev",
        exponentials="L*(E + 1) + 2*L*W",
        scores="L*W",
        held="w*(L*W*(E + Ev + max(E, Ev) + 3) + L*E) + 10*L*W + 32*L",
    ),
    "dense": SCALED,
    "multi-head": Formulas(
        parameters="H*E*H*E + Hk*(E + Ev)*H*E + H*Ev*H*E",
        projecting="L*H*E*H*E + S*Hk*(E + Ev)*H*E + L*H*Ev*H*E",
        scoring="H*(L*E + L*S*E)",
        averaging="H*L*S*Ev",
        exponentials="H*L*S",
        scores="H*L*S",
        held="w*(L*H*E + S*Hk*(E + Ev) + H*max(L*S + L*E, 2*L*S + L*Ev))",
    ),
    # at each tile the sum so far and o are rescaled: Ev + 1 a query
    "tiled": PATTERN._replace(averaging="P*Ev + V*(Ev + 1)", exponentials="P + V"),
    **dict.fromkeys(PATTERNS, PATTERN),
    # phi(q) (sum_j phi(k_j) v_j^T) / phi(q) sum_j phi(k_j), without pairs
    "linear": Formulas(
        scoring="L*E",
        averaging="(S + L)*E*Ev",
        exponentials="(S + L)*E",
        scores="0",
        held="w*(L*Ev + L)",
    ),
}
VARIANTS = tuple(name for name in FORMULAS if "," not in name)
TILED = ("tiled", *PATTERNS)
PROJECTED = {
    "general": ("queries", "keys", "pairs"),  # the first is the usual one
    "additive": ("once", "steps", "pairs"),
    "concat": ("once", "steps", "pairs"),
}


class Cost(NamedTuple):
    """What one forward call costs."""

    parameters: int
    projecting: int
    scoring: int
    averaging: int
    exponentials: int
    score_bytes: int  # of an array with a number for each pair; 0 if there is none
    extra_bytes: int  # of all that is held beside inputs and parameters; the output too

    @property
    def multiplications(self):
        return self.projecting + self.scoring + self.averaging


def cost_of(
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
    tile=TILE,
    dtype="float32",
):
    """Return the ``Cost`` of B examples of H heads with L queries and S keys.

    variant         a name of VARIANTS
    S, Dk, Ev       None: L, E and E         A   None: E         Hk   None: H
    projected       how often the parameters are used, for the scores of PROJECTED: with
                    "general", "keys" means the row "general, keys" of FORMULAS. None:
                    the first name in PROJECTED
    fused           whether "additive" and "concat" compute each tanh where it is used,
                    or hold the array (B, H, L, S, A)
    window          (left, right) of "tiled", "window", "dilated", "longformer": keys
                    i - left to i + right; -1 for all
    dilation        of "dilated"
    global_tokens   positions, of "longformer"
    blocks          (block, window, n_random, n_global) of "bigbird"
    D               of "local-m" and "local-p"

    A sparse pattern counts the multiplications of the pairs that it keeps. The kernel
    computes whole tiles, and "tiled" with the same window counts all of their pairs.

    Raises TypeError and ValueError for arguments that do not fit.
    """
    S, Dk, Ev, A, Hk = (
        default if size is None else size
        for size, default in ((S, L), (Dk, E), (Ev, E), (A, E), (Hk, H))
    )
    sizes = dict(L=L, S=S, B=B, H=H, E=E, Dk=Dk, Ev=Ev, A=A, Hk=Hk, tile=tile)
    sizes = {name: whole("cost_of", name, n, least=1) for name, n in sizes.items()}
    _check(variant, projected, sizes, blocks, D)
    L, S, w = sizes["L"], sizes["S"], np.dtype(dtype).itemsize
    options = dict(
        window=window, dilation=dilation, global_tokens=global_tokens, blocks=blocks
    )
    P, V = _pairs(variant, L, S, tile, options)
    sizes |= dict(P=P, V=V, W=min(2 * int(D) + 1, S), w=w)
    formulas = FORMULAS[variant]
    if projected and projected != PROJECTED[variant][0]:
        formulas = FORMULAS[f"{variant}, {projected}"]
    if not fused and variant in ("additive", "concat"):
        formulas = formulas._replace(held=UNFUSED)
    # eval adds its own names to the dict
    parameters, *operations, scores, held = (eval(f, dict(sizes)) for f in formulas)
    N = sizes["B"] if variant == "multi-head" else sizes["B"] * sizes["H"]
    held = N * held + _tile_bytes(variant, sizes, window, blocks, N)
    return Cost(parameters, *(N * n for n in operations), N * w * scores, held)


def _pairs(variant, L, S, tile, options):
    """Return P and V of one head: the pairs computed, and the visits of tiles."""
    if variant == "tiled":
        return pair_counts.window_tiles(L, S, *options["window"], tile)
    if variant in PATTERNS:
        pattern = PATTERNS[variant]
        own = {name: options[name] for name in pattern.options}
        return pattern.pairs(L, S, **own), 0
    return L * S, 0


def _tile_bytes(variant, sizes, window, blocks, N):
    """Return the bytes of the tile that is computed, and of the list of all tiles.

    The list is a ``kernels/tile_plan.Plan``, with 8 bytes for each number: lo and hi
    for each query; first, last and N orders for each block of queries; blocks and
    bits_of for each entry. A mask that is not a range of keys for each query has in
    addition 1 byte for each tile that could exist, 16 for each that is kept, and 8 T
    for a table of bits. The tiles of "dilated" and "longformer" are taken to be those
    of the window, each with bits.
    """
    L, S, E, Ev, T, w = (sizes[name] for name in ("L", "S", "E", "Ev", "tile", "w"))
    if variant == "linear":  # the sums over all keys, and a chunk of all else
        return w * (E * Ev + E + (2 * E + 2 * Ev + T) * T)
    if variant not in TILED:
        return 0
    rows, columns = -(-L // T), -(-S // T)
    held = w * (2 * T + E) * T + 16 * L + (16 + 8 * N) * rows + 16 * columns
    if variant == "bigbird":
        held += rows * columns + 16 * pair_counts.bigbird_blocks(L, S, *blocks)
    if variant in ("dilated", "longformer"):
        in_window = columns if min(window) < 0 else -(-sum(window) // T) + 1
        held += rows * columns + (16 + 8 * T) * rows * min(columns, in_window)
    return held


def _check(variant, projected, sizes, blocks, D):
    """Raise ValueError unless these arguments fit together."""
    one_of("cost_of", "variant", variant, VARIANTS)
    if projected is not None:
        one_of("cost_of", "projected", projected, PROJECTED.get(variant, (None,)))
    whole("cost_of", "D", D, least=1 if variant == "local-p" else 0)
    L, S, E, Dk, H, Hk = (sizes[name] for name in ("L", "S", "E", "Dk", "H", "Hk"))
    if E != Dk and "Dk" not in FORMULAS[variant].projecting:
        raise ValueError(
            f"cost_of: E is {E} and Dk is {Dk}; expected one width of queries and keys "
            f"for {variant!r}."
        )
    if H % Hk:
        raise ValueError(f"cost_of: H is {H}; expected a multiple of Hk, {Hk}.")
    if variant == "bigbird" and (L % blocks[0] or S % blocks[0]):
        raise ValueError(
            f"cost_of: L is {L} and S is {S}; expected whole blocks of {blocks[0]} "
            "tokens for 'bigbird'."
        )
