"""Pages in a terminal: blocks, formulas as text, folding to the width."""

import itertools
import unicodedata
from xml.etree import ElementTree

import pytest

from lessons import cli
from lessons.classroom.catalogue import LESSONS, lesson_folders
from lessons.pages import blocks, formulas, reading

PAGES = [f / "README.md" for f in lesson_folders()] + sorted(LESSONS.glob("*.md"))


def texts(found):
    """Yield the texts of blocks that hold spans."""
    for block in found:
        if block.kind in ("heading", "paragraph", "figure"):
            yield block.text
        elif block.kind == "table":
            yield from (cell for row in block.parts for cell in row)
        elif block.kind in ("quote", "fold"):
            yield from texts(block.parts)
        elif block.kind == "list":
            yield from (text for item in block.parts for text in texts(item))


def leaves(spans):
    """Yield (kind, text) of spans, also of those within others."""
    for kind, content, _ in spans:
        yield from [(kind, content)] if isinstance(content, str) else leaves(content)


def test_every_formula_has_two_forms_and_no_mark_of_a_span_is_left():
    found = set()
    for path in PAGES:
        page = blocks.split(blocks.unfolded(path.read_text(encoding="utf-8")))
        found |= {block.text for block in page if block.kind == "math"}
        for text in texts(page):
            for kind, part in leaves(blocks.spans(text)):
                assert kind != "text" or not set(part) & set("`$*") or part == "*", part
                found |= {part} if kind == "math" else set()
    assert len(found) > 400
    for formula in found:
        text = formulas.as_text(formula)
        assert text and not set(text) & set("\\&$"), f"{formula}: {text}"
        for display in (False, True):
            mathml = f"<p>{formulas.as_mathml(formula, display)}</p>"
            shown = "".join(ElementTree.fromstring(mathml).itertext())
            assert letters_of(shown) == letters_of(text), f"{formula}: {text}"


def letters_of(text):
    """Return the letters and digits of a formula, sorted; a superscript is a digit."""
    plain = unicodedata.normalize("NFKD", text.replace("ᵀ", ""))
    return sorted(c for c in plain if c.isalnum())


@pytest.mark.parametrize(
    "formula, text",
    [
        (r"x_{t-1}^2 + e^{-x} + s'_{t-1}", "x_{t−1}² + e^(−x) + s′_{t−1}"),
        (r"\frac{a + b}{2h} \sqrt{d_k}", "(a + b)/(2h) √d_k"),
        (r"\sum_{j=1}^{T} \alpha_j \quad \text{if } j", "∑_{j=1}^T α_j    if j"),
        (r"\begin{pmatrix} 1 & 0 \\ 0 & 2 \end{pmatrix}", "(1, 0; 0, 2)"),
        (r"\begin{aligned} r &= 1 \\ z &= 2 \end{aligned}", "r = 1\nz = 2"),
    ],
)
def test_a_formula_as_text(formula, text):
    assert formulas.as_text(formula) == text


def columns_of(line):
    return sum(not unicodedata.combining(c) for c in line)


@pytest.mark.parametrize("columns", [40, pytest.param(80, marks=pytest.mark.deep)])
def test_every_page_fits_the_terminal_and_its_code_is_not_folded(columns):
    """What is copied from a terminal is Python."""
    for path in PAGES:
        text = blocks.unfolded(path.read_text(encoding="utf-8"))
        page = itertools.takewhile(lambda b: b.kind != "rule", blocks.split(text))
        code = {x.strip() for b in page if b.kind == "code" for x in b.text.split("\n")}
        found = reading.in_columns(text, columns, path.parent)
        shown = {x: x.removeprefix("  | ").strip() for x in found.splitlines()}
        assert not code - {*shown.values(), ""}, path
        text = [x for x, of in shown.items() if of not in code and x[-4:] != ".svg"]
        wide = [x for x in text if columns_of(x) > columns]
        assert not wide, f"{path}: {wide}"
        for left in ("<!--", "<details", "](../", "\\frac", "```math"):
            assert left not in found or path.name == "AUTHORING.md", left


def test_read_shows_the_page_in_a_pager_if_there_is_a_terminal(
    capsys, monkeypatch, work
):
    paged = []
    monkeypatch.setenv("COLUMNS", "60")
    assert cli.main(["read", "additive"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("03. Additive") and "next: python -m lessons run" in shown
    assert len(shown.splitlines()) > 300
    monkeypatch.setattr(reading.pydoc, "pager", paged.append)
    for stream in (reading.sys.stdin, reading.sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    assert cli.main(["read", "3"]) == 0
    assert len(paged) == 1 and "03. Additive attention" in paged[0]
    assert "03. Additive" not in capsys.readouterr().out
