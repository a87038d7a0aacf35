"""A model with every kind of layer, in every kind of place."""

import numpy as np

from minigrad import nn


class Model(nn.Module):
    """Every kind of layer, in every kind of place."""

    def __init__(self, rng=None):
        self.scale = nn.Parameter(np.ones(3, np.float32))
        self.embed = nn.Embedding(11, 4, padding_idx=0, rng=rng)
        self.blocks = [nn.GRU(4, 3, rng=rng), nn.Linear(3, 3, bias=False, rng=rng)]
        self.heads = {"a": nn.Linear(3, 5, rng=rng), "norm": nn.LayerNorm(3)}
        self.drop = nn.Dropout(0.25, rng)
        self.words, self.nothing = ["left", "alone"], None

    def forward(self, ids):
        output, _ = self.blocks[0](self.embed(ids))
        output = self.heads["norm"](self.blocks[1](self.drop(output * self.scale)))
        return self.heads["a"](output)


NAMES = [
    "scale", "embed.weight",
    "blocks.0.weight_ih_l0", "blocks.0.weight_hh_l0",
    "blocks.0.bias_ih_l0", "blocks.0.bias_hh_l0", "blocks.1.weight",
    "heads.a.weight", "heads.a.bias", "heads.norm.weight", "heads.norm.bias",
]  # fmt: skip
IDS = np.array([[3, 1, 4, 1, 0], [10, 2, 6, 0, 0]])
