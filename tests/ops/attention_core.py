"""The hot loops of attention: specifications and wrong backwards."""

import numpy as np

from attention import definitions

from ..attention.definition_cases import batched
from .spec import call, normal, of_shapes, spec, wrong


def masked_softmax(x, mask=None, temperature=1.0):
    mask = True if mask is None else mask
    return definitions.softmax(x / temperature, np.broadcast_to(mask, x.shape))


_mask = np.random.default_rng(5).random((3, 5, 7)) < 0.6
_mask[1, 2] = False  # a query with nothing to attend to

spec(
    "softmax_over_allowed",
    masked_softmax,
    {
        "free": lambda r: call(normal(r, (3, 5))),
        "mask": lambda r: call(normal(r, (3, 5, 7)), _mask),
        "temperature": lambda r: call(normal(r, (3, 7)), _mask[1, 0], 0.7),
        "heads": lambda r: call(normal(r, (3, 1, 5, 7)), _mask[:, None]),
        "empty-keys": lambda r: call(normal(r, (3, 0))),
    },
)
wrong(
    "softmax_over_allowed",
    "temperature-forgotten",
    lambda g, p, *rest: p * (g - (p * g).sum(-1, keepdims=True)),
    on="temperature",
)


def additive(q, k, w_v):
    """The definition, for queries and keys that are already projected."""
    each_head = batched(definitions.additive, "(l,a),(s,a),(a,a),(a,a),(a)->(l,s)")
    one = np.eye(len(w_v))
    return each_head(q, k, one, one, w_v)


spec("tanh_scores", additive, of_shapes({
    "one": ((3, 5), (7, 5), (5,)),
    "batched": ((2, 3, 5), (2, 7, 5), (5,)),
    "keys-for-all": ((3, 5, 7), (11, 7), (7,)),
    "both-ways": ((3, 1, 5, 7), (2, 3, 7), (7,)),
    "empty-keys": ((3, 5, 7), (3, 0, 7), (7,)),
}))  # fmt: skip
