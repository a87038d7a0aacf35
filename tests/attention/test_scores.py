"""The score functions against their definitions, in values and gradients."""

import tracemalloc

import numpy as np
import pytest

from attention import definitions
from attention.scores import (
    additive,
    concat,
    dot,
    general,
    scaled_dot,
    tanh_scores,
)
from minigrad import Tensor

from ..minigrad.array_cases import draw
from .definition_cases import batched, check

B, L, S, Dq, Dk, A = 2, 3, 5, 7, 4, 6  # no two alike: a lost transpose shows


pytestmark = pytest.mark.usefixtures("backend")  # numba and numpy
SCORES = {  # function, its definition, the core axes, width of the keys, parameters
    "dot": (dot, definitions.dot, "", Dq, ()),
    "scaled": (scaled_dot, definitions.scaled_dot, "", Dq, ()),
    "scaled-by": (
        lambda q, k: scaled_dot(q, k, scale=0.3),
        lambda q, k: definitions.dot(0.3 * q, k), "", Dq, (),
    ),
    "general": (general, definitions.general, ",(d,e)", Dk, ((Dq, Dk),)),
    "additive": (
        additive, definitions.additive, ",(a,d),(a,e),(a)", Dk,
        ((A, Dq), (A, Dk), (A,)),
    ),
    "concat": (
        concat, definitions.concat, ",(a,f),(a)", Dk, ((A, Dq + Dk), (A,))
    ),
}  # fmt: skip
LEADING = [((), ()), ((B,), (B,)), ((B, 3), (B, 3)), ((B,), ()), ((B, 1), (3,))]


def example(name, of_queries=(B,), of_keys=(B,), dtype=float):
    function, _, _, width, shapes = SCORES[name]
    shapes = ((*of_queries, L, Dq), (*of_keys, S, width), *shapes)
    return function, draw(*shapes, dtype=dtype)


@pytest.mark.parametrize("leading", LEADING, ids=str)
@pytest.mark.parametrize("name", SCORES)
def test_each_score_is_its_definition(name, leading):
    function, arrays = example(name, *leading)
    _, definition, of_parameters, width, _ = SCORES[name]
    keys = "(s,d)" if width == Dq else "(s,e)"
    check(function, batched(definition, f"(l,d),{keys}{of_parameters}->(l,s)"), arrays)
    assert isinstance(function(*arrays), Tensor)


def test_tanh_scores_never_store_all_hidden_units():
    b, n, m, a = 4, 60, 60, 128
    q, k, w, g = draw((b, n, a), (b, m, a), (a,), (b, n, m), dtype=np.float32)

    def forward_and_backward():
        leaves = [Tensor(x, requires_grad=True) for x in (q, k, w)]
        e = tanh_scores(*leaves)
        kept = tracemalloc.get_traced_memory()[0] if tracemalloc.is_tracing() else 0
        e.backward(g)
        return kept

    forward_and_backward()  # compiled
    tracemalloc.start()
    try:
        kept = forward_and_backward()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    everything = 4 * b * n * m * a
    assert peak < 0.25 * everything
    assert kept < 0.1 * everything  # between forward and backward
