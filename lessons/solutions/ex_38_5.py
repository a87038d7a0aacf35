"""38.5  Monotonic local attention  ●●○○  20 min  book §38.7

A query that attends to the 2 D + 1 keys around a centre has 2 D + 1 scores for any
length of the source. The result is good only if the centre is in the right place. Write
the window, then choose the centre that reverses a string.

    allowed[t, s]  =  |s - center(t)| <= D
"""

import numpy as np


def local_mask(S, T, D, center):
    """Return which keys each query may attend to.

    S keys, T queries, ``center`` a function t -> position, which may be a fraction
    ->  allowed (T, S) bool, True where the key s is in the window of the query t
    """
    # BEGIN SOLUTION
    s = np.arange(S)[None, :]  # (1, S)
    p = np.array([center(t) for t in range(T)])[:, None]  # (T, 1)
    return np.abs(s - p) <= D
    # END SOLUTION


def center_for_reversal(t, length):
    """Return the centre of the window of query t, to reverse a string of ``length``.

    Query t writes the t-th symbol of the reversed string, t = 0, 1, …
    """
    # BEGIN SOLUTION
    return length - 1 - t
    # END SOLUTION


def batch_masks(lengths, S, T, D):
    """Return the windows that reverse strings of several lengths, padded to S symbols.

    lengths (B,) ints  ->  allowed (B, T, S) bool, False for padding, s >= length
    """
    # BEGIN SOLUTION
    real = np.arange(S) < np.asarray(lengths)[:, None]  # (B, S)
    windows = [
        local_mask(S, T, D, lambda t: center_for_reversal(t, n)) for n in lengths
    ]
    return np.stack(windows) & real[:, None, :]  # no query may attend to padding
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "To reverse a string, query t needs the symbol at length - 1 - t, so even the "
    "narrowest window is enough if its centre is there. The length is that of each "
    "string: the padded length would place the window on padding."
)

HINTS = {
    "local_mask": [
        "Compare every key position, along a row, with every centre, along a column.",
    ],
    "center_for_reversal": [
        "Which symbol of the string does the first output need, and which the last?",
    ],
    "batch_masks": [
        "Each string has its own length: its own centres, and its own padding.",
    ],
    "": [
        "Write the positions of the keys as a row and the centres as a column. "
        "Broadcasting compares each with each.",
        "The row is np.arange(S)[None, :], the column has shape (T, 1). Compare the "
        "distance |s - p| of each pair with D.",
        "For the batch: build one window for each length, with the centre for this "
        "length; then exclude s >= length.",
    ],
    "off-by-one": ["Count the keys of a window with D = 1. How many are right?"],
    "half-width": ["A window with D = 3 has 7 keys: the centre and 3 on each side."],
    "wrap-around": ["Is there a key to the left of position 0?"],
    "padded-length": [
        "The last symbol of a string of 3 is at position 2, also if it is padded.",
    ],
    "padding-leak": ["A window near the end of a short string contains padding."],
    "transpose": ["Each query has a row and each key a column: (T, S), not (S, T)."],
    "not-reversed": ["Query 0 writes the last symbol. Which position has it?"],
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
