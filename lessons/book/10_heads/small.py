"""A small Transformer that returns the weights of all its heads, for two experiments.

``scaling.py`` and ``ablation.py`` train it.
"""

import math

from attention import MultiHeadAttention, sinusoidal
from attention.transformer import FeedForward
from minigrad import nn


class Transformer(nn.Module):
    """Pre-norm blocks: ids (B, T)  ->  logits (B, T, V), weights (B, H, T, T) of each.

    config   a ``TransformerConfig``
    causal   whether a token attends to itself and earlier tokens only
    scale    the factor of the scores; None is 1 / sqrt(width / heads)
    inputs   what each attention read in the last call, (B, T, D) each
    """

    def __init__(self, config, causal, scale, rng):
        D, V = config.width, config.vocabulary
        self.causal, self.embedding = causal, nn.Embedding(V, D, rng=rng)
        blocks = range(config.layers)
        self.attentions = [
            MultiHeadAttention(D, config.heads, scale=scale, rng=rng) for _ in blocks
        ]
        self.networks = [FeedForward(config, rng) for _ in blocks]
        self.norms = [nn.LayerNorm(D) for _ in range(2 * config.layers + 1)]
        self.output, self.inputs = nn.Linear(D, V, rng=rng), []

    def forward(self, ids):
        D = self.output.in_features
        x = self.embedding(ids) + math.sqrt(2) * sinusoidal(ids.shape[1], D)
        options = {"is_causal": self.causal, "need_weights": True}
        weights, self.inputs, norms = [], [], iter(self.norms)
        for attention, network in zip(self.attentions, self.networks):
            normed = next(norms)(x)
            y, p = attention(normed, **options)
            x = x + y
            x = x + network(next(norms)(x))
            weights.append(p.data)
            self.inputs.append(normed.data)
        return self.output(next(norms)(x)), weights
