"""Every page of the book is fresh and complete, and every claim has a verdict."""

import re
from xml.etree import ElementTree

import pytest

from lessons.classroom.catalogue import BOOK, header, lesson_folders, number
from lessons.pages import blocks, claims, weave

BY_DEFAULT = ("01", "03", "04")  # the others are woven in a deep run
LARGEST = 120_000  # bytes of an SVG
WIDEST = 80  # columns of what a lesson prints: those of a terminal
FOLDERS = lesson_folders()


@pytest.mark.parametrize(
    "folder",
    [
        pytest.param(f, marks=() if number(f) in BY_DEFAULT else pytest.mark.deep)
        for f in FOLDERS
    ],
    ids=lambda folder: folder.name,
)
def test_the_page_is_fresh(folder):
    stale = weave.differences(weave.weave_lesson(folder, draw=False))
    advice = f"next: python -m lessons dev weave {number(folder)}"
    assert not stale, "\n".join([f"{folder.name} is stale:", *stale, advice])


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_links_lead_somewhere_figures_have_words_and_prints_fit_a_terminal(folder):
    text = (folder / "README.md").read_text(encoding="utf-8")
    weave.check_links(text, folder, set())
    image = r"^!\[([^\n]+)\]\(figures/([^\n]*)\.svg\)$"
    captioned = re.findall(image + r"\n\n\*(.*?)\*$", text, re.M | re.S)
    assert len(captioned) == len(re.findall(image, text, re.M))
    assert all(len(caption) >= 30 for _, _, caption in captioned)
    files = {path.stem: path for path in (folder / "figures").glob("*.svg")}
    assert sorted(name for _, name, _ in captioned) == sorted(files)
    for path in files.values():
        assert ElementTree.parse(path).getroot().tag.endswith("svg"), path
        assert path.stat().st_size <= LARGEST, f"{path}: too many points for a page"
    printed = re.findall(r"^(```+)text\n(.*?)\n\1$", text, re.M | re.S)
    assert printed
    wide = [x for _, out in printed for x in out.splitlines() if len(x) > WIDEST]
    assert not wide, "\n".join(wide)


# the core of a page

PACE = 90  # visible words a minute, formulas and code among them
MOST = 45  # minutes


def core(folder):
    """Return what a page shows before its first section Further, and nothing folded."""
    text = blocks.FURTHER.sub("", (folder / "README.md").read_text(encoding="utf-8"))
    return re.sub("<details>.*?</details>", "", text, flags=re.S)


@pytest.mark.parametrize("folder", FOLDERS, ids=number)
def test_the_core_of_a_page_is_read_in_the_time_that_it_states(folder):
    text, minutes = core(folder), header(folder).minutes
    words = len(text.split())
    assert words <= PACE * minutes <= PACE * MOST, f"{words} words, {minutes} minutes"
    # a trained model is seen within five minutes
    assert number(folder) != "start" or len(text.partition("![")[0].split()) <= 5 * PACE
    assert text.count("> **The book says**") <= 1
    for alt in re.findall(r"^!\[(.*)\]\(figures/.*\.svg\)$", text, re.M):
        assert re.match(r'["A-Z].* .*[.?]', alt), f"{alt}: no sentence"


# the claims of the book

LAST = (BOOK / "14_checks_the_book" / "README.md").read_text(encoding="utf-8")
SECTION = r"(?:exercise )?\d+(?:\.\d+)+|chapter \d+|notes|scoring"


@pytest.mark.parametrize("folder", FOLDERS, ids=number)
def test_what_a_box_quotes_is_in_the_table_of_lesson_14(folder):
    page = (folder / "README.md").read_text(encoding="utf-8")
    box = re.compile(r"^> \*\*The book says\*\* \((.*?)\)", re.M | re.S)
    for quoted in box.findall(page):
        found = re.findall(SECTION, quoted.replace("\n> ", " "))
        texts = [x.removeprefix("chapter ").replace("exercise", "ex.") for x in found]
        rows = rf"^\| (?:{'|'.join(texts)})[\d.]* \|.*\[{number(folder)}\]\(\.\./"
        assert texts and re.search(rows, LAST, re.M), f"{folder.name}: {quoted}"


def test_lesson_14_has_every_claim():
    for row in (row for rows in claims.read().values() for row in rows):
        assert f"| {row['text']} | {row['says']} | {row['found']} |" in LAST, row


def test_a_claim_holds_to_the_decimals_of_the_book():
    claims.CLAIMS.clear()
    for x in (0.4949, 0.4951, 0.5049, 0.5199, 0.5201):
        claims.claim("6", "a half", "0.50", x)
    claims.claim("6", "seven", "7", 8)
    said = [row["verdict"] for row in claims.CLAIMS]
    assert said == ["near", "holds", "holds", "near", "no", "no"]
