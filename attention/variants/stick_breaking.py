"""Stick-breaking attention: the last fitting key takes what it wants, others the rest.

    b_ij = sigmoid(s_ij)                                the part that key j takes
    p_ij = b_ij prod_{l > j} (1 - b_il)                 over the allowed keys l

Begin with a stick of length 1 at the last allowed key. Each key breaks off the part
b_ij of what is left. So near keys come first, without positions, and a key in front of
a fitting one gets nothing. The part that no key takes is left over:

    1 - sum_j p_ij = prod_l (1 - b_il)

Causal masks make the last allowed key the query's own, or the one before.

Logarithms, because a product of many numbers below 1 underflows: with
softplus(s) = ln(1 + exp(s)), ln b = -softplus(-s) and ln(1 - b) = -softplus(s), so

    ln p_ij = -softplus(-s_ij) - sum_{l > j} softplus(s_il)

Gradient: d ln p_ij/ds_ij = 1 - b_ij, and d ln p_ij/ds_il = -b_il for l > j. So

    ds_il = p_il g_il (1 - b_il) - b_il sum_{j < l} p_ij g_ij

The code has exp(ln(1 - b)) for 1 - b, which keeps its digits where b is near 1.

Tan et al. 2024.
"""

import numpy as np

from minigrad import differentiable
from minigrad.ops.real import real
from minigrad.shapes import shapes

from .. import definitions
from .row import Normalizer


@shapes
@differentiable
def stick_breaking(scores, allowed):
    """p_ij = sigmoid(s_ij) prod_{l > j} (1 - sigmoid(s_il)): a normaliser.

    scores (..., L, S), allowed (..., L, S) bool  ->  weights (..., L, S)

    The product is over the allowed keys l; the weight of a masked key is 0.
    """
    scores = real(scores)
    left = np.where(allowed, _softplus(scores), 0)  # -ln(1 - b_il)
    later = np.zeros_like(left)  # sum_{l > j}: without a difference, which would cancel
    later[..., :-1] = left[..., :0:-1].cumsum(-1)[..., ::-1]
    p = np.where(allowed, np.exp(-_softplus(-scores) - later), 0)

    def backward(g):
        pg, b = p * g, -np.expm1(-left)  # b is 0 for a masked key
        earlier = np.zeros_like(pg)  # sum_{j < l}
        earlier[..., 1:] = pg[..., :-1].cumsum(-1)
        return pg * np.exp(-left) - b * earlier, None

    return p, backward


def _softplus(x):
    """Return ln(1 + exp(x)), without overflow."""
    return np.maximum(x, 0) + np.log1p(np.exp(-abs(x)))


ROWS = [
    Normalizer(
        "stick-breaking", definitions.stick_breaking, stick_breaking,
        multiplications="L*E + L*S*E + 2*L*S + L*S*Ev",
        about="""normaliser: p_j = sigmoid(s_j) prod over later keys l of (1 -
        sigmoid(s_l))
        can prefer the last fitting key, without positions
        cannot average fitting keys equally: near ones take most
        lesson 15: the last value of a name; Tan et al. 2024""",
    ),
]  # fmt: skip
