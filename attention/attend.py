"""The one template of attention: score, mask, normalise, average.

    weights = normalize(mask(score(query, keys)))        context = weights @ values

A variant of attention is a choice of score, of mask or bias, and of where query, keys
and values come from. Nothing else changes, and nothing else is written here.

It is for scores that are not products (the door to those is sdpa.py), and has the whole
matrix of weights: L S numbers beside what the score costs, and L S Ev multiplications
for the average.

Bahdanau et al. 2015, equations 5 and 6; Luong et al. 2015, section 3.1.
"""

import numpy as np

from minigrad import Tensor, differentiable, dropout, no_grad, unbroadcast, where

from .checks import floats, tensor
from .kernels.product import weighted_sum
from .scores import dot, scaled_dot
from .softmax import masked_softmax

SCORES = {"dot": dot, "scaled_dot": scaled_dot}  # those without parameters, by name


@np.errstate(all="ignore")  # NaN and infinity give what they give
def attend(
    query,
    keys,
    values,
    score=scaled_dot,
    mask=None,
    valid_lens=None,
    bias=None,
    temperature=1.0,
    dropout_p=0.0,
    training=True,
    rng=None,
):
    """Average the values, each weighted by how well its key suits the query.

    query (..., L, Dq), keys (..., S, Dk), values (..., S, Ev)
        ->  context (..., L, Ev), weights (..., L, S)

        s_ij = score(q_i, k_j) + b_ij
        p_ij = exp(s_ij / temperature) / sum of the same over the allowed j; else 0
        c_i  = sum_j z_ij p_ij v_j

    where dropout z_ij is 0 with probability dropout_p, else 1 / (1 - dropout_p). Order:
    scale and softcap (both belong to the score), bias, mask, softmax, dropout, values.

    score        (query, keys) -> Tensor (..., L, S), with its parameters bound; or
                 "dot" or "scaled_dot", which have none
    mask         (..., L, S) or what broadcasts to it: bool, where True = may attend, or
                 float, which is added
    valid_lens   (B,) or (B, L): only the first so many keys may be attended to
    bias         (..., L, S) or what broadcasts to it: added to the scores, and learned
                 if it requires a gradient
    training     False switches dropout off
    rng          the generator that dropout draws from; None is minigrad's own

    The weights are those before dropout. A query with nothing to attend to has weights,
    context and gradients of exactly 0. What is masked may hold anything: NaN reaches
    those queries alone that may attend to it, and no gradient but theirs; and none from
    a query that no loss depends on. (A weight of 0 alone would not do: 0 * NaN = NaN.)

    Raises TypeError for anything but floating-point numbers and for a score that is no
    function, ValueError for shapes that do not fit; each names the argument.
    """
    query = _rows("query", query, "L, Dq")
    keys, values = _rows("keys", keys, "S, Dk"), _rows("values", values, "S, Ev")
    shape = _shape_of_scores(query, keys, values)
    if mask is not None or valid_lens is not None:
        query, keys, values = _without_padding(
            query, keys, values, shape, mask, valid_lens
        )

    s = _guarded(_named(score), query, keys, shape)  # (..., L, S)
    if bias is not None:
        s = s + _fitting(bias, shape)
    weights = masked_softmax(s, valid_lens, mask, temperature=temperature)
    kept = weights
    if dropout_p != 0:
        kept = dropout(weights, dropout_p, training=training, rng=rng)
    context = kept @ values  # (..., L, Ev)
    if not np.isfinite(context._data).all():
        masked = mask is not None or valid_lens is not None
        context = weighted_average(kept, values, masked)
    return context, weights


def _without_padding(query, keys, values, shape, mask, valid_lens):
    """Zeros for the rows that nothing may depend on, if anything is not finite.

    Finite rows stay as they are: a weight of 0 already keeps them out, exactly. A float
    mask of -inf would not: added to a score of NaN it is NaN.
    """
    if all(np.isfinite(x._data).all() for x in (query, keys, values)):
        return query, keys, values
    # equal scores give a weight to every key that is allowed, and to no other
    allowed = masked_softmax(np.zeros(shape), valid_lens, mask).data > 0  # (..., L, S)
    asks = allowed.any(-1)[..., None]  # may attend to some key: (..., L, 1)
    seen = allowed.any(-2)[..., None]  # by some query: (..., S, 1)
    return where(asks, query, 0.0), where(seen, keys, 0.0), where(seen, values, 0.0)


def _guarded(score, query, keys, shape):
    """The scores; what is not finite gets its own, but meets no gradient of others.

    A row of NaN may be one that no loss depends on. The gradients of its scores are
    then 0, and 0 * NaN = NaN would take them to all that it was multiplied with.
    """
    asks, answers = (np.isfinite(x._data).all(-1) for x in (query, keys))
    if asks.all() and answers.all():
        return _scored(score, query, keys, shape)
    finite = [
        where(rows[..., None], x, 0.0) for rows, x in ((asks, query), (answers, keys))
    ]
    with no_grad(), np.errstate(all="ignore"):
        found = _scored(score, query, keys, shape).detach()
    both = asks[..., :, None] & answers[..., None, :]  # (..., L, S)
    return where(both, _scored(score, *finite, shape), found)


@differentiable
def weighted_average(p, v, masked):
    """p @ v, where a query that no gradient comes for has none to give.

    Nor does p = 0 meet v, if there is a mask: else it is only too small to be told
    from 0.
    """
    p, v = np.asarray(p), np.asarray(v)
    with np.errstate(all="ignore"):
        o = weighted_sum(p, v) if masked else p @ v

    def backward(g):
        with np.errstate(all="ignore"):
            asked = (g != 0).any(-1, keepdims=True)  # (..., L, 1)
            dp = np.where(asked & (p != 0), g @ v.swapaxes(-1, -2), 0)
            dv = weighted_sum(np.where(asked, p, 0).swapaxes(-1, -2), g)  # over i
        return unbroadcast(dp, p.shape), unbroadcast(dv, v.shape)

    return o, backward


def _rows(name, x, axes):
    """``x`` as a Tensor of floats with at least the two axes."""
    x = floats("attend", name, x)
    if x.ndim < 2:
        raise ValueError(
            f"attend: {name} has shape {x.shape}; expected (..., {axes}). A single "
            "vector x is x[None, :], one row."
        )
    return x


def _shape_of_scores(query, keys, values):
    if keys.shape[-2] != values.shape[-2]:
        raise ValueError(
            f"attend: keys has shape {keys.shape} and values has shape {values.shape}; "
            "expected (..., S, Dk) and (..., S, Ev), one value for each key."
        )
    try:
        np.broadcast_shapes(query.shape[:-2], keys.shape[:-2], values.shape[:-2])
    except ValueError:
        raise ValueError(
            f"attend: query {query.shape}, keys {keys.shape} and values {values.shape} "
            "differ before their last two axes; expected the same leading axes "
            "(batch, heads), or 1, or none."
        ) from None
    leading = np.broadcast_shapes(query.shape[:-2], keys.shape[:-2])
    return (*leading, query.shape[-2], keys.shape[-2])


def _named(score):
    if callable(score):
        return score
    if not isinstance(score, str) or score not in SCORES:
        raise TypeError(
            f"attend: score is {score!r}; expected a function (query, keys) -> scores, "
            f"or one of the names {', '.join(map(repr, SCORES))}. A score with "
            "parameters is a function that binds them: lambda q, k: general(q, k, W_a)."
        )
    return SCORES[score]


def _scored(score, query, keys, shape):
    s = score(query, keys)
    if not isinstance(s, Tensor) or s.shape != shape:
        what = f"shape {s.shape}" if isinstance(s, Tensor) else f"a {type(s).__name__}"
        raise ValueError(
            f"attend: score gave {what}; expected a Tensor of shape {shape}, a number "
            f"for each query of {query.shape} and each key of {keys.shape}."
        )
    return s


def _fitting(bias, shape):
    """The bias as a Tensor that broadcasts to the scores and does not enlarge them."""
    bias = tensor("attend", "bias", bias)
    if bias.dtype.kind != "f":
        raise TypeError(
            f"attend: bias is {bias.dtype}; expected floating-point numbers, which are "
            "added to the scores. What may attend to what is a boolean mask=."
        )
    sizes = zip(reversed(bias.shape), reversed(shape))
    if bias.ndim > len(shape) or any(b not in (1, n) for b, n in sizes):
        raise ValueError(
            f"attend: bias has shape {bias.shape}; expected one that broadcasts to the "
            f"scores, {shape}."
        )
    return bias
