"""All commands without what only POSIX systems have, as on Windows.

Each process, also one that a command starts, imports ``sitecustomize`` first. There
the modules fcntl and resource, most signals and the groups of processes are missing.
"""

import os
import pathlib
import shlex
import subprocess
import sys

import pytest

from lessons.classroom.catalogue import find

ROOT = pathlib.Path(__file__).resolve().parent.parent
HIDDEN = """
import os, signal, sys

for name in "fcntl", "resource", "termios", "grp", "pwd":
    sys.modules[name] = None
for name in ("SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2", "alarm", "setitimer",
             "pthread_sigmask", "pthread_kill", "sigwait"):
    delattr(signal, name)
for name in ("fork", "killpg", "setsid", "getpgid", "setpgid", "getloadavg", "mkfifo",
             "sched_getaffinity", "getuid", "nice"):
    if hasattr(os, name):
        delattr(os, name)
import ctypes, multiprocessing.resource_tracker  # they read os.name
os.name = "other"  # not "nt": pathlib would write \\ in paths
"""
COMMANDS = {  # the commands of a row read what those before them wrote
    "reversal": [  # as long as this, a training starts processes
        "attention reversal --steps 100 --width 8 --scores dot,scaled --threads 2 --out r",
        "attention reversal --resume r",
    ],
    "translate": [
        "attention translate train --steps 3 --pairs 40 --validation 5 --test 5 --out m",
        "attention translate run 'the black cat does not sleep .'",
        "attention translate score --model m",
    ],
    "compare": [
        "attention compare --steps 3 --pairs 40 --test 5 --seeds 1 --width 8 --out c",
    ],
    "extrapolate": [
        "attention extrapolate --steps 3 --length 8 --schemes rope,alibi --out e",
    ],
    "ledger": ["attention ledger --tokens 64"],
    "variants": ["attention variants"],
    "bench": ["attention bench --quick --rows sgd --no-torch"],
    "check": ["lessons start E.2", "lessons check E.2"],
    "run": ["lessons run 0"],
    "grade": ["lessons grade class"],
}

pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """Return an empty folder, and the environment of a system that is not POSIX."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "hidden").mkdir()
    (folder / "hidden" / "sitecustomize.py").write_text(HIDDEN)
    path = os.pathsep.join([str(folder / "hidden"), str(ROOT)])
    variables = {"PYTHONPATH": path, "LESSONS_WORK": str(folder / "work")}
    variables["ATTENTION_BACKEND"] = "numpy"  # numba, too, reads os.name
    for place in "work", "class/ada":
        (folder / place).mkdir(parents=True)
    text = find("E.2").answer_text
    (folder / "class" / "ada" / "ex_e_2.py").write_text(text, encoding="utf-8")
    return folder, os.environ | variables


def run(elsewhere, *command):
    folder, environment = elsewhere
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_it_is_hidden(elsewhere):
    code = "import os, signal; print(os.name, hasattr(signal, 'SIGALRM')); import fcntl"
    done = run(elsewhere, "-c", code)
    assert done.stdout.split() == ["other", "False"] and "fcntl" in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_run(elsewhere, name):
    for command in COMMANDS[name]:
        done = run(elsewhere, "-m", *shlex.split(command))
        expected = 3 if "check" in command else 0  # the stub is not written yet
        assert done.returncode == expected, f"{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
