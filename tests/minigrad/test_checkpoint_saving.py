"""Saving: paths, what cannot be saved, and a whole file whatever interrupts it."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from minigrad import checkpoint
from minigrad.checkpoint import CheckpointError, load, save
from minigrad.tensor import Tensor

from .checkpoint_cases import FORMATS, SMALL, assert_same


@pytest.fixture(params=FORMATS)
def path(request, tmp_path):
    return tmp_path / f"state{request.param}"


# -- paths ----------------------------------------------------------------------------


def test_other_suffixes_are_refused(tmp_path):
    for name in ("x.pt", "x", "x.npz.bak", ".npz"):
        for call in (lambda p: save(p, {}), load):
            with pytest.raises(CheckpointError, match="must be .npz or .safetensors"):
                call(tmp_path / name)
    save(tmp_path / "X.NPZ", {"a": 1})
    assert load(str(tmp_path / "X.NPZ")) == {"a": 1}
    assert os.listdir(tmp_path) == ["X.NPZ"]


def test_missing_files_and_folders(path):
    with pytest.raises(
        FileNotFoundError, match=f"There is no checkpoint at .*{path.name}"
    ):
        load(path)
    with pytest.raises(
        FileNotFoundError, match="The checkpoint was not saved: No such"
    ):
        save(path.parent / "nowhere" / path.name, {})
    path.mkdir()
    with pytest.raises(CheckpointError, match="is a folder, a pipe or a device"):
        load(path)
    with pytest.raises(OSError, match=f"The checkpoint was not saved: .*{path.name}"):
        save(path, {})
    assert os.listdir(path.parent) == [path.name] and os.listdir(path) == []


def test_a_symbolic_link_is_written_through(path):
    target = path.parent / f"target{path.suffix}"
    save(target, {"a": 1})
    path.symlink_to(target)
    save(path, {"a": 2})
    assert path.is_symlink() and load(target) == {"a": 2}


def test_permissions_follow_the_umask(path):
    before = os.umask(0o027)
    try:
        save(path, {})
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640


# -- what cannot be saved -------------------------------------------------------------


def test_states_that_cannot_be_saved_leave_the_old_file(path):
    save(path, SMALL)
    loop = []
    loop.append(loop)
    for state, message in [
        ([1], "save() needs a dict; found list."),
        ({1: 2}, "save() needs strings as keys; state has 1."),
        ({"a": [{"b": {None: 1}}]}, "state['a'][0]['b'] has None"),
        ({"a": [0, {1}]}, "cannot write state['a'][1], a set: a checkpoint holds"),
        ({"t": Tensor([1.0])}, "cannot write state['t'], a Tensor"),
        ({"o": np.array([None])}, "cannot write state['o'], a ndarray of object"),
        ({"s": np.array(["x"])}, "cannot write state['s'], a ndarray of <U1"),
        ({"z": 1j}, "cannot write state['z'], a complex"),
        ({"l": loop}, "nested too deeply, or contains itself"),
    ]:
        with pytest.raises(TypeError) as caught:
            save(path, state)
        assert message in str(caught.value)
    assert_same(load(path), SMALL)
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt()])
@pytest.mark.parametrize("moment", ["write", "fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    path, moment, error, monkeypatch
):
    save(path, SMALL)

    def fail(*args, **kwargs):
        raise error

    if moment == "write":
        monkeypatch.setattr(checkpoint._codec(path), "write", staticmethod(fail))
    else:
        monkeypatch.setattr(os, moment, fail)
    with pytest.raises(type(error), match=".*No space left" if error.args else None):
        save(path, {"a": 1})
    monkeypatch.undo()
    assert os.listdir(path.parent) == [path.name]
    assert_same(load(path), SMALL)


def test_bytes_reach_the_disk_before_the_name_does(path, monkeypatch):
    order = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (order.append("fsync"), fsync(fd)))
    monkeypatch.setattr(
        os, "replace", lambda a, b: (order.append("replace"), replace(a, b))
    )
    save(path, SMALL)
    assert order == ["fsync", "replace", "fsync"]


SAVE_FOREVER = """
import sys
import numpy as np
from minigrad.checkpoint import save
for k in range(10**9):
    save(sys.argv[1], {"k": k, "w": [np.full(20_000, k), np.full(5, float(k))]})
"""


@pytest.mark.deep
def test_killed_while_saving(path):
    """kill -9 at a random moment, ten times: the file there is always a whole one."""
    rng = random.Random(0)
    save(path, {"k": -1})
    for _ in range(10):
        before = path.stat().st_mtime_ns
        child = subprocess.Popen(
            [sys.executable, "-c", SAVE_FOREVER, str(path)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        while path.stat().st_mtime_ns == before:  # until it has replaced the file
            assert child.poll() is None
            time.sleep(0.001)
        time.sleep(0.03 * rng.random())
        child.send_signal(signal.SIGKILL)
        child.wait()
        state = load(path)
        assert state["k"] >= 0
        assert all((w == state["k"]).all() for w in state["w"])
