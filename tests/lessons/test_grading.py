"""``python -m lessons grade``: a class of students, checked without a trace."""

import csv
import io
import json
import os
import re

import pytest

from lessons import cli
from lessons.classroom import catalogue
from lessons.course import run as runner

from .classroom_cases import answer, spoilt

IMPORTS = "import numpy as np\nfrom attention import masked_softmax"
WRITES = """from lessons import earlier
unbroadcast = earlier(__file__, "E.1", "unbroadcast")
open("a file", "w").close()
"""


@pytest.fixture(scope="module")
def students(tmp_path_factory):
    """A folder with four students' folders."""
    folder = tmp_path_factory.mktemp("class")
    for place, text in {
        "anna/ex_e_1.py": answer("E.1"),
        "anna/ex_e_2.py": spoilt("wrong"),
        "anna/ex_6_1.py": answer("6.1", "import numpy as np", IMPORTS),
        "ben/ex_e_1.py": catalogue.find("E.1").stub_text,
        "ben/ex_e_2.py": spoilt("loops"),
        "ben/ex_6_1.py": WRITES + answer("6.1"),
        "ben/ex_helpers.py": "x = 3\n",
        "Chloë Ü/week 1/ex_e_2.py": answer(),
        "Chloë Ü/week 1/.history/ex_e_1.py": answer("E.1"),
        "dora/notes.txt": "nothing yet",
    }.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def grade(tmp_path, monkeypatch, capsys):
    """python -m lessons grade … -> (exit code, what it printed)."""
    monkeypatch.setenv("LESSONS_WORK", str(tmp_path / "work"))
    monkeypatch.setattr(runner, "SECONDS", 2)
    monkeypatch.chdir(tmp_path)

    def run(*argv):
        code = cli.main(["grade", *map(str, argv)])
        printed = capsys.readouterr()
        assert not list(tmp_path.iterdir())  # no journal, no file of an answer
        text = printed.out + printed.err
        data = {"--json", "--csv"} & {*argv}
        assert data or all(len(line) <= 80 for line in text.splitlines())
        return code, text

    return run


def contents(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.mark.deep
def test_a_class_has_a_report_for_each_student_and_a_table(students, grade):
    before = contents(students)
    code, text = grade(students)
    assert code == 0 and contents(students) == before
    anna, ben = (text.split(f"{name}: ")[1].split("\n\n")[0] for name in ("anna", "ben"))
    assert re.search(r"1 of 3 passed\n  E.1 +passed\n", anna)
    assert re.search(r"E.2 +failed +tanh: .*\[g \* \(1 - x \* x\)\]", anna)
    assert re.search(r"6.1 +forbidden +written: line \d+:  from attention", anna)
    assert re.search(r"1 of 3 passed\n  E.1 +not written +unbroadcast, multiply", ben)
    assert re.search(r"E.2 +out of time +out of time after 2 s", ben)
    assert re.search(r"6.1 +passed\n", ben)  # it imports another answer of its own
    assert "not checked: ex_helpers.py" in ben
    assert "Chloë Ü: 1 of 3 passed" in text and "not handed in: E.1, 6.1" in text
    table = [line.split() for line in text.split("\n\n")[-2].splitlines()]
    assert table == [
        ["E.1", "E.2", "6.1", "passed"],
        ["Chloë", "Ü", "-", "ok", "-", "1", "of", "3"],
        ["anna", "ok", "x", "!!", "1", "of", "3"],
        ["ben", "..", "t", "ok", "1", "of", "3"],
        ["dora", "-", "-", "-", "0", "of", "3"],
        ["passed", "1", "1", "1"],
    ]


def test_the_same_for_a_program(students, grade):
    options = students / "anna", students / "dora", "--only", "E.1,e3"
    rows = list(csv.DictReader(io.StringIO(grade(*options, "--csv")[1])))
    assert rows == json.loads(grade(*options, "--json")[1])
    found = [(row["student"], row["exercise"], row["result"]) for row in rows]
    assert found == [
        ("anna", "E.1", "passed"),
        ("anna", "E.3", "not handed in"),
        ("dora", "E.1", "not handed in"),
        ("dora", "E.3", "not handed in"),
    ]
    assert len(rows[0]["sha256"]) == 64


@pytest.mark.skipif(os.name != "posix", reason="needs links and pipes")
def test_an_odd_hand_in_is_a_row_of_its_student(grade, tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    for name in ("anna", "folder", "pipe", "dangles", "loops"):
        (folder / name).mkdir()
    (folder / "anna" / "EX_E_1.PY").write_text(answer("E.1"), encoding="utf-8")
    (folder / "other anna").symlink_to("anna")
    (folder / "folder" / "ex_e_1.py").mkdir()
    os.mkfifo(folder / "pipe" / "ex_e_1.py")
    (folder / "dangles" / "ex_e_1.py").symlink_to("nothing")
    (folder / "loops" / "ex_e_1.py").symlink_to("ex_e_1.py")
    (folder / "loops" / "ex_e_2.py").symlink_to("/dev/zero")
    code, text = grade(folder, "--only", "E.1", "--json")
    rows = {row["student"]: (row["result"], row["remark"]) for row in json.loads(text)}
    assert code == 0 and rows == {
        "anna": ("passed", ""),
        "folder": ("unreadable", "ex_e_1.py is a folder"),
        "pipe": ("unreadable", "ex_e_1.py is no file"),
        "dangles": ("unreadable", "ex_e_1.py is a link to nothing"),
        "loops": ("unreadable", "ex_e_1.py is a link to nothing"),
    }


def test_wrong_usage(students, grade, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "anna"
    other.mkdir()
    for argv, fragment in (
        (["/nowhere"], "/nowhere is not a folder"),
        ([".", "--only", "X.9"], "no exercise 'X.9'"),
        ([students, other], "two folders of a student 'anna'"),
    ):
        code, text = grade(*argv)
        assert code == 2 and fragment in text
