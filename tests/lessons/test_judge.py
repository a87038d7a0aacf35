"""Right answers pass, and wrong ones are noticed and named as often as before."""

import pytest

from lessons.classroom import catalogue

from . import judge

pytestmark = pytest.mark.usefixtures("work")
every_exercise = pytest.mark.parametrize("id", judge.ids())


def wrongly(verdicts):
    """Return the answers that are judged wrongly and were not when they were added."""
    return [
        f"{v.answer.id} [{v.answer.number}] {v.answer.origin}"
        for v in verdicts
        if v.passed != v.answer.right and not v.answer.today
    ]


def test_the_answers_are_to_exercises_and_no_two_are_the_same():
    """A new exercise has none: its file has the mistakes that are known."""
    assert {*judge.ids()} <= {exercise.id for exercise in catalogue.exercises()}
    for id in judge.ids():
        texts = [answer.text for answer in judge.answers(id)]
        assert len(texts) == len(set(texts))
        assert any(a.right for a in judge.answers(id))


@every_exercise
def test_right_answers_pass(id):
    """Of the other forms of a result, a deep run checks all."""
    right = [a for a in judge.answers(id) if a.right and a.form in (None, "tuple1")]
    assert not wrongly(map(judge.verdict, right))


@every_exercise
@pytest.mark.deep
def test_all_answers_are_judged_rightly(id):
    assert not wrongly(judge.judged(id))


@pytest.mark.deep
def test_the_share_of_named_answers_falls_by_three_points_at_most():
    """The names before are recorded with the answers."""
    every = [v for id in judge.ids() for v in judge.judged(id) if not v.answer.right]
    named = {v.answer for v in every if v.name is not None and not v.passed}
    before = {v.answer for v in every if v.answer.name is not None}
    lost = [f"{answer.id} [{answer.number}]" for answer in before - named]
    assert len(named) >= len(before) - 0.03 * len(every), lost


def test_an_edit_that_occurs_twice_is_refused():
    with pytest.raises(ValueError, match="occurs 2 times"):
        judge.text_of({"base": "a", "edits": [["x", "y"]]}, {"a": "x x"})
