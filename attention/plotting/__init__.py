"""Figures of attention: heatmaps of weights, training curves."""

from .curves import accuracy_bars, loss_curves
from .heatmaps import alignment_heatmap, show_heatmaps

__all__ = [
    "show_heatmaps",
    "alignment_heatmap",
    "loss_curves",
    "accuracy_bars",
]
