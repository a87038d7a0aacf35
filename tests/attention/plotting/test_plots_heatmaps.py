"""Heatmaps are a grid of panels on one scale, and other shapes are refused."""

import numpy as np
import pytest

from attention.plotting import heatmaps as plots
from minigrad import Tensor

from .plot_cases import PNG, is_whole, weights


def test_heatmaps_are_a_grid_on_one_scale(tmp_path):
    w = weights(2, 3, 4, 5)
    path = tmp_path / "grid.png"
    figure = plots.show_heatmaps(
        w, "Keys", "Queries", titles=["head 1", "head 2", "head 3"], path=path
    )
    assert path.read_bytes().startswith(PNG)
    *panels, bar = figure.axes
    assert len(panels) == 6
    for panel, matrix in zip(panels, w.reshape(6, 4, 5)):
        (image,) = panel.images
        np.testing.assert_array_equal(image.get_array(), matrix)
        assert image.get_clim() == (
            0,
            w.max(),
        )  # one scale: equal colours, equal weights
    assert [p.get_title() for p in panels] == ["head 1", "head 2", "head 3", "", "", ""]
    assert [p.get_xlabel() for p in panels] == [""] * 3 + ["Keys"] * 3
    assert [p.get_ylabel() for p in panels] == ["Queries", "", ""] * 2
    assert bar.get_ylabel() == "attention weight"
    assert is_whole(figure)


def test_heatmaps_take_the_tensors_of_a_graph_and_a_title_for_each_panel():
    w = Tensor(weights(2, 2, 3, 3), requires_grad=True) * 1.0
    figure = plots.show_heatmaps(
        w, "Keys", "Queries", titles=list("abcd"), label="mass"
    )
    *panels, bar = figure.axes
    assert [p.get_title() for p in panels] == list("abcd")
    assert bar.get_ylabel() == "mass"


def test_the_page_can_draw_its_example():
    """Attention weights of shape (2, 1, 10) become one panel of two queries."""
    w = np.zeros((2, 1, 10))
    w[0, 0, :2], w[1, 0, :6] = 1 / 2, 1 / 6
    figure = plots.show_heatmaps(
        Tensor(w).reshape((1, 1, 2, 10)), xlabel="Keys", ylabel="Queries"
    )
    (image,) = figure.axes[0].images
    assert image.get_array().shape == (2, 10)
    assert image.get_clim() == (0, 0.5)


@pytest.mark.parametrize("value, scale", [(0.0, (0, 1)), (-2.0, (-2, 0))])
def test_the_scale_holds_zero_and_has_a_width(value, scale):
    figure = plots.show_heatmaps(np.full((1, 1, 2, 2), value), "Keys", "Queries")
    assert figure.axes[0].images[0].get_clim() == scale


def test_a_heatmap_of_many_keys_has_few_ticks_and_the_size_that_was_asked_for():
    figure = plots.show_heatmaps(
        weights(1, 1, 50, 70), "Keys", "Queries", figsize=(5, 4), cmap="Blues"
    )
    assert list(figure.get_size_inches()) == [5, 4]
    assert len(figure.axes[0].get_xticks()) <= 8
    assert figure.axes[0].images[0].cmap.name == "Blues"


@pytest.mark.parametrize("shape", [(3, 4), (1, 3, 4), (1, 1, 0, 4)])
def test_heatmaps_refuse_other_shapes(shape):
    with pytest.raises(ValueError) as error:
        plots.show_heatmaps(np.zeros(shape), "Keys", "Queries")
    assert str(error.value) == (
        f"show_heatmaps: matrices has shape {shape}; expected (rows, cols, n_queries, "
        "n_keys), none of them zero. One matrix m becomes a grid of one by "
        "m.reshape(1, 1, *m.shape)."
    )


def test_heatmaps_refuse_titles_that_do_not_fit():
    with pytest.raises(ValueError) as error:
        plots.show_heatmaps(weights(2, 3, 4, 4), "Keys", "Queries", titles=["a", "b"])
    assert str(error.value) == (
        "show_heatmaps: titles has 2 entries; expected 3, one for each column, or 6, "
        "one for each panel of a 2 by 3 grid."
    )
