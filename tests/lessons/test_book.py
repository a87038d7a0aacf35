"""Every page of the book is fresh and complete, and GitHub renders it."""

import ast
import re
from xml.etree import ElementTree

import pytest

from lessons.classroom.catalogue import LESSONS, lesson_folders, number
from lessons.pages import cells, weave

FOLDERS = lesson_folders()
BY_DEFAULT = ("01", "03", "04")  # the others are woven in a deep run
LARGEST = 120_000  # bytes of an SVG
AUTHORING = LESSONS / "book" / "AUTHORING.md"
WIDEST = 80  # columns of what a lesson prints: those of a terminal
LONGEST = 12  # lines of code in a cell

lessons = pytest.mark.parametrize("folder", FOLDERS, ids=[f.name for f in FOLDERS])


@pytest.mark.parametrize(
    "folder",
    [
        pytest.param(f, marks=() if number(f) in BY_DEFAULT else pytest.mark.deep)
        for f in FOLDERS
    ],
    ids=[f.name for f in FOLDERS],
)
def test_the_page_is_fresh(folder):
    stale = weave.differences(weave.weave_lesson(folder, draw=False))
    advice = f"next: python -m lessons dev weave {number(folder)}"
    assert not stale, "\n".join([f"{folder.name} is stale:", *stale, advice])


@lessons
def test_links_and_figures_of_the_page_resolve(folder):
    text = (folder / "README.md").read_text(encoding="utf-8")
    weave.check_links(text, folder, set())


@lessons
def test_figures_have_words_and_are_drawings(folder):
    text = (folder / "README.md").read_text(encoding="utf-8")
    image = r"^!\[([^\n]+)\]\(figures/([^\n]*)\.svg\)$"
    captions = {
        name: caption
        for _, name, caption in re.findall(image + r"\n\n\*(.*?)\*$", text, re.M | re.S)
    }
    assert len(captions) == len(re.findall(image, text, re.M))
    files = {path.stem: path for path in (folder / "figures").glob("*.svg")}
    assert sorted(captions) == sorted(files)
    assert all(len(caption) >= 30 for caption in captions.values())
    for path in files.values():
        assert ElementTree.parse(path).getroot().tag.endswith("svg"), path
        assert path.stat().st_size <= LARGEST, f"{path}: too many points for a page"


@lessons
def test_what_it_prints_fits_a_terminal(folder):
    text = (folder / "README.md").read_text(encoding="utf-8")
    printed = re.findall(r"^(```+)text\n(.*?)\n\1$", text, re.M | re.S)
    assert printed
    wide = [x for _, out in printed for x in out.splitlines() if len(x) > WIDEST]
    assert not wide, "\n".join(wide)


@lessons
def test_cells_are_short(folder):
    path = folder / "lesson.py"
    found = cells.parse(path.read_text(encoding="utf-8"), str(path))
    long = [(c.line, n) for c in found if (n := lines_of_code(c)) > LONGEST]
    assert not long, f"{path}: cells, by line, with more than {LONGEST}: {long}"


def lines_of_code(cell):
    """Count the lines of code of a cell that is not folded, without imports."""
    if cell.kind != "code":
        return 0
    imported = {
        line
        for node in ast.parse(cell.text).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for line in range(node.lineno, node.end_lineno + 1)
    }
    lines = enumerate(map(str.strip, cell.text.splitlines()), 1)
    return sum(bool(x) and x[0] != "#" and k not in imported for k, x in lines)


@lessons
def test_math_stands_where_github_renders_it(folder):
    text = (folder / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```math\n(.*?)\n```$", text, re.M | re.S)
    assert len(blocks) == len(re.findall(r"^```math$", text, re.M))
    for block in blocks:
        # GitHub's fence ends at a blank line in some viewers, and knows no $ within
        assert block.strip() and "\n\n" not in block and "$" not in block, block
        opened = len(re.findall(r"\\begin\{", block))
        assert opened == len(re.findall(r"\\end\{", block)), block
        assert block.count("{") == block.count("}"), block
        assert block.count(r"\left") - block.count(r"\leftarrow") == (
            block.count(r"\right") - block.count(r"\rightarrow")
        ), block


def test_no_page_rests_on_memory():
    """What a page says of a paper was looked up, or it does not stand there."""
    words = "from memory", "by memory", "our memory", "we remember", "not read the paper"
    for path in sorted({*LESSONS.rglob("*.md"), *LESSONS.glob("book/*/*.py")}):
        text = re.sub(r"[\s#>\"]+", " ", path.read_text(encoding="utf-8")).lower()
        assert not [each for each in words if each in text], path


def test_links_of_the_index_the_glossary_and_the_authors_page_resolve():
    for path in (LESSONS / "README.md", LESSONS / "GLOSSARY.md", AUTHORING):
        text = path.read_text(encoding="utf-8")
        for _, line in cells.outside_fences(text, 1, path):
            for target in cells.LINK.findall(cells.CODE.sub("", line)):
                if "://" not in target:
                    assert (path.parent / target.partition("#")[0]).exists(), target
