"""The formulas of the costs: equal to counted operations."""

import dataclasses
import functools
import re

import numpy as np
import pytest

from attention.costs import VARIANTS, cost_of, table, trials
from attention.costs.counted import count
from attention.exact import sdpa
from attention.kernels.tile_plan import of_ranges
from attention.masks import windows
from attention.variants.table import PATTERNS

SHAPES = [(1, 2, 1, 1, 1), (1, 7, 4, 3, 5), (5, 1, 2, 2, 3), (4, 6, 3, 5, 2)]
WINDOWS = [(6, 6, 2, 0), (6, 9, 0, 3), (9, 4, 1, 1), (3, 8, -1, 2), (8, 3, 2, -1),
           (5, 5, -1, -1), (7, 7, 9, 9), (1, 1, 0, 0), (1, 6, 0, 0)]  # fmt: skip


def drawn(*shapes):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape) for shape in shapes]


def assert_counted(variant, **sizes):
    """Compare the row's formula with what its definition computes."""
    cost, ops = cost_of(variant, **sizes), trials.counted_for(variant, **sizes)
    if cost.multiplications != ops.multiplications:
        pytest.fail(
            f"{variant}: counted {trials.counted_formula(variant)}; the row says "
            f"{VARIANTS[variant].multiplications}. For {sizes} these are "
            f"{ops.multiplications} and {cost.multiplications}."
        )
    assert type(cost.multiplications) is int and cost.multiplications > 0
    _, parameters = trials.arrays_of(variant, **sizes)
    assert cost.parameters == sum(p.size for p in parameters)
    twice = cost_of(variant, **sizes, B=2)
    assert twice.multiplications == 2 * cost.multiplications
    assert twice.parameters == cost.parameters


# -- formula == counted ----------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_formula_of_a_row_is_what_its_definition_computes(variant):
    row = VARIANTS[variant]
    assert_counted(variant, **trials.SMALL | row.small)
    if row.more is None and variant not in PATTERNS and not variant.startswith("local"):
        for shape in SHAPES:
            sizes = dict(zip(("L", "S", "E", "Ev", "A"), shape))
            assert_counted(variant, **sizes | row.small)
    if not row.equal_widths:
        assert_counted(variant, L=3, S=5, E=4, Dk=7, Ev=2, A=6, **row.small)


def test_a_wrong_formula_is_named_beside_the_right_one(monkeypatch):
    assert trials.counted_formula("general") == "L*E*Dk + L*S*Ev + L*S*Dk"
    wrong = dataclasses.replace(VARIANTS["scaled"], multiplications="L*S*E")
    monkeypatch.setitem(VARIANTS, "scaled", wrong)
    message = r"counted L\*E \+ .*; the row says L\*S\*E\."
    with pytest.raises(pytest.fail.Exception, match=message):
        assert_counted("scaled", **trials.SMALL)


@pytest.mark.parametrize("L, S", [(1, 2), (1, 8), (5, 2), (9, 4), (6, 14)])
@pytest.mark.parametrize("variant", ["local-m", "local-p"])
def test_local_windows(variant, L, S):
    for D in (1, 2, 6) if variant == "local-p" else (0, 1, 2, 6):
        assert_counted(variant, L=L, S=S, E=3, Ev=2, D=D)


@pytest.mark.parametrize("L, S, left, right", WINDOWS)
def test_windows_count_whole_tiles(L, S, left, right):
    allowed = windows.sliding_window(left, right).dense(1, 1, L, S)[0, 0]
    q, k, v = drawn((L, 3), (S, 3), (S, 2))
    definition = functools.partial(sdpa._tiles_of_definition, tile=4)
    o, ops = count(definition, q, k, v, left=left, right=right)
    P, V = sdpa.window_tiles(L, S, left, right, tile=4).values()
    assert ops.multiplications == L * 3 + P * (3 + 2) + V * (2 + 1)
    exact = sdpa.scaled_dot_product_attention(
        q, k, v, windows.sliding_window(left, right)
    ).data
    np.testing.assert_allclose(o, exact, rtol=1e-12, atol=1e-14)
    # the plan of the kernels lists the same tiles
    low, high = windows.window_ends(np.arange(L), S, left, right)
    tiles = of_ranges(low[None], high[None], (1,), L, S, 4).tiles()[0]
    blocks = [allowed[i : i + 4, j : j + 4].any()
              for i in range(0, L, 4) for j in range(0, S, 4)]  # fmt: skip
    assert tiles == sum(blocks)


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_counts_the_pairs_of_its_mask(name):
    """For options around those of the row, and several sizes."""
    row, tried = PATTERNS[name], 0
    for change in range(3):
        options = {
            x: n + 2 * change if isinstance(n, int) else (*n, *(2, 5)[:change])
            for x, n in row.small.items()
        }
        for L, S in (12, 12), (8, 16), (16, 8), (7, 7), (9, 5), (4, 14), (1, 1):
            try:
                found = row.pairs(L, S, **options)
                kept = row.definition(**options).dense(1, 1, L, S).sum()
            except ValueError:  # no whole blocks, or no such token
                continue
            assert found == kept, (options, L, S)
            tried += 1
    assert tried > 5


# -- arguments -------------------------------------------------------------------------


@pytest.mark.parametrize("options, error, message", [
    (dict(variant="nearest"), ValueError, "'nearest'; expected 'additive' or"),
    (dict(variant="dot", Dk=3), ValueError, "E is 64 and Dk is 3; expected one width"),
    (dict(variant="dot", H=3, Hk=2), ValueError, "H is 3; expected a multiple of Hk"),
    (dict(variant="bigbird", L=65), ValueError, "L is 65 .* expected whole blocks"),
    (dict(variant="dot", D=3), ValueError, "an option of 'dot' is 'D'; expected None"),
    (dict(variant="local-m", W=3), ValueError, "is 'W'; expected 'D'"),
    (dict(variant="dot", L=0), ValueError, "L is 0; expected a whole number, 1 or"),
])  # fmt: skip
def test_arguments_that_do_not_fit(options, error, message):
    with pytest.raises(error, match=message):
        cost_of(**{"L": 64, **options})


def test_a_definition_that_does_not_exist():
    with pytest.raises(ValueError, match="'nearest'; expected 'additive' or"):
        count("nearest", *drawn((3, 2), (5, 2), (5, 2)))


def test_a_notebook_shows_a_cost_and_the_lines_of_a_table():
    cost = cost_of("dense", L=1000)
    shown = cost._repr_html_()
    assert re.findall(r"<td.*?>(.*?)</td>", shown)[2:4] == [
        "multiplications", f"{cost.multiplications:,}"
    ]  # fmt: skip
    text = table.long_contexts_text([table.long_context(1000, 64)], 64)
    assert "multiplications, one head" in text._repr_html_()
    assert "<pre" in text._repr_html_()
