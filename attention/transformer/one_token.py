"""One token through the blocks of a decoder, on arrays: the step that writes a text.

    x = x + W_o sum_j p_j v_j,    p = softmax(q . k_j / sqrt(E)),    q, k, v = W n(x)
    x = x + ffn(n(x))             in each block, where n is its norm

``Block`` computes the same with tensors. One token needs little arithmetic: tensors and
the checks of their shapes take more than a third of the time, 14 of 36 ms with
SmolLM2-135M on one thread. So this file calls the functions of arrays of which the
operations are made. The keys and values are stored in the same caches.
"""

import math

import numpy as np

from minigrad import Tensor, nn, rms_norm
from minigrad.recording import is_recording

from ..exact.kv_cache import KVCache
from ..exact.multihead import MultiHeadAttention
from ..softmax import weights_of
from .block import FeedForward, GatedFeedForward
from .config import ACTIVATIONS

ATTENTION = "softmax", "qk-norm", "window"  # of a config
CHANGES = "nothing", "input", "queries and keys"  # of a scheme of positions


def fits(model, state):
    """Return whether ``blocks`` computes the next step of a DecoderOnly."""
    config, scheme = model.config, model.decoder.scheme
    return (
        not (is_recording() or model.training or state.padding.any())
        and config.attention in ATTENTION
        and config.norm == "pre"
        and scheme.changes in CHANGES
        and all(
            type(cache) is KVCache
            and type(block.self_attn) is MultiHeadAttention
            and block.normalize is None  # the softmax; pictures replace it
            and type(block.feed_forward) in (FeedForward, GatedFeedForward)
            and block.self_attn_norm.weight.dtype != np.float16  # computed in float32
            for block, cache in zip(model.decoder.blocks, state.caches)
        )
    )


def blocks(stack, x, positions, caches):
    """Return the x (B, D) of a token after all blocks.

    x           (B, D), its embedding
    positions   (B, 1)
    caches      a KVCache for each block, which the token's key and value join
    """
    for block, cache in zip(stack.blocks, caches):
        layer = block.self_attn
        options = stack.scheme.options(layer, positions[:, None])
        h = through(block.self_attn_norm, x)
        x = x + attention(layer, h, positions, cache, block.window, **options)
        x = x + network(block.feed_forward, through(block.feed_forward_norm, x))
    return x


def attention(layer, x, positions, cache, window=None, rotate=None):
    """Return what the token x (B, D) reads from the earlier ones and itself: (B, D)."""
    (B, _), H, Hk, E = x.shape, layer.num_heads, layer.num_kv_heads, layer.head_dim
    q = linear(layer.W_q, x).reshape(B, H, 1, E)
    k = linear(layer.W_k, x).reshape(B, Hk, 1, E)
    v = linear(layer.W_v, x).reshape(B, Hk, 1, E)
    if layer.g_q is not None:
        q, _ = rms_norm.raw(q, layer.g_q.data, layer.eps)
        k, _ = rms_norm.raw(k, layer.g_k.data, layer.eps)
    if rotate is not None:
        at, turn = positions[:, None], rotate.func.raw  # (B, 1, 1)
        (q, _), (k, _) = (turn(rows, at, **rotate.keywords) for rows in (q, k))
    k, v = cache.concatenate(layer, Tensor._from_array(k), Tensor._from_array(v))
    cache.keep(layer, k, v)
    k, v = k._data, v._data  # (B, Hk, T, E)
    if window is not None:
        k, v = k[:, :, -window:], v[:, :, -window:]
    scale = 1 / math.sqrt(E) if layer.scale is None else layer.scale
    s = q.reshape(B, Hk, H // Hk, E) @ k.swapaxes(-1, -2) * scale  # (B, Hk, G, T)
    c = weights_of(s, None) @ v  # (B, Hk, G, E)
    return linear(layer.W_o, c.reshape(B, H * E))


def network(module, x):
    """Return the feed-forward network of x (B, D): (B, D)."""
    activation = ACTIVATIONS[module.activation]
    if isinstance(module, FeedForward):
        return linear(module.linear2, through(activation, linear(module.linear1, x)))
    hidden = through(activation, linear(module.gate, x)) * linear(module.up, x)
    return linear(module.down, hidden)


def linear(layer, x):
    """Return x W^T + b, also of weights in blocks, or what another layer returns."""
    if type(layer) is nn.Linear:
        y = x @ layer.weight.data.T
        return y if layer.bias is None else y + layer.bias.data
    return layer.of_array(x) if hasattr(layer, "of_array") else through(layer, x)


def through(function, x):
    """Return function(x) of a function of tensors, as an array."""
    return function(Tensor._from_array(x))._data
