"""The template of attention: score, mask, normalize, average.

    weights = normalize(mask(score(query, keys)))        context = weights @ values

Variants of attention differ in the score, in the mask or bias, in the normaliser, and
in the source of the queries, keys and values. ``attend`` takes any score function, and
any normaliser instead of the softmax. For L queries, S keys and values of width Ev, it
computes all L S weights, and the average costs L S Ev multiplications.
``exact/sdpa.py`` computes scaled dot products, also without storing this matrix.

Bahdanau et al. 2015, equations 5 and 6; Luong et al. 2015, section 3.1.
"""

import functools

import numpy as np

from minigrad import Tensor, dropout, expand, reshape, where
from minigrad.arguments import number
from minigrad.shapes import shapes

from .masks.given import allowed_pairs, cast
from .scores import scaled_dot
from .softmax import apply_normalizer, softmax_over_allowed


@shapes
def attend(
    query,
    keys,
    values,
    score=scaled_dot,
    mask=None,
    lengths=None,
    bias=None,
    temperature=1.0,
    dropout_p=0.0,
    training=True,
    rng=None,
    normalize=None,
) -> tuple[Tensor, Tensor]:
    """Average the values; the score of a key decides the weight of its value.

    query (..., L, Dq), keys (..., S, Dk), values (..., S, Ev),
    lengths? (B,) or (B, L) int, bias? (..., L | 1, S | 1) or OffsetBias
        ->  context (..., L, Ev), weights (..., L, S)

    (``bias?`` may be None; ``L | 1`` is an axis of length L or 1.)

        s_ij = score(q_i, k_j)
        p_ij = exp(s_ij) / sum_n exp(s_in)    over the allowed n; 0 if j is masked
        c_i  = sum_j p_ij v_j

    Each option changes one of these; the order is score, bias, float mask, temperature,
    softmax, dropout, values.

    score        a function of two Tensors, query and keys, that returns the scores
                 (..., L, S). A lambda sets the parameters:
                 lambda q, k: general(q, k, W_a)
    mask         broadcasts to (..., L, S): bool, where True = may attend, or float,
                 which is added to the scores; -inf masks a key. Or one of
                 attention.masks, for scores (B, H, L, S) of H heads, or (B, L, S)
    lengths      for each of B examples, or of their queries: how many keys are
                 allowed, from the first
    bias         added to the scores; it may be learned
    temperature  divides the scores
    dropout_p    in training, p_ij becomes 0 with this probability, and otherwise p_ij /
                 (1 - dropout_p); the returned weights do not include this
    training     False switches dropout off
    rng          the generator of dropout; None uses minigrad's generator
    normalize    a function (scores, allowed) -> weights, all (..., L, S), that replaces
                 the softmax; allowed is bool. These scores include bias, float mask and
                 temperature. A masked key has the score 0, and must get the weight 0

    A query with no allowed key has weights, context and gradients of 0. A masked key
    has no influence. A key and value that are masked for every query may contain NaN.
    """
    if not callable(score) or hasattr(score, "score"):  # the second is a layer
        raise TypeError(
            f"attend: score is {score!r}; expected a function of queries and keys, "
            "such as attention.dot, or the method score of a layer."
        )
    number("attend", "temperature", temperature, positive=True, finite=False)
    if hasattr(bias, "matrix"):  # an OffsetBias, such as that of T5
        bias = cast(bias.matrix(query.shape[-2], keys.shape[-2]), query.dtype)
    keys, values, allowed, added = clear_masked(
        "attend", query, keys, values, mask, lengths
    )
    drop = functools.partial(dropout, p=dropout_p, training=training, rng=rng)

    def scores(query, keys):
        shape = shape_of_scores(query, keys)
        return checked_scores("attend", score(query, keys), shape)

    return weigh_and_average(
        query, keys, values, scores, allowed, (bias, added), temperature, normalize,
        drop if dropout_p else None,
    )  # fmt: skip


def weigh_and_average(
    query, keys, values, score, allowed=None, biases=(), temperature=1.0,
    normalize=None, drop=None, name="attend",
):  # fmt: skip
    """Compute ``attend``, with its shapes, after ``clear_masked``.

    allowed   bool, broadcasts to the scores, or None: all pairs
    biases    each is added to the scores, or None
    drop      a function of the weights, dropout, or None
    """
    scores = score(query, keys)  # (..., L, S)
    for bias in biases:
        scores = scores if bias is None else scores + bias
    if normalize is None:
        weights = softmax_over_allowed(scores, allowed, temperature)
    else:
        scores = scores if temperature == 1 else scores / temperature
        weights = apply_normalizer(name, normalize, scores, allowed)
    dropped = weights if drop is None else drop(weights)
    rows = group_heads(dropped, values)  # unchanged if no heads share keys
    c = rows @ values  # sum over S
    c = c if rows is dropped else reshape(c, (*weights.shape[:-1], c.shape[-1]))
    return c, weights


# ---- A first reading can stop here ----


def shape_of_scores(query, keys):
    """Return (..., L, S) for query (..., L, D) and keys (..., S, D)."""
    leading = np.broadcast_shapes(query.shape[:-2], keys.shape[:-2])
    return *leading, query.shape[-2], keys.shape[-2]


def checked_scores(name, scores, shape):
    """Return the scores of a caller's function, if they are floats of that shape."""
    found = type(scores).__name__
    if isinstance(scores, Tensor):
        if scores.shape == shape[-2:]:  # the same for all examples
            scores = expand(scores, shape)
        if scores.shape == shape and scores.dtype.kind == "f":
            return scores
        found = f"{scores.dtype} {scores.shape}"
    raise ValueError(
        f"{name}: score returned {found}; expected a Tensor of floats of the shape of "
        f"the scores, {shape}."
    )


def group_heads(x, keys):
    """Merge the rows of the G query heads that share a key head.

    x (..., G Hk, L, E), keys (..., Hk, S, E)  ->  (..., Hk, G L, E)

    Hk is the number of key heads. The G heads are neighbours in x, so no key is copied.
    If G = 1, or if the axes before the heads differ, x is returned as it is.
    """
    *batch, H, L, E = (1, *x.shape)[-max(x.ndim, 3) :]
    *others, Hk, _, _ = (1, *keys.shape)[-max(keys.ndim, 3) :]
    if batch != others or Hk in (0, H) or H % Hk:
        return x
    return reshape(x, (*batch, Hk, H // Hk * L, E))


def used_keys(allowed, query, keys):
    """Return which keys some query may attend to, bool (..., S).

    allowed   bool, broadcasts to the scores of query (..., L, D) and keys (..., S, D)
    """
    rows, S = group_heads(query, keys), keys.shape[-2]
    if rows is query:
        heads = np.broadcast_shapes(query.shape[:-2], keys.shape[:-2])
        return np.broadcast_to(allowed, (*heads, query.shape[-2], S)).any(-2)
    allowed = np.broadcast_to(allowed, (*query.shape[:-1], S))
    return allowed.reshape(*rows.shape[:-1], S).any(-2)


def clear_unused(keys, values, find_used_keys):
    """If keys or values (..., S, D) have NaN or inf, set those of no query to 0.

    find_used_keys   a function that returns bool (..., S): whether some query may
                     attend to key j. It is called only if there is NaN or inf

    A weight of 0 removes a finite value from the average, but 0 * NaN = NaN.
    """
    with np.errstate(all="ignore"):  # a finite sum has finite terms only
        if np.isfinite(keys._data.sum() + values._data.sum()):
            return keys, values
    is_used = find_used_keys()[..., None]  # (..., S, 1)
    return where(is_used, keys, 0.0), where(is_used, values, 0.0)


def clear_masked(name, query, keys, values, mask=None, lengths=None):
    """Call ``clear_unused`` with what mask and lengths allow, as in ``attend``.

    Return keys, values, and the results of ``allowed_pairs`` for the scores.
    """
    shape = shape_of_scores(query, keys)
    allowed, added = allowed_pairs(name, shape, query.dtype, mask, lengths)
    if allowed is not None:
        used = functools.partial(used_keys, allowed, query, keys)
        keys, values = clear_unused(keys, values, used)
    return keys, values, allowed, added
