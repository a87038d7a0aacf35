"""Patches of images, and rotations by row and column."""

import numpy as np
import pytest

import attention as A
import minigrad as mg

from ...minigrad.array_cases import draw


def test_patches_are_squares_row_by_row():
    (image,) = draw((2, 6, 9, 2))
    x = A.patches(image, 3).data
    assert x.shape == (2, 6, 18)
    for i, (row, column) in enumerate(zip(*A.grid(2, 3))):
        square = image[:, 3 * row : 3 * row + 3, 3 * column : 3 * column + 3]
        np.testing.assert_array_equal(x[:, i], square.reshape(2, -1))
    assert mg.gradcheck(lambda x: A.patches(x, 3), [image])


def test_patches_must_fit():
    with pytest.raises(ValueError, match="6 x 9 pixels and size is 2; expected a size"):
        A.patches(np.zeros((6, 9, 1)), 2)


def test_a_rotated_product_depends_on_both_differences_only():
    q, k = draw((1, 8), (1, 8))

    def product(rows, columns):
        a, b = (
            A.rope_2d(x, np.array([r]), np.array([c])).data
            for x, r, c in zip((q, k), rows, columns)
        )
        return (a @ b.T).item()

    assert product((1, 3), (5, 4)) == pytest.approx(product((4, 6), (2, 1)))
    assert product((1, 3), (5, 4)) != pytest.approx(product((1, 4), (5, 4)))
    assert product((1, 3), (5, 4)) != pytest.approx(product((1, 3), (5, 5)))
    assert product((2, 2), (3, 3)) == pytest.approx((q @ k.T).item())


def test_the_width_has_pairs_for_both():
    with pytest.raises(ValueError, match="has the width 6; expected a multiple of 4"):
        A.rope_2d(np.zeros((2, 6)), np.arange(2), np.arange(2))
