"""The table of variants: one row each, with its definition, its layer and its cost.

    VARIANTS["coverage"].costs.scoring            multiplications of the scores
    SCORES["general"].layer(Dq, Dk, rng)          GeneralAttention(Dq, Dk, rng=rng)

The choices of configs and options, help texts, ``python -m attention ledger`` and lists
of tests are made from these rows. A new variant is a file of its own, a definition in
``definitions.py``, a row here and a test (CONTRIBUTING.md).

The letters of shapes and formulas are

    L, S    queries and keys              E, Dk, Ev   widths of queries, keys, values
    H, Hk   heads of queries, of keys     A           hidden width of additive scores
    T       queries, and keys, of a tile  w           bytes of one number

and the options and ``letters`` of the row. A multiplication and the addition after it
count as one. Divisions are not counted; exponentials are exp and tanh. Tests compare
the operations with those that the definition computes, and the bytes with those that a
call holds. (Chapter 6 of the textbook counts one query, and leaves out the average of
the values, which is the same for all scores.)

``attention`` imports its parts when they are first used, so a command can list the
names of this table without importing NumPy.

Dao et al. 2022, section 3.1; Bahdanau et al. 2015; Luong et al. 2015; See et al. 2017;
Vaswani et al. 2017; Katharopoulos et al. 2020, section 3.2.
"""

import math
from dataclasses import dataclass, field
from typing import Callable, NamedTuple

import attention

MATRICES = "w*(2*L*S + L*Ev)"  # scores, weights and the output
ROWS = "w*(L*Ev + 3*L)"  # the output; a query's largest score, its sum, and the log


class Formulas(NamedTuple):
    """The costs of one head of one example, as Python expressions of the letters.

    They are strings, so that a table can print them. The defaults are the costs of dot
    products of all pairs.

    ``held`` is the largest sum of arrays that exist at the same time. For example, dot
    attention ends with the scores, the weights and the output: w (2 L S + L Ev). With
    "scaled", the scores are made from a copy of the queries, w (L S + L E), and the
    larger of the two sums counts.
    """

    projecting: str = "0"  # multiplications by parameters
    scoring: str = "L*S*E"  # multiplications that the scores take
    averaging: str = "L*S*Ev"  # multiplications by the values
    exponentials: str = "L*S"  # exp and tanh
    scores: str = "L*S"  # numbers in the matrix of scores
    held: str = MATRICES  # bytes beside inputs and parameters; empty: only measured
    buffers: str = "0"  # bytes of one tile or chunk, which all heads use in turn
    unfused: str = ""  # ``held`` if each tanh is stored; empty: there is no tanh
    all_heads: bool = False  # whether these are the costs of all heads together


# the queries are scaled, and not the scores
SCALED = Formulas(scoring="L*E + L*S*E", held="w*max(L*S + L*E, 2*L*S + L*Ev)")
# W_q q_i is computed once for each query, and W_k k_j once for each key
ADDITIVE = Formulas(
    projecting="A*(L*E + S*Dk)",
    scoring="L*S*A",
    exponentials="L*S*A + L*S",
    held="w*max(L*S + (L + S)*A, 2*L*S + L*Ev)",
    unfused="w*max(L*S + (L + S)*A + L*S*A, 2*L*S + L*Ev)",
)
ADDITIVE_WAYS = {
    "once": {},
    # W_k k_j is computed again for each query, as in a decoder that does not keep it
    "steps": {"projecting": "A*(L*E + L*S*Dk)"},
    # W_q q_i and W_k k_j are computed again for each pair
    "pairs": {"projecting": "A*(L*S*E + L*S*Dk)"},
}
# the P pairs that a sparse pattern keeps, in tiles
PATTERN = Formulas(
    scoring="L*E + P*E",
    averaging="P*Ev",
    exponentials="P",
    scores="0",
    held=ROWS,
    buffers="w*(2*T + E)*T",  # scores and weights of a tile, and its queries
)


@dataclass(frozen=True)
class Variant:
    """A row of the table.

    The definition and the function are called with the inputs, the parameters and the
    options. A layer is called with the inputs alone. If there are several outputs, the
    first one is compared.
    """

    definition: Callable  # of attention/definitions.py, for arrays
    function: Callable | None = None  # of the package, for Tensors; None: the layer is
    layer: Callable | None = None  # (Dq, Dk, rng, **options) -> a layer
    costs: Formulas = Formulas()
    inputs: str = "q (L, E), k (S, Dk), v (S, Ev)"
    parameters: str = ""  # their names, in the order of the layer, and their shapes
    options: dict = field(default_factory=dict)  # of calls that are measured
    small: dict = field(default_factory=dict)  # of calls of few tokens, for counting
    letters: Callable | None = None  # (L, S, T, **options) -> {letter: number}
    # (L, S, **options) -> what the function takes in the place of the options, or what
    # the layer takes with its inputs; made once for many calls
    keywords: Callable | None = None

    @property
    def equal_widths(self):
        """Whether queries and keys must have the same width."""
        return "Dk" not in self.parameters


@dataclass(frozen=True)
class Score(Variant):
    """The row of a score. Its definition computes (q, k, *parameters) -> scores.

    The layer states whether ``attention_gru`` computes it (``Attention.fused_score``).
    """

    # how often the parameters are used: {way: the formulas that differ}, the usual way
    # first. "keys" means that W_a k_j is computed, and not W_a^T q_i
    ways: dict = field(default_factory=dict)
    reversal: bool = False  # whether ``python -m attention reversal`` compares it


SCORES = {
    "additive": Score(
        lambda *arrays: attention.definitions.additive(*arrays),
        layer=lambda Dq, Dk, rng: attention.AdditiveAttention(Dq, Dk, Dq, rng=rng),
        parameters="W_q (A, E), W_k (A, Dk), w_v (A)",
        costs=ADDITIVE,
        ways=ADDITIVE_WAYS,
        reversal=True,
    ),
    "dot": Score(
        lambda q, k: attention.definitions.dot(q, k),
        layer=lambda Dq, Dk, rng: attention.LuongAttention("dot", Dq, Dk, rng=rng),
        reversal=True,
    ),
    "general": Score(
        lambda *arrays: attention.definitions.general(*arrays),
        layer=lambda Dq, Dk, rng: attention.GeneralAttention(Dq, Dk, rng=rng),
        parameters="W_a (E, Dk)",
        costs=Formulas(  # W_a^T q_i is computed once for each query
            projecting="L*E*Dk",
            scoring="L*S*Dk",
            held="w*max(L*S + L*Dk, 2*L*S + L*Ev)",
        ),
        ways={
            "queries": {},
            "keys": {
                "projecting": "S*E*Dk",
                "scoring": "L*S*E",
                "held": "w*max(L*S + S*E, 2*L*S + L*Ev)",
            },
            "pairs": {
                "projecting": "L*S*E*Dk",
                "held": "w*max(L*S + S*E, 2*L*S + L*Ev)",
            },
        },
        reversal=True,
    ),
    "scaled": Score(
        lambda q, k: attention.definitions.scaled_dot(q, k),
        layer=lambda Dq, Dk, rng: attention.DotProductAttention(rng=rng),
        costs=SCALED,
        reversal=True,
    ),
    "concat": Score(  # W_a [q; k] = W_q q + W_k k
        lambda q, k, W_a, v_a: attention.definitions.additive(
            q, k, W_a[:, : q.shape[1]], W_a[:, q.shape[1] :], v_a
        ),
        layer=lambda Dq, Dk, rng: attention.LuongAttention("concat", Dq, Dk, rng=rng),
        parameters="W_a (A, E + Dk), v_a (A)",
        costs=ADDITIVE,
        ways=ADDITIVE_WAYS,
    ),
    "gaussian": Score(  # a square for each coordinate of q_i - k_j
        lambda q, k, log_h=0.0: attention.definitions.gaussian(q, k, math.exp(log_h)),
        # the square of the bandwidth is the divisor of "scaled"
        layer=lambda Dq, Dk, rng: attention.GaussianAttention(Dq**0.25, rng=rng),
    ),
}
REVERSAL_SCORES = tuple(name for name, row in SCORES.items() if row.reversal)


def _allowed(mask, q, k):
    """Return the allowed pairs of a mask: bool (L, S)."""
    return mask.dense(1, 1, len(q), len(k))[0, 0]


def _tiled(q, k, v, **options):
    return attention.scaled_dot_product_attention(q, k, v, path="tiled", **options)


def pattern(mask, pairs, options, small):
    """Return the row of a sparse pattern.

    mask    a function of the options, which returns the Mask
    pairs   a function of L, S and the options, which returns the number of pairs that
            the mask keeps
    """

    def definition(q, k, v, **options):
        return attention.definitions.sparse(q, k, v, _allowed(mask(**options), q, k))

    def block_mask(L, S, **options):
        return {"block_mask": attention.BlockMask.from_mask(mask(**options), L, S)}

    return Variant(
        definition,
        _tiled,
        costs=PATTERN,
        options=options,
        small=small,
        letters=lambda L, S, T, **options: {"P": pairs(L, S, **options)},
        keywords=block_mask,
    )


PATTERNS = {
    "window": pattern(
        lambda window: attention.masks.sliding_window(*window),
        lambda L, S, window: attention.masks.pair_counts.window_pairs(L, S, *window),
        options=dict(window=(255, 0)),
        small=dict(window=(2, 1)),
    ),
    "dilated": pattern(
        lambda window, dilation: attention.masks.dilated(window[0], dilation),
        lambda L, S, window, dilation: attention.masks.pair_counts.dilated_pairs(
            L, S, *window, dilation
        ),
        options=dict(window=(256, 256), dilation=2),
        small=dict(window=(4, 4), dilation=2),
    ),
    "longformer": pattern(
        lambda window, global_tokens: (
            attention.masks.sliding_window(*window)
            | attention.masks.global_tokens(global_tokens)
        ),
        lambda L, S, window, global_tokens: (
            attention.masks.pair_counts.longformer_pairs(L, S, *window, global_tokens)
        ),
        options=dict(window=(128, 128), global_tokens=(0,)),
        small=dict(window=(1, 1), global_tokens=(0,)),
    ),
    "bigbird": pattern(
        lambda blocks: attention.masks.bigbird(*blocks, seed=0),
        lambda L, S, blocks: attention.masks.pair_counts.bigbird_pairs(L, S, *blocks),
        options=dict(blocks=(64, 3, 3, 2)),
        small=dict(blocks=(2, 1, 1, 1)),
    ),
}


VARIANTS = {
    **SCORES,
    # additive, and w_c c_j from the second query on. Weights, coverages and contexts of
    # all steps are held twice: step by step, and as one array.
    "coverage": Variant(
        lambda *arrays: attention.definitions.coverage(*arrays),
        layer=lambda Dq, Dk, rng: attention.CoverageAttention(Dq, Dk, Dq, rng=rng),
        parameters="W_q (A, E), W_k (A, Dk), w_v (A), w_c (A)",
        costs=Formulas(
            projecting="A*(L*E + S*Dk)",
            scoring="L*S*A + (L - 1)*S*A",
            exponentials="L*S*A + L*S",
            held="w*((1 + S)*A + 2*L*S + L*Ev"
            " + max(2*L*S + L*Ev, 2*S*A*min(L - 1, 1)))",
        ),
    ),
    # W keys for each query. Held are the keys, values and weights of its window; for
    # each key its position (8 bytes), and whether it exists and is allowed (2 bytes);
    # and the centre of the window, the number of keys, and the two ends (32 bytes).
    "local-m": Variant(
        lambda *arrays, **options: attention.definitions.local_m(*arrays, **options),
        layer=lambda Dq, Dk, rng, D: attention.LocalAttention(Dq, Dk, D, "m", "dot"),
        costs=Formulas(
            scoring="L*W*E",
            averaging="L*W*Ev",
            exponentials="L*W",
            scores="L*W",
            held="w*(L*W*(E + Ev + 1) + L*E) + 10*L*W + 32*L",
        ),
        options=dict(D=10),
        small=dict(D=2),
        letters=lambda L, S, T, D: {"W": min(2 * D + 1, S)},
    ),
    # the same around a predicted centre, with a Gaussian on the values
    "local-p": Variant(
        lambda *arrays, D: attention.definitions.local_p(*arrays, D),
        layer=lambda Dq, Dk, rng, D: attention.LocalAttention(Dq, Dk, D, "p", "dot"),
        parameters="W_p (E, E), v_p (E)",
        costs=Formulas(
            projecting="L*(E*E + E)",
            scoring="L*W*E + L + 2*L*W",
            averaging="2*L*W*Ev",
            exponentials="L*(E + 1) + 2*L*W",
            scores="L*W",
            held="w*(L*W*(E + Ev + max(E, Ev) + 3) + L*E) + 10*L*W + 32*L",
        ),
        options=dict(D=10),
        small=dict(D=2),
        letters=lambda L, S, T, D: {"W": min(2 * D + 1, S)},
    ),
    "dense": Variant(
        lambda q, k, v: attention.definitions.scaled_dot_attention(q, k, v),
        lambda q, k, v: attention.scaled_dot_product_attention(q, k, v, path="dense"),
        costs=SCALED,
    ),
    "multi-head": Variant(
        lambda *arrays, H: attention.definitions.multi_head(
            *arrays, [attention.definitions.scaled_dot_attention] * H
        ),
        layer=lambda Dq, Dk, rng, H=1: attention.MultiHeadAttention(Dq, H, bias=False),
        inputs="q (L, H*E), k (S, H*E), v (S, H*E)",
        parameters="W_q (H*E, H*E), W_k (Hk*E, H*E), W_v (Hk*Ev, H*E), W_o (H*E, H*Ev)",
        costs=Formulas(
            projecting="L*H*E*H*E + S*Hk*(E + Ev)*H*E + L*H*Ev*H*E",
            scoring="H*(L*E + L*S*E)",
            averaging="H*L*S*Ev",
            exponentials="H*L*S",
            scores="H*L*S",
            held="w*(L*H*E + S*Hk*(E + Ev) + H*max(L*S + L*E, 2*L*S + L*Ev))",
            all_heads=True,
        ),
        small=dict(H=2),
        keywords=lambda L, S, **options: {"need_weights": True},  # the whole matrices
    ),
    # All P pairs of the tiles are computed. V is the sum over the queries of the tiles
    # that a query meets; at each, the sum so far and o are rescaled: Ev + 1 numbers.
    "tiled": Variant(
        lambda q, k, v, window=(-1, -1), tile=64: attention.definitions.tiled(
            q, k, v, tile, _allowed(attention.masks.sliding_window(*window), q, k)
        ),
        lambda q, k, v, window: _tiled(q, k, v, window_size=window),
        costs=PATTERN._replace(averaging="P*Ev + V*(Ev + 1)", exponentials="P + V"),
        options=dict(window=(-1, -1)),
        small=dict(tile=4),
        letters=lambda L, S, T, window: attention.masks.pair_counts.window_tiles(
            L, S, *window, T
        ),
    ),
    **PATTERNS,
    # phi(q) (sum_j phi(k_j) v_j^T) / phi(q) sum_j phi(k_j), without pairs. The buffers
    # are the sums over all keys, and a chunk of all else.
    "linear": Variant(
        lambda q, k, v: attention.definitions.linear(q, k, v),
        lambda q, k, v: attention.linear_attention(q, k, v),
        costs=Formulas(
            scoring="L*E",
            averaging="(S + L)*E*Ev",
            exponentials="(S + L)*E",
            scores="0",
            held="w*(L*Ev + L)",
            buffers="w*(E*Ev + E + (2*E + 2*Ev + T)*T)",
        ),
    ),
}
