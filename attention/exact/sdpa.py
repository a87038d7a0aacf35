"""scaled_dot_product_attention: the one door to exact attention.

Behind it are two paths that give the same numbers: dense.py has the whole matrix of
scores, flash.py computes it a tile at a time and keeps none of it. Both stand under the
arguments of torch, in torch's order and layout.

    o_i = sum_j p_ij v_j,    p_i = softmax over j of q_i . k_j / sqrt(E)

It takes L S (E + Ev) multiplications a head either way, and the memory of L S numbers
or of L + S. Masks, biases, dropout and shared key heads are said here alone, so that
every layer above asks for them in one place.

Vaswani et al. 2017, equation 1; tiles: Dao 2023; score_mod and mask_mod: Dong et al.
2024.
"""

import numpy as np

from minigrad import Tensor, where
from minigrad.random import generator

from ..checks import called
from ..kernels import dropout
from ..kernels.tile_plan import plan
from ..masks.block_mask import BlockMask
from ..positions import toeplitz
from .arguments import NAME, checked
from .dense import attention_average, attention_scores
from .flash import flash_attention

SCORE_MOD = "(score, b, h, q_idx, kv_idx)"
TILED_FROM = 64  # queries, a row of tiles: for fewer, the whole matrix is quicker


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
):
    """Average the values, each weighted by how well its key suits the query.

    query (..., H, L, E), key (..., Hk, S, E), value (..., Hk, S, Ev)
        ->  o (..., H, L, Ev); or (o, weights), (o, lse), (o, weights, lse)

        s_ij = softcap tanh(scale q_i . k_j / softcap) + b_ij
        p_ij = exp(s_ij) / sum_l exp(s_il)    over the allowed j, l; else exactly 0
        o_i  = sum_j z_ij p_ij v_j            lse_i = ln sum_l exp(s_il)

    in the order scale, softcap, score_mod, bias, mask, softmax, dropout z, values.
    Leading axes may be any, and are broadcast; (L, E) alone is one head.

    attn_mask     broadcasts to (..., H, L, S): bool, where True = may attend, or float,
                  which is added, with a gradient; where it is -inf, nobody attends
    dropout_p     the probability that a weight is dropped, while ``training``; drawn
                  from ``rng``, a numpy Generator; None is minigrad's own
    is_causal     no key after the query's position, which is i, or i + S - L with
                  causal_align="lower_right": where L != S, say which is meant. The
                  new queries of a cache stand at its last keys, "lower_right"
    scale         a number; None is 1 / sqrt(E)
    enable_gqa    H may be a multiple of Hk: query head h reads key head h // (H / Hk)
    window_size   (left, right): only so many keys before the query's position and after
                  it, both ends included, left + 1 + right in all; -1 for all of them
    bias          added: broadcasts to (..., H, L, S), or (H, L + S - 1), one value for
                  each head and offset, b_ij = bias[h, j - i + L - 1] (T5, ALiBi)
    score_mod     function(score, b, h, q_idx, kv_idx) of Tensor and indices that
                  broadcast, which returns new scores (B, H, L, S); B counts through all
                  axes before the heads
    mask_mod      function(b, h, q_idx, kv_idx) -> bool, or a mask of attention.masks
    block_mask    a BlockMask, made once for many calls

    Whoever may attend must be allowed by all masks that are given. A query with no key
    has output, weights and gradient 0, and lse -inf. A pair that may not attend takes
    no part in anything: not even a NaN passes from one side to the other. ``weights``
    (..., H, L, S) are those before dropout.

    The whole matrix of scores is computed (``dense_attention``) if weights or a
    score_mod ask for it, or for fewer than 64 queries, where it is quicker. Otherwise
    it is computed in tiles of which none is kept (``tiled_attention``): the same
    numbers up to rounding, in O(L + S) memory, and in time proportional to the tiles
    that the masks leave.

    Raises TypeError for what is of the wrong kind, integer masks among them, and
    ValueError for shapes and numbers that do not fit; each names the argument.
    Sources: Vaswani et al. 2017, equation 1; Dao 2023; torch's function of this name.
    """
    arguments = checked(**locals())
    tiled = arguments.sizes[2] >= TILED_FROM and not _dense_only(arguments)
    return (_tiled if tiled else _dense)(arguments)


def dense_attention(*args, **options):
    """``scaled_dot_product_attention`` by way of the whole matrix of scores."""
    return _dense(checked(*args, **options))


def tiled_attention(*args, **options):
    """``scaled_dot_product_attention`` in tiles, of which none is kept.

    Raises ValueError for what needs the whole matrix.
    """
    arguments = checked(*args, **options)
    if _dense_only(arguments):
        raise ValueError(
            f"{NAME}: weights and a score_mod need the whole matrix of scores, which "
            "tiled_attention never has."
        )
    return _tiled(arguments)


def _dense_only(a):
    return a.return_weights or a.score_mod is not None


def _tiled(a):
    o, lse = flash_attention(
        a.query,
        a.key,
        a.value,
        a.offset,
        a.added,
        plan=plan(a.mask, *a.sizes),
        scale=a.scale,
        softcap=a.softcap,
        draws=_draws(a),
    )
    return (o, lse) if a.return_lse else o


def _dense(a):
    L, S = a.sizes[2:]
    s = attention_scores(a.query, a.key, a.scale, a.softcap)  # (..., H, L, S)
    allowed = _dense_mask(a, s.shape)
    if a.score_mod is not None:
        s = _modified(a, s, allowed)
    with np.errstate(invalid="ignore"):  # inf - inf: masked, or else NaN as it must be
        if a.offset is not None:
            bias = toeplitz(a.offset, L, S)  # (H | 1, L, S)
            s = s + (bias if s.ndim > 2 else bias[0])
        if a.added is not None:
            s = s + a.added
    z, draws = None, _draws(a)
    if draws:
        z = dropout.mask(draws, slice(None), slice(None), slice(None)).reshape(s.shape)
    o, weights, lse = attention_average(s, a.value, allowed, z)
    asked = (weights,) * a.return_weights + (lse,) * a.return_lse
    return (o, *asked) if asked else o


def _draws(a):
    """What tells a dropped weight from its place, the same on both paths; or None."""
    if a.dropout_p == 0:
        return None
    B, H, L, S = a.sizes
    seed = (a.rng or generator()).integers(2**63)
    return dropout.draws(a.dropout_p, seed, B * H, L, S, a.query.dtype)


def _dense_mask(a, shape):
    """The mask as an array that broadcasts to the scores, or None."""
    if a.mask is None:
        return None
    mask = a.mask.mask if isinstance(a.mask, BlockMask) else a.mask
    allowed = mask.dense(*a.sizes)  # (B | 1, H | 1, L, S)
    if len(shape) < 4 or len(allowed) == 1:
        return allowed.reshape(allowed.shape[4 - min(len(shape), 4) :])
    return allowed.reshape(*shape[:-3], *allowed.shape[1:])


def _modified(a, s, allowed):
    """The scores that score_mod makes of ``s``."""
    B, H, L, S = a.sizes
    if allowed is not None:  # so that no NaN passes through score_mod and its backward
        s = where(allowed, s, 0.0)
    b, h = np.arange(B).reshape(-1, 1, 1, 1), np.arange(H).reshape(-1, 1, 1)
    q_idx, kv_idx = np.arange(L)[:, None], np.arange(S)
    name, scores = f"{NAME}: score_mod", s.reshape(B, H, L, S)
    try:
        found = called(name, SCORE_MOD, a.score_mod, scores, b, h, q_idx, kv_idx)
    except ValueError as error:
        if "truth value" not in str(error):
            raise
        raise ValueError(
            f"{name} asks whether an array is true. It is called once, on arrays: "
            "write &, |, ~ for `and`, `or`, `not`, and minigrad's where for `if`."
        ) from error
    if not isinstance(found, Tensor) or found.shape != (B, H, L, S):
        what = f"a {type(found).__name__}"
        if isinstance(found, Tensor):
            what = f"shape {found.shape}"
        raise ValueError(
            f"{NAME}: score_mod gave {what}; expected a Tensor of the shape of the "
            f"scores, {(B, H, L, S)}."
        )
    if found.dtype.kind != "f":
        raise TypeError(
            f"{NAME}: score_mod gave {found.dtype}; expected floating-point numbers."
        )
    found = found if found.dtype == s.dtype else found.astype(s.dtype)
    return found.reshape(s.shape)
