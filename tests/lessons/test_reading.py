"""Pages in a terminal: blocks, formulas as text, folding to the width."""

import itertools
import pathlib
import unicodedata
from xml.etree import ElementTree

import pytest

from lessons import cli
from lessons.classroom.catalogue import LESSONS, lesson_folders
from lessons.pages import blocks, formulas, reading

FOLDERS = lesson_folders()
PAGES = [f / "README.md" for f in FOLDERS] + sorted(LESSONS.glob("*.md"))

pages = pytest.mark.parametrize("path", PAGES, ids=[f"{p.parent.name}" for p in PAGES])

PAGE = r"""<!-- a comment -->

# 07. Squares

A *sum* of **all $x_j^2$**, in `code *c*` and [a link](../x.py#L1),
on $`\frac{1}{2}`$ lines. A \* star.

| letter | meaning |
|---|---|
| $x$ | a number, `a | b` |

```math
y = \sum_j x_j
```

> **The book says** something.

- one
  more
- two

![Squares](figures/squares.svg)

*The squares grow.*

<details><summary>The code of this figure</summary>

```python
plot(x)
```

</details>

---

[All](../README.md)
"""


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


def every_formula():
    """Return {formula: the page it stands on}."""
    found = {}
    for path in PAGES:
        page = blocks.split(path.read_text(encoding="utf-8"))
        lines = [
            kind_text for t in texts(page) for kind_text in leaves(blocks.spans(t))
        ]
        lines += [(b.kind, b.text) for b in page]
        found |= {text: path.parent.name for kind, text in lines if kind == "math"}
    return found


def test_a_page_is_divided_into_blocks():
    page = blocks.split(PAGE)
    kinds = "heading paragraph table math quote list figure fold rule paragraph"
    assert [b.kind for b in page] == kinds.split()
    by_kind = {b.kind: b for b in reversed(page)}
    assert (by_kind["heading"].level, by_kind["heading"].text) == (1, "07. Squares")
    assert by_kind["table"].parts[1] == ("$x$", "a number, `a | b`")
    assert [item[0].text for item in by_kind["list"].parts] == ["one\nmore", "two"]
    figure = by_kind["figure"]
    assert figure.text == "The squares grow." and figure.alt == "Squares"
    assert by_kind["fold"].parts[0].text == "plot(x)"
    spans = [(kind, text) for kind, text in leaves(blocks.spans(page[1].text))]
    assert ("math", "x_j^2") in spans and ("code", "code *c*") in spans
    assert ("text", "a link") in spans and ("math", r"\frac{1}{2}") in spans
    assert ("text", "*") in spans


@pages
def test_no_mark_of_a_span_is_left_in_the_text(path):
    page = blocks.split(path.read_text(encoding="utf-8"))
    for text in texts(page):
        for kind, part in leaves(blocks.spans(text)):
            assert kind != "text" or not set(part) & set("`$*") or part == "*", part


def test_every_formula_has_two_forms():
    found = every_formula()
    assert len(found) > 400
    for formula, page in found.items():
        text = formulas.as_text(formula)
        assert text and not set(text) & set("\\&$"), f"{page}: {formula}: {text}"
        for display in (False, True):
            element = ElementTree.fromstring(
                f"<p>{formulas.as_mathml(formula, display)}</p>"
            )
            shown = "".join(element.itertext())
            assert letters_of(shown) == letters_of(text), f"{page}: {formula}: {text}"


def letters_of(text):
    """Return the letters and digits of a formula, sorted; a superscript is a digit."""
    plain = unicodedata.normalize("NFKD", text.replace("ᵀ", ""))
    return sorted(c for c in plain if c.isalnum())


@pytest.mark.parametrize(
    "formula, text",
    [
        (r"a_t = \mathrm{softmax}(e_t)", "a_t = softmax(e_t)"),
        (r"x_{t-1}^2 + e^{-x}", "x_{t−1}² + e^(−x)"),
        (r"s'_{t-1}", "s′_{t−1}"),
        (r"W_{ij}^\top \tilde h", "W_ijᵀ h̃"),
        (r"\frac{a + b}{2h} \sqrt{d_k}", "(a + b)/(2h) √d_k"),
        (r"\frac{\partial L}{\partial a_{ik}}", "∂L/∂a_ik"),
        (r"\left(\frac{du}{dx}\right)^{\!\top}", "(du/dx)ᵀ"),
        (
            r"\sum_{j=1}^{T} \alpha_j \quad \text{if } j \le 2",
            "∑_{j=1}^T α_j    if j ≤ 2",
        ),
        (r"\begin{pmatrix} 1 & 0 \\ 0 & 2 \end{pmatrix}", "(1, 0; 0, 2)"),
        (r"\begin{aligned} r &= 1 \\ z &= 2 \end{aligned}", "r = 1\nz = 2"),
    ],
)
def test_a_formula_as_text(formula, text):
    assert formulas.as_text(formula) == text


@pytest.mark.parametrize(
    "formula, words",
    [
        (r"\unknown x", r"the command \\unknown"),
        ("{x", "} is missing"),
        ("x}", "} without a beginning"),
        (r"\frac{1}", "an argument is missing"),
        (r"\begin{matrix} 1 \end{matrix}", "the environment matrix"),
        (r"\left( x", r"\\right is missing"),
        ("x # y", "the character #"),
    ],
)
def test_what_is_no_formula_is_refused(formula, words):
    with pytest.raises(formulas.FormulaError, match=words):
        formulas.read(formula)


def test_a_formula_as_mathml():
    found = formulas.as_mathml(r"\sum_{j} \frac{-x_j}{2}", display=True)
    root = ElementTree.fromstring(found)
    assert root.get("display") == "block"
    (sum_,) = root.iter("munder")
    assert [part.text for part in sum_.iter("mo")] == ["∑"]
    (fraction,) = root.iter("mfrac")
    assert [part.tag for part in fraction] == ["mrow", "mn"]
    assert fraction.find(".//mo").get("form") == "prefix"


def columns_of(line):
    return sum(not unicodedata.combining(c) for c in line)


@pytest.mark.parametrize(
    "columns", [40, *(pytest.param(n, marks=pytest.mark.deep) for n in (80, 100))]
)
def test_every_page_fits_the_terminal(columns):
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        found = reading.in_columns(text, columns, path.parent)
        code = {line.strip() for line in code_of(text)}  # is never folded
        lines = [x for x in found.splitlines() if not x.endswith(".svg")]
        lines = [x for x in lines if x.removeprefix("  | ").strip() not in code]
        wide = [line for line in lines if columns_of(line) > columns]
        assert not wide, f"{path}: {wide}"
        for left in ("<!--", "<details", "](../", "\\frac", "```math"):
            assert left not in found or path.name == "AUTHORING.md", left


def code_of(text):
    """Return the lines of the code that a page shows, and of its output."""
    page = itertools.takewhile(lambda b: b.kind != "rule", blocks.split(text))
    return [x for b in page if b.kind == "code" for x in b.text.split("\n")]


@pytest.mark.parametrize("columns", [40, 80])
def test_a_line_of_code_stays_one_line(columns):
    """What is copied from a terminal is Python."""
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        found = reading.in_columns(text, columns, path.parent).split("\n")
        edges = "", "    ", "  | "
        shown = {line.removeprefix(e).rstrip() for line in found for e in edges}
        assert not {line.rstrip() for line in code_of(text)} - shown, path


def test_a_page_in_a_terminal():
    found = reading.in_columns(PAGE, 40, pathlib.Path("07"))
    assert found.startswith("07. Squares\n===========\n\nA sum of all x_j²")
    assert "a link, on 1/2 lines" in found.replace("\n", " ")
    assert "letter  meaning\n------  -----------------\nx       a number" in found
    assert "    y = ∑_j x_j\n" in found
    assert "> The book says something." in found
    assert "- one more\n- two" in found
    assert "[Figure: The squares grow.]\n07/figures/squares.svg" in found
    assert found.endswith("figures/squares.svg")  # no folded code, no link to all


@pytest.mark.parametrize(
    "name, title",
    [("5", "05. Why"), ("additive", "03. Additive"), ("mask", "06. Masks and padding")],
)
def test_read_shows_the_page(name, title, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("LESSONS_WORK", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "60")
    assert cli.main(["read", name]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(title) and "next: python -m lessons run" in shown
    assert len(shown.splitlines()) > 300


def test_read_pages_on_a_terminal(capsys, monkeypatch, tmp_path):
    paged = []
    monkeypatch.setenv("LESSONS_WORK", str(tmp_path))
    monkeypatch.setattr(reading.pydoc, "pager", paged.append)
    for stream in (reading.sys.stdin, reading.sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    assert cli.main(["read", "3"]) == 0
    assert len(paged) == 1 and "03. Additive attention" in paged[0]
    assert "03. Additive" not in capsys.readouterr().out
