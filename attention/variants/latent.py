"""Latent attention (MLA): one short vector a token is cached for the keys of all heads.

    c_j = RMSNorm(W_d x_j)                                   (R,), the latent vector
    k_j = W_k c_j,   v_j = W_v c_j                           (E,) for each head
    r_j = rope(W_r x_j, j)                                   (F,), shared by all heads
    s_ij = (q_i . k_j + rope(u_i, i) . r_j) / sqrt(E + F)    [q_i; u_i] = W_q x_i

The cache holds c_j and r_j: R + F numbers a token, and not 2 H E.

**Absorbed.** Keys and values need not be computed. The matrix moves to the query, and
the other one to the output:

    q_i . W_k c_j = (W_k^T q_i) . c_j          sum_j p_ij W_v c_j = W_v sum_j p_ij c_j

So each head is attention of a query of width R + F to the cache itself, as in
multi-query attention. The numbers are the same. Expanded, all keys cost S H E R
multiplications once; absorbed, each query costs H E R more, and its scores R E^-1 times
as much. Training uses the first form, and a decoder, with one query and many keys, the
second.

Positions stand apart, because a rotation between the two matrices, q_i^T R_(j-i) W_k
c_j, depends on i and j: no matrix that is the same for all keys can move to the query.
There is no new gradient: all are products, and both forms give the same.

DeepSeek-AI 2024 (DeepSeek-V2); the projection of queries is one matrix here.
"""

import math

import numpy as np

from minigrad import concat, expand, nn, reshape, rms_norm, swapaxes
from minigrad.arguments import flag, probability, whole
from minigrad.shapes import shapes

from .. import definitions
from ..exact.multihead import check_heads, heads, side_by_side
from ..exact.sdpa import exact_attention
from ..masks import causal
from ..masks.given import check_axes
from ..positions.rope import rope
from .row import Variant


class LatentAttention(nn.Module):
    """Self-attention whose keys and values are made from a cached latent vector.

    width     D, of the tokens            latent   R, of the latent vector
    num_heads H, which divides D          rotated  F, of the part with positions, even

    W_q  Linear, to H (E + F)             W_d, W_r  Linear, to R and to F
    W_k, W_v  Linear, from R to H E       W_o       Linear, to D
    gain (R,), of the norm of c           E is D / H
    dropout   the probability that a weight is dropped, in training
    """

    def __init__(self, width, num_heads, latent, rotated, rng=None, dropout=0.0):
        name = "LatentAttention"
        self.width = whole(name, "width", width, least=1)
        self.num_heads = H = whole(name, "num_heads", num_heads, least=1)
        check_heads(name, width, H)
        self.latent = whole(name, "latent", latent, least=1)
        self.rotated = whole(name, "rotated", rotated, least=2)
        self.head_dim = E = width // H
        self.dropout, self.rng = probability(name, "dropout", dropout), rng

        def matrix(inputs, outputs):
            return nn.Linear(inputs, outputs, bias=False, rng=rng)

        self.W_q = matrix(width, H * (E + rotated))
        self.W_d, self.W_r = matrix(width, latent), matrix(width, rotated)
        self.gain = nn.Parameter(np.ones(latent, np.float32))
        self.W_k, self.W_v = matrix(latent, H * E), matrix(latent, H * E)
        self.W_o = matrix(H * E, width)

    @shapes
    def forward(
        self,
        x,
        *,
        mask=None,
        is_causal=False,
        cache=None,
        absorbed=None,
        normalize=None,
    ):
        """Attend among the tokens, and those in the cache.

        x (..., L, self.width)  ->  out (..., L, self.width)

        The leading axes are (B,) or, without a cache, none.

        mask       bool, (L, T) for T tokens in all, or (B | 1, H | 1, L, T); True =
                   may attend
        is_causal  masks later tokens
        cache      a KVCache: its key holds c, and its value r, as those of one head
        absorbed   whether keys and values are not computed; None: with a cache
        normalize  a function (scores, allowed) -> weights that replaces the softmax
        """
        absorbed = cache is not None if absorbed is None else absorbed
        flag("LatentAttention", "absorbed", absorbed)
        E, F, L = self.head_dim, self.rotated, x.shape[-2]
        start = 0 if cache is None else cache.length
        positions = np.arange(start, start + L)
        q = heads(self.W_q, x, self.num_heads)  # (..., H, L, E + F)
        check_axes("LatentAttention", mask, q.ndim)
        q, u = q[..., :E], rope(q[..., E:], positions)
        c = rms_norm(heads(self.W_d, x, 1), self.gain)  # (..., 1, L, R)
        r = rope(heads(self.W_r, x, 1), positions)  # (..., 1, L, F)
        if cache is not None:
            c, r = cache.concatenate(self, c, r)  # of S tokens
        past = causal(offset=start) if is_causal else None
        form = self._absorbed if absorbed else self._expanded
        o = form(q, u, c, r, {
            "masks": {"mask": mask, "is_causal": past},
            "scale": 1 / math.sqrt(E + F),
            "dropout_p": self.dropout if self.training else 0.0,
            "rng": self.rng,
            "normalize": normalize,
        })  # fmt: skip
        if cache is not None:
            cache.keep(self, c, r)
        return self.W_o(side_by_side(o))

    def _expanded(self, q, u, c, r, options):
        """Return o (..., H, L, E) from the keys and values of all heads."""
        latents, H = c[..., 0, :, :], self.num_heads  # (..., S, R)
        k, v = heads(self.W_k, latents, H), heads(self.W_v, latents, H)
        r = expand(r, (*k.shape[:-1], self.rotated))
        keys, queries = concat([k, r], -1), concat([q, u], -1)
        return exact_attention("LatentAttention", queries, keys, v, **options)

    def _absorbed(self, q, u, c, r, options):
        """Return the same from one key head, the cache itself."""
        W_k, W_v = (  # (H, E, R)
            reshape(W.weight, (self.num_heads, self.head_dim, self.latent))
            for W in (self.W_k, self.W_v)
        )
        queries = concat([q @ W_k, u], -1)  # W_k^T q_i: (..., H, L, R + F)
        keys = concat([c, r], -1)  # (..., 1, S, R + F)
        averages = exact_attention("LatentAttention", queries, keys, c, **options)
        return averages @ swapaxes(W_v, -1, -2)  # (..., H, L, E)

    def extra_repr(self):
        return f"{self.width}, {self.num_heads}, {self.latent}, {self.rotated}"


ROWS = [
    # R numbers of the latent vector and F rotated ones are cached for each token
    Variant(
        "mla", definitions.mla, LatentAttention, "E, 1, R, F",
        inputs="x (S, E)",
        parameters=(
            "W_q (E + F, E), W_d (R, E), W_r (F, E), gain (R), W_k (E, R), W_v (E, R), "
            "W_o (E, E)"
        ),
        multiplications="S*E*(2*E + 2*F + 3*R) + S*(2*R + 4*F) + S*S*(2*E + F)",
        numbers=dict(R=16, F=8),
        small=dict(R=3, F=2),
        about="""source: keys and values of all heads are made from one cached vector
        can cache R + F numbers a token, a vector and its part for positions, and
        compute with these alone
        cannot rotate more than F numbers of its keys by position
        lesson 17: lookup among many pairs, by bytes of the cache; DeepSeek-AI 2024""",
    ),
]  # fmt: skip
