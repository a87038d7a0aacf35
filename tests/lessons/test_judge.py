"""Right answers pass, and wrong ones are noticed and named as often as before."""

import json

import pytest

from lessons.classroom import catalogue
from lessons.course import stubs

from . import judge

every_exercise = pytest.mark.parametrize("id", judge.ids())


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    monkeypatch.setenv("LESSONS_WORK", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def wrongly(verdicts):
    """Return the answers that are judged wrongly and were not when they were added."""
    return [
        f"{v.answer.id} [{v.answer.number}] {v.answer.origin}"
        for v in verdicts
        if v.passed != v.answer.right and not v.answer.today
    ]


def test_the_answers_are_to_all_exercises_and_no_two_are_the_same():
    assert {*judge.ids()} == {exercise.id for exercise in catalogue.exercises()}
    for id in judge.ids():
        texts = [answer.text for answer in judge.answers(id)]
        assert len(texts) == len(set(texts))
        assert any(a.right for a in judge.answers(id))


@every_exercise
def test_a_base_has_the_functions_of_the_stub(id):
    wanted = stubs.signatures(catalogue.find(id).stub_text)
    for text in judge.stored()[id]["bases"].values():
        assert wanted.items() <= stubs.signatures(text).items()


@every_exercise
def test_right_answers_pass_and_one_of_each_origin_is_noticed(id):
    answers = list(judge.answers(id))
    wrong = {a.origin: a for a in answers if not a.right and not a.today}
    chosen = [*(a for a in answers if a.right), *wrong.values()]
    assert not wrongly(judge.verdict(answer, named=False) for answer in chosen)


@every_exercise
@pytest.mark.deep
def test_all_wrong_answers_are_noticed(id):
    assert not wrongly(judge.judged(id))


@pytest.mark.deep
def test_the_share_of_named_answers_falls_by_three_points_at_most():
    rows = [judge.counts(judge.judged(id)) for id in judge.ids()]
    wrong, named = sum(row[2] for row in rows), sum(row[4] for row in rows)
    before = sum(map(judge.recorded, judge.ids()))
    assert named >= before - 0.03 * wrong, f"{named} of {wrong}, {before} before"


def test_a_text_becomes_edits_that_occur_once_and_is_added_once(tmp_path, monkeypatch):
    base = "def f(x):\n    y = x\n    y = x\n    return y\n\n\ndef g(x, y):\n"
    base += '    """Return the sum of squares."""\n    return x * x + y * y\n'
    texts = [
        base,
        base.replace("    y = x\n    return", "    y = 2 * x\n    return"),
        "import math\n" + base.replace("return y", "return math.exp(y)"),
        "def f(x):\n    return 3 * x**3\n\n\ndef g(x, y):\n    return (x + y) ** 2\n",
    ]
    monkeypatch.setattr(judge, "FILE", tmp_path / "answers.json")
    judge.stored.cache_clear()
    judge.save({"1.1": {"bases": {"solution": base}, "answers": []}})
    monkeypatch.setattr(judge, "outcome_of", lambda id, text: ("2" not in text, None))
    rows = [{"id": "1.1", "source": t, "right": "2" not in t, "kind": "x"} for t in texts]
    assert (judge.add(rows), judge.add(rows)) == (4, 0)
    found = list(judge.answers("1.1"))
    assert [a.text for a in found] == texts and not any(a.today for a in found)
    stored = json.loads(judge.FILE.read_text(encoding="utf-8"))["1.1"]["answers"]
    assert ["text" in row for row in stored] == [False, False, False, True]
    judge.stored.cache_clear()


def test_an_edit_that_occurs_twice_is_refused():
    with pytest.raises(ValueError, match="occurs 2 times"):
        judge.text_of({"base": "a", "edits": [["x", "y"]]}, {"a": "x x"})
