"""Self-attention whose heads attend by any function, in the place of a softmax."""

import numpy as np

from attention import MultiHeadAttention
from attention.exact.multihead import heads, side_by_side


class Heads(MultiHeadAttention):
    """The projections of ``MultiHeadAttention`` around context(q, k, v) -> o.

    q, k, v, o   (B, H, n, E)
    """

    def __init__(self, width, num_heads, context, rng):
        super().__init__(width, num_heads, rng=rng)
        self.context = context

    def forward(self, x, *, rotate=None, **unused):
        """x (B, n, D)  ->  y (B, n, D)"""
        maps = self.W_q, self.W_k, self.W_v
        q, k, v = (heads(W, x, self.num_heads) for W in maps)
        if rotate is not None:
            q, k = (rotate(z, np.arange(x.shape[1])) for z in (q, k))
        return self.W_o(side_by_side(self.context(q, k, v)))
