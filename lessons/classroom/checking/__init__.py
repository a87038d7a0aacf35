"""Run an answer with limits, compare its results, and name its mistakes."""
