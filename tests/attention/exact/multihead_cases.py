"""Multi-head attention by its definition, and layers and arrays for its tests."""

import math

import numpy as np

from attention import definitions
from attention.exact.multihead import MultiHeadAttention

from ...minigrad.array_cases import draw
from ..definition_cases import with_bias, with_ones

B, L, S, D, H, Dk, Dv = 2, 5, 7, 12, 4, 9, 10
close = dict(rtol=1e-11, atol=1e-12)  # sums of some dozens of numbers of order one


def layer(num_kv_heads=None, dtype=np.float64, seed=0, width=D, **options):
    """A layer of which no parameter is 0, its biases included."""
    rng = np.random.default_rng(seed)
    module = MultiHeadAttention(width, H, num_kv_heads, rng=rng, **options)
    for parameter in module.parameters():
        parameter.data = (rng.standard_normal(parameter.shape) / 2).astype(dtype)
    return module


def defined(module, allowed=True, added=0.0, normalize=definitions.softmax):
    """Return the definition of out (B, L, D) and weights (B, H, L, S) of a layer.

    allowed and added broadcast to (B, H, L, S)
    """

    def attention(query, key, value, *parameters):
        P = dict(zip(dict(module.named_parameters()), parameters, strict=True))
        W_q, W_k, W_v = (with_bias(P, f"W_{n}") for n in "qkv")
        if module.scale is not None:  # the definition divides by sqrt(E)
            W_q = W_q * module.scale * math.sqrt(module.head_dim)
        shape = len(query), H, query.shape[1], key.shape[1]
        pairs, bias = (np.broadcast_to(x, shape) for x in (allowed, added))
        outputs, weights = np.zeros(query.shape), np.zeros(shape)

        def head(b, h):
            def attend(q, k, v):
                s = definitions.scaled_dot(q, k) + bias[b, h]
                weights[b, h] = normalize(s, pairs[b, h])
                return definitions.attend(s, v, pairs[b, h], normalize)

            return attend

        for b, inputs in enumerate(zip(query, key, value)):
            inputs, heads = map(with_ones, inputs), [head(b, h) for h in range(H)]
            outputs[b] = definitions.multi_head(
                *inputs, W_q, W_k, W_v, P["W_o.weight"], heads
            )
        return outputs + P.get("W_o.bias", 0), weights

    return attention


j, i = np.arange(S), np.arange(L)[:, None]
DENSE = np.random.default_rng(3).random((B, H, L, S)) < 0.6


def example(options, seed=0):
    widths = D, options.get("kdim", D), options.get("vdim", D)
    return draw(*zip((B, B, B), (L, S, S), widths), seed=seed)
