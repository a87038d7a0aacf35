"""Heatmaps share one scale; an alignment shows words and gold pairs."""

import numpy as np
import pytest

from attention.plotting import heatmaps as plots
from minigrad import Tensor

from .plot_cases import PNG, is_whole, overlap, weights


def test_heatmaps_are_a_grid_on_one_scale(tmp_path):
    w = weights(2, 3, 4, 5)
    path = tmp_path / "grid.png"
    figure = plots.show_heatmaps(
        Tensor(w), "Keys", "Queries", titles=["head 1", "head 2", "head 3"], path=path
    )
    assert path.read_bytes().startswith(PNG)
    *panels, bar = figure.axes
    assert len(panels) == 6
    for panel, matrix in zip(panels, w.reshape(6, 4, 5)):
        (image,) = panel.images
        np.testing.assert_array_equal(image.get_array(), matrix)
        assert image.get_clim() == (0, 1)  # one scale
    assert [p.get_title() for p in panels] == ["head 1", "head 2", "head 3", "", "", ""]
    assert [p.get_xlabel() for p in panels] == [""] * 3 + ["Keys"] * 3
    assert [p.get_ylabel() for p in panels] == ["Queries", "", ""] * 2
    assert bar.get_ylabel() == "attention weight"
    assert is_whole(figure)


def texts(panel):
    """Return the words across and down, and {(row, column): text}."""
    axes = panel.get_xticklabels(), panel.get_yticklabels()
    across, down = ([label.get_text() for label in each] for each in axes)
    cells = {t.get_position()[::-1]: t.get_text() for t in panel.texts}
    return across, down, cells


@pytest.mark.parametrize("rows, cols", [(1, 1), (2, 3)])
def test_heatmaps_with_words_and_values(rows, cols):
    w = np.tile([[0, 0.25, 0.75], [1, 0, 0]], (rows, cols, 1, 1))
    words = {"keys": "the black cat".split(), "queries": "le chat".split()}
    figure = plots.show_heatmaps(w, "source", "target", **words, values=True)
    panel = figure.axes[-1 - cols]  # at the left, at the bottom; the last is the bar
    across, down, cells = texts(panel)
    assert (across, down) == tuple(words.values())
    expected = ["0", ".25", ".75"], ["1.00", "0", "0"]
    assert cells == {(i, j): expected[i][j] for i in range(2) for j in range(3)}
    assert is_whole(figure) and not overlap(figure, panel.get_xticklabels())
    assert not overlap(figure, panel.texts)


@pytest.mark.parametrize("n, figsize", [(40, None), (12, (4, 4))])
def test_words_and_values_that_do_not_fit_are_left_out(n, figsize):
    words = [f"word{i}" for i in range(n)]
    figure = plots.show_heatmaps(
        weights(1, 1, n, n), "K", "Q", figsize=figsize,
        keys=words, queries=words, values=True,
    )  # fmt: skip
    across, down, cells = texts(figure.axes[0])
    step = words.index(across[1])
    assert across == down == words[::step] and step > 1 and not cells
    for axis in figure.axes[0].get_xticklabels(), figure.axes[0].get_yticklabels():
        assert not overlap(figure, axis)


@pytest.mark.parametrize(
    "value, scale", [(0.0, (0, 1)), (0.1, (0, 1)), (-2.0, (-2, 1)), (3.0, (0, 3))]
)
def test_the_scale_is_that_of_weights_or_wider(value, scale):
    w = np.full((2, 2), value)
    for figure in (
        plots.show_heatmaps(w[None, None], "Keys", "Queries"),
        plots.alignment_heatmap(w, list("ab"), list("cd")),
    ):
        assert figure.axes[0].images[0].get_clim() == scale


@pytest.mark.parametrize("cols", [1, 3])
def test_panel_titles_are_not_wider_than_their_panels(cols):
    titles = [f"additive attention of the decoder, head {i}" for i in range(cols)]
    figure = plots.show_heatmaps(weights(1, cols, 4, 5), "Keys", "Queries", titles)
    panels = figure.axes[:cols]
    assert [" ".join(p.get_title().split()) for p in panels] == titles
    assert is_whole(figure) and not overlap(figure, [p.title for p in panels])
    for panel in panels:
        title, picture = (x.get_window_extent() for x in (panel.title, panel))
        assert title.width <= picture.width * 1.05


def test_an_alignment_has_the_source_across_and_the_target_down(tmp_path):
    source, target = "the black cat".split(), "le chat noir <eos>".split()
    w = np.array([[1, 0, 0], [0, 0.25, 0.75], [0, 0.996, 0.004], [1 / 3] * 3])
    path = tmp_path / "alignment.png"
    figure = plots.alignment_heatmap(
        w, source, target, title="Do they swap?", path=path, gold=[(1, 2), (2, 1)]
    )
    assert path.read_bytes().startswith(PNG)
    panel, _ = figure.axes
    assert [t.get_text() for t in panel.get_xticklabels()] == source
    assert [t.get_text() for t in panel.get_yticklabels()] == target
    assert panel.yaxis_inverted()  # the first target word on top
    assert figure.get_suptitle() == "Do they swap?"
    np.testing.assert_array_equal(panel.images[0].get_array(), w)
    written = {(t.get_position()): t.get_text() for t in panel.texts}
    assert len(written) == 12
    assert written[0, 0] == "1.00" and written[1, 0] == "0"  # an exact zero
    assert written[2, 1] == ".75" and written[2, 2] == ".00"  # a small weight
    colours = {t.get_position(): t.get_color() for t in panel.texts}
    assert (colours[0, 0], colours[1, 0]) == ("white", "black")  # on dark, on pale
    centres = [
        (p.get_y() + p.get_height() / 2, p.get_x() + p.get_width() / 2)
        for p in panel.patches
    ]
    np.testing.assert_allclose(centres, [(1, 2), (2, 1)])
    assert is_whole(figure)


@pytest.mark.deep
def test_thirty_words_stay_legible(letters=14):
    """No label is cut off or runs into another, and at 800 pixels a letter has 9."""
    source = ["w" * letters] * 30
    target = ["w" * letters] * 32
    figure = plots.alignment_heatmap(
        weights(32, 30), source, target, title="Thirty words", gold=[(0, 0)]
    )
    panel = figure.axes[0]
    assert not panel.texts  # the cells are too small for numbers
    across, down = panel.get_xticklabels(), panel.get_yticklabels()
    assert not overlap(figure, across) and not overlap(figure, down)
    assert is_whole(figure)
    assert across[0].get_fontsize() / 72 * 800 / figure.get_figwidth() >= 9


def test_letters_are_upright_and_words_are_rotated():
    for words, rotation in (list("abc"), 0), (["one", "word", "alone"], 90):
        figure = plots.alignment_heatmap(weights(3, 3), words, list("xyz"))
        labels = figure.axes[0].get_xticklabels()
        assert {label.get_rotation() for label in labels} == {rotation}
        assert not overlap(figure, labels)


def test_a_long_title_is_wrapped_and_not_cut_off():
    title = "Are the attention weights of one word always equal to one?"
    figure = plots.alignment_heatmap(np.ones((1, 1)), ["a"], ["b"], title=title)
    assert "\n" in figure.get_suptitle()
    assert figure.get_suptitle().split() == title.split()
    assert is_whole(figure)


@pytest.mark.parametrize("n", [2, 300])
def test_the_heads_of_all_layers_are_rows_of_one_picture(n, tmp_path):
    w, words = weights(4, 3, n), [f"word{j}" for j in range(n)]
    figure = plots.heads_heatmap(w, words, "Where?", tmp_path / "heads.png")
    panel, bar = figure.axes
    (image,) = panel.images
    np.testing.assert_array_equal(image.get_array(), w.reshape(12, n))
    assert [t.get_text() for t in panel.get_yticklabels()] == ["0", "1", "2", "3"]
    assert list(panel.get_yticks()) == [1, 4, 7, 10]  # the middle of three rows
    shown = [t.get_text() for t in panel.get_xticklabels()]
    assert shown == words[:: -(-n // 45)]
    assert panel.get_xlabel() == "token that is read"
    assert panel.get_ylabel() == "layer, with 3 heads"
    assert bar.get_ylabel() == "attention weight"
    assert is_whole(figure) and not overlap(figure, panel.get_xticklabels())
