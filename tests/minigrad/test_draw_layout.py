"""The boxes and lines of a picture keep out of each other's way."""

import functools
import itertools

import numpy as np
import pytest

import minigrad as mg
from minigrad import draw
from minigrad.draw.layering import Arrangement, nearest_ascending
from minigrad.tensor import Tensor

from .draw_cases import Seen, diamond, leaf, mlp, overlap, rng


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
    **{f"tangle {seed}": lambda seed=seed: tangle(seed) for seed in range(2)},
}


def within(a, b):
    return b.x0 <= a.x0 and a.x1 <= b.x1 and b.y0 <= a.y0 and a.y1 <= b.y1


@functools.cache
def picture(name):
    result, names = GRAPHS[name]()
    return Seen(draw.graph(result, names=names))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.deep] if name == "tangle 1" else [])
        for name in GRAPHS
    ],
)
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


def test_inputs_stand_from_left_to_right():
    names = {name: leaf(2, 2) for name in "abc"}
    product = names["a"] @ names["b"] + names["c"]
    seen = Seen(draw.graph(product, names=names))
    places = {text: where.x0 for text, where in seen.texts}
    assert places["a"] < places["b"] and places["matmul"] < places["c"]


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
    plan = Arrangement(inputs, [1.0] * 6, 0.2)
    for v, each in enumerate(inputs):
        assert all(plan.row[u] < plan.row[v] for u in each)
    assert plan.path(1, 5) == [1, (1, 1), (1, 2), 5]


def test_crossings_are_undone():
    """Two chains side by side, given in an order in which they cross at every row."""
    inputs = [[], [], [1], [0], [3], [2], [4, 5]]
    plan = Arrangement(inputs, [1.0] * 7, 0.2)
    assert plan.crossings(plan.rows) == 0
