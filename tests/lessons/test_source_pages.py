"""Pages of source files: formulas that mean their source, code that is whole, links."""

import ast
import html
import re

import pytest

from lessons.classroom.catalogue import LESSONS, ROOT
from lessons.pages import citations, docstrings, highlight, plain, source_pages


def link(page, target):
    return target


@pytest.fixture(scope="module")
def pages():
    return source_pages.SourcePages(link, lambda page, text: text)


def texts(pages):
    """Yield the docstrings of the library."""
    for module in pages.names.modules.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
                yield ast.get_docstring(node) or ""


# formulas


@pytest.mark.parametrize(
    "source, found",
    [
        ("sum_i a_i / sum_i b_i", r"<mfrac><mrow><munder><mo>∑"),  # both are in it
        ("sum_i a_i / n", r"^<math><mrow><munder>.*</munder><mfrac><msub>"),  # outside
        ("q_i . k_j / sqrt(D)", r"<mfrac><mrow><msub>.*·.*</mrow><msqrt>"),
        ("ln x / ln y", r"<mfrac><mrow><mo [^>]*>ln</mo><mi>x</mi></mrow><mrow><mo"),
        ("(a + b) / (c d)", r"<mfrac><mrow><mi>a</mi><mo>\+</mo>.*<mi>d</mi></mrow>"),
        ("dL/dx", r'^<math><mrow><mrow><mi mathvariant="normal">d</mi><mi>L</mi>'),
        ("h~_(t-1)", r"<msub><mover accent"),
        ("a_(i-1)j", r"<msub><mi>a</mi><mrow><mrow><mo>\(</mo>"),
        ("P(y | x)", r"<mo>∣</mo>"),
        ("|q_i| |k_j|", r"^<math><mrow><mrow><mo>\|</mo>"),
        ("0, 1, ..., n", r"<mi [^>]*>…</mi>"),
    ],
)
def test_a_formula_is_set_as_it_is_meant(source, found):
    assert re.search(found, plain.as_mathml(source)), plain.as_mathml(source)


@pytest.mark.parametrize(
    "source", ["u / (a - 1) b", "g / p_j y_j", "x / y / z", "(x", "x y)", "e^-|z|", "a_"]
)
def test_what_has_two_meanings_or_none_stays_as_it_is(source):
    assert plain.as_mathml(source) is None


@pytest.mark.parametrize(
    "line, formulas",
    [
        ("where a vector x has n entries", ["x", "n"]),
        ("If x is 0, y is 1.", ["x", "y"]),
        ("y = a b, the product of a and b", ["y = a b", "b"]),  # a: perhaps the article
        ("lesson 05 (lesson 06) and the x-axis, row(s), i-th", []),
        ("c_i = sum_j p_ij v_j over j, e.g. 3 keys", ["c_i = sum_j p_ij v_j", "j"]),
        ("0.29 at D = 4, 0.11 at D = 64", ["D = 4", "D = 64"]),
        ("p = the sum of ops/matmul.py, lengths=None", ["p"]),
        ("LN(h) + attention of x to y", ["LN(h)", "x", "y"]),
    ],
)
def test_the_formulas_of_a_line_are_found(line, formulas):
    found = [line[a:b] for a, b in plain._candidates(line)]
    assert found == formulas


def test_the_guard_sees_a_formula_that_lost_something(monkeypatch):
    good, inline = "a + b / c", plain.inline
    assert plain.as_mathml(good)
    for wrong in ("<mi>a</mi>", r"<mo>\+</mo>", "mfrac"):
        plain.as_mathml.cache_clear()
        monkeypatch.setattr(plain, "inline", lambda row: re.sub(
            wrong, "mrow" if wrong == "mfrac" else "", inline(row)))  # fmt: skip
        assert plain.as_mathml(good) is None, wrong
    plain.as_mathml.cache_clear()


def test_nearly_all_formulas_of_the_library_are_set(pages):
    found = []
    for text in texts(pages):
        text = docstrings.CODE.sub("`", text)
        for line in re.split(r"\n|  +", text):
            found += [line[a:b] for a, b in plain._candidates(line)]
    left = [source for source in found if plain.as_mathml(source) is None]
    assert len(found) > 4000 and len(left) < len(found) / 100, left


# lines of shapes


def words(text):
    return html.unescape(re.sub("<[^>]*>", "", text))


def in_its_file(file, name):
    """Return the docstring of a function or class; of the file, if name is None."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    nodes = {getattr(node, "name", None): node for node in ast.walk(tree)
             if isinstance(node, ast.FunctionDef | ast.ClassDef)}  # fmt: skip
    return ast.get_docstring(nodes.get(name, tree))


@pytest.mark.parametrize(
    "file, name, chips, below",
    [
        ("attention/seq2seq/decoder_steps.py", None,
         ["output (B, H)", "weights (B, S)"], "The state is that of StackedCells, and"),
        ("lessons/exercises/06_38_5_windows.py", "local_mask",
         ["→", "allowed (T, S) bool"], "True where the key s is in the window"),
        ("lessons/exercises/11_e_11_rope.py", "rope",
         ["y (…, L, E)", "backward"], "backward(g) is dL/dx"),
        ("lessons/exercises/12_e_14_tiled.py", "tile",
         ["seen (m, n) bool", "→", "dq (m, E)"], "the allowed pairs. Scores and lse"),
        ("lessons/exercises/21_e_26_induction.py", "after_earlier",
         ["→", "allowed (n, n)"], "True at (i, k) if"),
        ("attention/exact/sdpa.py", "scaled_dot_product_attention",
         ["o", "weights (..., H, L, S) or (L, S)", "o", "lse (..., H, L) or (L,)"], ""),
    ],
)  # fmt: skip
def test_a_line_of_shapes_ends_before_its_prose(pages, file, name, chips, below):
    found = pages.prose(ROOT / file, in_its_file(file, name))
    lines = re.findall('<p class="shapes">(.*?)</p>', found)
    boxes = [[words(box) for box in re.findall("<code>.*?</code>|→", line)]
             for line in lines]  # fmt: skip
    assert any(str(chips)[1:-1] in str(line) for line in boxes), boxes
    rest = re.findall("<p>(.*?)</p>", found, re.S)
    rest = [re.sub(r"\s", "", words(text)) for text in rest]
    assert any(p.startswith(below.replace(" ", "")) for p in rest or [below]), rest
    assert "``" not in found and "->" not in words(found)


@pytest.mark.parametrize(
    "file, name, rows",
    [
        ("minigrad/shapes.py", None, {
            "x (B, L) int": "integers; they become a NumPy array",
            "x (B, L) or (L,)": "one of two shapes",
            "→ y (B,), z ()": "two results; z is a scalar",
        }),
        ("attention/positions/scheme.py", "Position", {
            "scheme": "(config, causal, rng) → the scheme of a stack",
            "about, file": "what the map says; its page",
        }),
    ],
)  # fmt: skip
def test_a_legend_of_shapes_is_a_table(pages, file, name, rows):
    found = pages.prose(ROOT / file, in_its_file(file, name))
    cells = re.findall("<tr><td[^>]*>(.*?)</td><td[^>]*>(.*?)</td></tr>", found)
    plain_ = [[re.sub(r"\s", "", words(x)) for x in row] for row in cells]
    for row in rows.items():
        assert [x.replace(" ", "") for x in row] in plain_
    assert '<p class="shapes">' not in found


# pages


def test_the_code_of_a_page_is_the_file_without_its_docstrings(pages):
    for path in (source_pages.FIRST_PAGE, ROOT / "minigrad/nn/module.py",
                 ROOT / "attention/decoding/greedy.py"):  # fmt: skip
        lines = re.findall(r'(?m)data-n="(\d+)">(.*)</span>', pages.body(path))
        text = path.read_text(encoding="utf-8").splitlines()
        text = [highlight.TO_TOOLS.sub("", line) for line in text]
        assert all(words(code) == text[int(n) - 1] for n, code in lines)
        shown = {int(n) for n, _ in lines}
        left = [n for n in range(1, len(text) + 1) if n not in shown]
        for node in ast.walk(pages.modules[path].tree):
            if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
                if ast.get_docstring(node) is not None:
                    first = node.body[0]
                    own = range(first.lineno, first.end_lineno + 1)
                    left = [n for n in left if n not in own]
        marks = [text[n - 1] for n in left if text[n - 1].strip()]
        assert all(m.startswith(("# -- ", "# ---- ")) for m in marks), marks


@pytest.mark.parametrize(
    "line, shown",
    [
        ("f(x)  # fmt: skip", "f(x)"),
        ("from . import f  # noqa: F401", "from . import f"),
        ("import f  # noqa: F401  the lessons use f", "import f  # the lessons use f"),
        ("1  # fmt: skip  # (T, S), rows of words", "1  # (T, S), rows of words"),
        ("x = 1  # one", "x = 1  # one"),
    ],
)
def test_comments_to_tools_are_not_shown(line, shown):
    assert [words(x) for x in highlight.python_lines(f"{line}\n{line}")] == [shown] * 2


def test_names_lead_to_their_definitions_and_back(pages):
    scores = pages.body(ROOT / "attention/scores.py")
    assert '<a href="../minigrad/ops/matmul.py#matmul">matmul</a>' in scores
    assert '<a href="kernels/additive_product.py#forward">forward</a>' in scores
    assert '<a href="layers.py#GeneralAttention">' in scores  # uses dot
    assert '<details class="further"><summary>Further: concat' in scores
    tanh = pages.body(ROOT / "minigrad/ops/activation.py")
    assert re.search(r"tests/ops/activation\.py#L\d+\">not-squared</a>", tanh)
    order = [path.relative_to(ROOT).as_posix() for path in pages.order]
    assert order[:3] == [
        "attention/definitions.py", "attention/first_model.py",
        "minigrad/ops/arithmetic.py",
    ]  # fmt: skip
    assert set(pages.modules) == set(pages.order)


def test_a_local_name_is_no_link(tmp_path):
    """A parameter may have the name of a function that the file imports."""
    (tmp_path / "one.py").write_text("def f(x):\n    return x\n")
    (tmp_path / "two.py").write_text(
        "from .one import f\nprint(f(1))\ndef g(f):\n    é = f(2)\n    return f\n"
    )
    names = source_pages.Names(tmp_path.parent, [tmp_path.name])
    module = names.modules[f"{tmp_path.name}.two"]
    found = [(line, column) for line, column, _, _ in names.uses(module)]
    assert found == [(1, 17), (2, 6)]


def test_every_citation_of_the_library_has_its_work(pages):
    find = citations.Citations(link).find
    cited = set()
    for text in texts(pages):
        for match in citations.CITATION.finditer(text):
            anchor = find(match)
            assert anchor or match["first"] in ("In", "With", "Repeat"), match[0]
            cited.add(anchor)
    assert len(cited) > 80
    text = (LESSONS / "BIBLIOGRAPHY.md").read_text(encoding="utf-8")
    for address in re.findall(r"\]\((.*?)\)", text):
        kind = re.match(r"https://(arxiv\.org/abs|doi\.org)?", address)[1]
        form = {"arxiv.org/abs": r"/\d{4}\.\d{4,5}", "doi.org": r"/10\.\d{4,5}/\S+"}
        assert not kind or re.fullmatch(f"https://{kind}{form[kind]}", address), address
