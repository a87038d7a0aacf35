"""Curves of losses and bars of accuracies show each run distinctly."""

import numpy as np

from attention.plotting import curves as plots
from minigrad.draw.colours import BLUE, ORANGE, PURPLE

from .plot_cases import PNG, is_whole


def test_loss_curves_draw_each_run_faint_and_smoothed(tmp_path):
    path = tmp_path / "losses.png"
    slow, fast = np.linspace(3, 1, 40), np.linspace(3, 0.1, 40)
    figure = plots.loss_curves(
        {"dot": list(slow), "additive": list(fast)}, path, smooth=4
    )
    assert path.read_bytes().startswith(PNG)
    (panel,) = figure.axes
    assert panel.get_yscale() == "log"
    assert panel.get_ylabel() == "training loss (nats a token)"
    faint, strong, *_ = panel.lines  # the fastest first
    np.testing.assert_array_equal(faint.get_ydata(), fast)
    means = [fast[t - 3 : t + 1].mean() for t in range(3, 40)]
    np.testing.assert_allclose(strong.get_ydata(), means)
    assert list(strong.get_xdata()) == [t + 2.5 for t in range(37)]  # in the middle
    assert [t.get_text() for t in panel.get_legend().get_texts()] == [
        f"additive: {means[-1]:.2g}",
        f"dot: {slow[-4:].mean():.2g}",
    ]
    colours = [line.get_color() for line in panel.lines[::2]]
    assert colours == [BLUE, ORANGE]
    assert is_whole(figure)


def test_titles_suit_one_score_and_several():
    def titles(*names):
        losses = plots.loss_curves({name: [1.0, 0.5] for name in names})
        bars = plots.accuracy_bars({name: {3: 0.5} for name in names})
        return [figure.axes[0].get_title() for figure in (losses, bars)]

    assert all(title.startswith("Which score ") for title in titles("dot", "scaled"))
    for title in titles("dot"):
        assert title.startswith("How ") and " dot " in title
    own = plots.loss_curves({"dot": [1.0, 0.5]}, title="My title")
    assert own.axes[0].get_title() == "My title"


def test_runs_of_one_score_share_a_colour_and_not_a_dash():
    names = ["scaled, seed 1", "scaled_dot seed 2", "other"]
    figure = plots.loss_curves({name: [1.0, 0.5] for name in names})
    first, second, other = figure.axes[0].lines[1::2]
    assert first.get_color() == second.get_color() == PURPLE
    assert first.get_linestyle() != second.get_linestyle()
    assert other.get_color() not in (BLUE, ORANGE, PURPLE)


def test_accuracy_bars_stand_in_groups_by_length(tmp_path):
    path = tmp_path / "bars.png"
    accuracies = {
        "additive": {"10": 0.945, "3": 0.99, "5": 1.0},  # as JSON has them, unsorted
        "scaled": {"3": 0.4, "5": 0.0, "10": 0.13},
    }
    figure = plots.accuracy_bars(accuracies, path)
    assert path.read_bytes().startswith(PNG)
    (panel,) = figure.axes
    assert [t.get_text() for t in panel.get_xticklabels()] == ["3", "5", "10"]
    assert panel.get_ylabel() == "accuracy a token, teacher-forced"
    additive, scaled = panel.containers
    assert [bar.get_height() for bar in additive] == [0.99, 1.0, 0.945]
    assert [bar.get_height() for bar in scaled] == [0.4, 0.0, 0.13]
    for n, (left, right) in enumerate(zip(additive, scaled)):
        assert left.get_x() + left.get_width() <= right.get_x() + 1e-9
        assert n - 0.5 < left.get_x() and right.get_x() + right.get_width() < n + 0.5
    assert additive[0].get_facecolor() != scaled[0].get_facecolor()
    written = [t.get_text() for t in panel.texts]
    assert written == [".99", "1.00", ".94", ".40", "0", ".13"]
    (legend,) = figure.legends
    assert [t.get_text() for t in legend.get_texts()] == ["additive", "scaled"]
    assert is_whole(figure)
