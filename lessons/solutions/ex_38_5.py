"""38.5  Monotonic local attention  ●●○○  20 min  book §38.7

A query that looks at the 2 D + 1 keys around a centre costs 2 D + 1 scores, however
long the source is. Whether that loses anything depends on where the centre is: write
the window, then put it where reversing a string needs it.

    allowed[t, s]  =  |s - center(t)| <= D
"""

import numpy as np


def local_mask(S, T, D, center):
    """Which keys each query may look at.

    S keys, T queries, ``center`` a function t -> position, whole or not
    ->  allowed (T, S) bool, True where the key s is in the window of the query t
    """
    # BEGIN SOLUTION
    s = np.arange(S)[None, :]  # (1, S)
    p = np.array([center(t) for t in range(T)])[:, None]  # (T, 1)
    return np.abs(s - p) <= D
    # END SOLUTION


def center_for_reversal(t, length):
    """Where the window of query t has to be, to reverse a string of ``length``.

    Query t writes the t-th symbol of the reversed string, t = 0, 1, …
    """
    # BEGIN SOLUTION
    return length - 1 - t
    # END SOLUTION


def batch_masks(lengths, S, T, D):
    """The windows for reversing strings of several lengths, padded to S symbols.

    lengths (B,) ints  ->  allowed (B, T, S) bool, False for padding, s >= length
    """
    # BEGIN SOLUTION
    real = np.arange(S) < np.asarray(lengths)[:, None]  # (B, S)
    windows = [
        local_mask(S, T, D, lambda t: center_for_reversal(t, n)) for n in lengths
    ]
    return np.stack(windows) & real[:, None, :]  # padding is hidden from every query
    # END SOLUTION


# FOR THE CHECK

HINTS = {
    "": [
        "Write the positions of the keys as a row and the centres as a column; "
        "broadcasting compares each with each.",
        "The row is np.arange(S)[None, :], the column has shape (T, 1); the distance "
        "|s - p| of each pair is compared with D.",
        "For the batch: one window for each length, with the centre that this length "
        "asks for; then hide s >= length.",
    ],
    "off-by-one": ["Count the keys of a window with D = 1. How many should there be?"],
    "half-width": ["A window with D = 3 has 7 keys: 3 to each side, and the centre."],
    "wrap-around": [
        "What lies to the left of position 0? Nothing, or the last symbol?"
    ],
    "padded-length": [
        "The last symbol of a string of 3 is at position 2, however far it is padded.",
    ],
    "padding-leak": ["A window near the end of a short string reaches over its end."],
    "transpose": ["Each query has a row, each key a column: (T, S), not (S, T)."],
    "not-reversed": ["Query 0 writes the last symbol. At which position is it?"],
}

MUTANTS = [
    ("np.abs(s - p) <= D", "np.abs(s - p) < D", "off-by-one"),
    ("np.abs(s - p) <= D", "np.abs(s - p) <= D / 2", "half-width"),
    ("np.abs(s - p) <= D", "(s - p) % S <= D", "one-sided"),
    (
        "np.abs(s - p) <= D",
        "np.minimum((s - p) % S, (p - s) % S) <= D",
        "wrap-around",
    ),
    ("np.abs(s - p) <= D", "np.abs(s - p) > D", "complement"),
    ("return np.abs(s - p) <= D", "return (np.abs(s - p) <= D).T", "transpose"),
    ("return length - 1 - t", "return length - t", "not-reversed"),
    ("return length - 1 - t", "return t", "not-reversed"),
    (
        "center_for_reversal(t, n)) for n",
        "center_for_reversal(t, S)) for n",
        "padded-length",
    ),
    (" & real[:, None, :]", "", "padding-leak"),
]
