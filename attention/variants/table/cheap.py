"""The rows of attention in tiles, sparse patterns and linear time: lesson 12."""

import attention

from .rows import CHOSEN, ROWS, Formulas, Variant

# the P pairs that a sparse pattern keeps, in tiles
PATTERN = CHOSEN._replace(
    scoring="L*E + P*E",
    held=ROWS,
    buffers="w*(2*T + E)*T",  # scores and weights of a tile, and its queries
)


def _allowed(mask, q, k):
    """Return the allowed pairs of a mask: bool (L, S)."""
    return mask.dense(1, 1, len(q), len(k))[0, 0]


def _tiled(q, k, v, **options):
    return attention.scaled_dot_product_attention(q, k, v, path="tiled", **options)


def pattern(mask, pairs, options, small, about):
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
        about=about,
    )


PATTERNS = {
    "window": pattern(
        lambda window: attention.masks.sliding_window(*window),
        lambda L, S, window: attention.masks.pair_counts.window_pairs(L, S, *window),
        options=dict(window=(255, 0)),
        small=dict(window=(2, 1)),
        about="""mask: only the keys from i - left to i + right
        can read texts of any length at a fixed cost for each token
        cannot move information further than the window in one layer
        lesson 12: lookup by distance; Beltagy et al. 2020; masks/windows.py""",
    ),
    "dilated": pattern(
        lambda window, dilation: attention.masks.dilated(window[0], dilation),
        lambda L, S, window, dilation: attention.masks.pair_counts.dilated_pairs(
            L, S, *window, dilation
        ),
        options=dict(window=(256, 256), dilation=2),
        small=dict(window=(4, 4), dilation=2),
        about="""mask: only every d-th key of a window
        can read d times as far as a window, at the same cost
        cannot read the keys between, whose distance is no multiple of d
        lesson 12: lookup by distance; Beltagy et al. 2020; masks/windows.py""",
    ),
    "strided": pattern(
        lambda stride: (
            attention.masks.causal
            & (
                attention.masks.sliding_window(stride - 1, 0)
                | attention.masks.dilated(2**31, stride)
            )
        ),
        lambda L, S, stride: attention.masks.pair_counts.strided_pairs(L, S, stride),
        options=dict(stride=1024),  # the root of a million tokens
        small=dict(stride=2),
        about="""mask: the last l keys, and every l-th key before them
        can connect any two tokens in two layers, l being the root of n
        cannot read a far key in one layer, if its distance is no multiple of l
        lesson 12: lookup by distance; Child et al. 2019; masks/windows.py""",
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
        about="""mask: a window, and some tokens that read all and are read by all
        can connect any two tokens in two layers
        cannot move more over a distance than the global tokens hold
        lesson 12: lookup by distance; Beltagy et al. 2020; masks/tokens.py""",
    ),
    "bigbird": pattern(
        lambda blocks: attention.masks.bigbird(*blocks, seed=0),
        lambda L, S, blocks: attention.masks.pair_counts.bigbird_pairs(L, S, *blocks),
        options=dict(blocks=(64, 3, 3, 2)),
        small=dict(blocks=(2, 1, 1, 1)),
        about="""mask: near blocks, global blocks and random blocks
        can connect any two blocks in a few layers
        cannot choose its blocks by their content
        lesson 12: lookup by distance; Zaheer et al. 2020; masks/bigbird.py""",
    ),
    "axial": pattern(
        lambda columns: attention.masks.axial(columns),
        lambda L, S, columns: attention.masks.pair_counts.axial_pairs(L, S, columns),
        options=dict(columns=1024),  # of a square image of a million places
        small=dict(columns=3),
        about="""mask: only the keys in the row and the column of the query
        can connect any two places of an image in two layers
        cannot compare two places that share no row and no column, in one layer
        lesson 19: how many layers connect all patches; Ho et al. 2019; masks/grid.py""",
    ),
    "near-2d": pattern(
        lambda columns, reach: attention.masks.neighbourhood(columns, reach),
        lambda L, S, columns, reach: attention.masks.pair_counts.neighbourhood_pairs(
            L, S, columns, reach
        ),
        options=dict(columns=16, reach=2),
        small=dict(columns=3, reach=1),
        about="""mask: only the keys near the query, in rows and in columns
        can read images of any size at a fixed cost for each place
        cannot move information further than the window in one layer
        lesson 19: how many layers connect all patches; Parmar et al. 2018;
        masks/grid.py""",
    ),
}


CHEAP = {
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
        about="""computation: nothing: tile by tile, with running sums
        can return the same context as dense, with memory that grows with n
        cannot save multiplications; return the weights
        lesson 12: memory and time against n; Dao et al. 2022; exact/flash.py""",
    ),
    **PATTERNS,
    # phi(q) (sum_j phi(k_j) v_j^T) / phi(q) sum_j phi(k_j), without pairs. It holds the
    # features, [v; 1] and its sums, the denominators twice, and the output.
    "linear": Variant(
        lambda q, k, v: attention.definitions.linear(q, k, v),
        lambda q, k, v: attention.linear_attention(q, k, v),
        costs=Formulas(
            scoring="L*E",
            averaging="(S + L)*E*Ev",
            exponentials="(S + L)*E",
            scores="0",
            held="w*((L + S)*(E + Ev + 1) + L*(Ev + 2))",
        ),
        about="""template: exp(q . k) becomes phi(q) . phi(k): sums over the keys come
        first
        can continue a text with a state of fixed size
        cannot give one of more keys than phi has numbers nearly all weight
        lesson 12: lookup by distance; Katharopoulos et al. 2020; variants/linear.py""",
    ),
}
