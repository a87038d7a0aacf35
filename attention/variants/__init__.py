"""Attention with other weights: windows, coverage, kernels, linear time, steps."""
