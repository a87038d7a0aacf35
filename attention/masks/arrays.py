"""A mask given as a bool array."""

import numpy as np

from minigrad.arguments import plain
from minigrad.draw.html import grid

from .algebra import Mask


class from_array(Mask):
    """A mask from a bool array: True means that the query may attend to the key.

    array   (L, S), (B, L, S) or (B, H, L, S), copied; an axis of length 1 is broadcast
    """

    def __init__(self, array):
        array = plain(array)
        if array.dtype != bool:
            raise TypeError(
                f"from_array: array is {array.dtype}; expected bool, where True = may "
                "attend. For a mask of ones and zeros, write array == 1."
            )
        if not 2 <= array.ndim <= 4:
            raise ValueError(
                f"from_array: array has shape {array.shape}; expected (L, S), "
                "(B, L, S) or (B, H, L, S)."
            )
        if array.ndim == 3:
            array = array[:, None]
        self.array = np.array(array, ndmin=4)  # (B | 1, H | 1, L | 1, S | 1)
        self.examples, self.heads = (
            n if n != 1 else None for n in self.array.shape[:2]
        )

    def check(self, L, S):
        """Raise ValueError unless the array fits L and S."""
        if any(m not in (1, n) for m, n in zip(self.array.shape[2:], (L, S))):
            raise ValueError(
                f"{self}: found {L} queries and {S} keys; expected an array whose last "
                "two axes are these numbers, or 1."
            )

    def allowed(self, b, h, q, kv):
        """Return entries of the array; index 0 on the axes of length 1."""
        axes = zip((b, h, q, kv), self.array.shape)
        return self.array[tuple(0 if n == 1 else x for x, n in axes)]

    def rows(self, b, h, q, L, S):
        """Return rows of the array, which is faster than its entries."""
        return self.array if self.array.shape[2] == 1 else self.array[:, :, q]

    def _repr_html_(self):
        return grid(self.array[0, 0], str(self))

    def __repr__(self):
        return f"from_array({self.array.shape})"
