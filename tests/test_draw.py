"""The picture of a graph and the ledger of its bytes: what they say, and where."""

import functools
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

import minigrad as mg
from minigrad import draw, lift
from minigrad.draw.boxes import boxes_of
from minigrad.draw.layering import Arrangement, nearest_ascending
from minigrad.tensor import Tensor

rng = np.random.default_rng(0)


def leaf(*shape):
    return Tensor(rng.normal(size=shape), requires_grad=True)


def mlp():
    x = Tensor(rng.normal(size=(64, 4)))
    W1, b1, W2, b2 = leaf(4, 16), leaf(16), leaf(16, 3), leaf(3)
    h = mg.tanh(x @ W1 + b1)
    loss = mg.cross_entropy(h @ W2 + b2, rng.integers(0, 3, 64))
    return loss, dict(x=x, W1=W1, b1=b1, W2=W2, b2=b2, h=h)


def diamond():
    x = leaf()
    a = mg.exp(x)
    return a * mg.tanh(x) + a * x, dict(x=x, a=a)


def recurrence():
    W, h = leaf(5, 5), Tensor(np.zeros((2, 5)))
    for _ in range(3):
        h = mg.tanh(h @ W + leaf(2, 5))
    return (h * h).sum(), dict(W=W)


def attention():
    X, W_q, W_k, W_v = leaf(2, 6, 8), leaf(8, 8), leaf(8, 8), leaf(8, 8)
    weights = mg.softmax((X @ W_q) @ (X @ W_k).swapaxes(-1, -2) / np.sqrt(8))
    return weights @ (X @ W_v), dict(X=X, W_q=W_q, W_k=W_k, W_v=W_v, weights=weights)


def several_outputs():
    a, b, c = mg.split(mg.concat([leaf(3, 4) for _ in range(12)], 0), 3)
    return (a * b * b).mean() + c.sum(), {}


def tangle(seed, n=24):
    choose = np.random.default_rng(seed)
    made = [Tensor(rng.normal(size=3), requires_grad=i % 3 > 0) for i in range(5)]
    while len(made) < n:
        i, j = choose.integers(max(0, len(made) - 9), len(made), 2)
        made.append((mg.add, mg.mul)[len(made) % 2](made[i], made[j]))
    result = made[-1]
    for each in made[-6:-1]:
        result = result + each
    return result, {}


GRAPHS = {
    "mlp": mlp,
    "diamond": diamond,
    "recurrence": recurrence,
    "attention": attention,
    "several outputs": several_outputs,
    **{f"tangle {seed}": lambda seed=seed: tangle(seed) for seed in range(4)},
}


class Seen:
    """What stands in a picture, in pixels."""

    def __init__(self, figure):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.patches import FancyBboxPatch, PathPatch

        renderer = FigureCanvasAgg(figure).get_renderer()
        (ax,) = figure.axes
        self.page = figure.bbox
        all_boxes = [p for p in ax.patches if isinstance(p, FancyBboxPatch)]
        extents = [p.get_window_extent(renderer) for p in all_boxes]
        self.boxes = [e for e in extents if e.height > 25]  # the legend's are smaller
        self.lines = [
            p.get_transform()
            .transform_path(p.get_path())
            .to_polygons(closed_only=False)
            for p in ax.patches
            if isinstance(p, PathPatch)
        ]
        self.texts = [(t.get_text(), t.get_window_extent(renderer)) for t in ax.texts]
        self.texts = [(text, where) for text, where in self.texts if text]

    def read(self, title):
        """The texts in the box with this title, without the title."""
        (where,) = [w for text, w in self.texts if text == title]
        (box,) = [b for b in self.boxes if overlap(b, where)]
        return [t for t, w in self.texts if overlap(box, w) and t != title]


def within(a, b):
    return b.x0 <= a.x0 and a.x1 <= b.x1 and b.y0 <= a.y0 and a.y1 <= b.y1


def overlap(a, b, by=0.0):
    return (
        min(a.x1, b.x1) - max(a.x0, b.x0) > by
        and min(a.y1, b.y1) - max(a.y0, b.y0) > by
    )


@functools.cache
def picture(name):
    result, names = GRAPHS[name]()
    return Seen(draw.graph(result, names=names))


@pytest.mark.parametrize("name", GRAPHS)
def test_nothing_overlaps(name):
    seen = picture(name)
    for a, b in itertools.combinations(seen.boxes, 2):
        assert not overlap(a, b)
    for (text, a), (other, b) in itertools.combinations(seen.texts, 2):
        assert not overlap(a, b, by=1.0), (text, other)
    for text, where in seen.texts:
        assert within(where, seen.page), text
        for box in seen.boxes:
            assert within(where, box) or not overlap(where, box), text


@pytest.mark.parametrize("name", GRAPHS)
def test_no_line_runs_through_a_box(name):
    seen = picture(name)
    assert seen.lines
    for (points,) in seen.lines:
        steps = np.linspace(0, 1, 5)[:, None]
        lines = [a + (b - a) * steps for a, b in itertools.pairwise(points)]
        x, y = np.concatenate(lines).T
        for box in seen.boxes:
            inside = np.minimum.reduce([x - box.x0, box.x1 - x, y - box.y0, box.y1 - y])
            assert inside.max() < 2  # the border is so wide; lines begin and end on it


@pytest.mark.parametrize("name", ["mlp", "diamond", "recurrence", "attention"])
def test_fits_800_pixels(name):
    result, names = GRAPHS[name]()
    figure = draw.graph(result, names=names)
    assert figure.get_figwidth() * figure.dpi <= 800


def test_what_the_boxes_say():
    loss, names = mlp()
    seen = Seen(draw.graph(loss, names=names))
    expected = {each: Tensor.numpy(tensor).copy() for each, tensor in names.items()}
    loss.backward()
    for name in ("W1", "b1", "W2", "b2"):
        norm, grad = np.linalg.norm(expected[name]), np.linalg.norm(names[name].grad)
        shape = str(names[name].shape)
        texts = [shape, "‖value‖", f"{norm:.4g}", "‖grad‖", f"{grad:.4g}"]
        assert seen.read(name) == texts
    norm = np.linalg.norm(expected["x"])
    assert seen.read("x") == ["(64, 4)", "‖value‖", f"{norm:.4g}"]
    assert seen.read("h = tanh")[:2] == ["(64, 16)", "‖value‖"]
    texts = ["value", f"{loss.item():.4g}", "grad", "1"]
    assert seen.read("cross_entropy") == texts
    words = [text for text, _ in seen.texts]
    assert "What does backward() walk through?" in words
    for kind in ("leaf", "constant", "operation", "result"):
        assert words.count(kind) == 1
    assert "Dashed: no gradient goes back." in words


def test_gradients_in_between_are_complete():
    """x is used twice on one path and once on another; a has two users."""
    x = Tensor(-2.0, requires_grad=True)
    a = x * x
    seen = Seen(draw.graph(a * a + x, names={"x": x, "a": a}))
    assert seen.read("x") == ["value", "-2", "grad", "-31"]  # d(x^4 + x)/dx
    assert seen.read("a = mul") == ["value", "4", "grad", "8"]
    assert len(seen.lines) == 2 + 2 + 2


def test_a_gradient_may_be_given():
    x = leaf(3)
    y = mg.tanh(x)
    assert "The gradient begins as ones of shape (3,)." in words_of(draw.graph(y))
    given = np.array([1.0, -2.0, 0.5])
    figure = draw.graph(y, names={"x": x}, gradient=given)
    y.backward(given)
    assert f"{np.linalg.norm(x.grad):.4g}" in Seen(figure).read("x")
    assert not any("begins as ones" in text for text in words_of(figure))
    with pytest.raises(ValueError, match=r"gradient of shape \(2,\) for a tensor of"):
        draw.graph(mg.tanh(x), gradient=np.ones(2))


def words_of(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_values_that_nobody_holds_are_not_kept():
    x = leaf(3)
    hidden = x + 1.0  # add needs neither input nor output
    figure = draw.graph(mg.tanh(hidden), names={"hidden": hidden})
    assert "not kept" not in words_of(figure)
    y = mg.tanh(hidden)
    del hidden
    figure = draw.graph(y)
    assert Seen(figure).read("add")[1:3] == ["value", "not kept"]
    (muted,) = {
        t.get_color() for t in figure.axes[0].texts if t.get_text() == "not kept"
    }
    (ink,) = {t.get_color() for t in figure.axes[0].texts if t.get_text() == "tanh"}
    assert muted != ink


def test_what_is_not_finite_stands_out():
    x = Tensor([1.0, np.inf], requires_grad=True)
    figure = draw.graph((x * 2.0).sum(), names={"x": x})
    (bad,) = {t.get_color() for t in figure.axes[0].texts if t.get_text() == "inf"}
    assert bad not in {
        t.get_color() for t in figure.axes[0].texts if t.get_text() == "x"
    }


def test_several_outputs_are_boxes_of_their_own():
    a, b = mg.split(leaf(4), 2)
    figure = draw.graph((a * b).sum())
    words = words_of(figure)
    assert "2 outputs" in words and "output 0" in words and "output 1" in words
    assert Seen(figure).read("split") == ["2 outputs"]


def test_drawing_leaves_gradients_and_graph_as_they_were():
    loss, names = mlp()
    names["W1"].grad = kept = np.ones((4, 16))
    draw.graph(loss, names=names)
    assert names["W1"].grad is kept and (kept == 1).all()
    assert names["W2"].grad is None
    loss.backward()  # the graph is still there
    with pytest.raises(
        RuntimeError, match=r"graph\(\) walks as backward\(\) does\. .*fre"
    ):
        draw.graph(loss)


def test_files_and_axes(tmp_path):
    from matplotlib.figure import Figure

    result, names = diamond()
    for name in ("g.png", "g.svg", "g.pdf"):
        draw.graph(result, tmp_path / name, names=names)
        assert (tmp_path / name).stat().st_size > 1000
    page = Figure(figsize=(9, 4))
    left, right = page.subplots(1, 2)
    assert draw.graph(result, ax=right, names=names) is page
    assert not left.texts and len(right.texts) > 10
    sizes = {t.get_fontsize() for t in right.texts}
    natural = {t.get_fontsize() for t in draw.graph(result).axes[0].texts}
    assert max(sizes) < max(natural)  # scaled to the axes


def test_odd_names():
    x, y = leaf(2), leaf(2)
    names = {"$\\frac$": x, "a very long name\nthat goes on and on": y}  # no formula
    words = [text for text, _ in Seen(draw.graph(x * y, names=names)).texts]
    assert "$\\frac$" in words and "a very long name that g…" in words


def test_inputs_stand_from_left_to_right():
    names = {name: leaf(2, 2) for name in "abc"}
    product = names["a"] @ names["b"] + names["c"]
    seen = Seen(draw.graph(product, names=names))
    places = {text: where.x0 for text, where in seen.texts}
    assert places["a"] < places["b"] and places["matmul"] < places["c"]


def test_too_many_boxes_and_no_graph():
    y = leaf(2)
    for _ in range(60):
        y = mg.tanh(y)
    with pytest.raises(
        ValueError, match="have to draw 61 boxes, and more than 60 cannot"
    ):
        draw.graph(y)
    draw.graph(y, limit=61)
    for tensor in (leaf(2), Tensor([1.0]) * 2.0):
        for look in (draw.graph, draw.saved_bytes):
            with pytest.raises(
                ValueError, match=r"shape \(\d,\), has no graph: it is a l"
            ):
                look(tensor)


def test_matplotlib_comes_late_and_without_pyplot():
    program = """
import sys
import minigrad as mg
from minigrad import draw
x = mg.Tensor(1.0, requires_grad=True)
draw.saved_bytes(x * x)
assert "matplotlib" not in sys.modules
draw.graph(x * x)
assert "matplotlib" in sys.modules and "matplotlib.pyplot" not in sys.modules
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program], check=True, env=env)


# -- the layout ------------------------------------------------------------------------


def test_nearest_ascending_is_the_least_squares_solution():
    for seed in range(20):
        draws = np.random.default_rng(seed)
        n = draws.integers(1, 8)
        wanted, weights = draws.normal(size=n), draws.uniform(0.1, 3, n)
        y = nearest_ascending(wanted, weights)
        assert (np.diff(y) >= 0).all()
        best = (weights * (y - wanted) ** 2).sum()
        for _ in range(200):  # no ascending sequence nearby is better
            other = np.sort(y + 0.1 * draws.normal(size=n))
            assert (weights * (other - wanted) ** 2).sum() >= best - 1e-12


def test_inputs_stand_above_their_users():
    inputs = [[], [], [0, 1], [2, 0], [2], [3, 4, 1]]
    plan = Arrangement(inputs, [1.0] * 6, 0.2, 8.0)
    for v, each in enumerate(inputs):
        assert all(plan.row[u] < plan.row[v] for u in each)
    assert plan.path(1, 5) == [1, (1, 1), (1, 2), 5]


def test_crossings_are_undone():
    """Two chains side by side, given in an order in which they cross at every row."""
    inputs = [[], [], [1], [0], [3], [2], [4, 5]]
    plan = Arrangement(inputs, [1.0] * 7, 0.2, 8.0)
    assert plan._crossings(plan.rows) == 0


def test_no_exchange_of_neighbours_undoes_a_crossing():
    for seed in range(4):
        boxes = boxes_of(tangle(seed)[0], {}, None, 100)
        plan = Arrangement([b.inputs for b in boxes], [1.0] * len(boxes), 0.2, 8.0)
        fewest = plan._crossings(plan.rows)
        for row in plan.rows:
            for i in range(len(row) - 1):
                row[i : i + 2] = row[i + 1], row[i]
                assert plan._crossings(plan.rows) >= fewest
                row[i : i + 2] = row[i + 1], row[i]


def test_leaves_spread_over_rows_when_there_are_many():
    inputs = [[] for _ in range(20)] + [list(range(20))]
    plan = Arrangement(inputs, [1.0] * 21, 0.2, 8.0)
    assert max(sum(type(i) is int for i in row) for row in plan.rows) <= 6
    assert len(plan.rows) > 3


# -- the ledger ------------------------------------------------------------------------


def by_op(tensor):
    return {row.op: (row.kept, row.new) for row in draw.saved_bytes(tensor).rows}


def test_add_keeps_nothing_and_tanh_its_output():
    x, y = leaf(5, 3), leaf(5, 3)
    ledger = draw.saved_bytes(mg.tanh(x + y))
    assert [(r.op, r.shape, r.kept, r.new) for r in ledger.rows] == [
        ("add", (5, 3), 0, 0),
        ("tanh", (5, 3), 5 * 3 * 8, 5 * 3 * 8),
    ]
    assert ledger.total == 120 and ledger.references == ()


def test_mul_keeps_both_inputs_and_leaves_are_listed_apart():
    x, y = leaf(4), leaf(2, 4)
    a, b = x + 1.0, y + 1.0
    assert by_op(a * b)["mul"] == (32 + 64, 32 + 64)
    ledger = draw.saved_bytes(x * Tensor(np.ones(4, np.float32)))
    assert ledger.total == 0
    kinds = [(each.kind, each.shape, each.size) for each in ledger.references]
    assert sorted(kinds) == [("constant", (4,), 16), ("leaf", (4,), 32)]


def test_a_plain_array_is_copied_and_counts():
    assert by_op(leaf(4) * np.ones(4))["mul"] == (32, 32)


def test_a_buffer_kept_by_several_is_counted_once():
    h = mg.tanh(leaf(6) + 1.0)
    ledger = draw.saved_bytes(h * h)
    assert by_op(h * h) == {"add": (0, 0), "tanh": (48, 48), "mul": (48, 0)}
    assert ledger.total == 48


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
    ledger = draw.saved_bytes(scores)
    assert ledger.total == B * L * S * A * 8
    assert [each.shape for each in ledger.references] == [(A,)]


def test_several_outputs_have_one_row():
    a, b = mg.split(leaf(4), 2)
    ledger = draw.saved_bytes(a * b)
    assert [row.op for row in ledger.rows] == ["split", "mul"]
    assert ledger.rows[0].shape == [(2,), (2,)]
    assert "2 outputs" in str(ledger)


def test_the_table():
    loss, _ = mlp()
    ledger = draw.saved_bytes(loss)
    lines = str(ledger).splitlines()
    assert repr(ledger) == str(ledger)
    assert all(len(line) <= 80 for line in lines)
    assert lines[0].split() == ["operation", "output", "keeps", "of", "it", "new"]
    total = next(line for line in lines if line.startswith("saved for backward"))
    assert total.endswith(f" {ledger.total:,}")
    assert ledger.total == sum(row.new for row in ledger.rows) > 64 * 16 * 8
    columns = {len(line) for line in lines if line.startswith(("matmul", "tanh"))}
    assert columns == {len(lines[0])}


def test_the_table_stays_narrow():
    wide = lift(named("an_operation_with_a_very_long_name", lambda x: (x, lambda g: g)))
    ledger = draw.saved_bytes(wide(leaf(*[1] * 20, 123456)))
    assert all(len(line) <= 80 for line in str(ledger).splitlines())


def named(name, function):
    function.__name__ = name
    return function


def test_a_freed_graph_has_no_ledger():
    y = mg.tanh(leaf(3)).sum()
    y.backward()
    with pytest.raises(
        RuntimeError, match=r"saved_bytes\(\) walks as backward\(\) does"
    ):
        draw.saved_bytes(y)
