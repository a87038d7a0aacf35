"""The wheel and the source distribution, installed in fresh environments, elsewhere.

Building needs setuptools from the package index, as ``pip install -e .`` does, and the
check of the description needs twine. The packages numpy, matplotlib and numba are taken
from this environment; pytest is hidden, because ``pip install .`` does not install it.
"""

import email
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile

import numpy as np
import pytest

import minigrad

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = """
from setuptools import build_meta
build_meta.build_wheel({out!r}), build_meta.build_sdist({out!r})
"""
NOT_COPIED = shutil.ignore_patterns(
    ".git", "__pycache__", "*.egg-info", "build", "dist", "runs", ".venv", "venv"
)

pytestmark = pytest.mark.deep


def run(*command, cwd, **variables):
    """Run a command outside the repository; return what it prints."""
    environment = os.environ | {"MPLBACKEND": "Agg"}
    for name in "PYTHONPATH", "PYTHONHOME":
        environment.pop(name, None)
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment | variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def environment(folder):
    """Create an environment that finds numpy and its like here; return its folder."""
    venv.create(folder, with_pip=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "found.pth").write_text(str(pathlib.Path(np.__file__).parent.parent))
    (packages / "pytest.py").write_text("raise ImportError('pytest is not installed')")
    return folder / "bin"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build the wheel and the source distribution from a copy; return their paths."""
    folder = tmp_path_factory.mktemp("built")
    shutil.copytree(ROOT, folder / "source", ignore=NOT_COPIED)
    tools = environment(folder / "tools")
    pip = tools / "python", "-m", "pip", "install", "-qU", "setuptools", "wheel", "twine"
    run(*pip, cwd=folder)
    script = BUILD.format(out=str(folder / "dist"))
    run(tools / "python", "-c", script, cwd=folder / "source")
    (wheel,), (source,) = folder.glob("dist/*.whl"), folder.glob("dist/*.tar.gz")
    twine = tools / "python", "-m", "twine", "check", "--strict"
    run(*twine, wheel, source, cwd=folder)
    return wheel, source


@pytest.fixture(scope="module", params=["wheel", "source"])
def installed(request, built, tmp_path_factory):
    """Install one of the two; return the folder of programs and an empty folder."""
    folder = tmp_path_factory.mktemp(f"from_{request.param}")
    programs = environment(folder / "environment")
    pip = programs / "python", "-m", "pip", "install", "-q", "--no-deps"
    run(*pip, built[request.param == "source"], cwd=folder)
    return programs, folder


def test_an_index_shows_the_readme(built):
    with zipfile.ZipFile(built[0]) as wheel:
        (name,) = [n for n in wheel.namelist() if n.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(wheel.read(name))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload(decode=True).decode("utf-8").strip() == readme.strip()
    assert metadata["Keywords"] and metadata["Provides-Extra"] == "test"
    needs = [need for need in metadata.get_all("Requires-Dist") if "pytest" in need]
    assert len(needs) == 1 and needs[0].endswith('extra == "test"')


@pytest.mark.parametrize("age", ["newest", "oldest"])
def test_an_editable_installation_is_a_path_that_editors_follow(age, tmp_path):
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]
    (setuptools,) = build["requires"]
    exact = setuptools.replace(">=", "==") + ".*" if age == "oldest" else setuptools
    (tmp_path / "constraints.txt").write_text(exact)
    shutil.copytree(ROOT, tmp_path / "source", ignore=NOT_COPIED)
    programs = environment(tmp_path / "environment")
    pip = programs / "python", "-m", "pip", "install", "-q", "--no-deps", "-e"
    constraints = {"PIP_CONSTRAINT": str(tmp_path / "constraints.txt")}
    run(*pip, tmp_path / "source", cwd=tmp_path, **constraints)
    (path,) = tmp_path.glob("environment/lib/python*/site-packages/__editable__*.pth")
    assert path.read_text().strip() == str(tmp_path / "source")


def test_the_packages_are_those_installed(installed):
    programs, folder = installed
    for name in "minigrad", "attention", "lessons":
        code = f"import {name}; print({name}.__file__)"
        path = pathlib.Path(run(programs / "python", "-c", code, cwd=folder).strip())
        assert path.is_relative_to(folder / "environment")
        kinds = "*.pyi", "py.typed", "*.md"
        for data in [each for kind in kinds for each in (ROOT / name).rglob(kind)]:
            assert (path.parent / data.relative_to(ROOT / name)).exists()
    for program in "attention", "lessons":
        printed = run(programs / program, "--version", cwd=folder).split()
        assert printed == ["minigrad-attention", minigrad.__version__]
    version = "import importlib.metadata as m; print(m.version('minigrad-attention'))"
    printed = run(programs / "python", "-c", version, cwd=folder).strip()
    assert printed == minigrad.__version__


def test_the_commands_run(installed):
    programs, folder = installed
    out = folder / "reversal"
    run(programs / "attention", "reversal", "--steps", "5", "--out", out, cwd=folder)
    assert (out / "results.json").is_file() and (out / "loss.png").is_file()
    command = "translate", "run", "the black cat does not sleep ."
    printed = run(programs / "attention", *command, cwd=folder)
    assert "le chat noir ne dort pas" in printed


def test_the_course_runs(installed):
    programs, folder = installed
    work = {"LESSONS_WORK": str(folder / "work")}
    assert "E.15" in run(programs / "lessons", "list", cwd=folder, **work)
    assert "softmax" in run(programs / "lessons", "read", "5", cwd=folder)
    assert "0 of" in run(programs / "lessons", "status", cwd=folder, **work)
    for verb in "site", "notebooks":
        run(programs / "lessons", verb, folder / verb, cwd=folder)
    assert (folder / "site" / "style.css").is_file()
    first = (folder / "site" / "index.html").read_text(encoding="utf-8")
    assert "Lessons</h1>" in first  # the README of the project is not installed
    for name in "book/00_tape/figures/tape.svg", "minigrad/graph.py.html":
        assert (folder / "site" / name).is_file()
    lessons = list((ROOT / "lessons" / "book").glob("*/lesson.py"))
    assert len(list((folder / "notebooks").glob("*.ipynb"))) == len(lessons) > 14
    home = {"HOME": str(folder / "home"), "XDG_STATE_HOME": str(folder / "state")}
    run(programs / "lessons", "start", "E.2", cwd=folder, **home)
    assert (folder / "home" / "minigrad-lessons" / "00_e_2_backwards.py").is_file()
    run(programs / "lessons", "run", "0", cwd=folder, **work)
    run(programs / "lessons", "start", "E.1", cwd=folder, **work)
    (answer,) = (folder / "work").glob("00_e_1_*.py")
    code = "from lessons.classroom.catalogue import find; print(find('E.1').answer_text)"
    solution = run(programs / "python", "-c", code, cwd=folder)
    answer.write_text(solution, encoding="utf-8")
    assert "passed" in run(programs / "lessons", "check", "E.1", cwd=folder, **work)


def test_the_source_distribution_is_complete(built, tmp_path):
    """Its tests run where it is unpacked, and no file of the repository is missing."""
    with tarfile.open(built[1]) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    part = (
        "test_architecture.py",
        "minigrad/test_engine_backward.py",
        "lessons/test_book.py",
    )
    part = [f"tests/{name}" for name in part]
    pytest_ = sys.executable, "-m", "pytest", "-q", "-x"
    run(*pytest_, *part, cwd=source, PYTHONPATH=str(source))
    if (ROOT / ".git").exists() and shutil.which("git"):
        tracked = run("git", "ls-files", cwd=ROOT).split()
        missing = [path for path in tracked if not (source / path).is_file()]
        assert not missing
