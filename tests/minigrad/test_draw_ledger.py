"""``saved_bytes`` counts each byte that is kept for the backward once."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import draw, lift
from minigrad.tensor import Tensor

from .engine_cases import draw as normal
from .engine_cases import named


def leaf(*shape):
    return Tensor(normal(*shape), requires_grad=True)


def by_op(tensor):
    return {row.op: (row.kept, row.new) for row in draw.saved_bytes(tensor).rows}


def test_add_keeps_nothing_and_tanh_its_output():
    x, y = leaf(5, 3), leaf(5, 3)
    saved = draw.saved_bytes(mg.tanh(x + y))
    assert [(r.op, r.shape, r.kept, r.new) for r in saved.rows] == [
        ("add", (5, 3), 0, 0),
        ("tanh", (5, 3), 5 * 3 * 8, 5 * 3 * 8),
    ]
    assert saved.total == 120


def test_mul_keeps_both_inputs_and_leaves_do_not_count():
    x, y = leaf(4), leaf(2, 4)
    a, b = x + 1.0, y + 1.0
    assert by_op(a * b)["mul"] == (32 + 64, 32 + 64)
    assert draw.saved_bytes(x * Tensor(np.ones(4, np.float32))).total == 0


def test_a_plain_array_counts():
    assert by_op(leaf(4) * np.ones(4))["mul"] == (32, 32)


def test_a_buffer_kept_by_several_is_counted_once():
    h = mg.tanh(leaf(6) + 1.0)
    saved = draw.saved_bytes(h * h)
    assert by_op(h * h) == {"add": (0, 0), "tanh": (48, 48), "mul": (48, 0)}
    assert saved.total == 48


def test_a_view_keeps_the_whole_buffer():
    @lift
    def first_squared(x):
        part = x[:1]
        return part * part, lambda g: np.concatenate([2 * g * part, 0 * x[1:]])

    @lift
    def keep_a_view(x):
        part = x[:1]
        return x.sum(), lambda g: g * np.broadcast_to(part * 0 + 1, (1000,))

    hidden = leaf(1000) + 1.0
    assert by_op(keep_a_view(hidden))["keep_a_view"] == (8000, 8000)
    both = keep_a_view(hidden) + first_squared(hidden).sum()
    assert draw.saved_bytes(both).total == 8000


def test_additive_scores_keep_one_array_of_every_pair():
    """tanh(q_i + k_j) for all i, j: the (B, L, S, A) array, and nothing else."""
    B, L, S, A = 2, 5, 7, 3
    q, k, w = leaf(B, L, A), leaf(B, S, A), leaf(A)
    scores = mg.tanh(q[:, :, None, :] + k[:, None, :, :]) @ w
    saved = draw.saved_bytes(scores)
    assert saved.total == B * L * S * A * 8


def test_several_outputs_have_one_row():
    a, b = mg.split(leaf(4), 2)
    saved = draw.saved_bytes(a * b)
    assert [row.op for row in saved.rows] == ["split", "mul"]
    assert saved.rows[0].shape == [(2,), (2,)]
    assert "2 outputs" in str(saved)


def test_the_table():
    hidden = mg.tanh(normal(64, 4) @ leaf(4, 16) + leaf(16))
    saved = draw.saved_bytes((hidden @ leaf(16, 3)).sum())
    lines = str(saved).splitlines()
    assert repr(saved) == str(saved)
    assert all(len(line) <= 80 for line in lines)
    assert lines[0].split()[:3] == ["operation", "output", "keeps"]
    total = next(line for line in lines if line.startswith("saved for backward"))
    assert total.endswith(f" {saved.total:,}")
    assert saved.total == sum(row.new for row in saved.rows) > 64 * 16 * 8
    columns = {len(line) for line in lines if line.startswith(("matmul", "tanh"))}
    assert columns == {len(lines[0])}


def test_the_table_stays_narrow():
    wide = lift(named("an_operation_with_a_very_long_name", lambda x: (x, lambda g: g)))
    saved = draw.saved_bytes(wide(leaf(*[1] * 20, 123456)))
    assert all(len(line) <= 80 for line in str(saved).splitlines())


def test_a_graph_that_is_not_there_or_was_freed():
    y = mg.tanh(leaf(3)).sum()
    y.backward()
    with pytest.raises(RuntimeError, match=r"backward\(\) has deleted the node"):
        draw.saved_bytes(y)
    for tensor in (leaf(2), Tensor([1.0]) * 2.0):
        with pytest.raises(ValueError, match=r"shape \(\d,\), has no graph: it is a l"):
            draw.saved_bytes(tensor)
