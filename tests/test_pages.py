"""README and its pages: the code runs, links lead to files, numbers are the tree's."""

import ast
import contextlib
import inspect
import io
import pathlib
import re

import numpy as np
import pytest

import minigrad as mg
from attention import definitions, kernels
from attention.costs import variants_map
from attention.first_model import Reverser
from lessons.classroom.catalogue import exercises, lesson_folders
from minigrad.graph import reachable

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in (
        "README.md",
        "CONTRIBUTING.md",
        "attention/README.md",
        "attention/kernels/README.md",
        "attention/kernels/SPEED.md",
        "lessons/PYTORCH.md",
        "lessons/READING.md",
    )
}
PACKAGES = "minigrad", "attention", "lessons"
LINK = re.compile(r'\]\(([^)#:]+)(?:#[^)]*)?\)|src="([^":]+)"')
BLOCK = re.compile(r"^```python\n(.*?)^```(?:\n\n```text\n(.*?)```)?", re.M | re.S)


@pytest.mark.parametrize("name", [n for n in PAGES if BLOCK.search(PAGES[n])])
def test_the_code_of_a_page_prints_what_it_shows(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for code, shown in BLOCK.findall(PAGES[name]):
        if "import safetensors" in code:
            continue  # test_torch_transformer.py runs it, if PyTorch is installed
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, names)
        assert printed.getvalue() == shown or not shown


def test_the_functions_of_the_readme_are_those_of_definitions():
    code, _ = BLOCK.search(PAGES["README.md"]).groups()
    functions = [n for n in ast.parse(code).body if isinstance(n, ast.FunctionDef)]
    for function in functions:
        own = inspect.getsource(getattr(definitions, function.name))
        assert statements(function) == statements(ast.parse(own).body[0])
        shown = ast.get_source_segment(code, function).splitlines()
        assert set(shown) <= set(own.splitlines())
    assert functions


def statements(function):
    """Return the statements of a function without its docstring."""
    return [ast.dump(n) for n in function.body if not isinstance(n, ast.Expr)]


@pytest.mark.parametrize("name", PAGES)
def test_links_and_pictures_of_a_page_are_files(name):
    for link, picture in LINK.findall(PAGES[name]):
        assert ((ROOT / name).parent / (link or picture)).exists(), link or picture


def listed_lines():
    """Return {path: numbers of the lines that the list of READING asks for}."""
    listed = PAGES["lessons/READING.md"].partition("\n1. ")[2].partition("\n10. ")[0]
    parts_of = {}
    for part, path in re.findall(r"\[`?([\w/.]+)`?\]\(\.\./(\S+\.py)\)", listed):
        parts_of.setdefault(path, set()).update({part} - {path})
    return {path: first_reading(path, parts) for path, parts in parts_of.items()}


def lines_to_read():
    return sum(map(len, listed_lines().values()))


def test_the_list_of_reading_has_the_backward_of_every_node_of_the_first_model():
    letters = np.zeros((2, 5), int)
    with kernels.backend("numpy"):
        logits, _ = Reverser(np.random.default_rng(0))(letters)
    listed = listed_lines()
    nodes = reachable(mg.cross_entropy(logits, letters)._node)
    assert len(nodes) > 9
    for node in nodes:
        code = node.backward.__code__
        path = pathlib.Path(code.co_filename).relative_to(ROOT).as_posix()
        assert code.co_firstlineno - 1 in listed.get(path, ()), node


def lines_of(*folders):
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    files = [path for path in files if "work" not in path.relative_to(ROOT).parts]
    return sum(path.read_text("utf-8").count("\n") for path in files)


@pytest.mark.parametrize(
    "words, measured, rel",
    [
        ("about N variants", lambda: len(variants_map.map_rows()), 0.05),
        ("N lines of Python", lambda: lines_of(*PACKAGES), 0.1),
        ("definitions have N", lambda: inspect.getsource(definitions).count("\n"), 0.1),
        ("the evening has N", lines_to_read, 0.05),
        ("N lessons", lambda: len(lesson_folders()), 0),
        ("N exercises", lambda: len(exercises()), 0),
    ],
)
def test_numbers_of_the_readme_are_those_of_the_tree(words, measured, rel):
    text = " ".join(PAGES["README.md"].split())
    (said,) = re.findall(words.replace("N", r"(\d+(?: \d{3})*)"), text)
    assert int(said.replace(" ", "")) == pytest.approx(measured(), rel=rel)


def first_reading(path, parts):
    """Return the lines of a file, or of parts of it, but no imports and empty lines."""
    text = (ROOT / path).read_text(encoding="utf-8")
    lines, nodes = text.splitlines(), ast.parse(text).body
    if parts:
        nodes = [n for i, n in enumerate(nodes)
                 if getattr(n, "name", i or "docstring") in parts]  # fmt: skip
        assert len(nodes) == len(parts), path
    is_read = set()
    for node in nodes:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            decorators = [d.lineno for d in getattr(node, "decorator_list", [])]
            is_read |= set(range(min([node.lineno, *decorators]) - 1, node.end_lineno))
    stop = [i for i, line in enumerate(lines) if "first reading can stop here" in line]
    stop = next((i for i in stop if not parts or i in is_read), len(lines))
    return {i for i in is_read if i < stop and lines[i].strip()}
