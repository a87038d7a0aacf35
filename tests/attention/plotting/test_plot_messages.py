"""Messages of the plots about wrong arguments."""

import numpy as np
import pytest

from attention.plotting.curves import accuracy_bars, loss_curves
from attention.plotting.heatmaps import (
    alignment_heatmap,
    heads_heatmap,
    show_heatmaps,
)

from ...messages import check_message
from .plot_cases import PNG, weights

W, ABC, DE = weights(2, 3), list("abc"), list("de")


@pytest.mark.parametrize("call, error, fragments", [
    (lambda: show_heatmaps(np.zeros((3, 4)), "K", "Q"), ValueError,
     ("(3, 4)", "(rows, cols, n_queries, n_keys)", "m[None, None]")),
    (lambda: show_heatmaps(weights(1, 1, 4, 5), "K", "Q", keys=DE), ValueError,
     ["keys has 2 words; expected 5, as many as matrices (1, 1, 4, 5) has keys"]),
    (lambda: show_heatmaps(weights(1, 1, 4, 5), "K", "Q", queries="abcd"), TypeError,
     ["queries is one string", "list(queries) for letters"]),
    (lambda: show_heatmaps(weights(2, 3, 4, 4), "K", "Q", titles=DE), ValueError,
     ("titles has 2", "expected 3", "or 6")),
    (lambda: alignment_heatmap(weights(1, 2, 3), ABC, DE), ValueError,
     ("weights has shape (1, 2, 3)", "(T_target, S_source)")),
    (lambda: alignment_heatmap(W, DE, DE), ValueError,
     ("source has 2 words; expected 3", "(2, 3) has columns")),
    (lambda: alignment_heatmap(W, "abc", DE), TypeError,
     ("source is one string, 'abc'", "list(source) for letters")),
    (lambda: heads_heatmap(W, ABC), ValueError,
     ("heads_heatmap: weights has shape (2, 3)", "expected (layers, H, n)")),
    (lambda: heads_heatmap(weights(1, 2, 3), DE), ValueError,
     ("heads_heatmap: words has 2 words; expected 3", "(1, 2, 3) has keys")),
    (lambda: alignment_heatmap(W, ABC, DE, gold=[(2, 0)]), ValueError,
     ("gold pair (2, 0)", "(2, 3)")),
    (lambda: loss_curves({}), ValueError, ("histories has 0 runs",)),
    (lambda: loss_curves({"dot": [1.0]}, smooth=0), ValueError, ("smooth is 0",)),
    (lambda: loss_curves({"dot": [[1.0, 2.0]]}), ValueError, ("'dot'", "(1, 2)")),
    (lambda: accuracy_bars({}), ValueError, ("accuracies is empty",)),
    (lambda: accuracy_bars({"dot": {3: 0.5, 5: 0.5}, "scaled": {3: 0.5}}), ValueError,
     ("'scaled' has lengths [3]; expected [3, 5]",)),
    (lambda: accuracy_bars({"dot": {3: 99.6}}), ValueError, ("'dot'", "99.6")),
])  # fmt: skip
def test_message(call, error, fragments):
    check_message(call, fragments, error)


def test_a_figure_shows_itself_in_a_notebook():
    assert loss_curves({"dot": [1.0, 0.5]})._repr_png_().startswith(PNG)
