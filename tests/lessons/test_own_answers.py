"""Earlier answers, predictions and long runs of a learner's own folder."""

import json
import os
import signal

import pytest

from lessons import NotWritten, earlier
from lessons.course.words import locked
from lessons.course.comparisons import Attending, Scaling
from lessons.classroom import catalogue, journal, records
from lessons.course.outcome import CheckFailed
from lessons.course import check
from lessons.course.before import answers_pass
from lessons.course.long_runs import compared, examine, own_record

from .classroom_cases import TANH, answer, handed_in

pytestmark = pytest.mark.usefixtures("work")


def test_an_answer_uses_the_earlier_answer_of_its_folder(work):
    my = handed_in("6.5")
    with pytest.raises(NotWritten, match="^E.2 softmax$"):
        earlier(my.path, "E.2", "softmax")([1.0])
    with pytest.raises(NotWritten, match="^E.2 softmax$"):
        answers_pass(my, "E.2")
    handed_in("E.2", TANH, "return g * (1 - x * x)")
    with pytest.raises(CheckFailed, match="check E.2") as caught:
        answers_pass(my, "E.2")
    assert caught.value.tag == "earlier"
    text = answer("E.2", TANH, 'raise NotWritten("E.2 tanh")')
    text = "from lessons import NotWritten\n" + text
    catalogue.find("E.2").work.write_text(text, encoding="utf-8")
    answers_pass(my, "E.2")  # 6.5 does not use tanh
    handed_in("E.2", "return y, backward", "return 7.0, backward")
    assert earlier(my.path, "E.2", "tanh")(0.0)[0] == 7.0
    own = 'softmax = lambda x: None  # earlier("E.2")'
    my = handed_in("6.5", 'softmax = earlier(__file__, "E.2", "softmax")', own)
    catalogue.find("E.2").work.unlink()
    answers_pass(my, "E.2")  # written anew, it needs no other


def test_the_first_prediction_counts(capsys):
    exercise = catalogue.find("38.4")
    my = check.load(exercise.parts, exercise.file, exercise.answer_text)
    assert locked(my, my.right["is_prediction"]) == my.only.prediction()
    assert not journal.events("38.4")  # it is not the learner's own
    kept, of_numpy = '{"loss": "scaled"', '{"loss": np.array("scaled")[()]'
    my = handed_in("38.4", kept, of_numpy)
    first = locked(my, my.right["is_prediction"])
    other = handed_in("38.4", kept, '{"loss": "dot"')
    found = locked(other, my.right["is_prediction"])
    assert other.only.prediction() != first == found
    assert "first prediction counts" in capsys.readouterr().out
    assert [e["event"] for e in journal.events("38.4")] == ["prediction"]


OLD_STATE = "mg.concat([new, c], axis=-1)", "mg.concat([s, c], axis=-1)"


def test_a_pass_needs_the_record_of_a_long_run_of_the_same_code(work):
    kept = records.read_record(catalogue.find("6.9"))
    (work / "records").mkdir()
    file = work / "records" / "ex_6_9.json"
    with pytest.raises(CheckFailed, match="experiment 6.9") as caught:
        own_record(handed_in("6.9"))
    assert caught.value.tag == "no-long-run"
    for text in ("5", "{}", '{"code', "[" * 99_999):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(CheckFailed) as caught:
            own_record(handed_in("6.9"))
        assert caught.value.tag == "no-long-run"
    file.write_text(json.dumps(kept), encoding="utf-8")
    assert own_record(handed_in("6.9")) == kept["result"]
    in_words = "They are not graded", "No grade"
    assert own_record(handed_in("6.9", *in_words)) == kept["result"]
    with pytest.raises(CheckFailed, match=r"6.9, \d+ minutes") as caught:
        own_record(handed_in("6.9", *OLD_STATE))
    assert caught.value.tag == "old-record"
    del kept["tokens"]  # the record of an earlier version of the course
    file.write_text(json.dumps(kept | {"code": "another hash"}), encoding="utf-8")
    os.utime(file, (2e9, 2e9))  # later than the answer
    assert own_record(handed_in("6.9")) == kept["result"]
    os.utime(file, (1e9, 1e9))
    with pytest.raises(CheckFailed, match="has changed since"):
        own_record(handed_in("6.9"))


def test_an_answer_that_fails_its_check_is_not_trained():
    examine(handed_in("6.9"), but="the_long_run")
    my = handed_in("6.9", *OLD_STATE)
    with pytest.raises(CheckFailed, match="(?s)nothing was trained.*check 6.9") as caught:
        my.right["experiment"](my)
    assert caught.value.tag == "the output of the old state, with attention"


class Small(Scaling):
    """The comparison of 38.4 with one small model, which is stopped at a step."""

    arms, rates, seeds, choosing, processes = ("dot",), (1e-3,), (1,), (101,), False
    every, budget, d, stop = 2, 4, 8, None

    def loss_at(self, arm, run, seed, step):
        if (seed, step) == self.stop:
            os.kill(os.getpid(), signal.SIGINT)
        return super().loss_at(arm, run, seed, step)


def test_an_interrupted_comparison_goes_on(work, capsys):
    my = handed_in("38.4")
    whole = compared(my, Small(my))
    capsys.readouterr()
    stopped = Small(my)
    stopped.stop = 1, 3  # in the second run
    with pytest.raises(KeyboardInterrupt, match="experiment 38.4"):
        compared(my, stopped)
    found = compared(my, Small(my))
    [run], [again] = whole["runs"], found["runs"]
    assert {**run, "seconds": 0} == {**again, "seconds": 0}
    assert capsys.readouterr().out.count("seed 101") == 1  # it was finished before
    assert not list((work / "records" / "states").iterdir())
    assert found["versions"] and found["chosen"] == {"dot": 1e-3}
    quick = compared(my, Small(my, shift=5), quick=True)
    assert [run["seed"] for run in quick["runs"]] == [6] and not quick["choices"]


def test_a_comparison_computes_with_the_learners_functions():
    my = handed_in("38.4", "loss.backward()", "(0 * loss).backward()")
    [run] = compared(my, Small(my))["runs"]
    assert len(set(run["curve"])) == 1 and run["loss"] > 3  # it learns nothing
    my = handed_in("38.4", "return H[real].mean()", "return -1.0")
    [run] = compared(my, Small(my))["runs"]
    assert run["watched"]["entropy"] == [-1.0] * 3 and len(set(run["curve"])) > 1
    my = handed_in("38.4", "return loss.item()", "return loss.item() * np.nan")
    [run] = compared(my, Small(my))["runs"]
    assert run["diverged"]


@pytest.mark.parametrize("arm", ["with", "without"])
def test_6_9_trains_the_learners_decoder(arm):
    def losses(*edit):
        own = Attending(handed_in("6.9", *edit))
        run = own.build(arm, 4e-3, 1)
        run.batches = own.batches(1)
        for step in range(2):
            run.descend(own.loss_at(arm, run, 1, step))
        return run.losses

    right, wrong = losses(), losses('["b_o"], new', '["b_o"] * 2, new * 0.5')
    assert right[1] < right[0] and wrong != right
