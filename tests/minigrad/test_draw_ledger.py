"""``saved_bytes`` counts each byte that is kept for the backward once."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import draw, lift
from minigrad.tensor import Tensor

from .engine_cases import draw as normal


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


def test_plain_arrays_count_and_leaves_do_not():
    assert draw.saved_bytes(leaf(2, 4) * leaf(4)).total == 0
    assert by_op(leaf(4) * np.ones(4))["mul"] == (32, 32)


def test_a_buffer_kept_by_several_is_counted_once():
    h = mg.tanh(leaf(6) + 1.0)
    saved = draw.saved_bytes(h * h)
    assert by_op(h * h) == {"add": (0, 0), "tanh": (48, 48), "mul": (48, 0)}
    assert saved.total == 48


def test_a_view_keeps_the_whole_buffer():
    @lift
    def keep_a_view(x):
        part = x[:1]
        return x.sum(), lambda g: g * np.broadcast_to(part * 0 + 1, (1000,))

    assert by_op(keep_a_view(leaf(1000) + 1.0))["keep_a_view"] == (8000, 8000)


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
    long = str(draw.saved_bytes(leaf(*[1] * 20, 123456) * 1.0)).splitlines()
    assert all(len(line) <= 80 for line in lines + long)
    assert lines[0].split()[:3] == ["operation", "output", "keeps"]
    total = next(line for line in lines if line.startswith("saved for backward"))
    assert total.endswith(f" {saved.total:,}")
    assert saved.total == sum(row.new for row in saved.rows) > 64 * 16 * 8
    columns = {len(line) for line in lines if line.startswith(("matmul", "tanh"))}
    assert columns == {len(lines[0])}


def test_a_graph_that_is_not_there_or_was_freed():
    y = mg.tanh(leaf(3)).sum()
    y.backward()
    with pytest.raises(RuntimeError, match=r"backward\(\) has deleted the node"):
        draw.saved_bytes(y)
    for tensor in (leaf(2), Tensor([1.0]) * 2.0):
        with pytest.raises(ValueError, match=r"shape \(\d,\), has no graph: it is a l"):
            draw.saved_bytes(tensor)
