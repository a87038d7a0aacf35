"""Scores with relative positions (Shaw, Transformer-XL, DeBERTa) are as defined."""

import math
import tracemalloc

import numpy as np
import pytest

import minigrad as mg
from attention import definitions, scaled_dot_product_attention
from attention.template import attend
from attention.positions import (
    cope_scores,
    disentangled_scores,
    shaw_scores,
    transformer_xl_distances,
    transformer_xl_scores,
)
from minigrad import Tensor

from ...minigrad.array_cases import draw
from ..definition_cases import batched, check

SIZES = [(5, 7), (7, 5), (1, 1)]
every_size = pytest.mark.parametrize("L, S", SIZES)
both_alignments = pytest.mark.parametrize("align", ["upper_left", "lower_right"])
every_span = pytest.mark.parametrize("k", [1, 9])
D = 3
CLOSE = {"rtol": 0, "atol": 1e-13}  # a few roundings of sums of order one


def shaw(L, S, k=2, D=D, leading=(), tables=()):
    return draw((*leading, L, D), (*leading, S, D), (*tables, 2 * k + 1, D))


def xl(L, S, D=D, leading=(), heads=()):
    return draw(
        (*leading, L, D), (*leading, S, D), (*heads, max(L + S - 1, 0), D),
        (*heads, D), (*heads, D),
    )  # fmt: skip


def deberta(L, S, D=3, k=2, leading=(), tables=()):
    table = (*tables, 2 * k, D)
    return draw((*leading, L, D), (*leading, S, D), table, table)


def after_zeros(x, n):
    """Return x (m, D) as the last rows of an array (n, D)."""
    return np.concatenate([np.zeros((n - len(x), x.shape[1])), x])


def aligned(definition, align):
    """Return a definition in which the last query has the position of the last key.

    So queries and keys are the last ones of n = max(L, S) positions.
    """
    if align == "upper_left":
        return definition

    def scores(q, k, *tables):
        n = max(len(q), len(k))
        s = definition(after_zeros(q, n), after_zeros(k, n), *tables)
        return s[n - len(q) :, n - len(k) :]

    return scores


# Definitions, for batches and heads, (B, H, L, D), and a table of each head

SCORES = {  # function, definition, core axes of the tables, the example, the divisor
    "shaw": (shaw_scores, definitions.shaw, "(n,d)", shaw, 1),
    "deberta": (
        disentangled_scores, definitions.disentangled, "(n,d),(n,d)", deberta, 3
    ),
}  # fmt: skip


@every_size
@both_alignments
@every_span
@pytest.mark.parametrize("name", SCORES)
def test_scores(name, L, S, align, k):
    """In values and gradients."""
    function, definition, core, make, terms = SCORES[name]
    each_head = batched(aligned(definition, align), f"(l,d),(s,d),{core}->(l,s)")
    for tables in (2,), ():
        arrays = make(L, S, k=k, leading=(2, 2), tables=tables)
        check(lambda *x: function(*x, None, align), each_head, arrays)
    expected = 0.5 * math.sqrt(terms * D) * each_head(*arrays)  # another scale
    np.testing.assert_allclose(function(*arrays, 0.5, align).data, expected, **CLOSE)


@every_size
@both_alignments
def test_transformer_xl(L, S, align):
    """R has a row for each distance, so an alignment is another R."""
    each_head = batched(definitions.transformer_xl, "(l,d),(s,d),(n,d),(d),(d)->(l,s)")
    for heads in (3,), ():
        arrays = xl(L, S, leading=(2, 3), heads=heads)
        check(transformer_xl_scores, each_head, arrays)
    expected = 0.5 * math.sqrt(D) * each_head(*arrays)
    found = transformer_xl_scores(*arrays, 0.5).data
    np.testing.assert_allclose(found, expected, **CLOSE)
    i, j = definitions.positions(L, S)
    distance = transformer_xl_distances(L, S, align)[L - 1 - (i - j)]
    shift = S - L if align == "lower_right" else 0
    np.testing.assert_array_equal(distance, i + shift - j)


# In attention; masks and queries without keys are in tests/test_laws.py


def test_exact_attention_takes_the_scores():
    q, k, v, *rest = draw((2, 5, 3), (2, 7, 3), (2, 7, 4), (11, 3), (3,), (3,))
    s = transformer_xl_scores(q, k, *rest)
    context, _ = attend(q, k, v, lambda q, k: s)
    found = scaled_dot_product_attention(
        q[:, None], k[:, None], v[:, None], score=lambda q, k: mg.unsqueeze(s, 1)
    )
    np.testing.assert_allclose(found.data[:, 0], context.data, **CLOSE)


def test_no_array_has_a_vector_for_each_pair():
    L = S = 128
    D = 64
    for f, arrays in (
        (shaw_scores, shaw(L, S, 32, D)),
        (transformer_xl_scores, xl(L, S, D)),
        (disentangled_scores, deberta(L, S, D, 32)),
    ):
        leaves = [Tensor(x, requires_grad=True) for x in arrays]
        tracemalloc.start()
        y = f(*leaves)
        y.backward(np.ones(y.shape))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < L * S * D * 8 / 4, f.__name__


def test_contextual_positions_with_open_gates_are_distances():
    """Gates of 1: large products of one sign; then p_ij = i - j + 1, up to n - 1."""
    q, k = np.full((5, 4), 20.0), np.full((5, 4), 20.0)
    table = np.random.default_rng(0).normal(size=(4, 4))
    found = cope_scores(q, k, table).data - q @ k.T / 2
    i, j = np.indices((5, 5))
    wanted = (q[:1] @ table.T)[0, np.minimum(i - j + 1, 3)]
    np.testing.assert_allclose(found, np.where(j <= i, wanted, 0), atol=1e-6)
