"""Pictures for lesson 19: coloured shapes and digits, drawn with NumPy in patches.

A picture consists of square patches of P x P pixels. ``shapes`` puts a coloured shape
into each patch, and ``numbers`` one digit into each column of patches, at any row.
"""

import functools

import numpy as np

P = 8  # pixels of a side of a patch
SIDE = 5  # patches of a side of a picture of shapes
COLUMNS, ROWS = 3, 3  # patches of a picture of digits: one digit in each column

COLOURS = np.array(
    [
        [0.9, 0.1, 0.1], [0.1, 0.7, 0.2], [0.2, 0.3, 1.0],
        [0.9, 0.8, 0.1], [0.8, 0.2, 0.8], [0.2, 0.8, 0.9],
    ],
    np.float32,
)  # fmt: skip
NAMES = ("red", "green", "blue", "yellow", "violet", "cyan")

DIGITS = (  # five rows of three pixels each
    "111101101101111", "010110010010111", "111001111100111", "111001111001111",
    "101101111001001", "111100111001111", "111100111101111", "111001010010010",
    "111101111101111", "111101111001111",
)  # fmt: skip


@functools.cache
def outlines():
    """Return a disc, a square, a cross and a triangle: (4, P, P), of 0 and 1."""
    y, x = np.mgrid[:P, :P] - (P - 1) / 2
    disc = x**2 + y**2 < 9
    square = np.maximum(abs(x), abs(y)) < 3
    cross = (np.minimum(abs(x), abs(y)) < 1) & (np.maximum(abs(x), abs(y)) < 3)
    triangle = (abs(x) < (y + 3.5) / 2 + 0.3) & (y < 3)
    return np.stack([disc, square, cross, triangle]).astype(np.float32)


def joined(patches):
    """Put patches (B, rows, columns, P, P, C) together: (B, rows P, columns P, C)."""
    B, rows, columns, _, _, C = patches.shape
    return patches.transpose(0, 1, 3, 2, 4, 5).reshape(B, rows * P, columns * P, C)


def noisy(pictures, rng):
    return pictures + 0.1 * rng.standard_normal(pictures.shape, np.float32)


def shapes(rng, B, side=SIDE):
    """Draw pictures (B, side P, side P, 3) and the colours (B, side, side) in them."""
    colour = rng.integers(len(COLOURS), size=(B, side, side))
    outline = outlines()[rng.integers(4, size=(B, side, side))]  # (B, side, side, P, P)
    painted = outline[..., None] * COLOURS[colour][..., None, None, :]
    return noisy(joined(painted), rng), colour


@functools.cache
def glyphs():
    """Return each digit at each place in a patch: (10, 4 * 6, P, P), of 0 and 1."""
    result = np.zeros((10, 4, 6, P, P), np.float32)
    for d, word in enumerate(DIGITS):
        pixels = np.array(list(word), int).reshape(5, 3)
        for top in range(4):
            for left in range(6):
                result[d, top, left, top : top + 5, left : left + 3] = pixels
    return result.reshape(10, 24, P, P)


def numbers(rng, B):
    """Draw pictures (B, ROWS P, COLUMNS P, 1) of numbers, and shapes between the digits.

    Also return the digits (B, COLUMNS), from the left, and the row of each.
    """
    digit = rng.integers(10, size=(B, COLUMNS))
    row = rng.integers(ROWS, size=(B, COLUMNS))
    place = rng.integers(24, size=(B, COLUMNS))
    is_shape = rng.random((B, ROWS, COLUMNS, 1, 1)) < 0.5  # the other places are empty
    patches = outlines()[rng.integers(4, size=(B, ROWS, COLUMNS))] * is_shape
    b, column = np.arange(B)[:, None], np.arange(COLUMNS)
    patches[b, row, column] = glyphs()[digit, place]
    return noisy(joined(patches[..., None]), rng), digit, row
