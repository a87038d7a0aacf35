"""Models that are trained with the functions of an answer."""

import os
import signal

import numpy as np
import pytest

from attention.seq2seq.reverser import Reverser
from lessons import NotWritten
from lessons.classroom import catalogue
from lessons.classroom.learner import report
from lessons.course import own_training
from lessons.course.outcome import CheckFailed
from lessons.course.own_training import STUDIES, Block, trained
from lessons.course.run import Report

from .classroom_cases import TANH, handed_in

pytestmark = pytest.mark.usefixtures("work")


@pytest.fixture(autouse=True)
def small(work, monkeypatch):
    """Forty steps and eight more, of small batches; ten and two if they are quick."""
    handed_in("E.2")  # which 6.5 uses
    settings = {"budget": 40, "batch": 4, "held_out": (8, 8), "processes": False}
    for study in STUDIES.values():
        for name, value in settings.items():
            monkeypatch.setattr(study, name, value)


@pytest.mark.parametrize("id", STUDIES)
def test_an_answer_trains_a_model(id, work, capsys):
    found = trained(handed_in(id), quick=True)
    yours, *others = found["runs"]
    printed = " ".join(capsys.readouterr().out.split())
    assert f"Yours: {yours['figure']:.1%} of the" in printed and "lies on" in printed
    drawn = work / "figures" / f"{catalogue.find(id).stem}-quick.png"
    assert drawn.stat().st_size > 9999
    assert not list((work / "records" / "states").iterdir())
    if len(others) == 2:  # the first is the library's
        assert yours["losses"] == pytest.approx(others[0]["losses"], rel=1e-4)
        assert yours["losses"] != others[1]["losses"]


def losses(study, model, steps=3):
    """Return the first losses of a model in the task of a study."""
    study.model = lambda arm, rng: model
    found = study.build("yours", 0.01, 1)
    found.batches = study.batches(1)
    for step in range(steps):
        found.descend(study.loss_at("yours", found, 1, step))
    return found.losses


def test_the_attention_of_an_answer_computes_what_the_librarys_does():
    study = STUDIES["6.5"](handed_in("6.5"))
    own, library = (
        make(np.random.default_rng(0))
        for make in (lambda rng: study.model("yours", rng),
                     lambda rng: Reverser("additive", *study.sizes, rng=rng))
    )  # fmt: skip
    assert losses(study, own) == pytest.approx(losses(study, library), rel=1e-4)


def test_the_heads_of_an_answer_compute_what_the_librarys_do():
    study = STUDIES["E.10"](handed_in("E.10"))
    own = study.model("yours", np.random.default_rng(0))
    library = Block(study.config, rng=np.random.default_rng(0))
    [batch], of_both = study.held[0], []
    for model in (own, library):
        study.read(model.eval(), batch)
        of_both.append(model.train().weights[0])
    assert np.allclose(*of_both, atol=1e-5)
    assert losses(study, own) == pytest.approx(losses(study, library), rel=1e-3)


def test_an_answer_that_is_missing_or_wrong_is_not_trained():
    my = handed_in("6.5")
    catalogue.find("E.2").work.unlink()
    with pytest.raises(NotWritten, match="E.2 first: python -m lessons check E.2"):
        trained(my)
    handed_in("6.5")
    handed_in("E.2", TANH, "return g * (1 - x * x)")
    with pytest.raises(CheckFailed, match="(?s)nothing was trained.*check E.2$"):
        trained(my)
    my = handed_in("38.5", "return distance <= D", "return distance < D")
    with pytest.raises(CheckFailed, match="(?s)nothing was trained.*check 38.5"):
        trained(my)


def test_a_stopped_training_goes_on(monkeypatch):
    study, my = STUDIES["E.17"], handed_in("E.17")
    whole, loss_at = trained(my)["runs"], study.loss_at
    assert trained(my, quick=True)["runs"][0]["steps"] == 10 < whole[0]["steps"] == 40

    def stopping(self, arm, run, seed, step):
        if (arm, step) == ("sparsemax", 7):
            os.kill(os.getpid(), signal.SIGINT)
        return loss_at(self, arm, run, seed, step)

    monkeypatch.setattr(study, "loss_at", stopping)
    with pytest.raises(KeyboardInterrupt, match="experiment E.17"):
        trained(my)
    monkeypatch.setattr(study, "loss_at", loss_at)
    again = trained(my)["runs"]
    assert [run["losses"] for run in again] == [run["losses"] for run in whole]


def test_a_passed_check_names_the_training():
    for id in STUDIES:
        found = report.lines(catalogue.find(id), Report(code=0))
        assert any(f"python -m lessons experiment {id} trains it." in x for x, _ in found)
    assert own_training.STUDIES.keys() == {
        e.id for e in catalogue.exercises() if "import experiment" in e.parts.below
    }
