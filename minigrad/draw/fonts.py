"""Fonts for every letter of a figure, also where the usual font lacks it.

DejaVu Sans, the font of matplotlib, has Latin, Greek, Cyrillic, Arabic and Hebrew, but
no Chinese, Japanese or Korean.
"""

import functools
import warnings


def add_fonts(figure):
    """Give each text of a figure the fonts that it needs.

    Returns the letters that no installed font has, and warns of them once.
    """
    from matplotlib.text import Text

    # create the tick labels now; matplotlib would create them only when it draws
    for axes in figure.axes:
        axes.xaxis.get_ticklabels()
        axes.yaxis.get_ticklabels()
    missing = set()
    for text in figure.findobj(Text):
        if not text.get_text().isascii():
            missing |= _complete_text(text)
    if missing:
        _warn("".join(sorted(missing)))
    return missing


def _complete_text(text):
    """Add families to a text; return the letters that are still missing."""
    from matplotlib.font_manager import FontProperties, findfont

    families, missing = list(text.get_fontfamily()), set()
    paths = [findfont(FontProperties(family=[family])) for family in families]
    for letter in sorted(set(text.get_text())):
        if letter.isspace() or any(_has(path, letter) for path in paths):
            continue
        family, path = _font_with(letter)
        if path is None:
            missing.add(letter)
        else:
            families.append(family)
            paths.append(path)
    if families != text.get_fontfamily():
        text.set_fontfamily(families)
        text.set_fontweight("normal")  # the other fonts may have no bold letters
    return missing


def _has(path, letter):
    from matplotlib.font_manager import get_font

    return get_font(path).get_char_index(ord(letter)) != 0


@functools.cache
def _font_with(letter):
    """Return the family and the file of a font that has the letter, or two Nones."""
    from matplotlib.font_manager import fontManager

    def preference(font):  # an upright font without serifs; its name decides the rest
        return font.style != "normal", "sans" not in font.name.lower(), font.name

    for font in sorted(fontManager.ttflist, key=preference):
        # the font Last Resort has a box for every letter
        if "lastresort" not in font.fname.lower() and _has(font.fname, letter):
            return font.name, font.fname
    return None, None


@functools.cache
def _warn(letters):
    warnings.warn(
        f"No installed font has {' '.join(letters)}: the figure shows boxes. Install a "
        "font that has these letters, such as one of the Noto fonts.",
        stacklevel=2,
    )
