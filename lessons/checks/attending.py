"""Weights of attention with one mistake each, by which a check names what is wrong."""

import numpy as np


def softmax(e, mask):
    """Return the softmax over the last axis, 0 where masked and in an empty row."""
    shown = np.where(mask, e, -np.inf)
    top = shown.max(-1, keepdims=True)
    z = np.exp(shown - np.where(np.isfinite(top), top, 0.0))
    total = z.sum(-1, keepdims=True)
    return z / np.where(total, total, 1.0)


def wrong_weights(e, mask=None, scales=()):
    """Return weights with one mistake each: [(tag, what, array)].

    e       the right scores (…, S), before the mask
    mask    True where a query may attend, if the exercise has a mask
    scales  [(tag, what, number)] of ``wrong_scales``, each a factor of e
    """
    every = np.ones(e.shape, bool)
    wrong = []
    if mask is not None:
        mask = np.broadcast_to(mask, e.shape)
        wrong += [
            ("mask-leak", "the softmax of all scores", softmax(e, every)),
            (
                "mask-after",
                "the softmax of all scores, times the mask",
                softmax(e, every) * mask,
            ),
            ("complement", "the softmax of the masked scores", softmax(e, ~mask)),
        ]
        wrong += [
            (
                "mask-leak",
                f"the softmax of scores that are {score} where masked",
                softmax(np.where(mask, e, score), every),
            )
            for score in (0, -1, -10)
        ]
        added = softmax(e + np.where(mask, 0.0, -1e9), every)
        wrong += [
            ("finite-mask", f"the softmax of scores with -1e9 {how} where masked", p)
            for how, p in (
                ("added", added),
                ("in their place", softmax(np.where(mask, e, -1e9), every)),
            )
        ]
    may = every if mask is None else mask
    shown = np.where(may, e, -np.inf)
    top = np.where(may.any(-1), shown.max(-1), 0.0)[..., None]
    wrong += [
        ("not-normalised", "exp(e), not divided by its sum", np.exp(shown)),
        ("not-normalised", "exp(e - max e), not divided", np.exp(shown - top)),
    ]
    wrong.append(("sign", "the softmax of -e", softmax(-e, may)))
    for tag, what, factor in scales:
        text = f"the weights of {what}"
        wrong.append((tag, text, softmax(factor * e, may)))
    if e.ndim > 1:
        over_queries = softmax(e.swapaxes(-1, -2), may.swapaxes(-1, -2))
        text = "weights that sum to 1 over the queries"
        wrong.append(("wrong-axis", text, over_queries.swapaxes(-1, -2)))
        z = np.exp(shown - top)
        sums = z.sum(-2, keepdims=True)
        text = "exp(e - max of the row), divided by its sum over the queries"
        wrong.append(("wrong-axis", text, z / np.where(sums, sums, 1.0)))
    return wrong


def wrong_sums(alpha, H):
    """Return contexts alpha (…, S), H (S, d) with one mistake: [(tag, what, array)]."""
    terms = alpha[..., None] * H  # (…, S, d)
    return [
        ("loop-short", "the sum without its last term", terms[..., :-1, :].sum(-2)),
        ("last-term", "the last term of the sum, alone", terms[..., -1, :]),
        ("first-term", "the first term of the sum, alone", terms[..., 0, :]),
        ("reversed", "the sum with the weights reversed", alpha[..., ::-1] @ H),
        ("hard", "the state of the largest weight, alone", H[alpha.argmax(-1)]),
        ("ignores-weights", "the mean of the states", H.mean(0) + 0 * terms[..., 0, :]),
        ("ignores-weights", "the sum of the states", H.sum(0) + 0 * terms[..., 0, :]),
    ]


def wrong_scales(d, keys, queries, d_v):
    """Return wrong factors for scores q . k / sqrt(d): [(tag, what, number)].

    The numbers are factors of the right scores.
    """
    root = d**0.5
    wrong = [
        ("unscaled", "scores q . k", root),
        ("scaled-by-d", "scores / d", 1 / root),
        ("multiplied", "scores * sqrt(d)", d),
    ]
    for tag, what, n in (
        ("scaled-by-length", "the number of keys", keys),
        ("scaled-by-length", "the number of queries", queries),
        ("value-width", "the width of the values", d_v),
    ):
        wrong.append((tag, f"scores / sqrt({n}), {what}", (d / n) ** 0.5))
    return wrong
