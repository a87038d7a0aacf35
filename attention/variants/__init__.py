"""Variants of attention: windows, coverage, kernels of distance, linear time, steps."""
