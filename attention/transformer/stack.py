"""A stack of blocks on top of embedded tokens: the encoder or the decoder.

    x_i = sqrt(D) E[token_i] + P_i        P as the scheme says, or 0; without the factor
                                          sqrt(D) unless the config has ``scaled``
    x   = block(x)                        for each block in turn
    y_i = LN(x_i)                         after pre-norm blocks, with their kind of norm

The embedding table E is drawn from N(0, 1 / D), so that the logits E y are of size 1.
"""

import math

import numpy as np

from minigrad import embedding, nn
from minigrad.shapes import shapes

from ..variants.table import POSITIONS
from .block import Block


class Stack(nn.Module):
    """Embed tokens, add positions, and apply blocks.

    config       a ``TransformerConfig``
    vocabulary   the number of ids
    layers       the number of blocks
    causal       whether tokens attend to themselves and earlier tokens only
    cross        whether the blocks attend to a memory
    table        the embedding table of another stack, to be shared; None: a new table
    """

    torch_names = {"blocks": "layers", "final_norm": "norm"}

    def __init__(
        self, config, vocabulary, layers, causal, cross=False, table=None, rng=None
    ):
        self.width = config.width
        self.factor = math.sqrt(config.width) if config.scaled else 1.0
        if table is None:
            table = nn.Parameter(np.empty((vocabulary, config.width), np.float32))
            nn.init.normal_(table, std=config.width**-0.5, rng=rng)
        self.embedding = table
        self.scheme = POSITIONS[config.positions].scheme(config, causal, rng)
        self.blocks = [
            Block(config, self.scheme, cross, causal, rng) for _ in range(layers)
        ]
        self.final_norm = config.new_norm() if config.ends_with_norm else None
        self.dropout = nn.Dropout(config.dropout, rng)

    @shapes
    def forward(self, ids, positions=None, caches=None, memories=None, **options):
        """Return y (B, n, D), and a list of each block's cross-attention weights.

        ids (B, n) int, positions? (n,) or (B, n) int  ->  y and weights

        positions          None counts from 0
        caches, memories   a list with one for each block
        options            the other arguments of ``Block``
        """
        if positions is None:
            positions = np.arange(ids.shape[1])
        x = self.embed(ids, positions)
        options |= {"scheme": self.scheme, "positions": positions}
        nothing = [None] * len(self.blocks)
        weights = []
        for block, cache, memory in zip(
            self.blocks, caches or nothing, memories or nothing
        ):
            x, p = block(x, memory, cache=cache, **options)
            weights.append(p)
        return self.normed(x), weights

    def embed(self, ids, positions):
        """Return the x of the first block: ids (B, n), positions  ->  x (B, n, D)."""
        if isinstance(self.embedding, nn.Module):  # of a published model
            x = self.embedding(ids)
        else:
            x = embedding.unchecked(ids, self.embedding)
        return self.dropout(self.scheme.embed(x * self.factor, positions))

    def normed(self, x):
        """Return y, from the x of the last block."""
        return x if self.final_norm is None else self.final_norm(x)
