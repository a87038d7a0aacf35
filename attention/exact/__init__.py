"""Exact attention: the whole matrix of scores, the same in tiles, and many heads."""
