"""Letters that the usual font lacks are drawn in one that has them, or with a warning."""

import warnings

import numpy as np
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import font_manager

from attention import alignment_heatmap
from minigrad.draw import fonts

CAT, DOG = "\N{CJK UNIFIED IDEOGRAPH-732B}", "\N{CJK UNIFIED IDEOGRAPH-72D7}"


def make_font(path, letter):
    """Write a font in which the letter is a black square."""
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for corner in (0, 1000), (1000, 1000), (1000, 0):
        pen.lineTo(corner)
    pen.closePath()
    font = FontBuilder(1000)
    font.setupGlyphOrder([".notdef", "square"])
    font.setupCharacterMap({ord(letter): "square"})
    font.setupGlyf({".notdef": TTGlyphPen(None).glyph(), "square": pen.glyph()})
    font.setupHorizontalMetrics({".notdef": (1000, 0), "square": (1000, 0)})
    font.setupHorizontalHeader(ascent=1000, descent=0)
    font.setupNameTable({"familyName": "Squares", "styleName": "Regular"})
    font.setupOS2()
    font.setupPost()
    font.save(path)


@pytest.fixture(autouse=True)
def only_the_usual_fonts(monkeypatch):
    """The fonts of the machine do not count, only those of matplotlib."""
    usual = [f for f in font_manager.fontManager.ttflist if "mpl-data" in f.fname]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", usual)
    fonts._font_with.cache_clear()
    fonts._warn.cache_clear()
    yield
    fonts._font_with.cache_clear()


def draw(path):
    weights = np.eye(2)
    return alignment_heatmap(weights, ["the", "cat"], ["a", CAT], f"{CAT}?", path)


def test_a_font_that_has_the_letter_is_used(tmp_path):
    make_font(tmp_path / "squares.ttf", CAT)
    font_manager.fontManager.addfont(tmp_path / "squares.ttf")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Glyph|No installed font")
        figure = draw(tmp_path / "a.png")
    label = figure.axes[0].get_yticklabels()[1]
    assert "Squares" in label.get_fontfamily()
    assert "Squares" in figure._suptitle.get_fontfamily()
    assert "Squares" not in figure.axes[0].get_yticklabels()[0].get_fontfamily()
    # the square is black inside, where a box of the usual font has lines
    figure.canvas.draw()
    box = label.get_window_extent()
    pixels = np.asarray(figure.canvas.buffer_rgba())[::-1, :, 0]
    inside = pixels[int(box.y0) : int(box.y1) + 1, int(box.x0) : int(box.x1) + 1]
    assert (inside < 128).mean() > 0.55


def test_one_warning_where_no_font_has_it(tmp_path):
    with pytest.warns(UserWarning) as caught:
        draw(tmp_path / "a.png")
        draw(tmp_path / "a.svg")
    found = [str(each.message) for each in caught if each.category is UserWarning]
    assert len(found) == 1
    assert f"No installed font has {CAT}: the figure shows boxes" in found[0]


def test_wide_letters_have_the_space_of_two():
    words = [DOG * 4] * 3
    figure = alignment_heatmap(np.eye(3), words, words)
    assert figure.axes[0].get_xticklabels()[0].get_rotation() == 90
