"""Scores, their definitions and arrays for the template of attention."""

import math

import numpy as np

from attention.scores import additive, dot, general, scaled_dot

from ..minigrad.array_cases import draw

B, L, S, Dq, Dk, A, Ev = 2, 3, 5, 7, 4, 6, 11  # no two alike: a lost transpose shows


def bound(kind, parameters):
    """The score as ``attend`` wants it: a function of query and keys alone."""
    function = {
        "dot": dot, "scaled": scaled_dot, "general": general, "additive": additive
    }[kind]  # fmt: skip
    return lambda q, k: function(q, k, *parameters)


DEFINITIONS = {  # of one query vector and one key vector
    "dot": lambda q, k: sum(q[d] * k[d] for d in range(len(q))),
    "scaled": lambda q, k: sum(q[d] * k[d] for d in range(len(q))) / math.sqrt(len(q)),
    "general": lambda q, k, W_a: sum(
        q[d] * W_a[d, e] * k[e] for d in range(len(q)) for e in range(len(k))
    ),
    "additive": lambda q, k, W_q, W_k, w_v: sum(
        w_v[a] * math.tanh(W_q[a] @ q + W_k[a] @ k) for a in range(len(w_v))
    ),
}
PARAMETERS = {
    "dot": [],
    "scaled": [],
    "general": [(Dq, Dk)],
    "additive": [(A, Dq), (A, Dk), (A,)],
}
KINDS = list(DEFINITIONS)


def example(kind, seed=0):
    """Arrays query, keys, values, and the parameters of the score."""
    width = Dq if kind in ("dot", "scaled") else Dk
    shapes = [(B, L, Dq), (B, S, width), (B, S, Ev), *PARAMETERS[kind]]
    query, keys, values, *parameters = draw(*shapes, seed=seed)
    return query, keys, values, parameters


def lens_as_mask(valid_lens):
    lens = np.asarray(valid_lens)
    lens = lens[:, None] if lens.ndim == 1 else lens
    return np.broadcast_to(np.arange(S) < lens[..., None], (B, L, S))


LENS = [None, [2, 5], [[1, 3, 5], [4, 0, 2]]]  # the second example has an empty row

# Values: the same sums in another order, so a few rounding errors of numbers near 1.
close = dict(rtol=1e-12, atol=1e-13)
