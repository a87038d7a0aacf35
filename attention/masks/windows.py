"""Masks by distance: causal, sliding windows, dilated windows.

    -left <= j - (i + offset) <= right

The position of query i among the keys is i + offset. With offset 0 ("upper_left"),
query 0 has the position of key 0. With offset S - L ("lower_right"), the last query has
the position of the last key, as when the queries are the last L tokens of a sequence
and a cache holds the keys of the earlier ones.

A window of w keys allows L w of the L S pairs: time and memory grow with L instead of
L S. It suits text in which near tokens matter most. A dilated window reaches farther at
the same cost. Both together are strided attention. With l = sqrt(n), each of n queries
has about 2 sqrt(n) keys:

    causal & (sliding_window(l - 1, 0) | dilated(n, l))

Beltagy et al. 2020, section 3.1; Child et al. 2019 (strided).
"""

import numpy as np

from minigrad.arguments import whole

from ..variants.row import Pattern
from .algebra import UNSIZED, Mask, clip_ranges

FAR = 2**61  # beyond every key with any offset; FAR + offset is still an int64


class sliding_window(Mask):
    """The keys near the query: position - left <= key <= position + right.

    left, right   the number of keys before the position and after it; -1 means all
                  keys on that side. The position itself belongs to the window, which
                  has left + 1 + right keys, fewer at the borders. A window of the last
                  W keys, as in Mistral, is sliding_window(W - 1, 0)
    offset        position = i + offset: a whole number, "upper_left" or "lower_right"

    Beltagy et al. 2020, section 3.1; FlashAttention's window_size = (left, right)
    counts in the same way.
    """

    name = "sliding_window"

    def __init__(self, left, right, offset=0):
        self.left = whole(self.name, "left", left, least=-1)
        self.right = whole(self.name, "right", right, least=-1)
        self.offset = self._validated(offset)

    def allowed(self, b, h, q, kv):
        """Return -left <= key - position <= right."""
        if self.offset == "lower_right":
            raise ValueError(UNSIZED.format(self))
        distance = kv - q - self.offset
        left, right = self._reach()
        return (-left <= distance) & (distance <= right)

    def key_ranges(self, L, S):
        """Return the ranges from position - left to position + right."""
        offset = S - L if self.offset == "lower_right" else self.offset
        position = np.arange(L).reshape(1, 1, L) + offset
        left, right = self._reach()
        return clip_ranges(position - left, position + right + 1, S)

    def _validated(self, offset):
        if not isinstance(offset, str):
            offset = whole(self.name, "offset", offset, least=None)
            return max(-FAR // 2, min(offset, FAR // 2))
        if offset not in ("upper_left", "lower_right"):
            raise ValueError(
                f"{self.name}: offset is {offset!r}; expected a whole number, "
                "'upper_left' or 'lower_right'."
            )
        return 0 if offset == "upper_left" else offset

    def _reach(self):
        return [FAR if n == -1 else min(n, FAR) for n in (self.left, self.right)]

    def _repr(self, *numbers):
        offset = [f"offset={self.offset!r}"] if self.offset != 0 else []
        arguments = ", ".join([*map(str, numbers), *offset])
        return f"{self.name}({arguments})" if arguments else self.name

    def __repr__(self):
        return self._repr(self.left, self.right)


class _Causal(sliding_window):
    """No key after the query: key <= position, the window (-1, 0).

    ``causal`` is a mask with offset 0, called as causal(b, h, q_idx, kv_idx). For
    another offset, call causal(offset="lower_right"), which returns another mask.
    """

    name = "causal"

    def __init__(self, offset=0):
        super().__init__(-1, 0, offset)

    def __call__(self, *indices, offset=None, **named):
        mask = self if offset is None else _Causal(offset)
        given = len(indices) + len(named)
        if not given:
            return mask
        if given != 4:
            raise TypeError(
                f"causal: found {given} arguments; expected causal(b, h, q_idx, "
                "kv_idx) or causal(offset=3)."
            )
        return Mask.__call__(mask, *indices, **named)

    def __repr__(self):
        return self._repr()


causal = _Causal()


class dilated(sliding_window):
    """Every ``dilation``-th key near the query, on both sides of its position.

        |key - position| <= window  and  key - position is a multiple of dilation

    ``window`` is the largest distance. There are 2 (window // dilation) + 1 keys, fewer
    at the borders. Beltagy et al. 2020, section 3.1.
    """

    name = "dilated"

    def __init__(self, window, dilation, offset=0):
        window = whole(self.name, "window", window)
        super().__init__(window, window, offset)
        self.dilation = whole(self.name, "dilation", dilation, least=1)

    def allowed(self, b, h, q, kv):
        """Return whether the key is in the window, at a multiple of dilation."""
        near = super().allowed(b, h, q, kv)
        return near & ((kv - q - self.offset) % self.dilation == 0)

    def key_ranges(self, L, S):
        """Return None: there are gaps between the keys."""
        return None

    def rows(self, b, h, q, L, S):
        """Return ``allowed`` with the offset that "lower_right" means for L and S."""
        offset = S - L if self.offset == "lower_right" else self.offset
        mask = dilated(self.left, self.dilation, offset)
        return mask.allowed(b, h, q[:, None], np.arange(S))

    def __repr__(self):
        return self._repr(self.left, self.dilation)


# ---- The rows of the table, and how many pairs of L queries and S keys they keep ----


def window_pairs(L, S, left=-1, right=-1):
    """Count the pairs with i - left <= j <= i + right."""
    low, high = window_ends(np.arange(L), S, left, right)
    return int((high - low).sum())


def dilated_pairs(L, S, window, dilation):
    """Count the pairs up to a distance, with j - i a multiple of the dilation."""
    i = np.arange(L)
    low, high = window_ends(i, S, window, window)
    # the multiples of the dilation among the distances low - i, ..., high - 1 - i
    multiples = (high - 1 - i) // dilation - (low - 1 - i) // dilation
    return int(multiples.sum())


def strided_pairs(L, S, stride):
    """Count the pairs of strided attention: the last keys, and multiples before."""
    i = np.arange(L)
    low, high = window_ends(i, S, stride - 1, 0)
    # the multiples of the stride among the distances from stride, or i - S + 1, to i
    nearest = np.maximum(-(-(i - S + 1) // stride), 1)
    return int((high - low + np.maximum(i // stride - nearest + 1, 0)).sum())


def window_ends(i, S, left, right):
    """Return low and high: query i has the keys low <= j < high of a window."""
    low = np.clip(i - left, 0, S) if left >= 0 else np.zeros_like(i)
    high = np.clip(i + right + 1, 0, S) if right >= 0 else np.full_like(i, S)
    return low, high


def strided(stride):
    """Return the mask of the last keys, and of every ``stride``-th key before them."""
    return causal & (sliding_window(stride - 1, 0) | dilated(2**31, stride))


ROWS = [
    Pattern(
        "window", sliding_window,
        pairs=window_pairs,
        options=dict(left=255, right=0),
        small=dict(left=2, right=1),
        about="""mask: only the keys from i - left to i + right
        can read texts of any length at a fixed cost for each token
        cannot move information further than the window in one layer
        lesson 12: lookup by distance; Beltagy et al. 2020""",
    ),
    Pattern(
        "dilated", dilated,
        pairs=dilated_pairs,
        options=dict(window=256, dilation=2),
        small=dict(window=4, dilation=2),
        about="""mask: only every d-th key of a window
        can read d times as far as a window, at the same cost
        cannot read the keys between, whose distance is no multiple of d
        lesson 12: lookup by distance; Beltagy et al. 2020""",
    ),
    Pattern(
        "strided", strided,
        pairs=strided_pairs,
        options=dict(stride=1024),  # the root of a million tokens
        small=dict(stride=2),
        about="""mask: the last l keys, and every l-th key before them
        can connect any two tokens in two layers, l being the root of n
        cannot read a far key in one layer, if its distance is no multiple of l
        lesson 12: lookup by distance; Child et al. 2019""",
    ),
]  # fmt: skip
