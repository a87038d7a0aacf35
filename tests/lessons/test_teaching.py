"""The tables of pages are fresh; the syllabus and the example of TEACHING.md work."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from lessons.classroom.authors import tables
from lessons.classroom.catalogue import LESSONS, ROOT, find, lesson_folders, number

TEXT = (LESSONS / "TEACHING.md").read_text(encoding="utf-8")


def test_the_syllabus_has_every_lesson_once_and_what_an_exercise_needs_before_it():
    weeks = re.findall(r"^\| \d+ \| [^|]+ \| ([\w, ]+) \| \d+ \| (.*?) \|", TEXT, re.M)
    lessons = [n for week, _ in weeks for n in week.split(", ")]
    assert lessons == [number(folder) for folder in lesson_folders()]
    solved = [id for _, ids in weeks for id in ids.split(", ")]
    for k, id in enumerate(solved):
        assert set(find(id).needs) <= set(solved[:k]), id


def test_the_tables_of_pages_are_fresh():
    for path, text in tables.pages().items():
        assert path.read_text(encoding="utf-8") == text, "python -m lessons dev sync"


@pytest.fixture
def course(tmp_path):
    """python -m lessons … in a copy of the course that has the exercise of the page."""
    lessons = tmp_path / "lessons"
    shutil.copytree(LESSONS, lessons, ignore=shutil.ignore_patterns("book", "work"))
    (lessons / "book").symlink_to(LESSONS / "book")
    for name in ("minigrad", "attention", "setup.cfg"):
        (tmp_path / name).symlink_to(ROOT / name)
    for path, code in re.findall(r"<!-- (\S+) -->\n```python\n(.*?)```\n", TEXT, re.S):
        (lessons / path).write_text(code, encoding="utf-8")
    work = {"LESSONS_WORK": str(tmp_path / "work"), "XDG_STATE_HOME": str(tmp_path)}

    def run(*argv):
        done = subprocess.run(
            [sys.executable, "-m", "lessons", *argv],
            cwd=tmp_path,
            env=dict(os.environ) | {"PYTHONPATH": str(tmp_path)} | work,
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.mark.deep
def test_the_teachers_own_exercise_works_and_may_be_sealed(course, tmp_path):
    code, text = course("dev", "audit", "W.1")
    assert code == 0, text
    assert course("dev", "sync")[0] == 0
    file = "exercises/09_w_1_cosine.py"
    row = (tmp_path / "lessons" / "README.md").read_text(encoding="utf-8")
    assert f"| W.1 | [Cosine scores]({file}) | ●○○○ | 15 | [09]" in row
    assert course("dev", "seal", "W.1")[0] == 0
    code, text = course("start", "w1")
    assert code == 0 and "W.1  Cosine scores  (lesson 09)" in text
    answer = tmp_path / "work" / "09_w_1_cosine.py"
    stub = answer.read_text(encoding="utf-8")
    sealed = (tmp_path / "lessons" / file).read_text(encoding="utf-8")
    assert sealed.startswith(stub) and "K @ q" not in sealed
    assert "is sealed" in course("dev", "audit", "W.1")[1]
    whole = tmp_path / "lessons" / file
    assert course("dev", "seal", "--open", "W.1")[0] == 0
    assert "K @ q" in whole.read_text(encoding="utf-8")
    assert course("dev", "seal", "W.1")[0] == 0
    for line, code, tag in (
        ("return K @ q / (K * K).sum(1) ** 0.5", 1, "the scores divided by |k_j| only"),
        ("return K @ q / (K * K).sum(1) ** 0.5 / (q @ q) ** 0.5", 0, "passed"),
    ):
        text = stub.replace('raise NotWritten("W.1 cosine_scores")', line)
        answer.write_text(text, encoding="utf-8")
        found, text = course("check")
        assert found == code and tag in text, text
    assert "withheld" in course("solution", "W.1")[1]
