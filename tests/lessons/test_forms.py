"""The book as a site and as notebooks: complete, and without dead links."""

import html.parser
import base64
import io
import json
import os
import pathlib
import re

import matplotlib.image
import matplotlib.style
import numpy as np
import pytest

from minigrad.draw.colours import COLOURS

from lessons import cli
from lessons.classroom.catalogue import (
    LESSONS,
    ROOT,
    exercises,
    exercises_of,
    lesson_folders,
)
from lessons.pages import cells, figures, notebooks, raster

FOLDERS = lesson_folders()
MARKS = r"[`$]|(?<!\w)\*\*|\*\*(?!\w)|\]\(|\\[a-z]+|&[a-z]+;|<!--"  # but not of 10**6


class Page(html.parser.HTMLParser):
    """What a page links to, the ids that it has, its text outside code and math."""

    def __init__(self, path):
        super().__init__()
        self.links, self.ids, self.images, self.open, self.words = [], [], [], [], ""
        self.kinds = set()  # of figures
        self.feed(path.read_text(encoding="utf-8"))
        assert not self.open, f"{path}: {self.open} are not closed"

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.links += [found[k] for k in ("href", "src") if k in found]
        self.ids += [found["id"]] if "id" in found else []
        self.images += [found] if tag == "img" else []
        self.kinds |= {found.get("class")} if tag == "figure" else set()
        if tag not in ("meta", "link", "img", "hr", "input", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"{tag} at {self.getpos()}"

    def handle_data(self, data):
        if not {"code", "pre", "math"} & set(self.open):
            self.words += data


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ein Übungsheft") / "site"
    assert cli.main(["site", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in site.rglob("*.html")}


def test_every_link_of_the_site_leads_to_a_file_and_a_place_in_it(site, pages):
    reached = {site / "index.html", site / "search.js"}  # site.js loads the index
    for path, page in pages.items():
        for link in page.links:
            if link.startswith("http"):
                continue
            file, _, anchor = link.partition("#")
            file = pathlib.Path(os.path.normpath(path.parent / file)) if file else path
            assert file.is_file(), f"{path}: {link}"
            assert not anchor or anchor in pages[file].ids, f"{path}: {link}"
            reached.add(file)
    assert reached == {path for path in site.rglob("*") if path.is_file()}


def test_the_site_has_the_readme_and_all_lessons_exercises_and_terms(site, pages):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert cells.headings(readme)[0][1] in pages[site / "index.html"].words
    for folder in FOLDERS:
        assert f"book/{folder.name}/index.html" in pages[site / "contents.html"].links
    for exercise in exercises():
        page = pages[site / "exercises" / f"{exercise.file.stem}.html"]
        assert exercise.title in page.words and "Hint 1" in page.words
    glossary = (LESSONS / "GLOSSARY.md").read_text(encoding="utf-8")
    terms = re.findall(r"^## (.*)$", glossary, re.M)
    assert len(terms) == len(pages[site / "GLOSSARY.html"].ids) - 1  # and its title


def test_a_page_has_no_mark_of_its_source_and_figures_for_light_and_dark(site, pages):
    drawn = set()
    for path, page in pages.items():
        shows_source = path.name in ("AUTHORING.html", "search.html")
        if not path.name.endswith(".py.html") and not shows_source:
            left = re.search(MARKS, page.words)
            assert not left, f"{path}: {page.words[left.start() - 40 :][:80]!r}"
        for image in page.images:
            assert image["alt"].strip(), f"{path}: {image}"
            file = (path.parent / image["src"]).resolve()
            if file.suffix == ".svg":  # a heatmap has a background of its own
                drawn.add(file)
                svg = file.read_text(encoding="utf-8")
                assert "prefers-color-scheme:dark" in svg and "currentColor" in svg
    own = [p for at in ("", "book/*/") for p in LESSONS.glob(f"{at}figures/*.svg")]
    assert len(drawn) == len(own)


def luminance(colour):
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ (
        0.2126, 0.7152, 0.0722)  # fmt: skip


def test_coloured_letters_of_figures_have_a_contrast_of_4_5_to_1(site):
    css = (site / "style.css").read_text(encoding="utf-8")
    light, dark, *_ = map(luminance, re.findall(r"--page: (#\w{6})", css))
    lines = set()
    for path in site.rglob("*.svg"):
        svg = path.read_text(encoding="utf-8")
        style = svg[svg.find("<style>svg") : svg.find("</style>")]
        parts = style.split("prefers-color-scheme:")[1:] or ["", ""]
        own = [dict(re.findall(r'="fill:(#\w+)"\]{fill:(#\w+)', x)) for x in parts]
        groups = re.findall(r'<g style="fill:(#\w+)"[^>]*>\s*<(\w+)', svg)
        for colour, inside in groups:
            if colour == "#ffffff":  # in a dark cell of an image
                continue
            assert inside in ("use", "defs"), f"{path}: a group that has no letters"
            lines.add(colour)
            on_white, on_dark = (luminance(x.get(colour, colour)) for x in own)
            assert (light + 0.05) / (on_white + 0.05) >= 4.5, f"{path}: {colour}"
            assert (on_dark + 0.05) / (dark + 0.05) >= 4.5, f"{path}: {colour}"
    assert lines == set(COLOURS)


def test_the_search_leads_to_places_and_its_page_lists_them_without_a_script(
    site, pages
):
    assert "search.js" not in pages[site / "search.html"].links  # only if one types
    script = (site / "search.js").read_text(encoding="utf-8")
    entries = json.loads(script.partition("=")[2].rstrip(";\n"))
    assert len(entries) > 1000
    for title, address, _ in entries:
        file, _, anchor = address.partition("#")
        assert title and (not anchor or anchor in pages[site / file].ids), address
        assert address in pages[site / "search.html"].links
    assert ["scaled_dot", "attention/scores.py.html#scaled_dot",
            "attention/scores.py"] in entries  # fmt: skip


def test_a_page_loads_quickly_and_its_ids_are_of_one_place_each(pages):
    for path, page in pages.items():
        figures = {path.parent / image["src"] for image in page.images}
        assert sum(p.stat().st_size for p in {path, *figures}) < 400_000, path
        moves = any(link.endswith("moving.js") for link in page.links)
        assert moves == ("moving" in page.kinds), path
        assert len(page.ids) == len(set(page.ids)), path


# notebooks


@pytest.fixture(scope="module")
def folder_of_notebooks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebooks")
    assert cli.main(["notebooks", str(folder)]) == 0
    assert len(list(folder.glob("*.ipynb"))) == len(FOLDERS)
    return folder


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_notebook_has_the_cells_and_the_outputs_of_its_page(
    folder, folder_of_notebooks
):
    written = (folder_of_notebooks / f"{folder.name}.ipynb").read_text(encoding="utf-8")
    assert str(ROOT) not in written  # no folder of its writer
    found = json.loads(written)["cells"]
    assert len({cell["id"] for cell in found}) == len(found)
    script = cells.parse((folder / "lesson.py").read_text(encoding="utf-8"))
    code = [c for c in found if c["cell_type"] == "code"]
    own = [c.text for c in script if c.kind in ("code", "folded", "figure")]
    stubs = [f"%%exercise {e.id}\n{e.stub_text}" for e in exercises_of(folder)]
    own += ["%load_ext lessons", *stubs] if stubs else []
    lines = "\n".join(c["source"] for c in code[1:]).splitlines()
    assert [*filter(None, lines)] == [*filter(None, "\n".join(own).splitlines())]
    unfolded = [c["source"] for c in code if not c["metadata"]]
    imports = [text for text in unfolded if re.search("^(import|from|%load_ext) ", text, re.M)]
    assert all(text.startswith("%%exercise") for text in imports)
    prose = [c["source"] for c in found if c["cell_type"] == "markdown"]
    prose = "\n\n".join(prose)
    assert prose.count("\n```python\n") == [c.kind for c in script].count("source")
    page = (folder / "README.md").read_text(encoding="utf-8")
    outside = re.sub(r"```.*?```|`[^`]*`", "", prose, flags=re.S)
    assert "{{" not in outside and "$`" not in prose and "```math" not in prose
    assert prose.count("$$") == 2 * page.count("```math")
    outputs = [o for cell in found for o in cell.get("outputs", [])]
    printed = [o["text"] for o in outputs if o["output_type"] == "stream"]
    shown = re.findall(r"(?ms)^(```+)text\n(.*?)\n\1$", page)
    assert printed == [text + "\n" for _, text in shown]
    bundles = [o["data"] for o in outputs if "data" in o]
    bundles += [c["attachments"]["figure.png"] for c in found if "attachments" in c]
    pngs = [base64.b64decode(d["image/png"]) for d in bundles if "image/png" in d]
    assert len(pngs) == len(re.findall(r"(?m)^!\[.*\]\((.*)\)$", page))
    for png in pngs:
        alpha = matplotlib.image.imread(io.BytesIO(png))[..., 3]
        assert 0.01 < (alpha > 0).mean() < 1  # something is drawn, on no background


def test_a_notebook_that_a_reader_has_changed_is_kept(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(notebooks, "lesson_folders", lambda: FOLDERS[:2])
    assert cli.main(["notebooks", str(tmp_path)]) == 0
    path = tmp_path / f"{FOLDERS[0].name}.ipynb"
    made = path.read_text(encoding="utf-8")
    for n in 2, 3:
        path.write_text(f"mine {n}", encoding="utf-8")
        capsys.readouterr()
        assert cli.main(["notebooks", str(tmp_path)]) == 0
        kept = tmp_path / f"{FOLDERS[0].name}-{n}.ipynb"
        assert f"Those that were different are kept: {kept.name}." in capsys.readouterr().out
        assert kept.read_text(encoding="utf-8") == f"mine {n}"
        assert path.read_text(encoding="utf-8") == made
    assert len(list(tmp_path.glob("*.ipynb"))) == 4  # the other one is as it was


def test_links_of_notebooks_lead_to_files(folder_of_notebooks):
    texts = [p.read_text(encoding="utf-8") for p in folder_of_notebooks.glob("*.md")]
    for path in folder_of_notebooks.glob("*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            texts += [cell["source"]] if cell["cell_type"] == "markdown" else []
    links = [x for t in texts for _, x in cells.outside_fences(t)]
    links = [m for x in links for m in cells.LINK.findall(cells.CODE.sub("", x))]
    assert len(links) > 200
    for link in links:  # papers are on the web
        known = "://" in link or link == "attachment:figure.png"
        file = folder_of_notebooks / link.partition("#")[0]
        assert known or file.is_file(), link


@pytest.mark.parametrize(
    "draw, different",
    [
        (lambda ax: ax.plot([0, 5, 1], "--", linewidth=6), 0.001),
        (lambda ax: ax.imshow(np.arange(12.0).reshape(3, 4), aspect="auto"), 0.02),
    ],
    ids=["dashes", "image"],
)
def test_the_picture_of_an_svg_is_the_one_that_matplotlib_draws(draw, different):
    """The share of its ink that is elsewhere; a wrong transform moves nearly all."""
    expected = io.BytesIO()
    with matplotlib.style.context(figures._style()):
        fig, ax = figures.figure("", size=(3, 2))
        ax.axis("off")
        draw(ax)
        found = io.BytesIO(raster.as_png(figures.render(fig).decode()))
        fig.savefig(expected, format="png", dpi=72 * raster.SCALE)
    expected.seek(0)
    a, b = (matplotlib.image.imread(file) for file in (found, expected))
    a, b = ((1 - x[..., :3]) * x[..., 3:] for x in (a, b))  # what is not white
    assert b.sum() > 100 and abs(a - b).sum() <= different * b.sum()
