"""scaled_dot_product_attention: exact attention, with all masks and biases.

    o_i = sum_j p_ij v_j,    p_i = softmax over j of q_i . k_j / sqrt(E)

The arguments are torch's, in torch's order and layout. Two paths compute the same
results: dense.py computes the whole matrix of scores, and flash.py computes it in tiles
and stores none. Each head costs L S (E + Ev) multiplications on both paths; the memory
is L S numbers on the dense path, and L + S in tiles (plus a mask of L S booleans if a
key or value is NaN or infinite).

Vaswani et al. 2017, equation 1; tiles: Dao 2023; score_mod and mask_mod: Dong et al.
2024.
"""

import math

import numpy as np

from minigrad import Tensor, expand
from minigrad.arguments import called
from minigrad.random import generator
from minigrad.shapes import shapes

from .. import definitions
from ..kernels import dropout
from ..kernels.tile_plan import tile_plan
from ..masks.windows import window_ends
from ..positions import toeplitz
from ..softmax import apply_normalizer
from ..template import clear_unused
from ..variants.row import Variant
from .combined_masks import combined_masks
from .dense import attention_average, attention_scores, flatten_batch, group_heads
from .flash import flash_attention
from .options import NAME, Options

TILED_FROM = 64  # queries, one row of tiles; with fewer, the dense path is faster


@shapes
def scaled_dot_product_attention(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    scale=None,
    enable_gqa=False,
    *,
    softcap=None,
    window_size=(-1, -1),
    bias=None,
    score_mod=None,
    mask_mod=None,
    block_mask=None,
    causal_align="upper_left",
    training=True,
    rng=None,
    return_weights=False,
    return_lse=False,
    path=None,
    normalize=None,
    score=None,
) -> Tensor:
    """Average the values; the product of query and key decides the weight of a value.

    query (..., H | 1, L, E) or (L, E), key (..., Hk | 1, S, E) or (S, E),
    value (..., Hk | 1, S, Ev) or (S, Ev)  ->  o (..., H, L, Ev) or (L, Ev);
    o, weights (..., H, L, S) or (L, S); o, lse (..., H, L) or (L,); o, weights, lse

        s_ij = cap(scale q_i . k_j) + b_ij
        p_ij = exp(s_ij) / sum_l exp(s_il)    over the allowed j, l; else exactly 0
        o_i  = sum_j z_ij p_ij v_j            lse_i = ln sum_l exp(s_il)

    The order is scale, softcap, score_mod, bias, mask, softmax, dropout z, values.

    attn_mask     broadcasts to (..., H, L, S): bool, where True = may attend, or float,
                  which is added, with a gradient; -inf masks
    dropout_p     the probability that a weight is dropped, if ``training``
    rng           the generator of dropout; None uses minigrad's generator
    is_causal     masks the keys after the query's position. The position of query i is
                  i, or i + S - L with causal_align="lower_right": then the last query
                  has the position of the last key, as with a cache of earlier keys
    scale         a number; None is 1 / sqrt(E)
    softcap       c, for cap(x) = c tanh(x / c); None: cap(x) = x
    enable_gqa    allows H to be a multiple of Hk: query head h reads key head
                  h // (H / Hk)
    window_size   (left, right): the number of keys that are allowed before and after
                  the key at the query's position; -1: all
    bias          b_ij, with a gradient: broadcasts to (..., H, L, S), or is an
                  OffsetBias, a value for each head and offset j - i (T5, ALiBi)
    score_mod     a function (score, b, h, q_idx, kv_idx) of a Tensor and indices that
                  broadcast, which returns new scores (B, H, L, S); B is the product
                  of all axes before the heads
    mask_mod      a function (b, h, q_idx, kv_idx) -> bool, or a mask of attention.masks
    block_mask    a BlockMask, made once for many calls
    path          "dense" or "tiled"; None chooses: dense for weights, a score, a
                  score_mod, a normalize, and fewer than 64 queries, where it is faster
    normalize     a function that replaces the softmax, as in ``attend``. Tiles compute
                  it if it has a method rescale(o, lse) -> o, such as a ``Sink``
    score         a function (query, key) -> scores (..., H, L, S) that replaces
                  cap(scale q_i . k_j), as in ``attend``

    A pair may attend if all masks allow it. A query with no allowed key has output,
    weights and gradient 0, and lse -inf. A masked pair has no influence. Keys and
    values that every query excludes may be NaN. The weights are returned before
    dropout.

    Sources: Vaswani et al. 2017, equation 1; Dao 2023; torch's function of this name.
    """
    options = Options(
        attn_mask=attn_mask,
        dropout_p=dropout_p,
        is_causal=is_causal,
        scale=1 / math.sqrt(max(query.shape[-1], 1)) if scale is None else scale,
        enable_gqa=enable_gqa,
        softcap=softcap,
        window_size=window_size,
        bias=bias,
        score_mod=score_mod,
        mask_mod=mask_mod,
        block_mask=block_mask,
        causal_align=causal_align,
        training=training,
        rng=rng,
        return_weights=return_weights,
        return_lse=return_lse,
        path=path,
        normalize=normalize,
        score=score,
    )
    query, key, value = _with_equal_batch(query, key, value, enable_gqa)
    scores_shape = *query.shape[:-1], key.shape[-2]
    masks = combined_masks(scores_shape, query.dtype, options)
    if masks.mask is not None:
        key, value = clear_unused(key, value, lambda: masks.used_keys(key.shape))
    if path is None:
        few = query.shape[-2] < TILED_FROM
        path = "dense" if few or options.needs_matrix() else "tiled"
    attention = _dense if path == "dense" else _tiled
    return attention(query, key, value, masks, options)


def dense_attention(query, key, value, *args, **options):
    """Compute ``scaled_dot_product_attention`` with the whole matrix of scores."""
    options["path"] = "dense"
    return scaled_dot_product_attention(query, key, value, *args, **options)


def tiled_attention(query, key, value, *args, **options):
    """Compute ``scaled_dot_product_attention`` in tiles, without storing them."""
    options["path"] = "tiled"
    return scaled_dot_product_attention(query, key, value, *args, **options)


def _dense(query, key, value, masks, options):
    """Compute the whole matrix of scores, then the weights and the average."""
    s = _scores(query, key, masks, options)  # (..., H, L, S)
    mask = masks.dense()  # broadcasts to s, or None
    z, draws = None, _dropout_draws(query, masks, options)
    if draws is not None:
        everything = slice(None), slice(None), slice(None)
        z = dropout.factors(draws, *everything).reshape(s.shape)
    if options.normalize is None:
        o, weights, lse = attention_average(s, value, mask, z)
    else:
        allowed = np.broadcast_to(True if mask is None else mask, s.shape)
        weights = apply_normalizer(NAME, options.normalize, s, allowed)
        V = flatten_batch(value)  # (N, S, Ev)
        o = group_heads(weights if z is None else weights * z, V) @ V
        o, lse = o.reshape(*s.shape[:-1], value.shape[-1]), None
    results = [o] + [weights] * options.return_weights + [lse] * options.return_lse
    return tuple(results) if len(results) > 1 else o


def _tiled(query, key, value, masks, options):
    """Compute the scores in tiles, each used for the average as soon as it exists."""
    if options.needs_matrix():
        raise ValueError(
            f"{NAME}: path is 'tiled', but weights, a score, a score_mod and a "
            "normalize need the whole matrix of scores; expected 'dense' or None."
        )
    o, lse = flash_attention(
        query,
        key,
        value,
        masks.offset,
        masks.added,
        plan=tile_plan(masks.mask, *masks.sizes),
        scale=options.scale,
        softcap=options.softcap,
        draws=_dropout_draws(query, masks, options),
    )
    if options.normalize is not None:
        o = options.normalize.rescale(o, lse)
    return (o, lse) if options.return_lse else o


def _scores(query, key, masks, options):
    """Return the scores (..., H, L, S) with all biases, not yet masked."""
    L, S = masks.shape[-2:]
    if options.score is None:
        s = attention_scores(query, key, options.scale, options.softcap)
    else:
        s = called(f"{NAME}: score", "(query, key)", options.score, query, key)
        s = _checked_scores("score", s, masks.shape, query.dtype)
    if options.score_mod is not None:
        s = _apply_score_mod(s, options.score_mod, masks.sizes)
    if masks.offset is not None:
        bias = toeplitz(masks.offset, L, S)  # (H | 1, L, S)
        s = s + (bias if s.ndim > 2 else bias[0])
    return s if masks.added is None else s + masks.added


def _with_equal_batch(query, key, value, enable_gqa):
    """Broadcast the leading axes: query gets H heads, key and value get Hk.

    query (..., H | 1, L, E), key (..., Hk | 1, S, E), value (..., Hk | 1, S, Ev)
        ->  query (..., H, L, E), key (..., Hk, S, E), value (..., Hk, S, Ev)
    """
    tensors = query, key, value
    if all(x.ndim == 2 for x in tensors):
        return tensors
    H, *others = ((1, *x.shape)[-3] for x in tensors)
    batch = np.broadcast_shapes(*(x.shape[:-3] for x in tensors))
    (Hk,) = np.broadcast_shapes(*((n,) for n in others))
    H = Hk if H == 1 else H
    if Hk not in (H, 1) and not (enable_gqa and Hk and H % Hk == 0):
        expected = "a number of query heads that is a multiple of the key heads"
        if not enable_gqa:
            expected = f"equal numbers, or enable_gqa=True and {expected}"
        raise ValueError(
            f"{NAME}: query has shape {query.shape}, key {key.shape} and value "
            f"{value.shape}, {H} query heads and {Hk} key heads; expected {expected}."
        )
    shapes = ((*batch, n, *x.shape[-2:]) for x, n in zip(tensors, (H, Hk, Hk)))
    return [x if x.shape == s else expand(x, s) for x, s in zip(tensors, shapes)]


def _apply_score_mod(s, score_mod, sizes):
    """Return the scores that score_mod returns for s (..., H, L, S)."""
    B, H, L, S = sizes
    b, h = np.arange(B).reshape(-1, 1, 1, 1), np.arange(H).reshape(-1, 1, 1)
    q_idx, kv_idx = np.arange(L)[:, None], np.arange(S)
    name, arguments = f"{NAME}: score_mod", "(score, b, h, q_idx, kv_idx)"
    y = called(name, arguments, score_mod, s.reshape(B, H, L, S), b, h, q_idx, kv_idx)
    return _checked_scores("score_mod", y, sizes, s.dtype).reshape(s.shape)


def _checked_scores(option, y, shape, dtype):
    """Return the scores y of a function, if they are a Tensor of that shape."""
    if not isinstance(y, Tensor) or y.shape != shape or y.dtype.kind != "f":
        found = f"{y.dtype} {y.shape}" if isinstance(y, Tensor) else type(y).__name__
        raise ValueError(
            f"{NAME}: {option} returned {found}; expected a Tensor of floats of the "
            f"shape of the scores, {shape}."
        )
    return y if y.dtype == dtype else y.astype(dtype)


def _dropout_draws(query, masks, options):
    """Return dropout's random numbers, the same on both paths; None without dropout."""
    if not options.training or options.dropout_p == 0:
        return None
    B, H, L, S = masks.sizes
    seed = (options.rng or generator()).integers(2**63)
    return dropout.draws(options.dropout_p, seed, B * H, L, S, query.dtype)


# ---- The rows of the table ----


def _tiles_of_definition(q, k, v, left=-1, right=-1, tile=64):
    i, j = definitions.positions(len(q), len(k))
    allowed = (left < 0) | (i - left <= j)
    allowed = allowed & ((right < 0) | (j <= i + right))
    return definitions.tiled(q, k, v, tile, allowed)


def _in_window(q, k, v, left, right):
    return tiled_attention(q, k, v, window_size=(left, right))


def window_tiles(L, S, left, right, tile=64):
    """Return {"P", "V"}: the work of tiled attention with a window.

    P    pairs in the tiles that the window touches: whole tiles are computed
    V    the tiles that each query meets, summed over the queries
    """
    start = np.arange(0, L, tile)
    stop = np.minimum(start + tile, L)
    low, _ = window_ends(start, S, left, right)
    _, high = window_ends(stop - 1, S, left, right)
    first = low // tile
    last = np.where(low < high, -(-high // tile), first)
    visits = (stop - start) * (last - first)
    pairs = (stop - start) * (np.minimum(last * tile, S) - np.minimum(first * tile, S))
    return {"P": int(pairs.sum()), "V": int(visits.sum())}


ROWS = [
    Variant(
        "dense", definitions.scaled_dot_attention, dense_attention,
        held="max(L*S + L*E, 2*L*S + L*Ev)",
        about="""computation: nothing: scaled dot products of all pairs, as one matrix
        can let every token read every other one in one layer
        cannot need less memory than n^2 numbers
        lesson 12: lookup by distance; Vaswani et al. 2017""",
    ),
    # All P pairs of the tiles are computed. V is the sum over the queries of the tiles
    # that a query meets; at each, the sum so far and o are rescaled: Ev + 1 numbers.
    Variant(
        "tiled", _tiles_of_definition, _in_window,
        multiplications="L*E + P*E + P*Ev + V*(Ev + 1)",
        held="L*Ev + 3*L + (2*64 + E)*64",  # the output; a tile, and its queries
        options=dict(left=-1, right=-1),
        more=window_tiles,
        about="""computation: nothing: tile by tile, with running sums
        can return the same context as dense, with memory that grows with n
        cannot save multiplications; return the weights
        lesson 12: memory and time against n; Dao et al. 2022""",
    ),
]  # fmt: skip
