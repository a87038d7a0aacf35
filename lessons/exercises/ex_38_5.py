"""38.5  Monotonic local attention  ●●○○  20 min  book §38.7

A query that attends to the 2 D + 1 keys around a centre has 2 D + 1 scores for any
length of the source. The result is good only if the centre is in the right place. Write
the window, then choose the centre that reverses a string.

    allowed[t, s]  =  |s - center(t)| <= D
"""

import numpy as np

from lessons import NotWritten


def local_mask(S, T, D, center):
    """Return which keys each query may attend to.

    S keys, T queries, ``center`` a function t -> position, which may be a fraction
    ->  allowed (T, S) bool, True where the key s is in the window of the query t
    """
    raise NotWritten("38.5 local_mask")


def center_for_reversal(t, length):
    """Return the centre of the window of query t, to reverse a string of ``length``.

    Query t writes the t-th symbol of the reversed string, t = 0, 1, …
    """
    raise NotWritten("38.5 center_for_reversal")


def batch_masks(lengths, S, T, D):
    """Return the windows that reverse strings of several lengths, padded to S symbols.

    lengths (B,) ints  ->  allowed (B, T, S) bool, False for padding, s >= length
    """
    raise NotWritten("38.5 batch_masks")
