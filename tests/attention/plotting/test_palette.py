"""The colours differ for every kind of colour vision, on white and on dark pages."""

import itertools

import numpy as np
import pytest

from attention.plotting.palette import looks
from minigrad.draw.colours import COLOURS

# Machado, Oliveira and Fernandes (2009): what a colour looks like without one kind of
# cone, as a matrix on linear RGB
VISION = {
    "all cones": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
XYZ = np.array(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
)
WHITE, DARK = "#ffffff", "#0d1117"
LEAST_DIFFERENCE, LEAST_CONTRAST = 20, 3


def linear(colour):
    """Return linear R, G and B, in 0 to 1, of "#rrggbb"."""
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """Return CIE L*, a*, b* of linear RGB."""
    x, y, z = np.clip(rgb, 0, 1) @ XYZ.T / XYZ.sum(1)
    f = [np.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z)]
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


def difference(one, other):
    """Return the distance of two colours in L*, a*, b*; about 2 is just visible."""
    return np.linalg.norm(np.subtract(one, other))


def luminance(colour):
    return linear(colour) @ XYZ[1]


@pytest.mark.parametrize("vision", VISION)
def test_any_two_colours_differ(vision):
    seen = [lab(linear(colour) @ np.transpose(VISION[vision])) for colour in COLOURS]
    for one, other in itertools.combinations(seen, 2):
        assert difference(one, other) > LEAST_DIFFERENCE


@pytest.mark.parametrize("page", [WHITE, DARK])
def test_every_colour_has_contrast_with_the_page(page):
    for colour in COLOURS:
        low, high = sorted([luminance(colour), luminance(page)])
        assert (high + 0.05) / (low + 0.05) >= LEAST_CONTRAST - 0.05


def test_things_drawn_together_look_different():
    from attention.variants.table import POSITIONS

    new = *POSITIONS, "mine", "yours"
    for names in (new, ("additive", "dot", "general", "scaled", "mine", "yours")):
        found = {tuple(look.values()) for look in looks(names).values()}
        assert len(found) == len(names)
    alone, *_ = looks(["rope"]).values()
    assert looks(["none", "rope", "t5"])["rope"] == alone
