"""What MultiHeadAttention is given, checked and handed on in the door's terms."""

import numpy as np

from minigrad import Tensor, unsqueeze

from .. import masks
from ..checks import floats, one_dtype, plain, tensor, wholes
from ..masks.block_mask import BlockMask
from .kv_cache import FixedKVCache, KVCache

NAME = "MultiHeadAttention"


def sources(layer, query, key, value, cache):
    """query, key, value with the axis B; is the key the query; was there no axis B.

    A ``FixedKVCache`` stays what it is, and then there is no value.
    """
    if value is not None and (key is None or isinstance(key, FixedKVCache)):
        raise ValueError(
            f"{NAME}: value is given, but no key of its own; expected both, a key that "
            "is its own value, or neither for self-attention."
        )
    itself = key is None or key is query
    _check_cache(cache, itself)
    query = tensor(NAME, "query", query)
    named = {"query": (query, layer.embed_dim)}
    if isinstance(key, FixedKVCache):
        (query,), alone = rows(named)
        return query, key, None, False, alone
    if itself:
        widths = layer.embed_dim, layer.kdim, layer.vdim
        if len(set(widths[: 3 if value is None else 2])) > 1:
            raise ValueError(
                f"{NAME}: without a key, the query is its own; that needs embed_dim, "
                f"kdim and vdim to be the same; found {widths}."
            )
        key = query
    value = key if value is None else value
    named |= {"key": (key, layer.kdim), "value": (value, layer.vdim)}
    (query, key, value), alone = rows(named)
    return query, query if itself else key, value, itself, alone


def rows(named):
    """[(B, n, width) Tensors] of {name: (x, width)}, and whether the axis B is new."""
    tensors = {}
    for name, (x, width) in named.items():
        x = tensors[name] = floats(NAME, name, x)
        if x.ndim not in (2, 3) or x.shape[-1] != width:
            n = "L" if name == "query" else "S"
            raise ValueError(
                f"{NAME}: {name} has shape {x.shape}; expected (B, {n}, {width}), or "
                f"({n}, {width}) for one example."
            )
    shapes = ", ".join(f"{name} {x.shape}" for name, x in tensors.items())
    if len({x.shape[:-2] for x in tensors.values()}) > 1:
        raise ValueError(
            f"{NAME}: found {shapes}; expected as many examples in each, the first of "
            "three axes."
        )
    if "key" in tensors and tensors["key"].shape[-2] != tensors["value"].shape[-2]:
        raise ValueError(f"{NAME}: found {shapes}; expected one value for each key.")
    one_dtype(NAME, tensors)
    alone = x.ndim == 2
    return [unsqueeze(x, 0) if alone else x for x in tensors.values()], alone


def pairs(mask, valid_lens, shape, cached):
    """mask and valid_lens as arguments of the door, for scores of shape (B, H, L, S).

    cached   whether the keys go on growing: then a length may be of those to come
    """
    arguments = _mask(mask, shape)
    if valid_lens is not None:
        padding = masks.padding(valid_lens)
        if padding.examples != shape[0]:
            raise ValueError(
                f"{NAME}: valid_lens has shape {padding.valid_lens.shape}; expected "
                f"({shape[0]},), one length for each example, or "
                f"{(shape[0], shape[2])}, for each of its queries."
            )
        if cached:
            padding = masks.padding(np.minimum(padding.valid_lens, shape[3]))
        other = arguments.get("mask_mod")
        arguments["mask_mod"] = padding if other is None else padding & other
    return arguments


def by_position(bias, L, S, causal_align):
    """The bias, if it is one, or what the function gives for so many queries and keys.

    Tensors are not functions, though Modules are, and no array is either.
    """
    return bias(L, S, causal_align) if callable(bias) else bias


def turned(rotate, name, x, positions):
    """rotate(x, positions), which must be of the shape of x (B, H, L, E)."""
    if not callable(rotate):
        raise TypeError(
            f"{NAME}: rotate is a {type(rotate).__name__}; expected a function of (x, "
            "positions), such as rope."
        )
    y = rotate(x, positions)
    if not isinstance(y, Tensor) or y.shape != x.shape:
        found = f"shape {y.shape}" if isinstance(y, Tensor) else type(y).__name__
        raise ValueError(
            f"{NAME}: rotate made {found} of the {name}; expected a Tensor of the "
            f"shape that it was given, {x.shape}."
        )
    return y


def places(positions, start, B, L):
    """The positions of L queries: (L,), or (B, 1, L) where examples differ."""
    if positions is None:
        return np.arange(start, start + L)
    shapes = {1: "(L,), alike for all examples", 2: "(B, L)"}
    positions = wholes(NAME, "positions", positions, shapes)
    if positions.shape not in ((L,), (B, L), (1, L)):
        raise ValueError(
            f"{NAME}: positions has shape {positions.shape}; expected {(L,)} or "
            f"{(B, L)}, one for each query."
        )
    return positions if positions.ndim == 1 else positions[:, None]


def _mask(mask, shape):
    """The door's argument for a mask of this kind."""
    if mask is None:
        return {}
    if isinstance(mask, BlockMask):
        return {"block_mask": mask}
    if callable(mask):
        return {"mask_mod": mask}
    own = plain(mask)
    if own.dtype.kind not in "bf":
        raise TypeError(
            f"{NAME}: mask is {own.dtype}; expected bool, where True = may attend, or "
            "float, which is added. Ones and zeros could be meant either way: write "
            "mask == 1 to allow the ones."
        )
    B, H, L, S = shape
    hint = ""
    if own.ndim == 3:
        hint = " Of three axes the first could count examples, mask[:, None], or heads"
        hint += ", mask[None]."
    elif own.shape == (B, S):
        hint = " Padding, (B, S), is mask[:, None, None]."
    sizes = zip(reversed(own.shape), reversed(shape))
    broadcasts = own.ndim <= 4 and all(m in (1, n) for m, n in sizes)
    if not broadcasts or (own.ndim == 3 and own.shape[0] > 1):
        raise ValueError(
            f"{NAME}: mask has shape {own.shape}; expected {(L, S)}, or four axes that "
            f"broadcast to the scores, {shape}.{hint}"
        )
    return {"attn_mask": mask}


def _check_cache(cache, itself):
    if cache is None:
        return
    if not isinstance(cache, KVCache):
        hint = ""
        if isinstance(cache, FixedKVCache):
            hint = " A FixedKVCache stands in place of the key."
        raise TypeError(
            f"{NAME}: cache is a {type(cache).__name__}; expected a KVCache.{hint}"
        )
    if not itself:
        raise ValueError(
            f"{NAME}: a cache that grows is for self-attention; found a key as well. "
            "Keys that stay the same are precompute(key, value), in place of the key."
        )
