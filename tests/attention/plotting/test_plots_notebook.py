"""A picture shows itself in a notebook, and pyplot is never involved."""

import subprocess
import sys

from attention.plotting import curves

from .plot_cases import PNG


def test_a_notebook_gets_a_picture():
    figure = curves.loss_curves({"dot": [1.0, 0.5]})
    assert figure._repr_png_().startswith(PNG)


def test_pyplot_is_never_involved():
    code = """
import sys
import numpy as np
from attention.plotting import curves, heatmaps
assert "matplotlib" not in sys.modules
heatmaps.show_heatmaps(np.eye(2).reshape(1, 1, 2, 2), "Keys", "Queries")
heatmaps.alignment_heatmap(np.eye(2), ["a", "b"], ["c", "d"], gold=[(0, 0)])
curves.loss_curves({"dot": [1.0, 0.5]})
curves.accuracy_bars({"dot": {3: 1.0}})
assert "matplotlib" in sys.modules and "matplotlib.pyplot" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
