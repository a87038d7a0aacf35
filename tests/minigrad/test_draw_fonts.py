"""Letters that the usual font lacks are drawn in one that has them, or with a warning."""

import warnings

import numpy as np
import pytest
from matplotlib import font_manager

from attention import alignment_heatmap
from minigrad.draw import fonts

CAT = "\N{CJK UNIFIED IDEOGRAPH-732B}"  # in no font of matplotlib's
ARC = "\N{ARC}"  # in DejaVu Sans Mono, not in DejaVu Sans


@pytest.fixture(autouse=True)
def only_the_usual_fonts(monkeypatch):
    """The fonts of the machine do not count, only those of matplotlib."""
    usual = [f for f in font_manager.fontManager.ttflist if "mpl-data" in f.fname]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", usual)
    fonts._font_with.cache_clear()
    fonts._warn.cache_clear()
    yield
    fonts._font_with.cache_clear()


def draw(letter, path):
    weights = np.eye(2)
    return alignment_heatmap(weights, ["the", "x"], ["a", letter], f"{letter}?", path)


def test_a_font_that_has_the_letter_is_used(tmp_path):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Glyph|No installed font")
        figure = draw(ARC, tmp_path / "a.png")
    plain, label = figure.axes[0].get_yticklabels()
    assert "DejaVu Sans Mono" in label.get_fontfamily()
    assert "DejaVu Sans Mono" in figure._suptitle.get_fontfamily()
    assert "DejaVu Sans Mono" not in plain.get_fontfamily()


def test_one_warning_where_no_font_has_it(tmp_path):
    with pytest.warns(UserWarning) as caught:
        draw(CAT, tmp_path / "a.png")
        draw(CAT, tmp_path / "a.svg")
    found = [str(each.message) for each in caught if each.category is UserWarning]
    assert len(found) == 1
    assert f"No installed font has {CAT}: the figure shows boxes" in found[0]


def test_wide_letters_have_the_space_of_two():
    words = [CAT * 4] * 3
    figure = alignment_heatmap(np.eye(3), words, words)
    assert figure.axes[0].get_xticklabels()[0].get_rotation() == 90
