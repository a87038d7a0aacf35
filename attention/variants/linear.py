"""Linear attention: sums over the keys that all queries share, in linear time.

    o_i = sum_j w_ij v_j
    w_ij = phi(q_i) . phi(k_j) / (sum_l phi(q_i) . phi(k_l) + eps)

Softmax attention has exp(q . k) instead of phi(q) . phi(k), and must compute it for
every pair. A dot product can be taken out of the sum:

    sum_j (phi(q_i) . phi(k_j)) v_j = (sum_j phi(k_j) v_j^T)^T phi(q_i) = S^T phi(q_i)

S (E, Ev), and z = sum_j phi(k_j) for the denominator, are the same for all queries. So
n queries and n keys cost 2 n E Ev multiplications instead of n^2 (E + Ev), and there is
no matrix of weights. A decoder stores S and z instead of all earlier keys and values
(``LinearAttentionState``).

The weights are less sharp: without a causal mask, they form a matrix of rank E at most,
which cannot select one key among many. For fewer than about E keys, softmax attention
costs no more.

Katharopoulos et al. 2020, "Transformers are RNNs".
"""

import numpy as np

from minigrad import Tensor, exp, matmul, swapaxes, where
from minigrad.arguments import called, flag, number
from minigrad.shapes import shapes

from .lengths import for_each_key, row_lengths
from .linear_scan import linear_scan

NAME = "linear_attention"


@shapes
def elu_plus_one(x):
    """phi(x) = elu(x) + 1, which is x + 1 above 0 and e^x below: positive, increasing.

    x (...)  ->  phi (...)

    The code does not compute elu(x) = e^x - 1 first: this loses the digits of a small
    e^x.
    """
    above = x.data > 0
    return where(above, x + 1.0, exp(where(above, 0.0, x)))


@shapes
def linear_attention_by_pairs(q, k, v, is_causal=False, keep=None, eps=1e-6):
    """Compute linear attention by its definition, with the matrix of all pairs.

    q (..., L, E), k (..., S, E), v (..., S, Ev), keep? (..., S) bool
        ->  o (..., L, Ev)

    It costs L S (E + Ev) multiplications. ``linear_attention`` computes the same
    without that matrix.
    """
    w = matmul(elu_plus_one(q), swapaxes(elu_plus_one(k), -1, -2))  # (..., L, S)
    keep = for_each_key("linear_attention_by_pairs", "keep", keep, q, k, v)
    if keep is not None:
        w = where(keep[..., None, :], w, 0.0)
    if is_causal:
        w = where(np.tri(w.shape[-1], dtype=bool), w, 0.0)
    return matmul(w, v) / (w.sum(-1, keepdims=True) + eps)


@shapes
def linear_attention(
    q,
    k,
    v,
    is_causal=False,
    *,
    valid_lens=None,
    key_mask=None,
    feature_map=elu_plus_one,
    eps=1e-6,
):
    """o_i = sum_j phi(q_i) . phi(k_j) v_j / (sum_j phi(q_i) . phi(k_j) + eps)

    q (..., L, E), k (..., S, E), v (..., S, Ev), valid_lens? (B,) int,
    key_mask? (..., S) bool  ->  o (..., L, Ev)

    is_causal     sum over the keys j <= i; then L must equal S
    valid_lens    for each example, how many keys are allowed, from the first
    key_mask      True = queries may attend to the key: (S,), or the same number of axes
                  as the keys of all heads; for padding (B, S) with q (B, H, L, E), pass
                  key_mask[:, None]. With valid_lens as well, a key must be allowed by
                  both
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
    eps, is_causal = _validated_eps(NAME, eps), check_causal(NAME, is_causal, q, k)
    keep, S = for_each_key(NAME, "key_mask", key_mask, q, k, v), k.shape[-2]
    if valid_lens is not None:
        leading = np.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v)))
        if not leading or valid_lens.shape != leading[:1]:
            raise ValueError(
                f"{NAME}: valid_lens have shape {valid_lens.shape}; expected (B,), for "
                f"leading axes (B, ...) = {leading}."
            )
        lengths = row_lengths(NAME, valid_lens, leading, S)
        within = np.arange(S) < lengths[..., None]  # (..., S)
        keep = within if keep is None else keep & within
    fused = feature_map is elu_plus_one  # then linear_scan applies it
    if not fused:
        if keep is not None:  # a masked key may be NaN
            k = where(keep[..., None], k, 0.0)
        q, k = (_features(NAME, feature_map, each) for each in (q, k))
    return linear_scan(q, k, v, keep, is_causal=is_causal, eps=eps, elu=fused)


class LinearAttentionState:
    """The state of a decoder with linear attention: the sums S and z.

        state = LinearAttentionState()
        state.extend(k, v)            a prompt of any length
        o = state.step(q, k, v)       one token

        S = S + phi(k) v^T,    z = z + phi(k),    o = S^T phi(q) / (phi(q) . z + eps)

    The outputs are those of ``linear_attention`` with is_causal=True, one at a time. A
    step costs 2 E Ev multiplications, and the state has E (Ev + 1) numbers for each
    head. Neither depends on the number of earlier tokens.

    The state keeps the graph of all steps; for generation use ``minigrad.no_grad``.
    """

    def __init__(self, feature_map=elu_plus_one, eps=1e-6):
        self.feature_map = feature_map
        self.eps = _validated_eps("LinearAttentionState", eps)
        self.S = self.z = None
        self.length = 0

    @shapes
    def extend(self, k, v, key_mask=None):
        """Add many tokens.

        k (..., n, E), v (..., n, Ev), key_mask? (..., n) bool  ->  None
        """
        name = "LinearAttentionState.extend"
        key_mask = for_each_key(name, "key_mask", key_mask, k, v)
        if key_mask is not None:  # a masked key may be NaN
            k, v = (where(key_mask[..., None], x, 0.0) for x in (k, v))
        b = _features(name, self.feature_map, k)
        if key_mask is not None:
            b = where(key_mask[..., None], b, 0.0)
        self._add(matmul(swapaxes(b, -1, -2), v), b.sum(-2), k.shape[-2])

    @shapes
    def step(self, q, k, v):
        """Add one token, and return the output of its query.

        q and k (..., E), v (..., Ev)  ->  o (..., Ev)
        """
        name = "LinearAttentionState.step"
        a, b = (_features(name, self.feature_map, each) for each in (q, k))
        self._add(b[..., None] * v[..., None, :], b, 1)
        total = (a * self.z).sum(-1, keepdims=True) + self.eps  # (..., 1)
        o = matmul(a[..., None, :], self.S)[..., 0, :]  # (..., Ev)
        return o / where(total.data == 0, np.inf, total)

    def _add(self, S, z, n):
        if self.S is not None:
            if S.shape != self.S.shape or S.dtype != self.S.dtype:
                raise ValueError(
                    f"LinearAttentionState: keys and values give S {S.dtype} "
                    f"{S.shape}; expected {self.S.dtype} {self.S.shape}, (..., E, "
                    "Ev), as before. Make a new state for another batch."
                )
            S, z = self.S + S, self.z + z
        self.S, self.z, self.length = S, z, self.length + n

    def __repr__(self):
        shape = "empty" if self.S is None else f"S={self.S.shape}"
        return f"LinearAttentionState({shape}, length={self.length})"


def check_causal(name, is_causal, q, k):
    """Return is_causal; raise ValueError if the numbers of queries and keys differ."""
    L, S = q.shape[-2], k.shape[-2]
    if is_causal and L != S:
        raise ValueError(
            f"{name}: found {L} queries and {S} keys; expected equal numbers with "
            "is_causal, as query i attends to the keys 0 to i. To continue a sequence, "
            "use LinearAttentionState."
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


def _validated_eps(name, eps):
    if number(name, "eps", eps) < 0:
        raise ValueError(f"{name}: eps is {eps}; expected 0 or more.")
    return float(eps)
