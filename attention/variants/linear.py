"""Linear attention: sums over the keys that all queries share, in linear time.

    o_i = sum_j w_ij v_j
    w_ij = phi(q_i) . phi(k_j) / (sum_l phi(q_i) . phi(k_l) + eps)

phi, the feature map, is a function of one query or key. Softmax attention has
exp(q . k) instead, and must compute it for every pair. A dot product can be taken out
of the sum:

    sum_j (phi(q_i) . phi(k_j)) v_j = (sum_j phi(k_j) v_j^T)^T phi(q_i) = S^T phi(q_i)

S (E, Ev), and z = sum_j phi(k_j) for the denominator, are the same for all queries. So
n queries and n keys cost 2 n E Ev multiplications instead of n^2 (E + Ev), and there is
no matrix of weights. A decoder stores S and z instead of all earlier keys and values.

If causal, S_i is the sum over the keys j <= i: the state of recurrence.py, with a = 1.
With a 1 after each value, [v; 1], its last column is z_i, so numerator and denominator
are the outputs of one scan. To continue a sequence, keep that state:

    sums, state = decay_attention(phi(q), phi(k), [v; 1], np.zeros(1), state)

The weights are less sharp: without a causal mask, they form a matrix of rank E at most,
which cannot select one key among many. For fewer than about E keys, softmax attention
costs no more.

Katharopoulos et al. 2020, "Transformers are RNNs".
"""

import numpy as np

from minigrad import Tensor, concat, differentiable, matmul, swapaxes, where
from minigrad.arguments import called, flag, number
from minigrad.shapes import shapes

from .. import definitions
from ..masks.given import allowed_pairs, check_axes
from .recurrence import recurrence
from .row import Variant

NAME = "linear_attention"


@shapes
@differentiable
def elu_plus_one(x):
    """phi(x) = elu(x) + 1, which is x + 1 above 0 and e^x below: positive, increasing.

    x (...)  ->  phi (...)

    The code does not compute elu(x) = e^x - 1 first: this loses the digits of a small
    e^x. The derivative is 1 above 0, and e^x = phi below: min(phi, 1).
    """
    phi = np.exp(np.minimum(x, 0)) + np.maximum(x, 0)
    return phi, lambda g: g * np.minimum(phi, 1)


@shapes
def linear_attention(
    q,
    k,
    v,
    is_causal=False,
    *,
    lengths=None,
    mask=None,
    feature_map=elu_plus_one,
    eps=1e-6,
):
    """o_i = sum_j phi(q_i) . phi(k_j) v_j / (sum_j phi(q_i) . phi(k_j) + eps)

    q (..., L, E), k (..., S, E), v (..., S, Ev), lengths? (B,) int
        ->  o (..., L, Ev)

    is_causal     sum over the keys j <= i; then L must equal S
    lengths       for each example, how many keys are allowed, from the first
    mask          as in ``attend``, but bool and the same for all queries, such as (S,)
                  or (B, 1, 1, S). With lengths as well, a key must be allowed by both
    feature_map   phi, a function of Tensors (..., n, E) -> (..., n, any width). Its
                  values should not be negative. Scores are not scaled by 1 / sqrt(E)
    eps           0 or more: keeps the denominator above 0. If the denominator is as
                  small as eps, as for very negative keys, the output is too small

    A masked key has no influence. A query without keys has output and gradient 0. There
    is no mask of pairs, and no weights are returned, because the scores of pairs are
    not computed. With v = np.eye(S, dtype=q.dtype) the output is the matrix of weights.

    It costs 2 n E Ev multiplications, and 64 n (E + Ev) more if causal. The memory is
    O(n), also for the backward pass. Katharopoulos et al. 2020, equations 4 to 12.
    """
    eps = float(number(NAME, "eps", eps, least=0))
    is_causal = check_causal(NAME, is_causal, q, k)
    keep, k, v = allowed_keys(NAME, q, k, v, mask, lengths)
    a, b = (_features(NAME, feature_map, x) for x in (q, k))
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(
            f"{NAME}: feature_map returns {a.shape[-1]} numbers for a query and "
            f"{b.shape[-1]} for a key; expected one width."
        )
    if keep is not None:
        b = where(keep[..., None], b, 0.0)
    v = concat([v, np.ones((*v.shape[:-1], 1), v.dtype)], -1)  # [v; 1]
    if is_causal:
        sums, _ = recurrence.unchecked(a, b, v, np.zeros((1, 1), v.dtype))
    else:
        sums = matmul(a, matmul(swapaxes(b, -1, -2), v))  # (..., L, Ev + 1)
    total = sums[..., -1:] + eps
    return sums[..., :-1] / where(total.data == 0, np.inf, total)


def allowed_keys(name, q, k, v, mask=None, lengths=None):
    """Return which keys all queries may attend to, and k and v with 0 for the others.

    The first is bool (..., S), or None for all. A masked key may be large, or NaN.
    """
    leading = np.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v)))
    shape = *leading, q.shape[-2], k.shape[-2]
    check_axes(name, mask, len(shape))
    allowed, added = allowed_pairs(name, shape, q.dtype, mask, lengths)
    if allowed is None:
        return None, k, v
    allowed = np.atleast_2d(allowed)
    keep = allowed.all(-2)
    why = "because the scores of pairs are not computed"
    if added is not None:
        raise ValueError(f"{name}: mask is of floats; expected bool, {why}.")
    if (allowed != keep[..., None, :]).any():
        found = "mask differs"
        advice = "For a mask (B, S) and q (B, H, L, E), pass mask[:, None, None]."
        if lengths is not None and len(shape) == 2 and np.ptp(lengths):
            found = "lengths differ"
            advice = "For one length of each example, pass q, k and v with the axis B."
        raise ValueError(
            f"{name}: {found} between queries; expected the same for all queries, "
            f"{why}. {advice}"
        )
    return keep, *(where(keep[..., None], x, 0.0) for x in (k, v))


def check_causal(name, is_causal, q, k):
    """Return is_causal; raise ValueError if the numbers of queries and keys differ."""
    L, S = q.shape[-2], k.shape[-2]
    if is_causal and L != S:
        raise ValueError(
            f"{name}: found {L} queries and {S} keys; expected equal numbers with "
            "is_causal, as query i attends to the keys 0 to i."
        )
    return flag(name, "is_causal", is_causal)


def _features(name, feature_map, x):
    """Return feature_map(x) if it is a Tensor whose shape differs only in the width."""
    phi = called(f"{name}: feature_map", "a Tensor", feature_map, x)
    found = f"shape {phi.shape}" if isinstance(phi, Tensor) else type(phi).__name__
    if not isinstance(phi, Tensor) or phi.shape[:-1] != x.shape[:-1]:
        raise ValueError(
            f"{name}: feature_map returns {found} for x {x.shape}; expected a Tensor "
            "that differs from x in the last axis only."
        )
    return phi


ROWS = [
    # phi(q) (sum_j phi(k_j) v_j^T) / phi(q) sum_j phi(k_j), without pairs
    Variant(
        "linear", definitions.linear, linear_attention,
        multiplications="L*E + (S + L)*E*Ev",
        about="""template: exp(q . k) becomes phi(q) . phi(k): sums over the keys come
        first
        can continue a text with a state of fixed size
        cannot give one of more keys than phi has numbers nearly all weight
        lesson 12: lookup by distance; Katharopoulos et al. 2020""",
    ),
]  # fmt: skip
