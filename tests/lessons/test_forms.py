"""The book as a site and as notebooks: complete, without dead links, the same twice."""

import html.parser
import base64
import io
import json
import os
import pathlib
import re
import subprocess
import sys
from xml.etree import ElementTree

import matplotlib.image
import matplotlib.style
import numpy as np
import pytest

from lessons import cli
from lessons.classroom.catalogue import LESSONS, ROOT, exercises, find, lesson_folders
from lessons.pages import cells, figures, notebooks, raster

FOLDERS = lesson_folders()
lessons = pytest.mark.parametrize("folder", FOLDERS, ids=[f.name for f in FOLDERS])
VOID = ("meta", "link", "img", "hr")


class Page(html.parser.HTMLParser):
    """What a page links to, the ids that it has, and its text outside code."""

    def __init__(self, path):
        super().__init__()
        self.path, self.links, self.ids, self.images = path, [], [], []
        self.open, self.words, self.tags = [], "", []
        self.feed(path.read_text(encoding="utf-8"))
        assert not self.open, f"{path}: {self.open} are not closed"

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append((tag, found))
        self.links += [found[k] for k in ("href", "src") if k in found]
        self.ids += [found["id"]] if "id" in found else []
        self.images += [found] if tag == "img" else []
        assert tag != "script"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"{self.path}: {tag} at {self.getpos()}"

    def handle_data(self, data):
        if not {"code", "pre"} & set(self.open):
            self.words += data


def contents(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ein Übungsheft") / "site"
    assert cli.main(["site", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in site.rglob("*.html")}


def test_every_link_of_the_site_leads_to_a_file_and_a_place_in_it(site, pages):
    reached = {site / "index.html"}
    for path, page in pages.items():
        assert len(set(page.ids)) == len(page.ids), path
        for link in page.links:
            if link.startswith("http"):
                continue
            file, _, anchor = link.partition("#")
            file = pathlib.Path(os.path.normpath(path.parent / file)) if file else path
            assert file.is_file(), f"{path}: {link}"
            assert not anchor or anchor in pages[file].ids, f"{path}: {link}"
            reached.add(file)
    assert reached == {path for path in site.rglob("*") if path.is_file()}


def test_the_site_begins_with_the_readme_and_its_pictures(site, pages):
    """Every page links to the first page and to the contents of the course."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = pages[site / "index.html"]
    assert cells.headings(text)[0][1] in first.words
    shown = [(ROOT / name).stem for name in re.findall(r'<img src="(\S+)"', text)]
    assert [pathlib.Path(image["src"]).stem for image in first.images] == shown != []
    for path, page in pages.items():
        to = {os.path.normpath(path.parent / link) for link in page.links}
        assert {str(site / "index.html"), str(site / "contents.html")} <= to, path


def test_the_site_of_a_course_without_its_source_begins_with_the_contents(
    monkeypatch, tmp_path
):
    from lessons.pages import site

    monkeypatch.setattr(site, "FIRST", [LESSONS / "README.md"])
    assert cli.main(["site", str(tmp_path)]) == 0
    assert "Lessons" in Page(tmp_path / "index.html").words
    assert not (tmp_path / "contents.html").exists()


def test_the_site_has_all_lessons_exercises_and_terms(site, pages):
    index = pages[site / "contents.html"]
    for k, folder in enumerate(FOLDERS):
        page = pages[site / "book" / folder.name / "index.html"]
        assert f"book/{folder.name}/index.html" in index.links
        after = f"../{FOLDERS[k + 1].name}/index.html" if FOLDERS[k + 1 :] else None
        assert after is None or after in page.links, folder
        text = (folder / "README.md").read_text(encoding="utf-8")
        ids = re.search(r"^Exercises?: .*?\n\n", text, re.M | re.S)
        for id in re.findall(r"\bE\.\d+", ids[0] if ids else ""):
            stem = find(id).file.stem
            assert f"../../exercises/{stem}.html" in page.links, f"{folder}: {id}"
    for exercise in exercises():
        page = pages[site / "exercises" / f"{exercise.file.stem}.html"]
        assert exercise.title in page.words and "Hint 1" in page.words
    glossary = (LESSONS / "GLOSSARY.md").read_text(encoding="utf-8")
    terms = re.findall(r"^## (.*)$", glossary, re.M)
    assert len(terms) == len(pages[site / "GLOSSARY.html"].ids) - 1  # and its title


def test_no_mark_of_the_source_is_left_on_a_page(pages):
    for path, page in pages.items():
        if path.name.endswith(".py.html") or path.name == "AUTHORING.html":
            continue
        left = re.search(r"[`$]|\*\*|\]\(|\\[a-z]+|&[a-z]+;|<!--", page.words)
        assert not left, f"{path}: {page.words[left.start() - 40 : left.end() + 40]!r}"


def test_figures_have_words_and_fit_light_and_dark_pages(site, pages):
    drawn = set()
    for path, page in pages.items():
        for image in page.images:
            assert image["alt"].strip(), f"{path}: {image}"
            file = (path.parent / image["src"]).resolve()
            if file.suffix == ".png":  # a heatmap has a background of its own
                assert matplotlib.image.imread(file).shape[-1] in (3, 4)
                continue
            drawn.add(file)
            svg = file.read_text(encoding="utf-8")
            assert ElementTree.fromstring(svg).tag.endswith("svg")
            assert "prefers-color-scheme:dark" in svg and "currentColor" in svg
            assert "#7d8590" not in svg
    assert len(drawn) == len(list((LESSONS / "book").glob("*/figures/*.svg")))
    css = (site / "style.css").read_text()
    assert "prefers-color-scheme: dark" in css and "url(" not in css


def test_readers_with_a_keyboard_or_a_screen_reader_can_use_a_page(pages):
    for path, page in pages.items():
        labels = [found.get("aria-label") for tag, found in page.tags if tag == "nav"]
        assert None not in labels and len(set(labels)) == len(labels) == 2, path
        for tag, found in page.tags:  # code that is too wide can be scrolled
            assert tag != "pre" or found["tabindex"] == "0", path


def test_the_style_shows_whole_lines_and_prints():
    """A character of 1em is .61em wide in the widest of the fonts."""
    css = (LESSONS / "pages" / "site.css").read_text(encoding="utf-8")

    def rem(pattern):
        (found,) = re.findall(pattern, css, re.S)
        return float(found)

    column = rem(r"/ minmax\(0, ([\d.]+)rem\)")
    padding = 2 * rem(r"body \{[^}]*padding: 0 ([\d.]+)rem")
    assert rem(r"body \{[^}]*max-width: ([\d.]+)rem;[^}]*font:") == column + padding
    code = rem(r"\npre \{[^}]*font-size: ([\d.]+)rem")
    padding = 2 * rem(r"\npre \{[^}]*padding: \S+ ([\d.]+)rem")
    assert 88 * 0.61 * code + padding <= column
    listing = rem(r"\.listing \{[^}]*font-size: ([\d.]+)rem")
    number = rem(r"::before \{[^}]*; width: ([\d.]+)rem")
    number += rem(r"::before \{[^}]*padding-right: ([\d.]+)rem")
    assert 88 * 0.61 * listing + number <= column
    assert re.search(r"body \{[^}]*overflow-wrap: break-word", css)  # of long names
    printed = css.partition("@media print {")[2]
    # as specific as the rules that it replaces
    assert re.search(r"nav\.top, nav\.ends, aside \{ display: none; \}", printed)
    assert re.search(r"pre \{ white-space: pre-wrap;", printed)


def test_source_lines_are_linked(site, pages):
    (path,) = site.glob("minigrad/ops/softmax.py.html")
    lines = (ROOT / "minigrad" / "ops" / "softmax.py").read_text().splitlines()
    assert pages[path].ids == [f"L{k}" for k in range(1, len(lines) + 1)]
    links = pages[site / "book" / "05_scaling" / "index.html"].links
    (link,) = [each for each in links if "softmax.py.html#L" in each]
    assert "def softmax(" in "".join(lines[int(link.rpartition("L")[2]) - 1 :][:2])


@pytest.mark.parametrize(
    "verb", [pytest.param("site", marks=pytest.mark.deep), "notebooks"]
)
def test_a_second_run_writes_the_same_bytes(verb, tmp_path):
    for name, seed in ("a", "1"), ("b", "2"):
        command = [sys.executable, "-m", "lessons", verb, str(tmp_path / name)]
        environment = os.environ | {"PYTHONHASHSEED": seed}
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_open_shows_the_site(monkeypatch, tmp_path, capsys):
    from lessons.pages import site

    shown = []
    monkeypatch.setattr(site.webbrowser, "open", shown.append)
    monkeypatch.setenv("LESSONS_WORK", str(tmp_path / "my work"))
    assert cli.main(["site", "--open"]) == 0
    assert shown == [(tmp_path / "my work" / "site" / "index.html").as_uri()]
    assert "index.html" in capsys.readouterr().out


@lessons
def test_a_notebook_has_the_cells_of_its_lesson(folder):
    found = notebooks.notebook(folder)["cells"]
    script = cells.parse((folder / "lesson.py").read_text(encoding="utf-8"))
    code = [cell["source"] for cell in found if cell["cell_type"] == "code"]
    assert code[1:] == [c.text for c in script if c.kind in ("code", "figure")]
    for text in code:
        compile(text, "cell", "exec")
    prose = "\n\n".join(c["source"] for c in found if c["cell_type"] == "markdown")
    for cell in script:
        assert cell.kind != "source" or f"`{cell.name}`, from " in prose
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert prose.count("\n```python\n") == [c.kind for c in script].count("source")
    outside = re.sub(r"```.*?```|`[^`]*`", "", prose, flags=re.S)
    assert "{{" not in outside and "$`" not in prose and "```math" not in prose
    assert prose.count("$$") == 2 * page.count("```math")


@lessons
def test_a_notebook_shows_what_the_page_shows(folder):
    found = notebooks.notebook(folder)
    outputs = [o for cell in found["cells"] for o in cell.get("outputs", [])]
    printed = [o["text"] for o in outputs if o["output_type"] == "stream"]
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert printed == [
        text + "\n" for _, text in re.findall(r"(?ms)^(```+)text\n(.*?)\n\1$", page)
    ]
    bundles = [o["data"] for o in outputs if "data" in o]
    captions = [d["text/plain"] for d in bundles if "text/markdown" in d]
    for caption in captions:  # once, whatever the reader's program can show
        assert [d["text/plain"] for d in bundles].count(caption) == 1
    shown = [d["image/png"] for d in bundles if "image/png" in d]
    prose = [cell for cell in found["cells"] if "attachments" in cell]
    for cell in prose:  # a figure that no code draws
        assert re.search(r"\(attachment:figure.png\)\n\n\*[^*]+\*$", cell["source"])
        shown.append(cell["attachments"]["figure.png"]["image/png"])
    assert len(captions) + len(prose) == len(shown)
    svgs = [folder / file for file in re.findall(r"(?m)^!\[.*\]\((.*)\)$", page)]
    pngs = (raster.as_png(svg.read_text(encoding="utf-8")) for svg in svgs)
    assert sorted(shown) == sorted(base64.b64encode(png).decode() for png in pngs)


@pytest.mark.parametrize(
    "number",
    [pytest.param(k, marks=() if k == 1 else pytest.mark.deep) for k in range(15)],
)
def test_outputs_stand_at_the_cells_that_made_them(number):
    folder = FOLDERS[number]
    gallery = figures.Gallery(draw=False)
    performed = cells.run_cells(cells.read_cells(folder), folder, gallery)
    expected = [
        (text, [picture.caption for picture in pictures])
        for cell, text, pictures in performed
        if cell.kind in ("code", "figure")
    ]
    code = [c for c in notebooks.notebook(folder)["cells"][1:] if "outputs" in c]
    assert len(code) == len(expected)
    for cell, (text, captions) in zip(code, expected):
        printed = "".join(o.get("text", "") for o in cell["outputs"])
        assert len(printed.splitlines()) == len(text.splitlines()), cell["source"]
        data = [o["data"] for o in cell["outputs"] if "data" in o]
        assert [d["text/plain"] for d in data if "text/markdown" in d] == captions


@lessons
def test_a_notebook_has_the_form_of_nbformat_4(folder):
    found = notebooks.notebook(folder)
    assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
    assert found["metadata"]["kernelspec"]["name"] == "python3"
    ids = [cell["id"] for cell in found["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in found["cells"]:
        fields = {"cell_type", "id", "metadata", "source"}
        if cell["cell_type"] == "code":
            fields |= {"execution_count", "outputs"}
        assert set(cell) - {"attachments"} == fields and cell["source"]


@lessons
def test_a_picture_for_readers_who_do_not_trust_a_notebook_yet(folder):
    """It is a PNG of the size of the SVG, and shows as much."""
    for cell in notebooks.notebook(folder)["cells"]:
        for data in (o.get("data", {}) for o in cell.get("outputs", [])):
            if "image/svg+xml" in data:
                picture = io.BytesIO(base64.b64decode(data["image/png"]))
                alpha = matplotlib.image.imread(picture)[..., 3]
                root = ElementTree.fromstring(data["image/svg+xml"])
                width, height = (float(x) for x in root.get("viewBox").split()[2:])
                assert alpha.shape == (round(height * 4 / 3), round(width * 4 / 3))
                assert 0.01 < (alpha > 0).mean() < 1


def outline(ax):
    ax.plot([0, 5, 1], linewidth=20, solid_capstyle="round", solid_joinstyle="miter")
    ax.set_ylim(1, 9)


@pytest.mark.parametrize(
    "draw, different",
    [
        (outline, 0.001),
        (lambda ax: ax.plot([0, 5, 1], "--", linewidth=6), 0.001),
        (lambda ax: ax.bar([0, 1], [2, 4], fill=False, hatch="//", ec="C1"), 0.001),
        (lambda ax: ax.imshow(np.arange(12.0).reshape(3, 4), aspect="auto"), 0.02),
        (lambda ax: ax.fill_between([0, 2], [3, 1], alpha=0.3), 0.05),
        # small curves: matplotlib rounds markers and letters to pixels
        (lambda ax: ax.plot([0, 5, 1], "o", alpha=0.5, markersize=20), 0.2),
        (lambda ax: ax.text(0.1, 0.5, "$x_i$ ab", fontsize=30, rotation=30), 0.5),
    ],
    ids=["outline", "dashes", "hatch", "image", "area", "markers", "text"],
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


def test_a_notebook_names_no_folder_of_its_writer(tmp_path):
    texts = [json.dumps(notebooks.notebook(folder)) for folder in FOLDERS]
    assert not [text for text in texts if str(ROOT) in text or str(ROOT.parent) in text]
    first = notebooks.notebook(FOLDERS[0])["cells"][0]["source"]
    done = subprocess.run(
        [sys.executable, "-c", first + "\nimport attention, minigrad"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0


def test_links_of_notebooks_lead_to_files(tmp_path):
    assert cli.main(["notebooks", str(tmp_path)]) == 0
    assert len(list(tmp_path.glob("*.ipynb"))) == len(FOLDERS)
    texts = [(tmp_path / "GLOSSARY.md").read_text(encoding="utf-8")]
    for path in tmp_path.glob("*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            texts += [cell["source"]] if cell["cell_type"] == "markdown" else []
    links = [x for t in texts for _, x in cells.outside_fences(t)]
    links = [m for x in links for m in cells.LINK.findall(cells.CODE.sub("", x))]
    assert len(links) > 200
    for link in links:  # papers are on the web
        known = "://" in link or link == "attachment:figure.png"
        assert known or (tmp_path / link.partition("#")[0]).is_file(), link


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a $`x_{t-1}`$ b", "a $x_{t-1}$ b"),
        ("```math\ny = x\n```", "$$\ny = x\n$$"),
        ("[l](../03_additive/README.md)", "[l](03_additive.ipynb)"),
        ("[s](../../GLOSSARY.md#score)", "[s](GLOSSARY.md#score)"),
        ("**[s](../../../minigrad/graph.py#L1-L9)**, `[a](b)`", "**s**, `[a](b)`"),
    ],
)
def test_prose_as_jupyter_reads_it(text, expected):
    assert notebooks.as_jupyter(text) == expected
