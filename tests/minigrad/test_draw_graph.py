"""The picture of a graph says what backward() does, and changes nothing."""

import io

import numpy as np
import pytest

import minigrad as mg
from minigrad import draw
from minigrad.tensor import Tensor

from .draw_cases import Seen, diamond, leaf, mlp


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
    assert "The operations that backward() uses" in words
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


def test_only_named_results_have_a_value():
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


def test_nan_and_infinity_stand_out():
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
        RuntimeError, match=r"graph\(\) walks as backward\(\) does\. .*deleted"
    ):
        draw.graph(loss)


def test_files_and_axes(tmp_path):
    from matplotlib.figure import Figure

    result, names = diamond()
    assert draw.graph(result)._repr_png_().startswith(b"\x89PNG")  # in a notebook
    begins = {"g.png": b"\x89PNG", "g.svg": b"<?xml", "g.pdf": b"%PDF"}
    for name, magic in begins.items():
        draw.graph(result, tmp_path / name, names=names)
        assert (tmp_path / name).read_bytes().startswith(magic)
    draw.graph(result, tmp_path / "h", names=names)  # without a suffix: a PNG
    file = io.BytesIO()
    draw.graph(result, file)
    assert (tmp_path / "h.png").exists() and file.getvalue().startswith(b"\x89PNG")
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
        for function in (draw.graph, draw.saved_bytes):
            with pytest.raises(
                ValueError, match=r"shape \(\d,\), has no graph: it is a l"
            ):
                function(tensor)
