"""Weaving: scripts in cells, live source, computed prose, fresh or stale pages."""

import argparse
import pathlib
import shutil

import pytest

from lessons.classroom.catalogue import ROOT
from lessons.pages import blocks, cells, hypertext, notebooks, reading, weave
from lessons.pages.cells import Cell, LessonError, evaluate_prose, source

ALT = 'alt="Squares of the whole numbers, from 0 to 16."'
LESSON = f'''"""07  Squares  ●○○○  5 min
A lesson of the tests.
"""

# %% [markdown]
# Is the sum what it should be? See [the library](../../../minigrad/graph.py).

# %%
import numpy as np

from lessons.pages.figures import figure, show

x = np.arange(5.0)
print("sum", x.sum())
x.size + 1

# %% [source] minigrad.ops.activation.tanh

# %% [figure]
fig, ax = figure("How do squares grow?", size=(3, 2))
ax.plot(x, x**2, label="squares")
show(fig, "squares", {ALT})

# %% [markdown]
# The mean is {{{{ f"{{x.mean():.1f}}" }}}}, of {{{{ len(x) }}}} numbers.
#
# ## Further: cubes
#
# See [the end](#further-the-end), or [more](#more).
#
# ### More

# %% [folded]
# a comment
## Further: code
print("cube", x[2] ** 3)

# %% [markdown]
# ## Further: the end
#
# The end.
#
# ## The last
#
# The last words.
'''


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A project with one lesson, woven."""
    project = tmp_path_factory.mktemp("finished")
    folder = project / "lessons" / "book" / "07_squares"
    folder.mkdir(parents=True)
    (project / "lessons" / "README.md").write_text("# Lessons\n")
    (project / "minigrad").symlink_to(ROOT / "minigrad")
    (folder / "lesson.py").write_text(LESSON)
    assert do(folder) == 0
    return project


@pytest.fixture
def folder(finished, tmp_path):
    """A lesson with a fresh page, on a path with a space in it."""
    copied = shutil.copytree(finished, tmp_path / "ä project", symlinks=True)
    return copied / "lessons" / "book" / "07_squares"


def do(folder, check=False):
    """Weave the lesson, or check that its page is fresh; return the exit code."""
    args = argparse.Namespace(lesson=["7"], check=check)
    return weave.weave(args, book=folder.parent)


def edit(folder, old, new, name="lesson.py"):
    text = (folder / name).read_text()
    assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times"
    (folder / name).write_text(text.replace(old, new))


def contents(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*.*")}


def test_source_is_what_stands_in_a_file_of_the_project():
    for name, begins in (
        ("minigrad.tanh", "@differentiable\ndef tanh(x):"),
        ("minigrad.tensor.Tensor.item", "def item(self) -> Any:"),
    ):
        found = source(name, "here")
        assert found.text.startswith(begins)
        lines = (ROOT / found.path).read_text().splitlines()
        lines = [line.strip() for line in lines[found.first - 1 : found.last]]
        assert lines == [line.strip() for line in found.text.splitlines()]
    with pytest.raises(LessonError, match="^here: .*outside this project"):
        source("json.dumps", "here")


# prose


def cell(text):
    return Cell("markdown", 4, text)


def test_expressions_are_evaluated():
    text = 'a {{ x }} b {{ f"{y:.2f}" }} {{ {"k": "v"}["k"] }}\n{{ x + 1 }}'
    found = evaluate_prose(cell(text), {"x": 3, "y": 0.125}, pathlib.Path("07_t"))
    assert found == "a 3 b 0.12 v\n4"
    for text, line, words in (
        ("{{ y }}", 4, "is 0.125, a float; expected text or a whole"),
        ("\n{{ z }}", 5, "NameError"),
        ("{{ x + }}", 4, "SyntaxError"),
    ):
        with pytest.raises(LessonError, match=f"^07_t/lesson.py:{line}: .*{words}"):
            evaluate_prose(cell(text), {"x": 3, "y": 0.125}, pathlib.Path("07_t"))


@pytest.mark.parametrize(
    "text, words",
    [
        ("It is 0.25 here.", "0.25 is typed by hand"),
        ("no section is 6.25 or 38.25", "6.25 is typed"),
        ("half of $x", "without a second $"),
        ("$x_{t-1}$", "write"),
        ("the $n$th", "write"),
    ],
)
def test_prose_that_breaks_a_rule_is_refused(text, words):
    [fault] = cells.faults_of_prose(cell(text), pathlib.Path("07_t"))
    assert words in str(fault) and str(fault).startswith("07_t/lesson.py:4:")


def test_a_broken_link_is_refused(folder):
    page = (folder / "README.md").read_text()
    for target, words in (
        ("../../nowhere.md", "no such file"),
        ("../../../minigrad/ops/activation.py#L10-L9999", "fewer lines"),
        ("#no-such-heading", "no such heading"),
        ("../../../../../../etc/hosts", "leaves the project"),
    ):
        text = page.replace("../../../minigrad/graph.py", target)
        with pytest.raises(LessonError, match=words):
            weave.check_links(text, folder, set())


# the page


def test_the_page_has_prose_code_output_source_and_figure(folder):
    page = (folder / "README.md").read_text()
    assert "# 07. Squares\n\n●○○○ 5" in page
    assert "```text\nsum 10.0\n6\n```" in page
    assert "The mean is 2.0, of 5 numbers." in page
    assert "minigrad/ops/activation.py#L" in page and "def tanh(x):" in page
    assert "<details><summary>The code of this cell</summary>\n\n```python\n#" in page
    assert "\n\n</details>\n\n```text\ncube 8.0\n```\n\n</details>\n\n<det" in page
    svg = (folder / "figures" / "squares.svg").read_text()
    assert len(svg) > 2000
    for word in ("<text", "dc:date", "Matplotlib v", "#ffffff", "#000000"):
        assert word not in svg, word
    first = contents(folder)
    assert do(folder) == 0 and contents(folder) == first


def test_a_section_further_is_folded_and_has_its_heading_in_other_forms(folder):
    page, own = (folder / "README.md").read_text(), "Further: cubes"
    summary = f'<summary>{own}</summary><a id="further-cubes"></a>\n\nSee'
    assert summary in page and f"## {own}" not in page
    parts = blocks.split(page)
    last = [b.label or b.text for b in parts if b.kind == "fold" or b.level == 2]
    assert last[-3:] == [own, "Further: the end", "The last"]
    found = [words for _, words in cells.headings(page)]
    assert found[1:] == [own, "More", "Further: the end", "The last"]
    site = hypertext.as_html(page, lambda target: target)
    assert f'further"><summary>{own}</summary>\n<div id="further-cubes">' in site
    assert site.count("<details") == site.count("</details>") == 4
    read = reading.in_columns(page, 80, folder)
    assert f"{own}\n-----" in read and "| cube 8.0" in read and "x[2]" not in read
    made = notebooks.notebook(folder)["cells"]
    mark = "jp-MarkdownHeadingCollapsed"
    closed = [c["source"] for c in made if mark in c["metadata"]]
    assert closed == [f"## {own}", "## Further: the end"]
    (cell,) = (c for c in made if "x[2] ** 3" in c["source"])
    assert cell["outputs"][0]["text"] == "cube 8.0\n"
    assert cell["metadata"] == {"jupyter": {"source_hidden": True}}


@pytest.mark.parametrize(
    "name, old, new, words",
    [
        ("lesson.py", "arange(5.0)", "arange(6.0)", "kept  x = np.arange(5.0)"),
        ("lesson.py", "The mean", "Their mean", "now   Their mean"),
        ("README.md", "sum 10.0", "sum 11.0", "kept  sum 11.0"),
        ("README.md", "sum 10.0", "sum 10.1", "07_squares: fresh"),  # the last digit
    ],
)
def test_a_stale_page_is_found_and_the_difference_is_shown(
    folder, capsys, name, old, new, words
):
    edit(folder, old, new, name)
    before = contents(folder)
    assert do(folder, check=True) == ("fresh" not in words)
    said = capsys.readouterr().out
    assert words in said
    assert ("next: python -m lessons dev weave 07" in said) == ("fresh" not in words)
    assert contents(folder) == before


@pytest.mark.parametrize(
    "old, new, line, words",
    [
        ("x.size + 1", "1 / 0", 15, "ZeroDivisionError"),
        ("x.size + 1", "np.log(-x)", 15, "RuntimeWarning"),
        (ALT + ")", ALT + f")\nshow(fig, 'squares', {ALT})", 23, "two figures"),
        ("The mean", "The 0.5 mean", 25, "typed by hand"),
    ],
)
def test_a_mistake_has_its_line_and_nothing_is_written(
    folder, capsys, old, new, line, words
):
    before = contents(folder)
    edit(folder, old, new)
    assert do(folder) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"07_squares/lesson.py:{line}: ") and words in said
    after = contents(folder) | {pathlib.Path("lesson.py"): LESSON.encode()}
    assert after == before
