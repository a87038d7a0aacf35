"""Scores of graphs, and sharpened weights: specifications."""

from attention import definitions

from ..attention.definition_cases import batched
from .spec import call, normal, of_shapes, positive, spec

# -- leaky_scores ----------------------------------------------------------------------


def _leaky(x, y, a, slope):
    return definitions.leaky_relu(x[:, None] + y, slope) @ a


def leaky_scores(x, y, a, slope=0.2):
    return batched(_leaky, "(l,a),(s,a),(a)->(l,s)", slope=slope)(x, y, a)


spec("leaky_scores", leaky_scores, of_shapes({
    "heads": ((2, 3, 5, 7), (2, 3, 11, 7), (3, 7)),
    "one": ((3, 5), (7, 5), (5,)),
    "nodes-for-all": ((3, 5, 7), (5, 7), (7,)),
    "empty": ((0, 5), (3, 5), (5,)),
}) | {
    "slope": lambda r: call(normal(r, (3, 5)), normal(r, (7, 5)), normal(r, (5,)), 0.5),
})  # fmt: skip


# -- sharpen ---------------------------------------------------------------------------


def sharpen(p, gamma):
    return definitions.divide_by_sum(p ** gamma[..., None])


spec("sharpen", sharpen, of_shapes({
    "rows": ((3, 5), (3,)),
    "one": ((7,), ()),
    "one-gamma": ((2, 3, 5), (3,)),
    "empty": ((0, 5), (0,)),
}, positive))  # fmt: skip
