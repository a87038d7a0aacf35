"""Figures of attention: heatmaps of weights, pictures of masks, training curves."""
