"""38.5  Monotonic local attention  ●●○○  20 min  book §38.7

A query that looks at the 2 D + 1 keys around a centre costs 2 D + 1 scores, however
long the source is. Whether that loses anything depends on where the centre is: write
the window, then put it where reversing a string needs it.

    allowed[t, s]  =  |s - center(t)| <= D
"""

import numpy as np

from lessons import NotWritten


def local_mask(S, T, D, center):
    """Which keys each query may look at.

    S keys, T queries, ``center`` a function t -> position, whole or not
    ->  allowed (T, S) bool, True where the key s is in the window of the query t
    """
    raise NotWritten("38.5 local_mask")


def center_for_reversal(t, length):
    """Where the window of query t has to be, to reverse a string of ``length``.

    Query t writes the t-th symbol of the reversed string, t = 0, 1, …
    """
    raise NotWritten("38.5 center_for_reversal")


def batch_masks(lengths, S, T, D):
    """The windows for reversing strings of several lengths, padded to S symbols.

    lengths (B,) ints  ->  allowed (B, T, S) bool, False for padding, s >= length
    """
    raise NotWritten("38.5 batch_masks")
