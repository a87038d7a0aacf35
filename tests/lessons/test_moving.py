"""Figures with frames and cells: each frame as drawn, the rest shared, all in words."""

import html.parser
import io
import re
from xml.etree import ElementTree

import matplotlib.image
import numpy as np
import pytest

from attention.plotting import page
from lessons.pages import figures, frames, raster

ALT = "Bars for the numbers of each step, as high as the numbers are."
PARAMETERS = {"step": ["one", "two", "three"], "colour": ["blue", "orange"]}
HEIGHTS = {"one": [1, 3, 2], "two": [2, 3, 2], "three": [2, 3, 1]}


def draw(step, colour):
    fig, ax = figures.figure("How high are the bars?", size=(3, 2))
    look = {"blue": figures.BLUE, "orange": figures.ORANGE}[colour]
    ax.bar(range(3), HEIGHTS[step], color=look)
    ax.set(ylim=(0, 4), xlabel="bar")
    if step == "three":
        ax.text(0, 3, "the last")
    return fig, f"In step {step} the {colour} bars are {HEIGHTS[step]} <high>."


def shown(*arguments, **options):
    """The file of a figure, as the weaver writes it."""
    with figures.Gallery() as gallery:
        figures.neutral_style()
        figures.show(*arguments, **options)
        return gallery.pictures[arguments[1]].svg.decode()


@pytest.fixture(scope="module")
def moving():
    return shown(draw, "bars", ALT, frames=PARAMETERS, start=("two", "blue"))


def alone(svg, k):
    """The frame number k, as a browser shows it for the address #fk."""
    root = ElementTree.fromstring(svg)
    for parent in root.iter():
        for element in list(parent):
            names = element.get("class", "").split()
            if names and f"f{k}" not in names:
                parent.remove(element)
            element.attrib.pop("display", None)
    return raster.as_png(ElementTree.tostring(root, encoding="unicode"))


def test_every_frame_is_the_figure_that_its_function_draws(moving):
    every = frames.every_frame(PARAMETERS)
    assert every[:3] == [("one", "blue"), ("one", "orange"), ("two", "blue")]
    with figures.Gallery():
        figures.neutral_style()
        expected = [figures.render(draw(*values)[0]).decode() for values in every]
    assert len(set(expected)) == 6
    for k, svg in enumerate(expected):
        assert alone(moving, k) == raster.as_png(svg), every[k]
        assert f"#f{k}:target~g .f{k}" in moving and f'<g id="f{k}"/>' in moving
    one = raster.as_png(expected[2])  # the frame at the start
    assert raster.as_png(frames.still(moving)) == one
    assert len(frames.still(moving)) < len(moving) < 2.5 * len(expected[0])
    title = r"(?s)<!-- How.*?<use"  # the letters of what all frames have stand once
    assert re.search(title, expected[0]) and moving.count("bar") < 20


def test_frames_are_the_same_each_time_and_a_readers_run_draws_one(
    moving, tmp_path, monkeypatch
):
    options = {"frames": PARAMETERS, "start": ("two", "blue")}
    render, rendered = figures.render, []
    monkeypatch.setattr(figures, "render", lambda x: rendered.append(x) or render(x))
    assert shown(draw, "bars", ALT, **options) == moving
    assert len(rendered) == 6
    drawn = []

    def counted(*values):
        drawn.append(values)
        return draw(*values)

    for gallery in figures.Gallery(draw=False), figures.Gallery(tmp_path):
        with gallery:
            figures.show(counted, "bars", ALT, **options)
    assert drawn == [("two", "blue")] * 2
    assert frames.data_of((tmp_path / "bars.svg").read_text()) is None
    assert frames.data_of(shown(draw("one", "blue")[0], "bars", ALT)) is None


class Elements(html.parser.HTMLParser):
    """[(tag, attributes, text)] of all elements with their own text."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append([tag, dict(attributes), ""])

    def handle_data(self, data):
        if self.found:
            self.found[-1][2] += data.strip()

    def texts(self, tag):
        return [text for name, _, text in self.found if name == tag]


def on_the_site(svg, folder, caption="C"):
    (folder / "x.svg").write_text(svg)
    image = '<div class="scroll"><img src="x.svg" alt="X"></div>'
    return frames.set_in_motion(f"<figure>{image}\n<i>{caption}</i></figure>", folder)


def test_the_site_has_the_sentences_of_all_frames_in_a_table(moving, tmp_path):
    found = Elements(on_the_site(moving, tmp_path))
    assert found.texts("th") == ["step", "colour", "what the figure shows"]
    cells = np.reshape(found.texts("td"), (6, 3))
    for row, values in zip(cells, frames.every_frame(PARAMETERS)):
        assert tuple(row[:2]) == values and row[2] == draw(*values)[1]
    assert found.texts("summary") == ["All 6 frames in words"]
    (script,) = found.texts("script")
    assert '"start": [1, 0]' in script and "high" not in script
    still = shown(draw("one", "blue")[0], "bars", ALT)
    assert "script" not in on_the_site(still, tmp_path)


def test_the_cells_of_a_figure_are_its_numbers_and_lie_over_its_axes(tmp_path):
    values = np.array([[0, 0.12345, 1], [0.5, 0.25, 0.0001]])
    with figures.Gallery():
        figures.neutral_style()
        fig, ax = figures.figure("Which?", size=(4, 2))
    ax.imshow(values, aspect="auto")
    ax.set(xlabel="key", ylabel="query", title="head 1")
    words = ["le", "<chat>"], ["the", "black", "cat"]
    svg = shown(fig, "cells", ALT, hover={ax: (*words, values)})
    found = Elements(on_the_site(svg, tmp_path))
    assert found.texts("th") == ["the", "black", "cat", "le", "<chat>"]
    corner, *cells = found.texts("td")
    assert corner == "query \\ key" and found.texts("caption") == ["head 1"]
    assert cells == ["0", "0.123", "1", "0.500", "0.250", "0.000"]
    scopes = [a["scope"] for tag, a, _ in found.found if tag == "th"]
    assert scopes == ["col"] * 3 + ["row"] * 2
    (table,) = (a for tag, a, _ in found.found if tag == "table")
    assert (table["data-rows"], table["data-columns"]) == ("query", "key")
    box = np.array(table["data-box"].split(), float) / 100
    (clip,) = re.findall(r'<clipPath .*?<rect (.*?)/>', svg, re.S)
    x, y, w, h = (float(re.search(f'{k}="(.*?)"', clip)[1])
                  for k in ("x", "y", "width", "height"))  # fmt: skip
    assert np.allclose(box, [x / 288, y / 144, w / 288, h / 144], atol=1e-3)


def test_a_figure_with_frames_has_the_cells_of_each(tmp_path):
    def draw(head):
        fig, ax = figures.figure("Which?", size=(4, 2))
        ax.set(xlabel="key", ylabel="query", title=f"head {head}")
        return fig, f"head {head}", {ax: ("q", "ab", [[head / 4, 1]])}

    svg = shown(draw, "cells", ALT, frames={"head": [1, 2]}, start=(2,))
    data = frames.data_of(svg)
    assert data["values"] == [["0.250 1"], ["0.500 1"]]
    page = on_the_site(svg, tmp_path)
    assert Elements(page).texts("td")[-2:] == ["0.500", "1"] and "0.250 1" in page


ONE = {"frames": {"step": ["one"], "colour": ["blue"]}}


@pytest.mark.parametrize(
    "moves, options, message",
    [
        (1, {}, "a function without frames=; expected a Figure alone, or a "),
        (0, ONE, "frames= of a Figure; expected a Figure alone, or a function"),
        (0, {"start": (1,)}, "start= without frames=; expected both or none"),
        (1, ONE | {"start": 1}, "start=1; expected the values of a frame, such as"),
        (1, ONE | {"start": (9,)}, "start=(9,); expected the values of a frame, such "
         "as ('one', 'blue')."),
        (1, ONE | {"hover": {0: ("a", "b", [[1]])}}, "frames= and hover=; expected"),
        (0, {"hover": {0: ("ab", "c", [[1]])}}, "hover= with numbers (1, 1) and words "
         "for (2, 1); expected as many words as rows and columns."),
    ],
)  # fmt: skip
def test_what_does_not_fit_a_figure_is_refused(moves, options, message):
    fig = draw if moves else draw("one", "blue")[0]
    with pytest.raises(ValueError, match=re.escape(f"show: figure 'x' has {message}")):
        shown(fig, "x", ALT, **options)


def test_where_one_frame_is_shown_the_caption_names_it(moving, tmp_path):
    with figures.Gallery(draw=False) as gallery:
        figures.show(draw, "bars", ALT, PARAMETERS, ("two", "blue"))
        figures.show(draw("one", "blue")[0], "still", ALT)
    caption = gallery.pictures["bars"].caption
    assert caption == f"{ALT} (step: two, colour: blue; it moves on the site)"
    assert gallery.pictures["still"].caption == ALT
    page = on_the_site(moving, tmp_path, caption)
    assert f"<i>{ALT}</i>" in page and '<img width="216" height="144"' in page


def test_a_smaller_figure_looks_the_same(moving):
    svg = frames.still(moving)
    small = frames.smaller(svg)
    assert len(small) < 0.75 * len(svg)
    small = small.replace("<use href", "<use xlink:href")
    small = re.sub('style=".*?"', lambda css: re.sub(": ?", ": ", css[0]), small)
    a, b = (matplotlib.image.imread(io.BytesIO(raster.as_png(x))) for x in (svg, small))
    assert abs(a - b)[..., 3].sum() < 0.01 * a[..., 3].sum()


def test_the_script_is_small_and_computes_nothing():
    script, style = (p.read_text("utf-8") for p in (page.SCRIPT, page.STYLE))
    assert len(script.splitlines()) <= 160 and len(script) + len(style) < 10_000
    assert "Math." not in script and "fetch(" not in script  # it works from a file
    assert "prefers-reduced-motion" in style
    for name in "aria-live", "aria-valuetext", "aria-label", "gridcell":
        assert name in script
