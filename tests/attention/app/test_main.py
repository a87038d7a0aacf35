"""The command line as a whole: help, threads, stops, exit codes, locked folders."""

import ctypes
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from attention import kernels
from attention.__main__ import main
from attention.app import machine, run_folder
from attention.app.arguments import COMMANDS
from attention.app.commands import reversal

from .app_cases import fits, joined, start

QUICK = "reversal --steps 1 --width 8 --scores dot --out".split()


@pytest.mark.parametrize("command", ["", "translate", *COMMANDS])
def test_help_fits(command, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    try:
        code = main([*command.split(), "--help"])
    except SystemExit as stop:  # argparse
        code = stop.code
    printed = capsys.readouterr().out
    assert code == 0 and fits(printed)
    if command in ("", "translate"):
        assert all(name in printed for name in COMMANDS if command in name)


def test_help_and_wrong_arguments_import_little():
    """Commands that train have the names of tables in their help: it takes NumPy."""
    code = """import sys
from attention.__main__ import main
for command in sys.argv[1:]:
    for arguments in ("--help", "--threads 0"):
        try: main([*command.split(), *arguments.split()])
        except SystemExit: pass
third_party = {"numpy", "minigrad", "numba", "matplotlib"}
raise SystemExit(str(sorted(third_party & {*sys.modules})))"""
    train = "reversal", "translate train", "write train", "compare", "extrapolate"
    others = "", "nonsense", *(COMMANDS.keys() - train)
    for commands, expected in (others, "[]"), (train, "['minigrad', 'numpy']"):
        done = subprocess.run(
            [sys.executable, "-c", code, *commands], capture_output=True, text=True
        )
        assert done.stderr.splitlines()[-1] == expected


@pytest.mark.parametrize(
    "command, fragments",
    [
        ("", ["usage: python -m attention COMMAND", *COMMANDS]),
        ("revresal", ["no command 'revresal'", "reversal, translate, write, compare",
                      "Did you mean 'reversal'?"]),
        ("reversal --step 3", ["no option '--step'. Did you mean '--steps'?"]),
        ("variants softmax", ["'softmax' is one argument too many"]),
        ("translate", ["translate train", "translate run", "translate score"]),
        ("--versio", ["no option '--versio'", "Did you mean '--version'?"]),
        ("translate rum", ["no command 'translate rum'", "train, translate run, "]),
        ("reversal --stepz 3", ["attention reversal [-h]", "no option '--stepz'"]),
        ("reversal --lengths 3,99999999999", ["--lengths", "from 1 to 8192"]),
        ("reversal --scores dot,scald", ["each once. Did you mean 'scaled'?"]),
        ("translate train --cell grv", ["'lstm'). Did you mean 'gru'?"]),
        ("translate train --task sotr", ["no file sotr;", "Did you mean 'sort'?"]),
        ("compare --attentions none", ["--attentions is 'none' alone; expected anot"]),
        ("reversal --resume none", ["There is nothing to resume: none/state/config"]),
    ],
)  # fmt: skip
def test_wrong_arguments(command, fragments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    try:
        code = main(command.split())
    except SystemExit as stop:  # argparse
        code = stop.code
    printed = joined("".join(capsys.readouterr()))
    assert code == 2 and "Traceback" not in printed
    assert all(fragment in printed for fragment in fragments), printed
    assert list(tmp_path.iterdir()) == []


NO_HOME = {"HOME": "/dev/null", "XDG_CONFIG_HOME": "", "MPLCONFIGDIR": ""}
# name: (environment, redirections, exit code, a fragment of the output)
SURROUNDINGS = {
    "a notebook's figures": ({"MPLBACKEND": "module://missing.backend"}, "", 0, "in"),
    "no such backend": ({"ATTENTION_BACKEND": "foo"}, "", 2, "no backend 'foo'"),
    "a home that is no folder": (NO_HOME, "", 0, "MPLCONFIGDIR"),
    "no docstrings": ({"PYTHONOPTIMIZE": "2"}, "", 0, "results.json"),
    "stdout closed": ({}, ">&-", 0, "dot"),
    "stderr closed": ({}, "2>&-", 0, "results.json"),
    "all streams closed": ({}, "<&- >&- 2>&-", 0, ""),
    "stdout full": ({}, ">/dev/full", 1, "No space left on device"),
    "stderr full": ({}, "2>/dev/full", 0, "results.json"),
    "an ascii terminal": ({"PYTHONIOENCODING": "ascii"}, "", 0, r"\xe4\u20ac"),
}
ALWAYS = {"no such backend", "stdout full"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in ALWAYS else [pytest.mark.deep])
        for name in SURROUNDINGS
    ],
)
def test_whatever_surrounds_a_command_it_ends_in_a_sentence(name, tmp_path):
    environment, redirections, code, fragment = SURROUNDINGS[name]
    out = tmp_path / "\xe4\u20ac"
    command = f"{sys.executable} -m attention {' '.join(QUICK)} {out} {redirections}"
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True,
        env=os.environ | {"ATTENTION_BACKEND": "numpy"} | environment,
    )  # fmt: skip
    printed = (done.stdout + done.stderr).decode()
    assert done.returncode == code, printed
    assert "Traceback" not in printed and "Exception" not in printed, printed
    assert fragment in printed
    assert code or (out / "results.json").exists()


STOPS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def end_of(delay, number, group, out):
    """Signal a training after some seconds; return (exit code, output, error)."""
    process = start(*"reversal --steps 4000 --width 8 --out".split(), out,
                    OMP_NUM_THREADS="2")  # fmt: skip
    time.sleep(delay)
    (os.killpg if group else os.kill)(process.pid, number)
    output, error = process.communicate(timeout=60)
    return process.returncode, output, error


def check_end(code, output, error, out):
    """Either the signal came before main began, or the end is a sentence."""
    printed = output + error
    if code in [-number for number in STOPS] or "<frozen" in error:
        return "before main"
    assert code == 130 and "Traceback" not in printed, printed
    assert "Exception" not in printed and "Error" not in printed, printed
    assert "stopped" in printed
    if "--resume" in printed:
        assert (out / "state" / "config.safetensors").exists()
        return "saved"
    return "nothing to save"


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(3))
def test_signals_at_random_moments(seed, tmp_path):
    print(f"seed {seed}")
    rng, ends = random.Random(seed), []
    for n in range(15):
        out = tmp_path / str(n)
        stop = rng.uniform(0.05, 3), rng.choice(STOPS), rng.random() < 0.5
        ends.append(check_end(*end_of(*stop, out), out))
    print({name: ends.count(name) for name in set(ends)})


@pytest.mark.parametrize(
    "problem, code",
    [
        (ValueError("Wrong."), 2), (TypeError("Wrong."), 2),
        (FileNotFoundError("Wrong."), 2), (OSError("Wrong."), 1),
        (FloatingPointError("Wrong."), 1), (OSError(28, "Wrong."), 1),
        (KeyboardInterrupt("Wrong."), 130), (KeyboardInterrupt(), 130),
    ],
)  # fmt: skip
def test_every_end_is_a_sentence_and_an_exit_code(problem, code, monkeypatch, capsys):
    def run(args):
        raise problem

    monkeypatch.setattr(reversal, "run", run)
    assert main(["reversal"]) == code
    error = capsys.readouterr().err
    assert "Traceback" not in error and "Errno" not in error
    assert ("Wrong." in error) == ("Wrong." in str(problem))
    assert ("stopped." in error) == (repr(problem) == "KeyboardInterrupt()")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_a_command_and_the_handlers_come_back(
    number, monkeypatch, capsys
):
    before = [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGHUP)]
    monkeypatch.setattr(reversal, "run", lambda args: signal.raise_signal(number))
    assert main(["reversal"]) == 130
    assert capsys.readouterr().err == "\nstopped.\n"
    assert before == [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGHUP)]


def test_threads_of_the_kernels_and_of_the_blas(monkeypatch):
    found = list((pathlib.Path(np.__file__).parents[1] / "numpy.libs").glob("*openb*"))
    before, seen = kernels.threads(), []
    for name in (*machine.BLAS, "NUMBA_NUM_THREADS"):
        monkeypatch.setenv(name, "9")
    monkeypatch.setattr(reversal, "run", lambda args: seen.append(kernels.threads()))
    try:
        main(["reversal", "--threads", "3"])
    finally:
        kernels.threads(before)
    assert seen == [3]
    machine.set_blas_threads(2)
    assert {os.environ[name] for name in machine.BLAS} == {"2"}
    if found:
        count = ctypes.CDLL(str(found[0])).scipy_openblas_get_num_threads64_
        assert count() == min(2, os.cpu_count())
        machine.set_blas_threads(1)
        assert count() == 1


def test_short_runs_use_numpy_and_the_environment_comes_first(monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.delenv("ATTENTION_BACKEND", raising=False)
    usual = "numba"
    with kernels.backend(usual), machine.backend_for(machine.SHORT_RUN - 1):
        assert kernels.backend() == "numpy"
    with kernels.backend(usual), machine.backend_for(machine.SHORT_RUN):
        assert kernels.backend() == usual
    monkeypatch.setenv("ATTENTION_BACKEND", usual)
    with kernels.backend(usual), machine.backend_for(1):
        assert kernels.backend() == usual


def test_a_folder_is_used_by_one_command_at_a_time(tmp_path, capsys):
    with run_folder.locked(tmp_path):
        assert main([*QUICK, str(tmp_path)]) == 2
        error = joined(capsys.readouterr().err)
        assert f"Another command is writing to {tmp_path}. Wait until" in error
        assert list(tmp_path.iterdir()) == []
    with run_folder.locked(tmp_path):  # it is free again
        pass


WRITE = "write", "run", "The query", "--tokens", "1"
FIGURE = ["translate", "run", "the cat sleeps .", "--figure"]


def test_a_folder_that_cannot_be_made(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    for name, why in ("file", "File exists"), ("file/x", "Not a directory"):
        assert main([*QUICK, str(tmp_path / name)]) == 2
        error = joined(capsys.readouterr().err)
        assert f"--out is {tmp_path / name}, which cannot be made: {why}. " in error
    if os.path.exists("/proc/self"):
        assert main([*QUICK, "/proc/x"]) == 2
        error = joined(capsys.readouterr().err)
        assert "--out is /proc/x, which cannot be made: No such file" in error
    figure = tmp_path / "file" / "a.png"
    assert main([*FIGURE, str(figure)]) == 2
    error = joined(capsys.readouterr().err)
    assert f"run: --figure is {figure}, which cannot be made: File exists. " in error


def test_what_cannot_be_written_is_a_sentence(tmp_path, capsys, monkeypatch):
    error = OSError(28, "No space left on device")

    def refused(*args, **options):
        raise error

    figure = tmp_path / "new" / "a.png"
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refused)  # the folder is made; then it is full
        assert main([*FIGURE, str(figure)]) == 1
        found = joined(capsys.readouterr().err)
        assert f"The picture was not saved: {error.strerror}: {figure}. " in found
        assert "Choose another place with --figure." in found
        page = [*WRITE, "--html", str(tmp_path / "heads.html")]
        assert main(page) == 1
        assert "Choose another place with --html." in joined(capsys.readouterr().err)
        assert main([*QUICK, str(tmp_path / "run")]) == 1
        found = joined(capsys.readouterr().err)
        assert f"was not saved: {error.strerror}: {tmp_path / 'run'}" in found
        assert "Choose another place with --out." in found
