"""Several models trained at once: the numbers of one after the other, and every end."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from attention import kernels
from attention.app.commands import side_by_side
from attention.app.commands.reversal import Reversal
from attention.app.experiments.reversal import Config
from minigrad import checkpoint

KINDS = ("dot", "scaled", "general")


@pytest.fixture(autouse=True)
def two_threads():
    before = kernels.threads()
    kernels.threads(2)
    yield
    kernels.threads(before)


class Poisoned(Reversal):
    """Its run of the scaled score meets a NaN at the third step."""

    def train(self, config, kind, seed, *rest):
        if kind == "scaled":
            from attention.app.experiments import reversal

            good = reversal.loss_of
            calls = iter(range(10**6))
            reversal.loss_of = lambda *a: good(*a) * (np.nan if next(calls) > 3 else 1)
        return super().train(config, kind, seed, *rest)


class Vanishing(Reversal):
    """Its process ends without a word."""

    def result(self, *arguments):
        os._exit(7)


def small(steps, **options):
    return Config(steps=steps, hidden=8, kinds=KINDS, samples=5, **options)


def one_by_one(study, config, *rest):
    return study.one_by_one(config, None, *rest)


def run(study, config, make, states=None):
    """{"kept", "results", "stopped"} of all its runs."""
    kept, results = {}, {}
    todo = {job: (states or {}).get(job) for job in config.plan()}
    found = {"kept": kept, "results": results}
    found["stopped"] = make(study, config, todo, kept.__setitem__, results.__setitem__)
    return found


def numbers(results):
    return {
        job: {k: v for k, v in result.items() if k != "seconds"}
        for job, result in results.items()
    }


def test_numbers_are_those_of_one_after_the_other():
    config = small(5)
    side = run(Reversal(), config, side_by_side.make)
    one = run(Reversal(), config, one_by_one)
    assert side["stopped"] == one["stopped"] == {}
    assert numbers(side["results"]) == numbers(one["results"])
    assert list(one["results"]) == config.plan()


def test_stopped_and_resumed(tmp_path, monkeypatch):
    config, sent = small(400), []

    def show(progress, workers, steps):
        if workers and not sent:  # in training
            sent.append(os.kill(os.getpid(), signal.SIGINT))

    monkeypatch.setattr(side_by_side, "show", show)
    cut = run(Reversal(), config, side_by_side.make)
    assert sent
    assert cut["stopped"] and set(cut["stopped"]) == set(cut["kept"])
    for job, step in cut["stopped"].items():
        assert cut["kept"][job]["step"] in (step, step - 1) and step < 400
    path = tmp_path / "state.npz"  # as the study saves them
    checkpoint.save(path, {"-".join(map(str, j)): s for j, s in cut["kept"].items()})
    states = checkpoint.load(path)
    states = {job: states.get("-".join(map(str, job))) for job in config.plan()}
    left = {job: s for job, s in states.items() if job not in cut["results"]}
    after = {}
    stopped = side_by_side.make(
        Reversal(), config, left, lambda *_: None, after.__setitem__
    )
    assert not stopped
    whole = run(Reversal(), config, one_by_one)
    assert numbers(cut["results"] | after) == numbers(whole["results"])


def test_one_that_fails_stops_the_others():
    with pytest.raises(side_by_side.Failed, match="no finite number at step 3"):
        run(Poisoned(), small(200), side_by_side.make)


def test_a_process_that_vanishes_is_told_of():
    with pytest.raises(
        side_by_side.Failed, match="trained dot, seed 1, has ended .exit 7"
    ):
        run(Vanishing(), small(2), side_by_side.make)


@pytest.mark.parametrize("which", ["keep", "made"])
def test_a_disk_that_is_gone_ends_it(which, monkeypatch):
    def gone(*arguments):
        raise OSError(28, "No space left on device")

    config, sent = small(100_000 if which == "keep" else 2), []
    does = {"keep": lambda *_: None, "made": lambda *_: None, which: gone}

    def show(progress, workers, steps):
        if which == "keep" and workers and not sent:  # stopped, each sends its state
            sent.append(os.kill(os.getpid(), signal.SIGINT))

    monkeypatch.setattr(side_by_side, "show", show)
    with pytest.raises(OSError, match="No space left"):
        todo = dict.fromkeys(config.plan())
        side_by_side.make(Reversal(), config, todo, does["keep"], does["made"])


def test_the_time_of_a_core_is_counted_once():
    config = small(150)
    start = time.perf_counter()
    results = run(Reversal(), config, side_by_side.make)["results"]
    passed = time.perf_counter() - start
    assert 0 < sum(result["seconds"] for result in results.values()) < passed


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="reads /proc")
def test_workers_do_not_outlive_the_parent(tmp_path):
    code = (
        "import os\n"
        "from attention import kernels\n"
        "from attention.__main__ import main\n"
        "if __name__ == '__main__':\n"
        "    kernels.threads(2)\n"
        "    main()\n"
    )
    program = tmp_path / "program.py"
    program.write_text(code)
    options = ["reversal", "--steps", "100000", "--hidden", "8", "--out"]
    env = os.environ | {"PYTHONPATH": os.getcwd(), "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, program, *options, tmp_path / "out"],
        env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    children = wait_for(lambda: descendants(process.pid), 2)
    wait_for(lambda: (tmp_path / "out" / "state.npz").exists() or None, True)
    time.sleep(1)
    process.kill()
    process.wait()
    end = time.monotonic() + 20
    while any(alive(pid) for pid in children):
        assert time.monotonic() < end, children
        time.sleep(0.05)


def wait_for(value, least, seconds=60):
    end = time.monotonic() + seconds
    while True:
        found = value()
        if found and (least is True or len(found) >= least):
            return found
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


def descendants(pid):
    """The processes that ``pid`` has begun: those of training, on Linux."""
    found = []
    for folder in os.listdir("/proc"):
        if folder.isdigit() and int(folder) != pid:
            try:
                with open(f"/proc/{folder}/stat") as file:
                    parent = int(file.read().rsplit(")", 1)[1].split()[1])
                with open(f"/proc/{folder}/cmdline") as file:
                    training = "spawn_main" in file.read()
            except OSError:
                continue
            if parent == pid and training:
                found.append(int(folder))
    return found


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
