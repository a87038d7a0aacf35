"""Differential attention: the difference of two softmaxes, with the same values.

    W = softmax(s^1) - lambda softmax(s^2),    o = W V
    lambda = exp(a_1 . b_1) - exp(a_2 . b_2) + lambda_init
    lambda_init = .8 - .6 exp(-.3 l) in layer l = 0, 1, ...

Each head has two queries and two keys of width E, and one value of width 2 E. What both
softmaxes look at cancels. Each head's output is normalised and multiplied by
1 - lambda_init. This replaces the normaliser: the weights of a row sum to 1 - lambda,
and some are negative.

It is two heads that share their values, with the fixed output matrix [I, -lambda I]: less
than two free heads. With g = dL/do and o^1, o^2 the outputs of the two softmaxes, the
gradients are those of two heads, of which the second has the output gradient -lambda g,
and dlambda = -sum_i g_i . o^2_i.

Ye et al. 2024.
"""

import math

import numpy as np

from minigrad import exp, nn, rms_norm
from minigrad.arguments import whole
from minigrad.shapes import shapes

from .. import definitions
from ..exact.multihead import check_heads, heads, side_by_side
from ..exact.sdpa import scaled_dot_product_attention
from .row import Variant


@shapes
def differential(q1, k1, q2, k2, v, lam, is_causal=False):
    """o = softmax(q1 k1^T / sqrt(E)) v - lam softmax(q2 k2^T / sqrt(E)) v

    q1, q2 (..., L, E), k1, k2 (..., S, E), v (..., S, Ev), lam ()  ->  o (..., L, Ev)
    """
    first = scaled_dot_product_attention(q1, k1, v, is_causal=is_causal)
    second = scaled_dot_product_attention(q2, k2, v, is_causal=is_causal)
    return first - lam * second


class DifferentialAttention(nn.Module):
    """Self-attention with ``differential`` heads.

    width       D, of the tokens
    num_heads   H; each has two queries and keys of width E = D / (2 H)
    layer       l, the number of the layer, which sets lambda_init

    W_q, W_k, W_v, W_o     Linear, without bias
    a_1, b_1, a_2, b_2     (E,), drawn with deviation .1
    gain                   (2 E,), of the norm of each head's output
    """

    def __init__(self, width, num_heads, layer=0, rng=None):
        name = "DifferentialAttention"
        self.width = whole(name, "width", width, least=1)
        self.num_heads = whole(name, "num_heads", num_heads, least=1)
        check_heads(name, width, 2 * num_heads)
        layer = whole(name, "layer", layer, least=0)
        self.lambda_init = 0.8 - 0.6 * math.exp(-0.3 * layer)
        E = width // (2 * num_heads)
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(width, width, bias=False, rng=rng) for _ in range(4)
        )
        self.a_1, self.b_1, self.a_2, self.b_2 = (
            nn.init.normal_(nn.Parameter(np.empty(E, np.float32)), 0, 0.1, rng)
            for _ in range(4)
        )
        self.gain = nn.Parameter(np.ones(2 * E, np.float32))

    @property
    def lam(self):
        """lambda, from its four vectors."""
        first, second = (self.a_1 * self.b_1).sum(), (self.a_2 * self.b_2).sum()
        return exp(first) - exp(second) + self.lambda_init

    @shapes
    def forward(self, x, is_causal=False):
        """x (..., L, self.width)  ->  out (..., L, self.width)"""
        q, k = (heads(W, x, 2 * self.num_heads) for W in (self.W_q, self.W_k))
        v = heads(self.W_v, x, self.num_heads)  # (..., H, L, 2 E)
        first, second = np.s_[..., ::2, :, :], np.s_[..., 1::2, :, :]  # (..., H, L, E)
        pairs = q[first], k[first], q[second], k[second]
        o = differential(*pairs, v, self.lam, is_causal)
        o = rms_norm(o, self.gain) * (1 - self.lambda_init)
        return self.W_o(side_by_side(o))


ROWS = [
    # two queries and keys of width E, and values of width 2 E
    Variant(
        "diff", definitions.differential, DifferentialAttention, "E, 1",
        inputs="x (S, 2*E)",
        parameters=(
            "W_q (2*E, 2*E), W_k (2*E, 2*E), W_v (2*E, 2*E), W_o (2*E, 2*E), "
            "a_1 (E), b_1 (E), a_2 (E), b_2 (E), gain (2*E)"
        ),
        multiplications="16*S*E*E + 10*S*E + 2*E + 6*S*S*E",
        about="""normaliser: w = softmax(s1) - lambda softmax(s2)
        can give negative weights; subtract what two softmaxes have in common
        cannot do more than two heads that share their values
        lesson 17: nothing trained, a value minus the mean of all values; Ye et al.
        2024""",
    ),
]  # fmt: skip
