"""Every exercise: its stub, its solution, and wrong answers that its check names."""

import itertools
import re
from types import SimpleNamespace

import pytest

from lessons.classroom import catalogue, stubs
from lessons.classroom.authors import audit
from lessons.classroom.authors.audit import Audit, audit_exercise, run, table
from lessons.classroom.learner import hints

from .classroom_cases import answer

EXERCISES = catalogue.exercises()
ENGINE = [e for e in EXERCISES if e.id.startswith("E.")]
every_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.id)


@every_exercise
def test_some_of_the_planted_mistakes_are_named(exercise):
    found = audit_exercise(exercise, automatic=False, every=40)
    assert not found.faults, "\n" + table([found])
    assert found.named == found.killed == found.planted >= 1


@every_exercise
@pytest.mark.deep
def test_every_mistake_planted_or_automatic_is_noticed(exercise):
    found = audit_exercise(exercise)
    assert not found.faults, "\n" + table([found])
    assert found.named == found.killed == found.planted


@every_exercise
def test_two_sentences_say_why_an_answer_works(exercise):
    why = hints.why(exercise)
    assert len(re.findall(r"[a-z0-9\])]\.(?: [A-Z0-9a-z]|$)", why)) == 2, why


@every_exercise
def test_a_hint_on_raises_cannot_know_which_function_raised(exercise):
    assert "raises" not in hints.own_hints(exercise)


@pytest.mark.parametrize("exercise", ENGINE, ids=lambda e: e.id)
def test_a_hint_does_not_repeat_the_one_before(exercise):
    """On a mistake, then on a function, then in general; the last gives the answer."""
    own = hints.own_hints(exercise)
    parts = stubs.signatures(exercise.source.read_text(encoding="utf-8"))
    for key in own.keys() - {""}:
        later = own[""][:-1]
        for part in parts if key not in parts else ():
            later = [*later, *own.get(part, [])]
        for text, other in itertools.product(own[key], later):
            words, again = (set(re.findall(r"\w{2,}", t.lower())) for t in (text, other))
            assert len(words & again) < max(5, 0.8 * len(words)), (text, other)


def test_the_table_in_the_readme_is_fresh():
    text = audit.README.read_text(encoding="utf-8")
    assert audit.exercise_table() in text, "python -m lessons dev sync"
    assert audit.map_page() == audit.MAP.read_text("utf-8"), "python -m lessons dev sync"


def test_the_exercises_need_each_other_without_a_cycle():
    needs, done = {e.id: set(e.needs) for e in EXERCISES}, set()
    while left := set(needs) - done:
        ready = {id for id in left if needs[id] <= done}
        assert ready, f"a cycle among {sorted(left)}"
        done |= ready


RIGHT = [
    ("38.6", "(s @ W_g @ h1 + s @ W_g @ h3) / 2",
     "0.5 * (s @ W_g @ h1 + s @ W_g @ h3)"),
    ("6.10", "(p * (e - mean) ** 2).sum(-1)",
     "np.einsum('...j,...j', p, np.square(mean - e))"),
]  # fmt: skip
WRONG = [
    ("38.3", "log_Z - mean_score", "log_Z + mean_score", "mean-score-lost"),
    ("38.5", "np.abs(s - p) <= D", "np.abs(s - p) <= D / 2", "half-width"),
    ("38.6", "+ s @ W_g @ h3) / 2", "+ s @ W_g @ h3) * 0.51", "arrives-elsewhere"),
    ("E.3", "            stack.extend(",
     "            graph[name].reverse()\n            stack.extend(", "mutates-input"),
    ("6.9", "    sources = {", "    del pairs[cut:]\n    sources = {", "mutates-input"),
]  # fmt: skip


@pytest.mark.parametrize("id, old, new", RIGHT)
def test_a_right_answer_in_other_words_passes(id, old, new):
    assert run(catalogue.find(id), answer(id, old, new)) == (0, None)


@pytest.mark.parametrize("id, old, new, tag", WRONG)
def test_a_mistake_that_is_not_planted_has_its_name(id, old, new, tag):
    code, failed = run(catalogue.find(id), answer(id, old, new))
    assert (code, failed.tag) == (1, tag)


@pytest.fixture
def spoil(tmp_path, monkeypatch):
    """(old, new) -> the faults of a copy of 38.5 whose solution was changed so."""
    original = catalogue.find("38.5")
    for path in (original.solution, original.stub, original.check):
        (tmp_path / path.parent.name).mkdir()
        (tmp_path / path.parent.name / path.name).write_bytes(path.read_bytes())
    source = original.solution.read_text(encoding="utf-8")
    monkeypatch.setattr(catalogue, "LESSONS", tmp_path)
    monkeypatch.setattr(audit, "spoiled_twins", lambda exercise: [])  # to be quick

    def faults(old="np", new="np", after="", automatic=False, hints='"": ["…"]'):
        check = original.check.read_text(encoding="utf-8").partition("HINTS")[0]
        text = f"{check}HINTS = {{{hints}}}\n"
        catalogue.find("38.5").check.write_text(text, encoding="utf-8")
        assert old in source
        text = source.replace(old, new, 1) + after
        catalogue.find("38.5").solution.write_text(text, encoding="utf-8")
        found = audit_exercise(catalogue.find("38.5"), automatic, every=2)
        return "\n".join(found.faults)

    return faults


IDLE = "    s = np.arange(S)", "    s = np.arange(S + 0)"


def planted(old, new, tag):
    return "np", "np", f"\nMUTANTS = [{(old, new, tag)!r}]\n"


@pytest.mark.parametrize(
    "change, fault",
    [
        (planted("np.abs(s - p) <= D", "np.abs(p - s) <= D", "x"),
         "planted, not noticed"),
        (planted("np.abs(s - p) <= D", "(s - p) % S <= D", "half"),
         "planted as half, named one-sided"),
        (planted("np.abs(s -p)", "s", "x"), "occurs 0 times"),
        (("    return np.stack(", "    return ~np.stack("), "ends with 1"),
        (("which keys each", "which keys"), "not the stripped solution"),
        (("    # END SOLUTION\n", ""), "expected '# END SOLUTION'"),
        (("WHY = (", "BECAUSE = ("), "WHY of the solution is empty"),
        (("np", "np", "\nMUTANTS = []\n"), "no mistake is planted"),
        (("35 min", "35 min  needs 77.7"), "needs 77.7, which does not exist"),
        (planted("np.abs(s - p) <= D", "np.abs(s - p <= D", "x"), "named syntax"),
        (planted("import numpy as np", "import nump as np", "x"), "named raises"),
        ((*IDLE, "", True), "not in EQUIVALENT: S + 0 -> S - 0"),
        (("np", "np", '\nEQUIVALENT = {"a -> b": "never"}\n', True),
         "never tried: a -> b"),
    ],
)  # fmt: skip
def test_the_audit_finds_a_fault(spoil, change, fault):
    assert fault in spoil(*change)


def test_the_audit_misses_a_first_hint(spoil):
    assert "no first hint" in spoil(hints='"local_mask": ["…"]')


def test_the_audit_finds_no_fault_where_there_is_none(spoil):
    assert spoil(automatic=True) == ""
    equivalent = '\nEQUIVALENT = {"S + 0 -> S - 0": "adds 0"}\n'
    assert spoil(*IDLE, equivalent, automatic=True) == ""


def test_the_audit_reports_a_missing_check(spoil):
    catalogue.find("38.5").check.unlink()
    (fault,) = audit_exercise(catalogue.find("38.5")).faults
    assert fault.startswith("there is no check") and "ex_38_5.py" in fault


def test_dev_audit_reports_a_slow_check(monkeypatch, capsys):
    monkeypatch.setattr(audit, "BUDGET", 1e-9)
    assert audit.audit(SimpleNamespace(id=["38.5"])) == 1
    assert "a check of the solution takes" in capsys.readouterr().out


def test_the_audit_finds_a_check_that_checks_nothing(spoil, monkeypatch):
    monkeypatch.setattr(audit, "load_checks", lambda exercise: type(stubs)("empty"))
    faults = spoil()
    assert "the stub ends with 0" in faults and "planted, not noticed" in faults
    assert "does not import own_work" in faults


def test_a_planted_answer_that_never_ends_is_a_timeout(spoil, monkeypatch):
    monkeypatch.setenv("LESSONS_TIMEOUT", "0.3")
    loop = "return length - 1 - t", "while True: pass"
    assert "planted as x, named timeout" in spoil(*planted(*loop, "x"))
    assert spoil(*planted(*loop, "timeout")) == ""


def test_automatic_mistakes_are_in_the_regions_only():
    text = (
        "import numpy as np\n\n\ndef f(a, b):\n    c = a - b\n"
        "    # BEGIN SOLUTION\n    c += a.T\n"
        "    m = -c.max(axis=-1, keepdims=True)\n"
        "    if a.sum(-1) <= 3:\n        return m + c / np.sqrt(2)\n"
        "    # END SOLUTION\n"
    )
    assert {what for what, _ in audit.automatic_mutants(text)} == {
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


def test_the_table_counts():
    right = Audit("1", planted=3, killed=3, named=3)
    wrong = Audit("2", planted=5, killed=4, named=3, misnamed=1, faults=["one"])
    text = table([right, wrong])
    assert "precision 0.857 (6 of 7 names right)" in text
    assert "recall 0.750 (6 of 8 planted)" in text and "2: one" in text
