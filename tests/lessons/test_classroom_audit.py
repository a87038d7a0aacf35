"""Every exercise: stub, solution, and wrong answers, to be noticed and named."""

import contextlib

import pytest

from lessons.classroom import authors, catalogue, mutants
from lessons.classroom.audit import Audit, audit, run, table

EXERCISES = catalogue.exercises()


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.id)
def test_an_exercise_has_no_fault(exercise):
    found = audit(exercise)
    assert not found.faults, "\n" + table([found])
    assert found.planted >= 3, f"{exercise.id} plants {found.planted} wrong answers"
    assert found.named == found.killed == found.planted
    assert found.misnamed == 0


def test_the_table_in_the_readme_is_fresh():
    text = authors.README.read_text(encoding="utf-8")
    assert authors.exercise_table() in text, "python -m lessons dev sync"


def test_what_is_needed_comes_without_a_circle():
    needs = {e.id: e.needs for e in EXERCISES}
    done = set()
    while left := set(needs) - done:
        ready = {id for id in left if set(needs[id]) <= done}
        assert ready, f"a circle among {sorted(left)}"
        done |= ready


@pytest.fixture
def spoil(tmp_path, monkeypatch):
    """(old, new) -> the faults of a copy of 38.5 whose solution was changed so."""
    original = catalogue.find("38.5")
    for path in (original.solution, original.stub, original.check):
        (tmp_path / path.parent.name).mkdir()
        (tmp_path / path.parent.name / path.name).write_bytes(path.read_bytes())
    source = original.solution.read_text(encoding="utf-8")
    monkeypatch.setattr(catalogue, "LESSONS", tmp_path)

    def faults(old, new, after=""):
        assert old in source
        text = source.replace(old, new, 1) + after
        catalogue.find("38.5").solution.write_text(text, encoding="utf-8")
        faults.audit = audit(catalogue.find("38.5"))
        return "\n".join(faults.audit.faults)

    return faults


@pytest.mark.parametrize(
    "old, new, fault",
    [
        ('"np.abs(s - p) < D"', '"np.abs(p - s) <= D"', "planted, not noticed"),
        ('"one-sided"', '"half"', "planted as half, named one-sided"),
        ('("np.abs(s - p)', '("np.abs(s -p)', "occurs 0 times"),
        ("    return np.stack(", "    return ~np.stack(", "ends with 1"),
        ("Which keys each", "Which keys", "not the stripped solution"),
        ("    # END SOLUTION\n", "", "region inside a region"),
        ("20 min", "20 min  needs 77.7", "needs 77.7, which does not exist"),
        ('    "": [', '    "else": [', "no first hint"),
    ],
)
def test_the_audit_sees_what_is_wrong(spoil, old, new, fault):
    assert fault in spoil(old, new)


def test_the_audit_of_a_copy_finds_nothing(spoil):
    assert spoil("np", "np") == ""


def test_a_wrong_name_costs_precision(spoil):
    spoil('"one-sided"', '"half"')
    assert (spoil.audit.misnamed, spoil.audit.named) == (1, spoil.audit.planted - 1)


def test_a_check_that_asks_for_nothing_is_seen(spoil, monkeypatch):
    empty = type(mutants)("checks")
    monkeypatch.setattr("lessons.classroom.audit.load_checks", lambda exercise: empty)
    faults = spoil("np", "np")
    assert "the stub ends with 0" in faults and "planted, not noticed" in faults


def test_a_slow_check_is_seen(spoil, monkeypatch):
    monkeypatch.setattr("lessons.classroom.audit.BUDGET", 1e-9)
    assert "a check of the solution takes" in spoil("np", "np")
    monkeypatch.setenv("LESSONS_TIMEOUT", "30")  # it says that it may
    assert spoil("np", "np") == ""


def test_an_automatic_mutant_that_survives_needs_a_reason(spoil):
    idle = "    s = np.arange(S)", "    s = np.arange(S + 0)"
    what = "S + 0 -> S - 0"
    fault = f"automatic, not noticed, and not in EQUIVALENT: {what}"
    assert fault in spoil(*idle)
    reasons = f'\nEQUIVALENT = {{"{what}": "zero", "a -> b": "never"}}\n'
    found = spoil(*idle, reasons)
    assert fault not in found and "never tried: a -> b" in found


def test_automatic_mutants_are_of_the_regions_alone():
    text = (
        "import numpy as np\n\n\ndef f(a, b):\n    c = a - b\n"
        "    # BEGIN SOLUTION\n    c += a.T\n"
        "    m = -c.max(axis=-1, keepdims=True)\n"
        "    if a.sum(-1) <= 3:\n        return m + c / np.sqrt(2)\n"
        "    # END SOLUTION\n"
    )
    found = {what for what, _ in mutants.automatic(text)}
    assert found == {
        "c += a.T -> c = a.T",
        "a.T -> a",
        "-c.max(axis=-1, keepdims=True) -> c.max(axis=-1, keepdims=True)",
        "c.max(axis=-1, keepdims=True) -> c.max(axis=-1)",
        "c.max(axis=-1, keepdims=True) -> c.max(axis=0, keepdims=True)",
        "a.sum(-1) <= 3 -> a.sum(-1) < 3",
        "a.sum(-1) -> a.sum(0)",
        "m + c / np.sqrt(2) -> m - c / np.sqrt(2)",
        "c / np.sqrt(2) -> c",
    }


def planted(old, new, tag):
    return f"\nMUTANTS = [{(old, new, tag)!r}]\n"


def test_a_planted_answer_that_is_no_python_is_a_fault(spoil):
    broken = planted("np.abs(s - p) <= D", "np.abs(s - p <= D", "off-by-one")
    fault = spoil("np", "np", broken)
    assert "the pattern 'np.abs(s - p) <= D' -> 'np.abs(s - p <= D' leaves no" in fault


def test_a_planted_answer_that_cannot_be_loaded_is_no_traceback(spoil):
    late = planted("import numpy as np", "import nump as np", "off-by-one")
    fault = spoil("np", "np", late)
    assert "planted as off-by-one, named raises: import numpy as np ->" in fault
    assert "No module named 'nump', when the file is loaded" in fault


def test_a_planted_answer_that_never_ends_is_a_timeout(spoil, monkeypatch):
    monkeypatch.setenv("LESSONS_TIMEOUT", "0.3")
    loop = "return length - 1 - t", "while True: pass"
    fault = spoil("np", "np", planted(*loop, "not-reversed"))
    assert "planted as not-reversed, named timeout" in fault
    assert "no end within the time limit" in fault and spoil.audit.misnamed == 0
    assert spoil("np", "np", planted(*loop, "timeout")) == ""
    assert spoil.audit.named == 1


def test_an_answer_has_the_time_that_its_check_grants(monkeypatch):
    granted = []

    @contextlib.contextmanager
    def alarm(seconds):
        granted.append(seconds)
        yield

    exercise = catalogue.find("38.5")
    monkeypatch.delenv("LESSONS_TIMEOUT", raising=False)
    monkeypatch.setattr("lessons.classroom.audit.alarm", alarm)
    for setting in (None, "30"):
        monkeypatch.setattr("lessons.classroom.runner._setting", lambda *_: setting)
        run(exercise, exercise.stub.read_text(encoding="utf-8"))
    assert granted == [10, 30]


def test_a_wrong_answer_that_never_ends_is_noticed(monkeypatch):
    monkeypatch.setenv("LESSONS_TIMEOUT", "0.3")
    exercise = catalogue.find("38.5")
    text = exercise.solution.read_text(encoding="utf-8")
    text = text.replace("return length - 1 - t", "while True: pass")
    assert run(exercise, text) == (1, None)


def test_the_table_counts():
    right = Audit("1", planted=3, killed=3, named=3)
    wrong = Audit("2", planted=5, killed=4, named=3, misnamed=1, faults=["one"])
    text = table([right, wrong])
    assert "precision 0.857 (6 of 7 names right)" in text
    assert "recall 0.750 (6 of 8 planted)" in text and "2: one" in text
