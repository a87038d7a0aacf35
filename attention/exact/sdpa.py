"""scaled_dot_product_attention: exact attention, with masks and biases.

    o_i = sum_j p_ij v_j,    p_i = softmax over j of q_i . k_j / sqrt(E)

The arguments are torch's, in torch's order and layout. The whole matrix of scores is
computed as in ``attend``, or in tiles, which are not stored (flash.py); the results are
the same. For L queries and S keys of width E, and values of width Ev, each head costs
L S (E + Ev) multiplications either way. The matrix has L S numbers; in tiles the memory
grows with L + S (plus a mask of L S booleans if a key or value is NaN or infinite).

Vaswani et al. 2017, equation 1; tiles: Dao et al. 2022; Dao 2023.
"""

import functools
import math

import numpy as np

from minigrad import Tensor, arguments, expand, reshape
from minigrad.random import generator
from minigrad.shapes import shapes

from .. import definitions
from ..kernels import dropout
from ..kernels.tile_plan import tile_plan
from ..masks import causal, from_array
from ..masks.given import Pairs
from ..masks.windows import sliding_window, window_ends
from ..positions import toeplitz
from ..scores import scaled_dot
from ..template import (
    checked_scores,
    clear_unused,
    group_heads,
    used_keys,
    weigh_and_average,
)
from ..variants.row import Variant
from .flash import flash_attention

NAME = "scaled_dot_product_attention"
TILED_FROM = 64  # queries, one row of tiles; with fewer, the whole matrix is faster


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
    bias=None,
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
    o, weights (..., H, L, S) or (L, S); o, lse (..., H, L) or (L,)

        s_ij = scale q_i . k_j + b_ij
        p_ij = exp(s_ij) / sum_l exp(s_il)    over the allowed j, l; else exactly 0
        o_i  = sum_j z_ij p_ij v_j            lse_i = ln sum_l exp(s_il)

    The order is scale, bias, mask, softmax, dropout z, values.

    attn_mask     broadcasts to (..., H, L, S): bool, where True = may attend, or float,
                  which is added, with a gradient; -inf masks. Or a mask of
                  attention.masks, a BlockMask, which is made once for many calls, or a
                  function (b, h, q_idx, kv_idx) -> bool; b counts all axes before the
                  heads
    dropout_p     the probability that a weight is dropped, if ``training``
    rng           the generator of dropout; None uses minigrad's generator
    is_causal     masks the keys after the query: j > i
    scale         a number; None is 1 / sqrt(E)
    enable_gqa    allows H query heads to be a multiple of Hk key heads: query head h
                  reads key head h // (H / Hk)
    bias          b_ij, with a gradient: broadcasts to (..., H, L, S), or is an
                  OffsetBias, a value for each head and offset j - i (T5, ALiBi)
    return_lse    also return lse, which tiles compute
    path          "dense" is the whole matrix, "tiled" is tiles. None is tiles for lse;
                  otherwise the matrix if weights, a score or a normalize need it or if
                  there are fewer than 64 queries, where it is faster; otherwise tiles
    normalize     a function that replaces the softmax, as in ``attend``. Tiles compute
                  it if it has a method rescale(o, lse) -> o, as a ``Sink`` has
    score         a function (query, key) -> scores (..., H, L, S) that replaces
                  scale q_i . k_j, as in ``attend``. For the softcap of Gemma,
                  lambda q, k: c * tanh(scaled_dot(q, k) / c)

    A pair may attend if all masks allow it. A query with no allowed key has output,
    weights and gradient 0, and lse -inf. A masked pair has no influence. Keys and
    values that every query excludes may be NaN. The weights are returned before
    dropout.

    Sources: Vaswani et al. 2017, equation 1; Dao 2023; torch's function of this name.
    """
    flags = {
        "is_causal": is_causal, "enable_gqa": enable_gqa, "training": training,
        "return_weights": return_weights, "return_lse": return_lse,
    }  # fmt: skip
    for option, chosen in flags.items():
        arguments.flag(NAME, option, chosen)
    arguments.probability(NAME, "dropout_p", dropout_p)  # also if it is not training
    scale = 1 / math.sqrt(max(query.shape[-1], 1)) if scale is None else scale
    arguments.number(NAME, "scale", scale)
    query, key, value = _with_equal_batch(query, key, value, enable_gqa)
    masks = {"attn_mask": attn_mask, "is_causal": causal if is_causal else None}
    return exact_attention(
        NAME, query, key, value, masks, bias=bias, scale=scale,
        dropout_p=dropout_p if training else 0.0, rng=rng, normalize=normalize,
        score=score, return_weights=return_weights, return_lse=return_lse, path=path,
    )  # fmt: skip


def exact_attention(
    name, query, key, value, masks, *, scale, bias=None, dropout_p=0.0, rng=None,
    normalize=None, score=None, return_weights=False, return_lse=False, path=None,
):  # fmt: skip
    """Compute ``scaled_dot_product_attention`` of heads whose axes fit, or of one head.

    query (..., H, L, E), key (..., Hk, S, E), value (..., Hk, S, Ev)

    name    of the caller, for messages
    masks   {argument: a mask, or None}, as of ``Pairs``

    The other arguments are those of that function, checked.
    """
    arguments.probability(name, "dropout_p", dropout_p)
    arguments.generator(name, rng)
    in_tiles = _in_tiles(
        name, path, query, return_weights, return_lse, normalize, score
    )
    shape = *query.shape[:-1], key.shape[-2]
    pairs = Pairs(name, shape, query.dtype, masks, bias)
    B, H, L, S = pairs.sizes
    if pairs.masks:
        key, value = clear_unused(
            key, value, lambda: used_keys(pairs.dense(), query, key)
        )
    draws = None
    if dropout_p > 0:  # the same numbers with and without tiles
        seed = (rng or generator()).integers(2**63)
        draws = dropout.draws(dropout_p, seed, B * H, L, S, query.dtype)
    if in_tiles:
        plan = tile_plan(pairs.one_mask(), B, H, L, S)
        o, lse = flash_attention(
            query, key, value, pairs.offset, pairs.added, plan=plan, scale=scale,
            draws=draws,
        )
        o = o if normalize is None else normalize.rescale(o, lse)
        return (o, lse) if return_lse else o
    if score is None:
        score = functools.partial(_scaled_dot, shape=shape, scale=scale)
    else:
        score = functools.partial(_checked_scores, name, score, shape=shape)
    offset = None
    if pairs.offset is not None:
        offset = toeplitz(pairs.offset, L, S)  # (H | 1, L, S)
        offset = offset[0] if len(shape) == 2 else offset
    drop = None if draws is None else functools.partial(_drop, draws)
    o, weights = weigh_and_average(
        query, key, value, score, pairs.dense(), (offset, pairs.added), 1, normalize,
        drop, name,
    )  # fmt: skip
    return (o, weights) if return_weights else o


def _in_tiles(name, path, query, return_weights, return_lse, normalize, score):
    """Return whether the scores are computed in tiles."""
    arguments.one_of(name, "path", path, (None, "dense", "tiled"))
    if return_lse and normalize is not None:
        raise ValueError(
            f"{name}: return_lse is True and normalize is {normalize!r}; expected one "
            "of them, because lse belongs to the softmax."
        )
    own = normalize is not None and not hasattr(normalize, "rescale")
    needs_matrix = return_weights or score is not None or own
    if needs_matrix and (path == "tiled" or return_lse):
        raise ValueError(
            f"{name}: path is {path!r} and return_lse is {return_lse}; expected path "
            "'dense' or None and no lse: weights, a score and a normalize need the "
            "whole matrix of scores."
        )
    if return_lse and path == "dense":
        raise ValueError(
            f"{name}: return_lse is True and path is 'dense'; expected 'tiled' or "
            "None, because tiles compute lse."
        )
    few = query.shape[-2] < TILED_FROM and not return_lse
    return path == "tiled" or path is None and not (few or needs_matrix)


def _scaled_dot(query, key, shape, scale):
    """Return scale q_i . k_j for each head (..., H, L, S)."""
    rows = group_heads(query, key)
    s = scaled_dot.unchecked(rows, key, scale)
    return s if rows is query else reshape(s, shape)


def _drop(draws, weights):
    """Return the weights times z."""
    everything = slice(None), slice(None), slice(None)
    return weights * dropout.factors(draws, *everything).reshape(weights.shape)


def _with_equal_batch(query, key, value, enable_gqa):
    """Broadcast the leading axes: query gets H heads, key and value get Hk.

    query (..., H | 1, L, E), key (..., Hk | 1, S, E), value (..., Hk | 1, S, Ev)
        ->  query (..., H, L, E), key (..., Hk, S, E), value (..., Hk, S, Ev)
    """
    tensors = query, key, value
    if all(x.ndim == 2 for x in tensors):
        return tensors
    H, *others = ((1, *x.shape)[-3] for x in tensors)
    batch = {x.shape[:-3] for x in tensors}
    batch = batch.pop() if len(batch) == 1 else np.broadcast_shapes(*batch)
    (Hk,) = {*others} if others[0] == others[1] else np.broadcast_shapes(*others)
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


def _checked_scores(name, score, query, key, shape):
    y = arguments.called(f"{name}: score", "(query, key)", score, query, key)
    y = checked_scores(name, y, shape)
    return y if y.dtype == query.dtype else y.astype(query.dtype)


# ---- The rows of the table ----


def _tiles_of_definition(q, k, v, left=-1, right=-1, tile=64):
    i, j = definitions.positions(len(q), len(k))
    allowed = (left < 0) | (i - left <= j)
    allowed = allowed & ((right < 0) | (j <= i + right))
    return definitions.tiled(q, k, v, tile, allowed)


def _in_window(q, k, v, left, right, mask=None):
    window = sliding_window(left, right)
    window = window if mask is None else window & from_array(mask)
    return scaled_dot_product_attention(q, k, v, window, path="tiled")


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
        "dense", definitions.scaled_dot_attention,
        functools.partial(scaled_dot_product_attention, path="dense"),
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
        options=dict(left=-1, right=-1),
        more=window_tiles,
        about="""computation: nothing: tile by tile, with running sums
        can return the same context as dense, with memory that grows with n
        cannot save multiplications; return the weights
        lesson 12: memory and time against n; Dao et al. 2022""",
    ),
]  # fmt: skip
