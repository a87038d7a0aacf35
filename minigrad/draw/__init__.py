"""Figures and their colours, and the bytes that a graph keeps for its backward.

    print(draw.saved_bytes(loss))

matplotlib is imported when the first figure is made, not before.
"""

from .saved_bytes import saved_bytes

__all__ = ["saved_bytes"]
