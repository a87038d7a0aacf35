"""The loom: scripts in cells, live source, computed prose, fresh or stale pages."""

import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

from lessons.classroom import figures, pages, weave
from lessons.classroom.paths import ROOT
from lessons.classroom.percent import Cell, LessonError, parse
from lessons.classroom.sources import source

LESSON = '''"""A lesson of the tests."""

# %% [markdown]
# # 07. Squares
#
# Is the sum what it should be? See [the library](../../../minigrad/graph.py).

# %%
import numpy as np

from lessons.classroom.figures import figure, show

x = np.arange(5.0)
print("sum", x.sum())
x.size + 1

# %% [source] minigrad.ops.activation.tanh

# %% [figure]
fig, ax = figure("How do squares grow?", size=(3, 2))
ax.plot(x, x**2, label="squares")
show(fig, "squares", alt="Squares of the whole numbers, from 0 to 16.")

# %% [markdown]
# The mean is {{ f"{x.mean():.1f}" }}, of {{ len(x) }} numbers.
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
    assert do(folder.parent, "weave") == 0
    return project


@pytest.fixture
def book(finished, tmp_path):
    """A book with one lesson, its page fresh, on a path with a space in it."""
    copied = shutil.copytree(finished, tmp_path / "ä project", symlinks=True)
    return copied / "lessons" / "book"


@pytest.fixture
def folder(book):
    return book / "07_squares"


def do(book, *words):
    return weave.main(words[0], list(words[1:]), book=book)


def edit(folder, old, new, name="lesson.py"):
    text = (folder / name).read_text()
    assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times"
    (folder / name).write_text(text.replace(old, new))


def contents(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*.*")}


# the script


def test_a_script_falls_into_cells():
    cells = parse(LESSON)
    kinds = "preamble markdown code source figure markdown".split()
    assert [cell.kind for cell in cells] == kinds
    assert cells[1].text.splitlines()[:2] == ["# 07. Squares", ""]
    assert cells[2].text.startswith("import numpy") and cells[2].text.endswith("+ 1")
    assert cells[3].name == "minigrad.ops.activation.tanh"
    for cell in cells:  # line numbers are those of the file
        first = cell.text.splitlines()[0] if cell.text else ""
        assert LESSON.splitlines()[cell.line - 1].removeprefix("# ") in (
            first,
            first.removeprefix("# "),
        ), cell


TITLE = "# %% [markdown]\n# # 07. T\n"


@pytest.mark.parametrize(
    "text, line, words",
    [
        ("# %%\nx = 1\n", 2, "begins with its title"),
        ("", 1, "begins with its title"),
        ("# %% [markdown]\n# no title\n", 2, "begins with its title"),
        (TITLE + "# %% a title\nx = 1", 3, "no cell begins"),
        (TITLE + "# %% [raw]\n", 3, "no cell begins"),
        (TITLE + "# %% [source]\n", 3, "no cell begins"),
        (TITLE + "# %% [figure] name\n", 3, "no cell begins"),
        (TITLE + "x = 1\n", 3, "a line of prose begins"),
        (TITLE + "#x\n", 3, "a line of prose begins"),
        (TITLE + "# %% [source] a.b\n\nx = 1\n", 5, "nothing but its first line"),
    ],
)
def test_a_script_that_is_none_is_refused(text, line, words):
    with pytest.raises(LessonError, match=words) as refusal:
        parse(text, "07/lesson.py")
    assert str(refusal.value).startswith(f"07/lesson.py:{line}:")


# live source


@pytest.mark.parametrize(
    "name, begins",
    [
        ("minigrad.ops.activation.tanh", "@differentiable\ndef tanh(x):"),
        ("minigrad.tanh", "@differentiable\ndef tanh(x):"),
        ("minigrad.gradcheck.gradcheck", "def gradcheck(fn"),
        ("minigrad.tensor.Tensor", "class Tensor("),
        ("minigrad.tensor.Tensor.item", "def item(self):"),
        ("attention.scores.additive_core", "@differentiable\ndef additive_core("),
    ],
)
def test_source_is_what_stands_in_the_file(name, begins):
    found = source(name, "here")
    assert found.text.startswith(begins)
    lines = (ROOT / found.path).read_text().splitlines()[found.first - 1 : found.last]
    assert [a.strip() for a in lines] == [a.strip() for a in found.text.splitlines()]


@pytest.mark.parametrize(
    "name, words",
    [
        ("minigrad.ops.activation.tangent", "no tangent in minigrad.ops.activation"),
        ("minigrad.nothing.at_all", "no nothing in minigrad"),
        ("no_such_package.f", "wants a module and a name"),
        ("minigrad.ops.activation", "is a module"),
        ("minigrad.graph.clock", "is a count"),
        ("json.dumps", "no part of this project"),
    ],
)
def test_source_that_is_not_there_is_refused(name, words):
    with pytest.raises(LessonError, match=f"^here: .*{words}"):
        source(name, "here")


# prose


def prose(text):
    return Cell("markdown", 4, text)


def test_expressions_are_evaluated():
    cell = prose('a {{ x }} b {{ f"{y:.2f}" }} {{ {"k": "v"}["k"] }}\n{{ x + 1 }}')
    text = pages.evaluated(cell, {"x": 3, "y": 0.125}, pathlib.Path("07_t"))
    assert text == "a 3 b 0.12 v\n4"


@pytest.mark.parametrize(
    "text, line, words",
    [
        ("{{ y }}", 4, "is 0.125, a float; expected words or a whole"),
        ("{{ True }}", 4, "a bool"),
        ("\n{{ z }}", 5, "NameError"),
        ("{{ x + }}", 4, "SyntaxError"),
        ("{{x}}", 4, "a space at either end"),
        ("{{ x +\n1 }}", 4, "stands on one line"),
    ],
)
def test_an_expression_that_makes_no_words_is_refused(text, line, words):
    with pytest.raises(LessonError, match=words) as refusal:
        pages.evaluated(prose(text), {"x": 3, "y": 0.125}, pathlib.Path("07_t"))
    assert str(refusal.value).startswith(f"07_t/lesson.py:{line}:")


@pytest.mark.parametrize(
    "text, words",
    [
        ("It is 0.25 here.", "0.25 is typed by hand"),
        ("Nearly 99 % of them", "99 % is typed by hand"),
        ("it fell to .51 at last", ".51 is typed"),
        ("section 6.25 is none, 38.25 neither", "6.25 is typed"),
        ("It is simply so.", "`simply` is a word"),
        ("Look!", "`k!` is a word"),
        ("so — there", "is a word"),
        ("$$ x $$", "```math fence"),
        (r"\[ x \]", "```math fence"),
        ("half of $x", "without its partner"),
        ("$x_{t-1}$", "write"),
        (r"$a \\ b$", "write"),
        (r"$\|x\|$", "write"),
        (r"$g\,x$", "write"),
        ("$a<b$", "write"),
        ("$a * b$", "write"),
        (r"$\hat{x}_i$", "write"),
        ("the $n$th", "write"),
        ("the $n$-gram", "write"),
        ("```math\nx\n", "never closed"),
    ],
)
def test_prose_that_would_not_hold_is_refused(text, words):
    with pytest.raises(LessonError) as refusal:
        faults = list(pages.faults_of_prose(prose(text), pathlib.Path("07_t")))
        raise LessonError("\n".join(faults))
    assert words in str(refusal.value)
    assert str(refusal.value).startswith("07_t/lesson.py:4:")


def test_prose_that_holds_passes():
    text = r"""Sections 38.3 to 38.5, 6.2.5 and exercise 6.10. `x = 0.5`, $y = 0.5 x_i$.
$`x_{t-1} = \{1, 2\}`$ and ``$`…`$``, [a link](https://a.b/1.5), {{ f"{x:.1f}" }} of 10.
```math
x_{ij} = 0.25 \\ 99 % !
```
A justification, not `!=`."""
    assert list(pages.faults_of_prose(prose(text), pathlib.Path("07_t"))) == []


@pytest.mark.parametrize(
    "target, words",
    [
        ("../../nowhere.md", "no such file"),
        ("figures/other.svg", "no such file"),
        ("../../../minigrad/ops/activation.py#L10-L9999", "fewer lines"),
        ("#no-such-heading", "no such heading"),
        ("../../README.md#no-such-heading", "no such heading"),
        ("../../../../../../etc/hosts", "leaves the project"),
    ],
)
def test_a_broken_link_is_refused(book, folder, capsys, target, words):
    edit(folder, "../../../minigrad/graph.py", target)
    assert do(book, "weave", "7") == 1
    said = capsys.readouterr().err
    assert words in said and target in said
    assert target not in (folder / "README.md").read_text()


# the page


def test_the_page_has_prose_code_output_source_and_figure(folder):
    page = (folder / "README.md").read_text()
    assert page.startswith("<!-- woven from lesson.py") and "# 07. Squares" in page
    assert "```text\nsum 10.0\n6\n```" in page
    assert "The mean is 2.0, of 5 numbers." in page
    assert "minigrad/ops/activation.py#L" in page and "def tanh(x):" in page
    image = "![Squares of the whole numbers, from 0 to 16.](figures/squares.svg)"
    assert image in page and page.index(image) < page.index("<details>")
    assert (folder / "figures" / "squares.svg").stat().st_size > 2000


def test_weaving_twice_gives_the_same_bytes_in_another_process_too(book, folder):
    first = contents(folder)
    assert do(book, "weave", "7") == 0
    assert contents(folder) == first
    code = (
        "import pathlib, sys; from lessons.classroom import weave; "
        "sys.exit(weave.main('weave', [], pathlib.Path(sys.argv[1])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, book],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert contents(folder) == first


def test_a_fresh_lesson_is_fresh_and_one_without_a_page_is_not(book, folder, capsys):
    before = contents(book)
    assert do(book, "weave", "--check") == 0
    assert do(book, "figures", "--check", "07") == 0
    assert contents(book) == before
    assert "07_squares: fresh" in capsys.readouterr().out
    (folder / "README.md").unlink()
    assert do(book, "weave", "7", "--check") == 1
    assert "README.md is missing" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name, old, new, words",
    [
        ("lesson.py", "arange(5.0)", "arange(6.0)", "kept  x = np.arange(5.0)"),
        ("lesson.py", "print(", "print('so', ", "under '07. Squares'"),
        ("lesson.py", "x**2, l", "x**2.001, l", "figure squares, panel 0, line"),
        ("lesson.py", "The mean", "Their mean", "now   Their mean"),
        ("lesson.py", '"squares", alt', '"sq", alt', "figures/sq.svg is missing"),
        ("README.md", "sum 10.0", "sum 11.0", "kept  sum 11.0"),
        ("digest.json", "0 to 16", "0 to 17", "figure squares, panel 0"),
    ],
)
def test_a_stale_page_is_found_and_what_differs_is_named(
    book, folder, capsys, name, old, new, words
):
    edit(folder, old, new, name)
    assert do(book, "weave", "--check") == 1
    said = capsys.readouterr().out
    assert words in said and "next: python -m lessons weave 07" in said


def test_figures_that_are_missing_or_left_over_are_named(book, folder, capsys):
    (folder / "figures" / "squares.svg").rename(folder / "figures" / "old.svg")
    assert do(book, "figures", "--check") == 1
    said = capsys.readouterr().out
    assert "squares.svg is missing" in said and "old.svg is left over" in said
    assert do(book, "figures") == 0
    assert [p.name for p in (folder / "figures").iterdir()] == ["squares.svg"]


@pytest.mark.parametrize(
    "old, new, line, words",
    [
        ("x.size + 1", "1 / 0", 15, "ZeroDivisionError"),
        ("x.size + 1", "np.log(-x)", 15, "RuntimeWarning"),
        ("x.size + 1", "x.size +", 15, "SyntaxError"),
        ("x.size + 1", "raise SystemExit(0)", 15, "SystemExit"),
        ('alt="Squares of the whole numbers, from 0 to 16."', 'alt=""', 22, "alt text"),
        (
            'alt="Squares of the whole numbers, from 0 to 16."',
            'alt="x"',
            22,
            "alt text",
        ),
        (', alt="Squares of the whole numbers, from 0 to 16."', "", 22, "alt"),
        ('"squares", alt', '"The squares", alt', 22, "small letters"),
        ("tanh", "tan", 17, "no tan in"),
        ("The mean", "The 0.5 mean", 25, "typed by hand"),
    ],
)
def test_what_is_wrong_is_said_with_its_line_and_nothing_is_written(
    book, folder, capsys, old, new, line, words
):
    before = contents(folder)
    edit(folder, old, new)
    assert do(book, "weave") == 1
    said = capsys.readouterr().err
    assert said.startswith(f"07_squares/lesson.py:{line}: ") and words in said
    after = contents(folder)
    assert {k: v for k, v in after.items() if k.name != "lesson.py"} == {
        k: v for k, v in before.items() if k.name != "lesson.py"
    }


# figures


def test_a_digest_sees_six_digits_and_every_place():
    x = np.array([1.0, 2.0, 3.0])
    same = figures.summary(x)
    assert figures.summary(x + 1e-9) == same
    assert figures.summary(x * [1, 1, 1 + 3e-5]) != same
    assert figures.summary(x[::-1]) != same
    assert figures.summary(x * 1e-20) == figures.summary(x * 1e-20 * (1 + 1e-12))
    for odd in ([np.nan], [0.0, -0.0], [], [np.inf, 1.0]):
        assert figures.summary(odd) == figures.summary(np.array(odd) * 1.0)
    assert figures.summary([0.0]) == figures.summary([-0.0])


def test_a_digest_knows_lines_images_bars_and_points():
    def made(k=0):
        fig, axes = figures.figure("What is drawn?", columns=4)
        axes[0].plot([0, 1 + (k == 1)], label="a")
        axes[1].imshow([[0, 1 + (k == 2)]])
        axes[2].bar([0, 1], [1, 2 + (k == 3)])
        axes[3].scatter([0, 1], [1, 2 + (k == 4)])
        assert fig.get_suptitle() == "What is drawn?"
        return figures.digest(fig)

    with figures.Gallery():
        found = [made(k) for k in range(5)]
        assert made() == found[0]
    assert len({str(each) for each in found}) == 5


def test_an_svg_has_no_date_no_version_no_ground_and_words_as_paths(folder):
    svg = (folder / "figures" / "squares.svg").read_text()
    for word in ("<text", "dc:date", "Matplotlib v", "#ffffff", "#000000"):
        assert word not in svg, word


def test_two_figures_of_one_name_are_refused(book, folder, capsys):
    with (folder / "lesson.py").open("a") as script:
        script.write("\n# %%\nshow(fig, 'squares', alt='The same once more, ' * 3)\n")
    assert do(book, "weave", "--check") == 1
    assert "two figures named 'squares'" in capsys.readouterr().err


def test_what_a_lesson_sets_ends_with_it(book, folder, capsys):
    import matplotlib

    from attention import kernels

    path, style = sys.path[:], matplotlib.rcParamsDefault["text.color"]
    outside = np.get_printoptions(), np.geterr(), kernels.backend()
    edit(folder, "x.size + 1", "np.set_printoptions(1); np.seterr(all='ignore')")
    edit(
        folder, '"""A lesson of the tests."""', "import sys; sys.path.insert(0, '/no')"
    )
    edit(folder, 'print("sum", x.sum())', "print(kernels.backend(), 'runs')")
    edit(
        folder,
        "import numpy as np",
        "import numpy as np\nfrom attention import kernels",
    )
    assert do(book, "weave") == 0
    assert "numpy runs" in (folder / "README.md").read_text()
    assert outside == (np.get_printoptions(), np.geterr(), kernels.backend())
    assert sys.path == path and matplotlib.rcParams["text.color"] == style


# the verbs


@pytest.mark.parametrize("name", ["7", "07", "07_squares"])
def test_a_lesson_goes_by_its_number(book, name):
    assert [f.name for f in weave.find([name], book)] == ["07_squares"]


@pytest.mark.parametrize(
    "words, said",
    [
        (["weave", "8"], "no lesson 8. There are: 07"),
        (["weave", "--fast"], "no option --fast"),
        (["run", "7", "--check"], "no option --check"),
        (["purl"], "no verb purl"),
    ],
)
def test_wrong_usage_is_a_sentence(book, capsys, words, said):
    assert do(book, *words) == 2
    assert said in capsys.readouterr().err


def test_read_says_what_there_is(book, folder, capsys):
    assert do(book, "read", "7") == 0
    assert "07. Squares" in capsys.readouterr().out
    assert do(book, "read") == 0
    assert "  07. Squares" in capsys.readouterr().out
    (folder / "README.md").unlink()
    assert do(book, "read", "7") == 1
    assert "weave 07" in capsys.readouterr().out


def test_run_prints_and_draws_for_the_reader_alone(book, folder, capsys, monkeypatch):
    monkeypatch.setenv("LESSONS_WORK", str(book / "my work"))
    before = contents(folder)
    assert do(book, "run", "7") == 0
    said = capsys.readouterr().out
    assert "sum 10.0\n6\n" in said and "squares.svg" in said
    assert (book / "my work" / "figures" / "07_squares" / "squares.svg").exists()
    assert contents(folder) == before


def test_a_lesson_is_a_plain_script(tmp_path):
    script = next((ROOT / "lessons" / "book").glob("00_*/lesson.py"))
    before = contents(script.parent)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env=environment | {"LESSONS_WORK": str(tmp_path / "w")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "numeric 0.78644773" in done.stdout
    assert list((tmp_path / "w" / "figures").rglob("*.svg"))
    assert contents(script.parent) == before


def test_the_loom_itself_loads_neither_matplotlib_nor_numba():
    code = "import sys, lessons.classroom.weave; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not {"matplotlib", "numba", "attention"} & set(done.stdout.split())
