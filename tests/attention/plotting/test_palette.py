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
LEAST_DIFFERENCE, LEAST_CONTRAST = 17, 3


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
    """Return the CIEDE2000 difference of two colours in L*, a*, b*."""
    (L1, a1, b1), (L2, a2, b2) = one, other
    C = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    G = 0.5 * (1 - np.sqrt(C**7 / (C**7 + 25.0**7)))
    C1, C2 = np.hypot((1 + G) * a1, b1), np.hypot((1 + G) * a2, b2)
    h1 = np.degrees(np.arctan2(b1, (1 + G) * a1)) % 360
    h2 = np.degrees(np.arctan2(b2, (1 + G) * a2)) % 360
    turn = (h2 - h1 + 180) % 360 - 180
    dH = 2 * np.sqrt(C1 * C2) * np.sin(np.radians(turn / 2))
    L, C, h = (L1 + L2) / 2, (C1 + C2) / 2, (h1 + turn / 2) % 360
    T = (
        1
        - 0.17 * np.cos(np.radians(h - 30))
        + 0.24 * np.cos(np.radians(2 * h))
        + 0.32 * np.cos(np.radians(3 * h + 6))
        - 0.20 * np.cos(np.radians(4 * h - 63))
    )
    l = (L2 - L1) / (1 + 0.015 * (L - 50) ** 2 / np.sqrt(20 + (L - 50) ** 2))
    c = (C2 - C1) / (1 + 0.045 * C)
    h_ = dH / (1 + 0.015 * C * T)
    angle = np.radians(60 * np.exp(-(((h - 275) / 25) ** 2)))
    rotation = -np.sin(angle) * 2 * np.sqrt(C**7 / (C**7 + 25.0**7))
    return np.sqrt(l**2 + c**2 + h_**2 + rotation * c * h_)


def luminance(colour):
    return linear(colour) @ XYZ[1]


def test_the_difference_is_that_of_the_published_examples():
    """Sharma, Wu and Dalal (2005), table 1, pairs 1, 7 and 25."""
    for one, other, expected in (
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 0, 0), (50, -1, 2), 2.3669),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ):
        assert difference(one, other) == pytest.approx(expected, abs=1e-4)


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
    from attention.transformer import SCHEMES

    for names in (SCHEMES, ("additive", "dot", "general", "scaled", "mine", "yours")):
        found = {tuple(look.values()) for look in looks(names).values()}
        assert len(found) == len(names)
    alone, *_ = looks(["rope"]).values()
    assert looks(["none", "rope", "t5"])["rope"] == alone


def test_the_package_exports_its_functions():
    from attention import plotting

    assert {name for name in plotting.__all__ if callable(getattr(plotting, name))} == {
        "show_heatmaps", "alignment_heatmap", "show_masks", "loss_curves",
        "accuracy_bars",
    }  # fmt: skip
