"""Blocks chosen by content: each query attends to the blocks of keys that suit it best.

    m_b = the mean of the keys of block b
    G_ib = q_i . m_b                        for the blocks before the query's own
    query i attends to its own block, causally, and to the best - 1 with the largest G

So the mask depends on the queries and keys. BigBird draws its blocks before it has seen
the text; here far keys are found wherever they stand. Each query reads at most ``best``
blocks, but compares itself with all: L S / block products.

The gradient is that of attention with the chosen mask held fixed. The choice has none:
keys learn where they are wanted because a chosen block trains them. The own block always
belongs to the choice, and its mean is not used, because it contains later keys.

``native_sparse`` adds two branches, mixed by gates: a window, and attention to the means
of the blocks themselves. The weights of that branch make the choice, and it gives the
means a gradient of their own.

Lu et al. 2025 (MoBA: chosen blocks); Yuan et al. 2025 (NSA: three branches; there the
means are a learned network, a query reads that of its own block if it is the block's
last token, not only from the next token on, and heads that share keys choose together).
"""

import functools

import numpy as np

from minigrad import mean, pad, reshape, stack
from minigrad.arguments import whole
from minigrad.shapes import shapes

from .. import definitions
from ..exact.sdpa import scaled_dot_product_attention
from ..kernels import tile_plan
from ..masks.algebra import Mask
from ..masks.block_mask import BlockMask
from ..masks.windows import sliding_window, window_pairs
from .row import Variant

TILE = tile_plan.SIZE  # queries of a tile; it has all blocks that one of them chose
FIRST = np.zeros(1, int)  # block 0 begins with key 0


class chosen_blocks(Mask):
    """Keys of the blocks that each query has chosen, and no later keys.

    chosen   bool (B | 1, H | 1, L, number of blocks)
    block    the number of keys of a block
    first    int (B | 1,), the key with which block 0 begins; those before are padding
    earlier  the number of keys before that of query 0, as in a cache
    """

    def __init__(self, chosen, block, first=FIRST, earlier=0):
        self.block = whole("chosen_blocks", "block", block, least=1)
        self.chosen, self.first, self.earlier = chosen, first, earlier
        self.examples, self.heads = (n if n != 1 else None for n in chosen.shape[:2])

    def allowed(self, b, h, q, kv):
        """Return whether the query has chosen the key's block, and is not before it."""
        b, h = (0 if n is None else i for n, i in ((self.examples, b), (self.heads, h)))
        place = kv - self.first[b if len(self.first) > 1 else 0]
        own = place // self.block
        if (own == own[..., :1]).all():  # keys of one block: look its number up once
            own = own[..., :1]
        return self.chosen[b, h, q, own] & (place >= 0) & (kv <= q + self.earlier)

    def rows(self, b, h, q, L, S):
        """Return the rows of ``allowed``, from a row of the table for each query."""
        if self.first.any():
            return super().rows(b, h, q, L, S)
        keys = self.chosen[:, :, q].repeat(self.block, -1)[..., :S]
        return keys & (np.arange(S) <= q[:, None] + self.earlier)


def choose_blocks(q, k, block, best, first=FIRST):
    """Return the ``chosen_blocks`` of arrays q (B, H, L, E) and k (B, Hk, S, E).

    The queries are those of the last L keys; H / Hk of them share a key head. Of blocks
    that are equal up to rounding, such as repetitions of a text, the first are chosen:
    a cache, or a longer text, rounds in another order and must choose the same.
    """
    block, best = _sizes("choose_blocks", block, best)
    (_, H, L, _), (_, Hk, S, _) = q.shape, k.shape
    if first.any():  # move the padding to the end, where no query chooses it
        columns = (np.arange(S) + first[:, None]) % S
        k = np.take_along_axis(k, columns[:, None, :, None], 2)
    means = np.repeat(_block_means(k, block).data, H // Hk, 1)  # (B, H, blocks, E)
    b, i = np.arange(means.shape[-2]), np.arange(S - L, S)[:, None]
    own = (i - first[:, None, None, None]) // block  # (B | 1, 1, L, 1)
    G = q @ means.swapaxes(-1, -2)  # (B, H, L, blocks)
    lengths = np.where(b < own, _lengths(means)[..., None, :, 0], 0)
    rounding = np.finfo(G.dtype).eps ** (2 / 3) * _lengths(q)  # far above that of one G
    rounding = rounding * lengths.max(-1, keepdims=True, initial=0)  # (B, H, L, 1)
    G = np.where(b == own, np.inf, np.where(b < own, G, -np.inf))
    least = np.sort(G, -1)[..., -best:][..., :1]  # of the best
    chosen = G > least + rounding
    equal = (G >= least - rounding) & ~chosen
    chosen |= equal & (equal.cumsum(-1) <= best - chosen.sum(-1, keepdims=True))
    return chosen_blocks(chosen & (b <= own), block, first, S - L)


def _sizes(name, block, best):
    block = whole(name, "block", block, least=1)
    return block, whole(name, "best", best, least=1)


def _lengths(x):
    """Return the length of each row.    x (..., n, E)  ->  (..., n, 1)"""
    return np.sqrt((x * x).sum(-1, keepdims=True))


@shapes
def block_attention(q, k, v, block, best):
    """Attend, causally, to the best blocks of each query.

    q (B, H, L, E), k (B, H, L, E), v (B, H, L, Ev)  ->  o (B, H, L, Ev)

    block   the number of keys of a block
    best    the largest number of blocks that a query reads, its own included
    """
    block, best = _sizes("block_attention", block, best)
    L = q.shape[-2]
    tiles = in_tiles(choose_blocks(q.data, k.data, block, best), L, L)
    return scaled_dot_product_attention(q, k, v, attn_mask=tiles)


def in_tiles(mask, L, S):
    """Return the BlockMask of the compiled loops; blocks that no query chose are empty."""
    return BlockMask.from_mask(mask, L, S, block=TILE)


@shapes
def native_sparse(q, k, v, gates, block, best, window):
    """Mix attention to block means, to the blocks that they choose, and to a window.

    q (B, H, L, E), k (B, H, L, E), v (B, H, L, Ev), gates (B, H, L, 3)
        ->  o (B, H, L, Ev)

    gates   usually sigmoids of a linear map of each token
    window  the number of keys of the third branch, the own one included
    """
    block, best = _sizes("native_sparse", block, best)
    window, L = whole("native_sparse", "window", window, least=1), q.shape[-2]
    whole_blocks = np.arange(L)[:, None] // block > np.arange(-(-L // block))
    means = [_block_means(x, block) for x in (k, v)]  # (B, H, blocks, E)
    compressed = scaled_dot_product_attention(q, *means, whole_blocks)
    tiles = in_tiles(choose_blocks(q.data, k.data, block, best), L, L)
    chosen = scaled_dot_product_attention(q, k, v, attn_mask=tiles)
    near = sliding_window(window - 1, 0)
    local = scaled_dot_product_attention(q, k, v, attn_mask=near)
    branches = stack([compressed, chosen, local], -2)  # (B, H, L, 3, Ev)
    return (gates[..., None] * branches).sum(-2)


def _block_means(x, block):
    """x (B, H, L, E)  ->  the mean of each block, (B, H, blocks, E)

    The last block may be short; its mean is never used.
    """
    *leading, L, E = x.shape
    blocks = -(-L // block)
    x = pad(x, [(0, 0)] * len(leading) + [(0, blocks * block - L), (0, 0)])
    return mean(reshape(x, (*leading, blocks, block, E)), -2)


def _one_head(function, *arrays, **options):
    """Call a function of (B, H, L, E) with arrays (L, E)."""
    return function(*(x[None, None] for x in arrays), **options)[0, 0]


def _pairs(L, S, block, best, window=0):
    """Return the pairs P of the chosen blocks, the means M, and the pairs W of a window.

    P are those of the own block, causally, and of best - 1 earlier blocks; M are the
    earlier blocks of all queries, which are compared.
    """
    i = np.arange(L)
    earlier = i // block
    P = np.minimum(earlier, best - 1) * block + i % block + 1
    W = window_pairs(L, L, window - 1, 0) if window else 0
    return {"P": int(P.sum()), "M": int(earlier.sum()), "W": W}


ROWS = [
    # P pairs; each query also compares itself with the means of the earlier blocks
    Variant(
        "blocks", definitions.chosen_blocks,
        functools.partial(_one_head, block_attention),
        inputs="q (L, E), k (L, E), v (L, Ev)",
        multiplications="L*E + P*E + M*E + P*Ev",
        options=dict(block=64, best=3),
        small=dict(block=2, best=2),
        more=_pairs,
        about="""mask: the own block, and the earlier blocks with the largest q . mean
        key
        can find a key at any distance, and read few keys
        cannot find a key if the mean of its block has a small product with the query
        lesson 18: lookup by distance; Lu et al. 2025""",
    ),
    # M means, the P pairs of the blocks that they choose, and W pairs of the window
    Variant(
        "nsa", definitions.native_sparse, functools.partial(_one_head, native_sparse),
        inputs="q (L, E), k (L, E), v (L, Ev), gates (L, 3)",
        multiplications="3*L*E + (M + P + W)*(E + Ev) + 3*L*Ev",
        options=dict(block=64, best=3, window=128),
        small=dict(block=2, best=2, window=3),
        more=_pairs,
        about="""template: three branches, mixed by gates: means of blocks, the blocks
        that these choose, and a window
        can learn its choice: the weights that choose have a gradient of their own
        cannot read the keys of a far block whose mean has a small product with the
        query
        lesson 18: lookup by distance; Yuan et al. 2025""",
    ),
]  # fmt: skip
