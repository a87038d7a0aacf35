"""What scaled_dot_product_attention is given, checked and brought to one form."""

import math
from dataclasses import dataclass
from typing import Callable

import numpy as np

from minigrad import Tensor, expand

from ..checks import flag, floats, one_dtype
from ..masks import Mask
from ..masks.block_mask import BlockMask
from .combined_masks import NAME, joined


@dataclass
class Arguments:
    """What the two paths start from. Leading axes of q, k, v are alike but for heads.

    mask     all that says who may attend to whom, as one mask; None: everybody. A
             BlockMask stays one if it is all there is, for its plan is kept
    offset   a bias by offset, (H | 1, L + S - 1); None: none
    added    a float mask, a dense bias or their sum, (..., L | 1, S | 1); None: none
    """

    query: Tensor  # (..., H, L, E)
    key: Tensor  # (..., Hk, S, E)
    value: Tensor  # (..., Hk, S, Ev)
    mask: Mask | BlockMask | None
    offset: Tensor | None
    added: Tensor | None
    scale: float
    softcap: float | None
    score_mod: Callable | None
    dropout_p: float
    rng: np.random.Generator | None
    return_weights: bool
    return_lse: bool

    @property
    def sizes(self):
        """B, H, L, S, where B counts all examples."""
        *heads, L, _ = self.query.shape
        H = heads.pop() if heads else 1
        return math.prod(heads), H, L, self.key.shape[-2]


def checked(
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
    """The arguments of ``scaled_dot_product_attention``, which says what they mean."""
    for name, given in {
        "is_causal": is_causal,
        "enable_gqa": enable_gqa,
        "training": training,
        "return_weights": return_weights,
        "return_lse": return_lse,
    }.items():
        flag(NAME, name, given)
    query, key, value = _rows(query, key, value, enable_gqa)
    (*heads, L, E), dtype = query.shape, query.dtype
    mask, offset, added = joined(
        (*heads, L, key.shape[-2]),
        dtype,
        attn_mask,
        is_causal,
        window_size,
        bias,
        mask_mod,
        block_mask,
        causal_align,
    )
    return Arguments(
        query,
        key,
        value,
        mask,
        offset,
        added,
        1 / math.sqrt(max(E, 1)) if scale is None else _number("scale", scale, dtype),
        None if softcap is None else _number("softcap", softcap, dtype, positive=True),
        _score_mod(score_mod),
        _dropout(dropout_p, rng) * bool(training),
        rng,
        return_weights,
        return_lse,
    )


def _rows(query, key, value, enable_gqa):
    """The three as Tensors, with the same leading axes, but for the number of heads."""
    tensors = {}
    for name, x in ("query", query), ("key", key), ("value", value):
        x = tensors[name] = floats(NAME, name, x)
        if x.ndim < 2:
            axes = "L, E" if name == "query" else "S, E"
            raise ValueError(
                f"{NAME}: {name} has shape {x.shape}; expected (..., {axes}). A single "
                "vector x is x[None, :], one row."
            )
    one_dtype(NAME, tensors)
    query, key, value = tensors.values()
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            f"{NAME}: query has shape {query.shape} and key {key.shape}; expected "
            "(..., L, E) and (..., S, E), rows of one width E."
        )
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"{NAME}: key has shape {key.shape} and value {value.shape}; expected "
            "(..., S, E) and (..., S, Ev), one value for each key."
        )
    if query.ndim == key.ndim == value.ndim == 2:
        return query, key, value
    return _with_heads(query, key, value, enable_gqa)


def _with_heads(query, key, value, enable_gqa):
    """Every leading axis as long as it is in any of them, but Hk heads beside H."""
    H, *others = ((1, *x.shape)[-3] for x in (query, key, value))
    shapes = f"query {query.shape}, key {key.shape} and value {value.shape}"
    try:
        batch = np.broadcast_shapes(*(x.shape[:-3] for x in (query, key, value)))
        (Hk,) = np.broadcast_shapes(*((n,) for n in others))
    except ValueError:
        raise ValueError(
            f"{NAME}: {shapes} differ in their leading axes; expected (..., H, L, E), "
            "(..., Hk, S, E) and (..., Hk, S, Ev), with axes that are alike, or 1, or "
            "missing."
        ) from None
    H = Hk if H == 1 else H
    if Hk not in (H, 1) and not (enable_gqa and Hk and H % Hk == 0):
        expected = "as many key heads as query heads"
        if enable_gqa:
            expected = "a multiple of the key heads, to be shared evenly"
        elif Hk and H % Hk == 0:
            expected += f", or enable_gqa=True: {H // Hk} of them then share a key head"
        raise ValueError(
            f"{NAME}: {shapes} have {H} query heads and {Hk} key heads; expected "
            f"{expected}."
        )
    heads = {"query": (query, H), "key": (key, Hk), "value": (value, Hk)}
    for name, (x, n) in heads.items():
        shape = (*batch, n, *x.shape[-2:])
        heads[name] = x if x.shape == shape else expand(x, shape)
    return heads.values()


def _number(name, x, dtype, positive=False):
    least = "a positive, finite number" if positive else "a finite number"
    if isinstance(x, (bool, np.bool_)) or not isinstance(x, (int, float, np.number)):
        hint = " To learn a scale, multiply the query by it." * (name == "scale")
        raise TypeError(
            f"{NAME}: {name} is a {type(x).__name__}; expected {least}, or None.{hint}"
        )
    if not math.isfinite(x) or (positive and x <= 0):
        raise ValueError(f"{NAME}: {name} is {x}; expected {least}, or None.")
    x, limits = float(x), np.finfo(dtype)
    if abs(x) > float(limits.max) or (positive and x < float(limits.tiny)):
        # it would become infinite, or no cap at all
        raise ValueError(
            f"{NAME}: {name} is {x}; expected a number that {dtype}, the dtype of the "
            f"query, can hold, of size {limits.tiny:.1g} to {limits.max:.1g}."
        )
    return x


def _score_mod(score_mod):
    if score_mod is not None and not callable(score_mod):
        raise TypeError(
            f"{NAME}: score_mod is a {type(score_mod).__name__}; expected a function "
            "of (score, b, h, q_idx, kv_idx)."
        )
    return score_mod


def _dropout(p, rng):
    if isinstance(p, (bool, np.bool_)) or not isinstance(p, (int, float, np.number)):
        raise TypeError(
            f"{NAME}: dropout_p is a {type(p).__name__}; expected a probability, from "
            "0 to 1."
        )
    if not 0 <= p <= 1:
        raise ValueError(f"{NAME}: dropout_p is {p}; expected a probability, 0 to 1.")
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"{NAME}: rng is a {type(rng).__name__}; expected a "
            "numpy.random.Generator, such as np.random.default_rng(0)."
        )
    return float(p)
