"""The architecture, read from the code: which modules import which, and where.

lessons -> attention -> minigrad      an arrow is an import; none runs backwards
               |
               +-> attention/kernels    the only folder that imports numba
"""

import ast
import functools
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = ("minigrad", "attention", "lessons")
FLOORS = {"minigrad": 0, "attention": 1, "lessons": 2}
THIRD_PARTY = {"numpy", "matplotlib", "numba", "pytest"}
# matplotlib, imported late
PICTURES = {
    "figure.py", "figures.py", "fonts.py", "heatmaps.py", "raster.py",
}  # fmt: skip
PEER = {"peer.py"}  # of the benchmark
TOP_LEVEL = {
    "minigrad", "attention", "lessons", "tests", "setup.cfg", "pyproject.toml",
    "README.md", "CONTRIBUTING.md", ".gitignore", ".ci", "LICENSE", "MANIFEST.in",
}  # fmt: skip


def modules():
    """{dotted name: path} of every module of the packages."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "work" in path.relative_to(ROOT).parts:  # a learner's own files
                continue
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


MODULES = modules()


@functools.cache
def tree_of(name):
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


@functools.cache
def imports(name):
    """Return (dotted name, whether inside a function) for each import of a module."""
    return list(_imports(name))


def _imports(name):
    path = MODULES[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node, late in _statements(tree_of(name)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, late
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                parts = parts[: len(parts) - node.level + 1]
                base = ".".join(parts + ([node.module] if node.module else []))
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                yield (whole if whole in MODULES else base), late


def _statements(node, late=False):
    """Yield (statement, whether inside a function); no expression holds an import."""
    late = late or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue  # for editors; it does not run
        if not isinstance(child, ast.expr):
            yield child, late
            yield from _statements(child, late)


def test_a_module_imports_only_what_its_floor_allows():
    every = [(name, *found) for name in MODULES for found in imports(name)]
    for name, target, late in every:
        path, package = MODULES[name], name.split(".")[0]
        top = target.split(".")[0]
        if top in FLOORS:
            assert FLOORS[top] <= FLOORS[package], f"{path} imports {target}, upstairs"
        elif top == "numba":
            assert "kernels" in name.split("."), f"{path} imports numba"
            assert name.startswith("attention."), path
        elif top == "matplotlib":
            assert path.name in PICTURES, f"{path} imports matplotlib"
            assert late, f"{path} imports matplotlib before anything is drawn"
            assert "pyplot" not in target, f"{path} imports pyplot, which keeps figures"
            assert package != "minigrad" or name.startswith("minigrad.draw"), path
        elif top in ("torch", "transformers", "llama_cpp"):
            assert path.name in PEER and late, f"{path} imports torch"
        else:
            known = top in sys.stdlib_module_names or top in THIRD_PARTY
            assert known, f"{path} imports {top}, which is none of the four packages"
            allowed = top != "pytest" or name == "lessons.exercises.conftest"
            assert allowed, f"{path} imports pytest, which `pip install .` leaves out"


def test_the_course_has_three_levels():
    """The command line, the pages, the classroom: an import goes down."""
    levels = {"lessons.classroom": 0, "lessons.pages": 1, "lessons.cli": 2}

    def level(name):
        return next((n for p, n in levels.items() if f"{name}.".startswith(f"{p}.")), 0)

    for name in MODULES:
        if name.startswith(tuple(levels)):
            up = [t for t, _ in imports(name) if level(t) > level(name)]
            assert not up, f"{name} imports {up}"


def test_an_import_is_an_import_and_no_string():
    """But for lessons' folders, whose names are no names of Python, and late names."""
    found = {
        name
        for name in MODULES
        if "import_module(" in MODULES[name].read_text(encoding="utf-8")
        and not name.startswith("lessons.book.")
    }
    late = {"attention", "attention.__main__"}  # of names that are looked up
    walks = {"attention.variants.table"}  # the pages that have rows
    by_number = {"lessons.pages.cells", "lessons.course.own_training"}
    assert found - by_number == late | walks


def test_no_import_circle():
    arrows = {
        name: {target for target, _ in imports(name) if target in MODULES} - {name}
        for name in MODULES
    }
    done, path = set(), []

    def walk(name):
        assert name not in path, " -> ".join(path[path.index(name) :] + [name])
        if name in done:
            return
        path.append(name)
        for target in sorted(arrows[name]):
            walk(target)
        path.pop()
        done.add(name)

    for name in MODULES:
        walk(name)


def test_no_star_import_and_nothing_patched():
    for name in MODULES:
        check_star_imports_and_patches(name)


def check_star_imports_and_patches(name):
    tree = tree_of(name)
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                # the names that minigrad.ops and attention.public list
                listed = name in ("minigrad", "minigrad.nn.functional", "attention")
                assert listed or alias.name != "*", f"{MODULES[name]} imports *"
                imported.add((alias.asname or alias.name).split(".")[0])
    for node in ast.walk(tree):
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        for target in targets if isinstance(node, (ast.Assign, ast.AugAssign)) else ():
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                where = f"{MODULES[name]}:{node.lineno}"
                owner = target.value.id
                assert owner not in imported, (
                    f"{where} sets {owner}.{target.attr}, another module's"
                )
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setattr":
            owner = getattr(node.args[0], "id", "")
            where = f"{MODULES[name]}:{node.lineno}"
            assert owner not in imported, f"{where} patches {owner}"


def test_nothing_else_at_the_top():
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    if listing.returncode:
        pytest.skip("not a git checkout")
    entries = {line.split("/")[0] for line in listing.stdout.splitlines()}
    assert entries <= TOP_LEVEL, f"unplanned at the top level: {entries - TOP_LEVEL}"


def test_pyproject_holds_the_build_system_alone():
    import tomllib

    tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert list(tables) == ["build-system"]


def test_the_commands_that_ci_runs_are_those_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    commands = re.findall(r'grep -Fx "(.*?)" README\.md', script)
    assert len(commands) == 2
    assert set(commands) <= set((ROOT / "README.md").read_text("utf-8").splitlines())


def test_the_command_line_of_the_course_appears_at_once():
    code = "import sys, lessons.cli, lessons.pages.reading; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not {"numpy", "minigrad", "pytest", "matplotlib"} & {*done.stdout.split()}


# Lines of Python a folder may have, with its subfolders, in hundreds: what was reached.
# Whoever needs more raises a number in the same commit, with a reason for a reader.
LINES = {
    "minigrad": 85, "minigrad/checking": 16, "minigrad/ops": 20, "attention": 304,
    "attention/app": 52, "attention/exact": 14, "attention/kernels": 36,
    "attention/masks": 16, "attention/positions": 17, "attention/seq2seq": 12,
    "attention/transformer": 10, "attention/variants": 54, "lessons": 401,
    "lessons/book": 187, "lessons/classroom": 26, "lessons/course": 45,
    "lessons/exercises": 79, "lessons/instrument": 13, "lessons/pages": 45,
    "tests": 295, "tests/attention": 151, "tests/lessons": 43, "tests/minigrad": 49,
    "tests/ops": 28,
}  # fmt: skip


@pytest.mark.parametrize("folder", LINES)
def test_a_folder_keeps_its_budget_of_lines(folder):
    files = [p for p in (ROOT / folder).rglob("*.py")
             if "work" not in p.relative_to(ROOT).parts]  # a learner's own  # fmt: skip
    lines = sum(len(p.read_text(encoding="utf-8").splitlines()) for p in files)
    assert lines <= 100 * LINES[folder], f"{folder}: {lines} lines"
