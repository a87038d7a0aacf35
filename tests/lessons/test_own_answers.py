"""Earlier answers, predictions and long runs of a learner's own folder."""

import json

import numpy as np
import pytest

from attention.app.experiments.verdict import above, below
from lessons import NotWritten, earlier
from lessons.checks.before import answers_pass
from lessons.checks.ex_38_4 import is_prediction
from lessons.checks.long_runs import (
    each_of,
    examine,
    judged,
    over_sentences,
    own_record,
)
from lessons.checks.predictions import _plain, locked
from lessons.classroom import catalogue, journal, records
from lessons.classroom.checking import harness
from lessons.classroom.steps import CheckFailed

from .classroom_cases import TANH, answer


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    monkeypatch.setenv("LESSONS_WORK", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def handed_in(id, old="", new=""):
    """Write an answer into the learner's folder; return its ``Harness``."""
    exercise = catalogue.find(id)
    exercise.work.write_text(answer(id, old, new), encoding="utf-8")
    return harness.load(exercise, exercise.work)


def test_an_earlier_answer_is_that_of_the_same_folder(work):
    file = str(work / "ex_6_5.py")
    with pytest.raises(NotWritten, match="E.2 softmax"):
        earlier(file, "E.2", "softmax")([1.0])
    handed_in("E.2", "return y, backward", "return 7.0, backward")
    assert earlier(file, "E.2", "tanh")(0.0)[0] == 7.0


def test_a_wrong_earlier_answer_is_named(work):
    my = handed_in("6.5")
    with pytest.raises(NotWritten, match="E.2"):
        answers_pass(my, "E.2")
    handed_in("E.2", TANH, "return g * (1 - x * x)")
    with pytest.raises(CheckFailed, match="check E.2") as caught:
        answers_pass(my, "E.2")
    assert caught.value.tag == "earlier"
    handed_in("E.2")
    answers_pass(my, "E.2")
    own = 'softmax = lambda x: None  # earlier("E.2")'
    my = handed_in("6.5", 'softmax = earlier(__file__, "E.2", "softmax")', own)
    catalogue.find("E.2").work.unlink()
    answers_pass(my, "E.2")  # written anew, it needs no other


def test_the_first_prediction_counts(capsys):
    first = locked(handed_in("38.4"), is_prediction)
    other = handed_in("38.4", '{"loss": "scaled"', '{"loss": "dot"')
    assert other.prediction() != first == locked(other, is_prediction)
    assert "first prediction counts" in capsys.readouterr().out
    assert [e["event"] for e in journal.events("38.4")] == ["prediction"]


def test_a_prediction_may_hold_numpys_numbers():
    numbers = {"rank": (np.float64(1.5), "dot"), "curve": np.arange(3)}
    assert _plain(numbers) == "{'rank': (1.5, 'dot'), 'curve': [0, 1, 2]}"


def test_only_the_learners_own_prediction_is_stored():
    exercise = catalogue.find("38.4")
    my = harness.load(exercise, exercise.solution)
    assert locked(my, is_prediction) == my.prediction()
    assert not journal.events("38.4")


def test_38_4_does_not_pass_before_its_own_training():
    with pytest.raises(CheckFailed, match="experiment 38.4") as caught:
        own_record(handed_in("38.4"))
    assert caught.value.tag == "no-long-run"


OLD_STATE = "mg.concat([new, c], axis=-1)", "mg.concat([s, c], axis=-1)"


def test_6_9_trains_no_answer_that_fails_its_check():
    examine(handed_in("6.9"), 0, but="the_long_run")
    my = handed_in("6.9", *OLD_STATE)
    with pytest.raises(CheckFailed, match="check 6.9") as caught:
        harness.load_checks(catalogue.find("6.9")).experiment(my)
    assert caught.value.tag == "old-state"
    assert "nothing was trained" in str(caught.value)


def test_6_9_needs_a_record_of_the_present_decode_step(work):
    exercise = catalogue.find("6.9")
    kept = records.read_record(exercise)
    (work / "records").mkdir()
    file = work / "records" / f"{exercise.stem}.json"
    file.write_text(json.dumps(kept), encoding="utf-8")
    assert own_record(handed_in("6.9")) == kept["result"]
    in_words = "They are not graded", "No grade"
    assert own_record(handed_in("6.9", *in_words)) == kept["result"]
    assert own_record(handed_in("6.9", "looks", "attends")) == kept["result"]  # a local
    minutes = round(kept["seconds"] / 60)
    with pytest.raises(CheckFailed, match=f"6.9, {minutes} minutes") as caught:
        own_record(handed_in("6.9", *OLD_STATE))
    assert caught.value.tag == "old-record"


@pytest.mark.parametrize("text", ["5", "null", "{}", "[1, 2]", '{"code', "[" * 99_999])
def test_a_file_that_is_no_record_counts_as_none(work, text):
    (work / "records").mkdir()
    for name in ("ex_38_4.json", "ex_38_4.unfinished.json"):
        (work / "records" / name).write_text(text, encoding="utf-8")
    my = handed_in("38.4")
    with pytest.raises(CheckFailed, match="experiment 38.4") as caught:
        own_record(my)
    assert caught.value.tag == "no-long-run"
    assert each_of(my, [("a",)], str.upper, seed=0) == ["A"]


def test_6_5_needs_the_softmax_of_e_2_only(work):
    my = handed_in("6.5")
    with pytest.raises(NotWritten, match="^E.2 softmax$"):
        answers_pass(my, "E.2")
    text = answer("E.2", TANH, 'raise NotWritten("E.2 tanh")')
    text = "from lessons import NotWritten\n" + text
    catalogue.find("E.2").work.write_text(text, encoding="utf-8")
    answers_pass(my, "E.2")


def test_an_interrupted_long_run_goes_on(capsys):
    plan, done = [("a", 1), ("b", 1), ("c", 1)], []

    def run(kind, k, stop=None):
        if kind == stop:
            raise KeyboardInterrupt
        done.append(kind)
        return kind.upper()

    my = handed_in("38.4")
    with pytest.raises(KeyboardInterrupt):
        each_of(my, plan, lambda *one: run(*one, stop="b"), seed=0)
    assert each_of(my, plan, run, seed=0) == ["A", "B", "C"]
    assert done == ["a", "b", "c"]
    said = capsys.readouterr().out
    assert "1 of 3 runs are finished already" in said and "3 of 3: c, 1" in said
    assert each_of(my, plan, run, seed=0) == ["A", "B", "C"]  # and again from the start
    assert len(done) == 6


def test_a_line_of_a_report():
    found = over_sentences([0.1, 0.2, 0.3], steps=450)
    number = "+0.20 [-0.05, +0.45], 3 sentences of one model, after 450 steps"
    assert judged("better", above(-1), found) == f"better: holds\n    {number}"
    assert judged("worse", below(-1), found).startswith("worse: undecided\n")
