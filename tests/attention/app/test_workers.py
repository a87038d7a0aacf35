"""Several models trained at once: the numbers of one after the other, and every end."""

import argparse
import multiprocessing
import os
import time

import numpy as np
import pytest

from attention import kernels
from attention.app import workers
from attention.app.commands.reversal import Reversal
from attention.app.experiments.reversal import Config
from attention.app.run_folder import RunFolder
from attention.app.study import train_in_turn

KINDS = ("dot", "scaled", "general")


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    monkeypatch.setenv("ATTENTION_BACKEND", "numpy")  # for the new processes
    before = kernels.threads()
    kernels.threads(2)
    with kernels.backend("numpy"):
        yield
    kernels.threads(before)


class Poisoned(Reversal):
    """The run of the scaled score meets a NaN at the third step."""

    def train(self, job, *rest):
        from attention.app.experiments import reversal

        if job[0] == "scaled":
            correct, calls = reversal.loss_of, iter(range(10**6))
            reversal.loss_of = lambda *a: (
                correct(*a) * (np.nan if next(calls) > 3 else 1)
            )
        return super().train(job, *rest)


class Vanishing(Reversal):
    """Its process ends without a word."""

    def result(self, job, run):
        if job[0] == "dot":
            os._exit(7)
        time.sleep(10**6)


class FullDisk(Reversal):
    def result(self, *arguments):
        raise OSError(28, "No space left on device")


def small(steps, kinds=KINDS):
    return Config(steps=steps, hidden=8, kinds=kinds, samples=5, lengths=(3,))


def run_folder(path):
    (path / "state").mkdir(parents=True, exist_ok=True)
    args = argparse.Namespace(out=path, resume=None)
    return RunFolder("reversal", args, Config)


def train(study, out, todo=None):
    """Train in processes; return (results without times, stopped)."""
    return trained(workers.train_in_processes, study, out, todo)


def in_turn(study, out):
    """Train one after the other; return the results without times."""
    return trained(train_in_turn, study, out)[0]


def trained(how, study, out, todo=None):
    results = {}
    jobs = study.jobs if todo is None else todo
    stopped = how(study, jobs, run_folder(out), results.__setitem__, 2)
    for result in results.values():
        result.pop("seconds")
    return results, stopped


@pytest.mark.deep
def test_the_numbers_are_those_of_one_after_the_other(tmp_path):
    study = Reversal(small(5))
    results, stopped = train(study, tmp_path)
    assert stopped == [] and results == in_turn(study, tmp_path / "in turn")


@pytest.mark.deep
@pytest.mark.parametrize(
    "study, steps, error, sentence",
    [
        (Poisoned, 200, FloatingPointError, "NaN or infinite at step 3"),
        (Vanishing, 2, workers.ProcessLost, "has ended unexpectedly; .*Continue with"),
        (FullDisk, 2, OSError, "No space left"),
    ],
)
def test_a_failure_stops_the_others_and_is_one_sentence(
    study, steps, error, sentence, tmp_path
):
    begun = time.monotonic()
    with pytest.raises(error, match=sentence):
        train(study(small(steps)), tmp_path)
    assert time.monotonic() - begun < 60


def test_a_process_reports_and_is_told_to_stop(monkeypatch):
    """Each of n runs counts an n-th of the time, and has an n-th of the threads."""
    monkeypatch.setattr(workers.Run, "at_once", 1)
    board, stop = workers.Board(multiprocessing.get_context("spawn"), 2), []
    report = workers._Report(board, 1, 6, stop)
    board.running.value = 2
    report.update(7, 0.5)
    assert (board.steps[1], board.losses[1], stop) == (7, 0.5, [])
    assert workers.Run.at_once == 2 and kernels.threads() == 3
    board.stop.value = 1
    report.update(8, 0.5)
    report.update(9, 0.5)
    assert len(stop) == 1  # a second entry would be a second Ctrl-C
