"""A command that is ended by a signal leaves none of the processes it has started."""

import os
import pathlib
import signal
import subprocess
import sys
import time
import uuid

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
ENDLESS = "while True:\n    pass\n"
TRAINING = "attention reversal --steps 4000 --width 8 --scores dot,scaled --threads 2"
COMMANDS = {  # the command, and how many processes it has at work
    TRAINING: 4,
    "attention bench --rows reversal --no-torch --quick": 3,
    "lessons experiment 11 --quick": 2,
    "lessons check E.2": 2,
    "lessons grade class": 2,
}

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self"), reason="needs /proc")


def processes(mark):
    """Return the ids of the processes whose environment has this text."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            found += [path.parent.name] * (mark.encode() in path.read_bytes())
        except OSError:  # it has ended, or is another user's
            pass
    return found


def wait_until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


@pytest.mark.parametrize(
    "number, command",
    [
        (signal.SIGTERM, "lessons experiment 11 --quick"),
        *(
            pytest.param(number, command, marks=pytest.mark.deep)
            for number in (signal.SIGTERM, signal.SIGHUP)
            for command in COMMANDS
        ),
        pytest.param(signal.SIGKILL, TRAINING, marks=pytest.mark.deep),
    ],
)
def test_no_process_is_left(command, number, tmp_path):
    for folder in "work", "class/ada":
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "ex_e_2.py").write_text(ENDLESS)
    mark = f"MARK={uuid.uuid4()}"
    own = {"MARK": mark[5:], "LESSONS_WORK": f"{tmp_path}/work"}
    own |= {"ATTENTION_BACKEND": "numpy", "XDG_STATE_HOME": f"{tmp_path}/state"}
    process = subprocess.Popen(
        [sys.executable, "-m", *command.split()], cwd=tmp_path,
        env=os.environ | own | {"PYTHONPATH": str(ROOT)}, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert wait_until(lambda: len(processes(mark)) >= COMMANDS[command], 60)
    time.sleep(0.5)
    process.send_signal(number)  # to this process only
    output, error = process.communicate(timeout=60)
    killed = number == signal.SIGKILL  # its processes have to find it out
    assert process.returncode == (-number if killed else 130)
    assert "Traceback" not in error
    assert wait_until(lambda: not processes(mark), 20 if killed else 5)
