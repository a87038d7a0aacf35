"""Linear attention: a sum over all keys that every query shares.

    o_i = sum_j w_ij v_j
    w_ij = phi(q_i) . phi(k_j) / (sum_l phi(q_i) . phi(k_l) + eps)

Softmax attention has exp(q . k) in the place of phi(q) . phi(k), which has to be
computed for every pair. A dot product does not: it moves out of the sum,

    sum_j (phi(q_i) . phi(k_j)) v_j = (sum_j phi(k_j) v_j^T)^T phi(q_i) = S^T phi(q_i)

and S (E, Ev), with z = sum_j phi(k_j) for the denominator, is the same for all queries.
So n queries and n keys cost n E Ev, not n^2 E; there is no matrix of weights; and a
decoder needs S and z alone, however long its past is (``LinearAttentionState``). What
is lost is sharpness: the weights are those of a matrix of rank E, and cannot single out
one key of many. Of few keys, fewer than E or so, softmax attention costs no more.
Katharopoulos et al. 2020, "Transformers are RNNs".
"""

import numpy as np

from minigrad import Tensor, exp, expand, matmul, swapaxes, where

from ..checks import between, floats, one_dtype, tensor, wholes
from .linear_scan import linear_scan

NAME = "linear_attention"


def elu_plus_one(x):
    """phi(x) = elu(x) + 1: x + 1 above 0, e^x below. Positive, with a positive slope.

    Written with e^x itself: as elu(x) + 1, the digits of a small e^x would be lost.
    """
    x = tensor("elu_plus_one", "x", x)
    above = x.data > 0
    return where(above, x + 1.0, exp(where(above, 0.0, x)))


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
    """Average the values, each weighted by phi(q_i) . phi(k_j), in linear time.

    q (..., L, E), k (..., S, E), v (..., S, Ev)  ->  o (..., L, Ev)

        o_i = sum_j phi(q_i) . phi(k_j) v_j / (sum_j phi(q_i) . phi(k_j) + eps)

    is_causal     over the keys j <= i only; for as many queries as keys, L = S
    valid_lens    (B,) whole numbers: of example b only the first so many keys count
    key_mask      bool (..., S), with leading axes as k has them, each of that length or
                  1; or (S,), alike for all. True = may be attended to
    feature_map   a function of Tensors, (..., n, E) -> (..., n, any width); what it
                  gives should not be negative. Scores are not scaled by 1 / sqrt(E)
    eps           a number, 0 or more. It keeps a denominator from 0; where that is as
                  small as eps, as for keys far below 0, it makes the output smaller

    Leading axes may be any, and are broadcast. With valid_lens and key_mask, a key must
    be allowed by both; one that is not takes no part in anything, and may be NaN. A
    query with no key has output and gradient 0. Which queries may attend to which keys
    cannot be said any further: there are no pairs to mask, and no weights to return. To
    look at them nevertheless, at the price of all pairs: with v = np.eye(S), o is w.

    Cost 2 n E Ev, causal 64 n (E + Ev) more; memory O(n), also in the backward, where
    the sums are computed again, from both ends, and no n states are kept (linear_scan).

    Raises TypeError for what is of the wrong kind, integer masks among them, and
    ValueError for shapes and numbers that do not fit; each names the argument.
    Source: Katharopoulos et al. 2020, equations 4 to 12.
    """
    q, k, v = _rows(q, k, v)
    if not isinstance(is_causal, (bool, np.bool_)):
        raise TypeError(f"{NAME}: is_causal is {is_causal!r}; expected True or False.")
    if is_causal and q.shape[-2] != k.shape[-2]:
        raise ValueError(
            f"{NAME}: is_causal with {q.shape[-2]} queries and {k.shape[-2]} keys; "
            "expected as many of each, as query i attends to the keys 0 to i. To go on "
            "from a past, use LinearAttentionState."
        )
    eps = _number(NAME, eps)
    keep = _kept(valid_lens, key_mask, k.shape[:-1])
    _check_map(NAME, feature_map)
    fused = feature_map is elu_plus_one  # then it is part of the scan
    if not fused:
        if keep is not None:  # what it makes of NaN would come back as a gradient
            k = where(keep[..., None], k, 0.0)
        q, k = (_features(NAME, feature_map, n, x) for n, x in (("q", q), ("k", k)))
        _same_width(NAME, q, k)
    return linear_scan(q, k, v, keep, is_causal=is_causal, eps=eps, elu=fused)


class LinearAttentionState:
    """What linear attention remembers of a past of any length: S and z.

        state = LinearAttentionState()
        state.extend(k, v)            a prompt (..., n, E), (..., n, Ev), of any length
        o = state.step(q, k, v)       one token (..., E), (..., Ev)  ->  o (..., Ev)

        S = S + phi(k) v^T,    z = z + phi(k),    o = S^T phi(q) / (phi(q) . z + eps)

    The outputs are those of ``linear_attention`` with is_causal=True, one at a time. A
    step costs 2 E Ev multiplications, and the memory is E (Ev + 1) numbers a head,
    after ten tokens and after a million.

    S, z      Tensors (..., E, Ev) and (..., E); None before the first token
    length    how many tokens there were

    Of tensors that require a gradient, every step stays in the graph, with its S: use
    it under no_grad, and ``linear_attention`` to train.
    """

    def __init__(self, feature_map=elu_plus_one, eps=1e-6):
        self.feature_map, self.eps = feature_map, _number("LinearAttentionState", eps)
        _check_map("LinearAttentionState", feature_map)
        self.S = self.z = None
        self.length = 0

    def extend(self, k, v, key_mask=None):
        """Take in many tokens: k (..., n, E), v (..., n, Ev); key_mask as elsewhere."""
        name = "LinearAttentionState.extend"
        k, v = _floats(name, k=k, v=v)
        if min(k.ndim, v.ndim) < 2 or k.shape[:-1] != v.shape[:-1]:
            raise ValueError(
                f"{name}: k has shape {k.shape} and v {v.shape}; expected (..., n, E) "
                "and (..., n, Ev), with the same leading axes."
            )
        keep = _kept(None, key_mask, k.shape[:-1], name)
        if keep is not None:
            k, v = (where(keep[..., None], x, 0.0) for x in (k, v))
        b = _features(name, self.feature_map, "k", k)
        if keep is not None:
            b = where(keep[..., None], b, 0.0)  # phi(0) is not 0
        self._add(name, matmul(swapaxes(b, -1, -2), v), b.sum(-2), k.shape[-2])

    def step(self, q, k, v):
        """Take in one token and answer its query: (..., E), (..., E), (..., Ev)."""
        name = "LinearAttentionState.step"
        q, k, v = _floats(name, q=q, k=k, v=v)
        if not q.shape == k.shape or k.shape[:-1] != v.shape[:-1] or v.ndim == 0:
            raise ValueError(
                f"{name}: q has shape {q.shape}, k {k.shape} and v {v.shape}; expected "
                "(..., E), (..., E) and (..., Ev), one token, with the same leading "
                "axes."
            )
        a, b = (
            _features(name, self.feature_map, n, x) for n, x in (("q", q), ("k", k))
        )
        _same_width(name, a, b)
        self._add(name, b[..., None] * v[..., None, :], b, 1)
        total = (a * self.z).sum(-1, keepdims=True) + self.eps  # (..., 1)
        nothing = total.data == 0
        o = matmul(a[..., None, :], self.S)[..., 0, :]
        return where(nothing, 0.0, o / where(nothing, 1.0, total))

    def _add(self, name, S, z, n):
        if self.S is not None:
            if S.shape != self.S.shape or S.dtype != self.S.dtype:
                raise ValueError(
                    f"{name}: these keys and values make S {S.dtype} {S.shape}; the "
                    f"state holds {self.S.dtype} {self.S.shape}, (..., E, Ev) of what "
                    "came before. Begin a new state for another batch."
                )
            S, z = self.S + S, self.z + z
        self.S, self.z, self.length = S, z, self.length + n

    def __repr__(self):
        shape = "empty" if self.S is None else f"S={self.S.shape}"
        return f"LinearAttentionState({shape}, length={self.length})"


def _floats(name, **named):
    """The arguments as Tensors, of one floating-point dtype."""
    found = {key: floats(name, key, x) for key, x in named.items()}
    one_dtype(name, found)
    return found.values()


def _rows(q, k, v):
    """The three as Tensors with the same leading axes."""
    q, k, v = _floats(NAME, q=q, k=k, v=v)
    shapes = f"q has shape {q.shape}, k {k.shape} and v {v.shape}"
    if (
        min(q.ndim, k.ndim, v.ndim) < 2
        or q.shape[-1] != k.shape[-1]
        or k.shape[-2] != v.shape[-2]
    ):
        raise ValueError(
            f"{NAME}: {shapes}; expected (..., L, E), (..., S, E) and (..., S, Ev): "
            "queries as wide as keys, and one value for each key."
        )
    try:
        leading = np.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v)))
    except ValueError:
        raise ValueError(
            f"{NAME}: {shapes} differ in their leading axes; expected axes that are "
            "alike, or 1, or missing."
        ) from None
    shaped = ((x, (*leading, *x.shape[-2:])) for x in (q, k, v))
    return [x if x.shape == shape else expand(x, shape) for x, shape in shaped]


def _kept(valid_lens, key_mask, shape, name=NAME):
    """bool (..., S): which keys count; None when all do.  shape (..., S)"""
    *leading, S = shape
    keep = None
    if valid_lens is not None:
        lengths = wholes(name, "valid_lens", valid_lens, {1: "(B,)"})
        if not leading or len(lengths) != leading[0]:
            raise ValueError(
                f"{name}: valid_lens has shape {lengths.shape} and the keys have the "
                f"leading axes {tuple(leading)}; expected (B,), a number for each "
                "entry of the first axis."
            )
        between(name, "valid_lens", lengths, 0, S, "the number of keys")
        keep = np.arange(S) < lengths.reshape(-1, *[1] * len(leading))
    if key_mask is not None:
        mask = np.asarray(key_mask.data if isinstance(key_mask, Tensor) else key_mask)
        if mask.dtype.kind != "b":
            raise TypeError(
                f"{name}: key_mask is {mask.dtype}; expected bool, where True = may be "
                "attended to. Write mask == 1 to allow the ones."
            )
        alike = all(m in (1, n) for m, n in zip(mask.shape, leading))
        fits = mask.ndim == len(shape) and alike and mask.shape[-1] == S
        if mask.shape != (S,) and not fits:
            raise ValueError(
                f"{name}: key_mask has shape {mask.shape}; expected {(S,)}, or "
                f"{tuple(shape)} with any leading axis 1: one entry for each key. "
                "There are no pairs of query and key here to be masked."
            )
        keep = mask if keep is None else keep & mask
    return None if keep is None else np.broadcast_to(keep, shape)


def _check_map(name, feature_map):
    if not callable(feature_map):
        raise TypeError(
            f"{name}: feature_map is {feature_map!r}; expected a function of a Tensor."
        )


def _features(name, feature_map, argument, x):
    found = feature_map(x)
    if not isinstance(found, Tensor) or found.shape[:-1] != x.shape[:-1]:
        what = f"a {type(found).__name__}"
        if isinstance(found, Tensor):
            what = f"shape {found.shape}"
        raise ValueError(
            f"{name}: feature_map made {what} of {argument} {x.shape}; expected a "
            "Tensor that differs in the last axis at most."
        )
    return found


def _same_width(name, q, k):
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(
            f"{name}: feature_map made q {q.shape} and k {k.shape}; expected rows of "
            "one width."
        )


def _number(name, eps):
    if isinstance(eps, (bool, np.bool_)) or not isinstance(
        eps, (int, float, np.integer, np.floating)
    ):
        raise TypeError(
            f"{name}: eps is a {type(eps).__name__}; expected a number, 0 or more."
        )
    if not 0 <= eps < np.inf:
        raise ValueError(f"{name}: eps is {eps}; expected a finite number, 0 or more.")
    return float(eps)
