"""Words and names of data are shown as they are, whatever letters they have."""

import io

import numpy as np
import pytest
from matplotlib.text import Text

from attention.plotting import (
    accuracy_bars,
    alignment_heatmap,
    loss_curves,
    show_heatmaps,
)

PLOTS = {  # name -> the figure, with the name wherever a caller may pass one
    "loss_curves": lambda x: loss_curves({x: [1.0, 2], "b": [3.0]}, title=x, ylabel=x),
    "one loss": lambda x: loss_curves({x: [1.0, 2]}),
    "bars": lambda x: accuracy_bars({x: {3: 0.5}, "b": {3: 0.6}}),
    "alignment": lambda x: alignment_heatmap(np.eye(2), [x, "b"], ["c", x], title=x),
    "heatmaps": lambda x: show_heatmaps(np.ones((1, 1, 2, 2)), x, x, [x]),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", [
    "$5 and $6", "_a",
    *(pytest.param(x, marks=pytest.mark.deep)
      for x in (r"$\frac{$", r"\$", "a_b", r"\n", "%")),
])  # fmt: skip
@pytest.mark.parametrize("plot", PLOTS)
def test_a_name_is_no_formula_and_is_in_the_legend(plot, name):
    figure = PLOTS[plot](name + "\t\x07\r")  # control characters become spaces
    figure.savefig(io.BytesIO())
    with_name = [text for text in figure.findobj(Text) if name in text.get_text()]
    assert with_name
    assert not any(t.get_parse_math() for t in with_name if "$" in t.get_text())
    for legend in [*figure.legends, *filter(None, [p.get_legend() for p in figure.axes])]:
        assert any(text.get_text().startswith(name) for text in legend.get_texts())


def test_the_numbers_of_a_logarithmic_axis_stay_formulas():
    figure = loss_curves({"$a": [1e-3, 1.0, 1e3]}, smooth=1)
    figure.canvas.draw()
    labels = figure.axes[0].get_yticklabels()
    assert labels and all(t.get_parse_math() for t in labels if "$" in t.get_text())


def test_names_with_an_underscore_have_colours_of_their_own():
    first, second = loss_curves({"_a": [1.0], "_b": [2.0]}).axes[0].lines[1::2]
    assert first.get_color() != second.get_color()


def test_a_loss_of_nan_is_last_in_the_legend():
    runs = {"a": [np.nan], "b": [3.0], "c": [1.0]}
    texts = loss_curves(runs).axes[0].get_legend().get_texts()
    assert [t.get_text()[0] for t in texts] == ["c", "b", "a"]
