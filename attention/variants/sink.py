"""The attention sink: a softmax whose weights may sum to less than 1.

    p_ij = exp(s_ij) / (exp(b) + sum_l exp(s_il))    over the allowed keys l
    r_i  = exp(b) / (exp(b) + sum_l exp(s_il))       the weight of the sink, 1 - sum_j p_ij

A softmax spends the weight 1 also where no key fits. With a sink, the rest goes to one
more key, whose score is b and whose value is 0. So it is a gate that needs no
projection. With b = 0 it is the "softmax plus one"; current open models learn a b for
each head.

Gradient: like those of the softmax, dp_ij/ds_ik = p_ij (delta_jk - p_ik), and
dp_ij/db = -p_ij r_i. With g = dL/dp,

    ds_ij = p_ij (g_ij - sum_l p_il g_il)
    db    = -sum_i r_i sum_j p_ij g_ij

In tiles: with lse_i = ln sum_l exp(s_il), p_ij is the weight of the softmax times

    exp(lse_i) / (exp(b) + exp(lse_i)) = sigmoid(lse_i - b)

so every kernel that returns lse can have a sink for one product with its output.

Miller 2023, "Attention is off by one" (b = 0); OpenAI 2025, gpt-oss (a learned b);
Xiao et al. 2024 (what models without a sink do: they misuse the first token).
"""

import numpy as np

from minigrad import arguments, differentiable, nn, sigmoid
from minigrad.shapes import shapes

from .. import definitions
from .row import Normalizer


@shapes
@differentiable
def sink_softmax(scores, allowed, b=0.0):
    """p_ij = exp(s_ij) / (exp(b) + sum_l exp(s_il)), and 0 for a masked key.

    scores (..., L, S), allowed (..., L, S) bool, b (..., L | 1, 1) or ()
        ->  weights (..., L, S)

    A row without allowed keys needs no special case: exp(b) is in the denominator.
    """
    s = np.where(allowed, scores, -np.inf)
    m = np.maximum(s.max(-1, keepdims=True, initial=-np.inf), b)  # exp cannot overflow
    e, sink = np.exp(s - m), np.exp(b - m)
    total = sink + e.sum(-1, keepdims=True)
    p, r = e / total, sink / total  # (..., L, S), (..., L, 1)

    def backward(g):
        pg = (p * g).sum(-1, keepdims=True)  # (..., L, 1)
        return p * (g - pg), None, -r * pg

    return p, backward


def softmax_plus_one(scores, allowed):
    """Return ``sink_softmax`` of scores (..., L, S) with b = 0, without parameters."""
    return sink_softmax(scores, allowed, 0.0)


class Sink(nn.Module):
    """A normaliser with a learned sink: ``attend(..., normalize=Sink())``.

    num_heads   H: one number b for each head of scores (..., H, L, S); None: one for all
    b           the parameter, (H,) or (); None starts at 0. Pass it to the optimizer,
                because the layer that calls a normaliser does not own its parameters
    """

    def __init__(self, num_heads=None, b=None):
        if num_heads is not None:
            arguments.whole("Sink", "num_heads", num_heads, least=1)
        start = nn.Parameter(np.zeros(num_heads or (), np.float32))
        self.num_heads, self.b = num_heads, start if b is None else b

    def forward(self, scores, allowed):
        """Return the weights of scores (..., H, L, S), or (..., L, S) without heads.

        allowed bool, of the same shape
        """
        return sink_softmax(scores, allowed, self.b[..., None, None])

    @shapes
    def rescale(self, o, lse):
        """Return the output with the sink, from that of the softmax and its lse.

        o (..., L, Ev), lse (..., L)  ->  o (..., L, Ev)

        ``scaled_dot_product_attention`` calls it on the path "tiled".
        """
        return o * sigmoid(lse - self.b[..., None])[..., None]

    def extra_repr(self):
        return f"{self.num_heads}"


ROWS = [
    Normalizer(
        "softmax+1", definitions.sink_softmax, softmax_plus_one,
        about="""normaliser: p = exp(s) / (1 + sum of exp(s))
        can give little weight to all keys where no key fits
        cannot learn from which score on a key fits
        lesson 15: lookup where the key may be missing; Miller 2023""",
    ),
    Normalizer(
        "sink", definitions.sink_softmax, sink_softmax,
        parameters="b ()",
        heads=Sink,
        about="""normaliser: p = exp(s) / (exp(b) + sum of exp(s)), with a learned b
        can give little weight to all keys where no key fits, and learn from which score
        on a key fits
        cannot return more than an average: the weights sum to less than 1
        lesson 15: lookup where the key may be missing; OpenAI 2025""",
    ),
]  # fmt: skip
