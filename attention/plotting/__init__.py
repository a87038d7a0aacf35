"""Figures of attention: heatmaps of weights, pictures of masks, training curves."""

from .curves import accuracy_bars, loss_curves
from .heatmaps import alignment_heatmap, show_heatmaps
from .masks import show_masks

__all__ = [
    "show_heatmaps",
    "alignment_heatmap",
    "show_masks",
    "loss_curves",
    "accuracy_bars",
]
