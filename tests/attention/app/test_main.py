"""The command line as a whole: help, threads, stops, exit codes, locked folders."""

import ctypes
import os
import pathlib
import signal
import subprocess
import sys

import numpy as np
import pytest

from attention import kernels
from attention.__main__ import COMMANDS, main
from attention.app import files, machine
from attention.app.commands import reversal

from .app_cases import ROOT, fits, joined

QUICK = "reversal --steps 1 --hidden 8 --kinds dot --out".split()


@pytest.mark.parametrize(
    "command",
    ["", "reversal", "translate", "translate train", "translate run",
     "translate score", "compare", "extrapolate"],
)  # fmt: skip
def test_help_fits(command, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as stop:
        main([*command.split(), "--help"])
    printed = capsys.readouterr().out
    assert stop.value.code == 0 and fits(printed)
    if not command:
        assert all(name in printed for name in COMMANDS)


def test_help_imports_no_command():
    code = "import sys; from attention.__main__ import main\ntry: main(['--help'])\n"
    code += "except SystemExit: print([m for m in sys.modules if 'attention.app' in m])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_an_unknown_command_and_a_wrong_number_of_threads(capsys):
    for arguments, sentence in [
        (["revresal"], "invalid choice: 'revresal'"),
        ([], "required: COMMAND"),
        (["reversal", "--threads", "0"], "--threads is 0; expected 1 or more"),
    ]:
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2 and sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    "problem, code",
    [
        (ValueError("Wrong."), 2), (TypeError("Wrong."), 2),
        (FileNotFoundError("Wrong."), 2), (OSError("Wrong."), 1),
        (FloatingPointError("Wrong."), 1),
        (KeyboardInterrupt("Wrong."), 130), (KeyboardInterrupt(), 130),
    ],
)  # fmt: skip
def test_every_end_is_a_sentence_and_an_exit_code(problem, code, monkeypatch, capsys):
    def run(args):
        raise problem

    monkeypatch.setattr(reversal, "run", run)
    assert main(["reversal"]) == code
    error = capsys.readouterr().err
    assert "Traceback" not in error
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
    with files.locked(tmp_path):
        assert main([*QUICK, str(tmp_path)]) == 2
        error = joined(capsys.readouterr().err)
        assert f"Another command is writing to {tmp_path}. Wait until" in error
        assert list(tmp_path.iterdir()) == []
    with files.locked(tmp_path):  # it is free again
        pass


def test_a_folder_that_cannot_be_made(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main([*QUICK, str(tmp_path / "file" / "x")]) == 1
    assert "Not a directory" in joined(capsys.readouterr().err)
