"""Ending the process of a check, with all that it has started."""

import select
import subprocess
import sys
import types

import pytest

from lessons.classroom.checking import runner

PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(child.pid, flush=True)
child.wait()
"""
# what Windows has: /T ends the process with its children
TASKKILL = """#!/bin/sh
[ "$1 $2 $3" = "/T /F /PID" ] && kill -9 {child} "$4"
"""


@pytest.mark.parametrize("system", ["posix", "nt"])
def test_children_end_with_their_parent(system, tmp_path, monkeypatch):
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        start_new_session=system == "posix",
    )
    child = int(process.stdout.readline())
    if system != "posix":
        (tmp_path / "taskkill").write_text(TASKKILL.format(child=child))
        (tmp_path / "taskkill").chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
        monkeypatch.setattr(runner, "os", types.SimpleNamespace(name=system))
    try:
        runner.kill(process)
        assert process.returncode is not None
        # the pipe ends when no process holds it any more
        assert select.select([process.stdout], [], [], 20)[0]
        assert process.stdout.read() == b""
    finally:
        process.kill()
        subprocess.run(["kill", "-9", str(child)], capture_output=True)
        process.stdout.close()


def test_a_process_ends_where_no_command_ends_its_children(monkeypatch):
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    monkeypatch.setattr(runner, "os", types.SimpleNamespace(name="other"))
    runner.kill(process)
    assert process.returncode is not None
    runner.kill(process)  # it has ended
