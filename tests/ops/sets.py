"""Scores of graphs: specifications."""

from attention import definitions

from ..attention.definition_cases import batched
from .spec import of_shapes, spec


def _leaky(x, y, a):
    return definitions.leaky_relu(x[:, None] + y) @ a


spec("leaky_scores", batched(_leaky, "(l,a),(s,a),(a)->(l,s)"), of_shapes({
    "heads": ((2, 3, 5, 7), (2, 3, 11, 7), (3, 7)),
    "one": ((3, 5), (7, 5), (5,)),
    "nodes-for-all": ((3, 5, 7), (5, 7), (7,)),
    "empty": ((0, 5), (3, 5), (5,)),
}))  # fmt: skip
