"""Records: read as written, and held against the code that made them."""

import re
import subprocess
import sys

import numpy as np
import pytest

from lessons.classroom import catalogue, measured, records, shelf
from lessons.classroom.fingerprint import fingerprint
from lessons.classroom.paths import LESSONS, ROOT

SCRIPT = '''"""What it does."""

import numpy as np

N = 3


def used(n):
    """A sentence."""
    return np.arange(n)  # a comment


def other():
    return 1.0


def experiment(my, seed=0):
    return {"curve": used(N)}
'''
SAME = [
    ("# a comment", "# another"),
    ('"""A sentence."""', '"""Two. Sentences."""'),
    ('"""What it does."""\n', ""),
    ("used(N)}", "used(\n        N\n    )\n    }"),
    ("\n\n\ndef other", "\ndef other"),
    ("as np", ""),  # an import
]
OTHER = [("N = 3", "N = 4"), ("arange", "zeros"), ("seed=0", "seed=1")]


@pytest.mark.parametrize("root", [None, "experiment"])
def test_a_fingerprint_sees_code_and_no_words_beside_it(root):
    right = fingerprint(SCRIPT, root=root)
    assert re.fullmatch("[0-9a-f]{16}", right)
    for old, new in SAME + OTHER:
        assert SCRIPT.count(old) == 1, old
        now = fingerprint(SCRIPT.replace(old, new), root=root)
        assert (now == right) == ((old, new) in SAME), (old, new)


def test_a_fingerprint_of_a_function_sees_what_it_leads_to():
    right, answer = fingerprint("x = 1", SCRIPT, root="experiment"), "x = 2"
    changed = SCRIPT.replace("return 1.0", "return 2.0")
    assert fingerprint(changed) != fingerprint(SCRIPT)
    assert fingerprint("x = 1", changed, root="experiment") == right
    assert fingerprint(answer, SCRIPT, root="experiment") != right
    assert fingerprint(SCRIPT, root="nothing") == fingerprint(SCRIPT)
    assert fingerprint("x = 1") != fingerprint("x = 1.0") != fingerprint("x = True")


@pytest.mark.parametrize(
    "changes",
    [
        "N.append(2)", "N['a'] = 2", "np.X = 1", "del N[0]", "fill(N)", "N[0] += 1",
        "N.a.b[0].sort()", "for i in range(3):\n    N.append(i)", "*N, last = 1, 2",
    ],
)  # fmt: skip
def test_a_fingerprint_sees_what_changes_a_name(changes):
    """At the top level, and of a name that the function leads to; of no other."""
    right = fingerprint(SCRIPT, root="experiment")
    assert fingerprint(SCRIPT + changes, root="experiment") != right
    other = changes.replace("N", "other_n").replace("np", "os")
    assert fingerprint(SCRIPT + other, root="experiment") == right


def test_a_fingerprint_stays():
    """Of all versions of Python: records of the past are held against it."""
    text = "def f(x, *, y=None):\n    return f'{x:.2f} {y!r}' if x else [x, -1j, b'a']"
    assert fingerprint(text) == "ca87d2810e78db17"


def test_how_a_record_was_made(tmp_path, capsys):
    script = tmp_path / "experiment.py"
    script.write_text(
        "import pathlib\n"
        "from lessons.classroom.measured import write_record\n"
        "here = pathlib.Path(__file__)\n"
        "here.write_text(here.read_text() + 'x = 1\\n')  # edited, while it runs\n"
        "write_record('r', {'a': 1}, command='python experiment.py', seeds=[1, 2],\n"
        "             records=here.parent)\n"
    )
    then = script.read_text()
    done = subprocess.run([sys.executable, script], cwd=ROOT, text=True, stderr=-1)
    assert done.returncode == 0, done.stderr
    made = measured.record("r", tmp_path)["made"]
    assert made["code"] == fingerprint(then) != fingerprint(script.read_text())
    assert measured.which_script(made, tmp_path) == "an earlier version of the script"
    script.write_text(then + "\n# a thought\n")
    assert measured.which_script(made, tmp_path) == "the script as it is now"
    script.unlink()
    assert measured.which_script(made, tmp_path) == "an earlier version of the script"
    del made["code"]
    assert "not noted" in measured.which_script(made, tmp_path)
    said = measured.how_made({"made": made}).splitlines()
    assert said[0] == "python experiment.py" and said[1].startswith(
        "seeds 1, 2; Python"
    )
    assert max(map(len, said)) <= 80


OF_LESSONS = sorted(
    path.stem for path in measured.RECORDS.glob("*.json") if path.stem[:3] != "ex_"
)
OF_EXERCISES = [e for e in catalogue.exercises() if records.read_record(e)]


@pytest.mark.parametrize("name", OF_LESSONS)
def test_a_page_says_how_its_record_was_made(name):
    kept = measured.record(name)
    script = ROOT / kept["made"]["command"].split()[-1]
    assert script.parent in shelf.folders()
    page = (script.parent / "README.md").read_text(encoding="utf-8")
    assert f"```text\n{measured.how_made(kept)}\n" in page
    words = f'write_record("{name}"', f'"{name}",'
    assert any(each in script.read_text(encoding="utf-8") for each in words)


@pytest.mark.parametrize("exercise", OF_EXERCISES, ids=lambda e: e.stem)
def test_the_record_of_an_exercise_is_of_its_present_code(exercise):
    record = records.read_record(exercise)
    now = records.code_hash(exercise, exercise.solution)
    assert record["code"] == now, (
        f"The record of {exercise.id} was made with another version of the solution or "
        f"of the experiment in its check; the present one is {now}. next: "
        f"python -m lessons experiment {exercise.id} --impl solution"
    )


def test_every_record_is_somebodys():
    known = {e.stem for e in OF_EXERCISES} | set(OF_LESSONS)
    assert {path.stem for path in (LESSONS / "records").iterdir()} == known
    assert len(OF_LESSONS) > 4 and len(OF_EXERCISES) > 3


def test_a_record_is_read_as_it_was_written(tmp_path):
    path = measured.write_record(
        "run", {"curve": np.array([1.5, 2.0]), "n": np.int64(3)},
        command="python -m lessons experiment run", seeds=[1, 2], records=tmp_path,
    )  # fmt: skip
    found = measured.record("run", records=tmp_path)
    assert found["curve"] == [1.5, 2.0] and found["n"] == 3
    assert found["made"]["seeds"] == [1, 2]
    assert found["made"]["numpy"] == np.__version__
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    with pytest.raises(FileNotFoundError, match="no record walk .* there are: run"):
        measured.record("walk", records=tmp_path)
