"""What is saved comes back to the last bit; a checkpoint is whole or not there."""

import math
import os

import numpy as np
import pytest

from minigrad import safetensors
from minigrad.bounds import PARSED_BYTES
from minigrad.checkpoint import CheckpointError, load, save
from minigrad.tensor import Tensor

from .checkpoint_cases import SMALL, assert_same

# what comes back


def every_dtype():
    bits = np.random.default_rng(0).integers(0, 2, size=(2, 3, 4, 8), dtype="u1")
    state = {"?": bits[..., 0] != 0}
    for code in "f8 f4 f2 i8 i4 i2 i1 u8 u4 u2 u1".split():
        state[code] = np.ascontiguousarray(bits.view(code)[..., 0])
        for shape in ((), (5,), (0,), (3, 0, 2), (1, 1)):
            state[f"{code}{shape}"] = np.ones(shape, code)
    for code in "f8 f4 f2".split():
        info = np.finfo(code)
        values = [np.nan, np.inf, -np.inf, -0.0, info.max, info.tiny, info.eps]
        state[f"{code} values"] = np.array([*values, info.smallest_subnormal], code)
    info = np.iinfo(np.int64)
    return state | {"i8 values": np.array([info.min, info.max])}


def generators():
    found = {}
    for bits in (np.random.PCG64, np.random.MT19937):
        rng = np.random.Generator(bits(7))
        rng.normal(size=11), rng.integers(10, size=3, dtype=np.int32)
        found[bits.__name__] = rng.bit_generator.state
    return found


NESTED = {
    "model": {"encoder.W": np.ones((2, 2)), "b": np.zeros(2, np.float32)},
    "encoder": {"W": np.full(3, 7.0)},
    "numbers": [0, -1, 2**200, -(2**64), 1.5, 1e-310, True, False, None],
    "special": [math.nan, math.inf, -math.inf, -0.0, 0.1 + 0.2],
    "text": ["", "é/√ 漢字 \U0001f600", 'quotes " and \\', "line\nend\0", "\ud800"],
    "lists": [[np.arange(3), [np.arange(2)]], [], {}, {"a": [{"b": np.int8([1])}]}],
    "empty": {},
}
KEYS = ["", "/", "a/b", "../up", ".", "a.b", " ", "@array", "@", "@@x", "__metadata__"]
KEYS += ["minigrad.json", "x.npy", "'", "é", "\0", "\n", "\ud800", "C:\\x", "0"]
CLASH = {"a.b": np.array(0), "a": {"b": np.array(1), "b'": np.array(2)}}
STATES = {
    "dtypes": every_dtype(),
    "generators": generators(),
    "nested": NESTED,
    "nothing": {},
    "keys": {key: np.array(i) for i, key in enumerate(KEYS)},
    "keys-of-keys": {key: {key: np.array(i), "n": i} for i, key in enumerate(KEYS)},
    "clash": CLASH | {"a/b": np.array(3)},
    "mark": {"@array": "model"},
    "mark-of-mark": {"@array": {"@array": 1}},
}
BASE = np.arange(60.0).reshape(3, 4, 5)
BASE.flags.writeable = False
CHANGED = {  # what is saved, and what comes back
    "reversed": (BASE[::-1, :, ::2], BASE[::-1, :, ::2].copy("C")),
    "transposed": (BASE.T, BASE.T.copy("C")),
    "fortran": (np.asfortranarray(BASE), BASE),
    "broadcast": (np.broadcast_to(BASE[0], (2, 4, 5)), np.stack([BASE[0]] * 2)),
    "tuple": ((0.9, (1,)), [0.9, [1]]),
    "float32": (np.float32(0.1), float(np.float32(0.1))),
    "int64": (np.int64(3), 3),
    "bool_": (np.bool_(True), True),
    "str_": (np.str_("x"), "x"),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.safetensors"


@pytest.mark.parametrize("name", STATES)
def test_a_state_comes_back_to_the_last_bit(path, name):
    save(path, STATES[name])
    assert_same(load(path), STATES[name])
    first = path.read_bytes()
    save(path, STATES[name])
    assert path.read_bytes() == first


def test_views_tuples_and_scalars_come_back_as_arrays_lists_and_numbers(path):
    save(path, {name: before for name, (before, _) in CHANGED.items()})
    found = load(path)
    assert_same(found, {name: after for name, (_, after) in CHANGED.items()})
    arrays = [a for a in found.values() if isinstance(a, np.ndarray)]
    assert all(a.flags.writeable and a.flags.c_contiguous for a in arrays)


def test_other_byte_order_and_complex(path):
    save(path, {"x": np.arange(3, dtype=">i4")})
    np.testing.assert_array_equal(load(path)["x"], [0, 1, 2])
    with pytest.raises(TypeError, match="cannot hold complex128, the dtype of 'a.z'"):
        save(path, {"a": {"z": np.array([1 + 2j, np.nan])}})
    assert list(load(path)) == ["x"]


# paths


def test_the_suffix_is_safetensors(tmp_path):
    for name in ("x.pt", "x", "x.safetensors.bak", ".safetensors"):
        with pytest.raises(CheckpointError, match="the suffix must be .safetensors"):
            save(tmp_path / name, {})
        with pytest.raises(CheckpointError, match="must be .safetensors or .npz"):
            load(tmp_path / name)
    with pytest.raises(CheckpointError, match="the suffix must be .safetensors"):
        save(tmp_path / "x.npz", {})
    save(tmp_path / "X.SafeTensors", {"a": 1})
    assert load(str(tmp_path / "X.SafeTensors")) == {"a": 1}
    assert os.listdir(tmp_path) == ["X.SafeTensors"]


def test_missing_files_and_folders(path):
    with pytest.raises(FileNotFoundError, match=f"no checkpoint at .*{path.name}"):
        load(path)
    with pytest.raises(FileNotFoundError, match="checkpoint was not saved: No such"):
        save(path.parent / "nowhere" / path.name, {})
    path.mkdir()
    with pytest.raises(OSError, match=f"The checkpoint was not saved: .*{path.name}"):
        save(path, {})
    assert os.listdir(path.parent) == [path.name] and os.listdir(path) == []


def test_only_a_file_is_read(path):
    """A pipe and a device have no end."""
    for make in (os.mkdir, os.mkfifo, lambda path: os.symlink("/dev/zero", path)):
        make(path)
        with pytest.raises(CheckpointError, match="is a folder, a pipe or a device"):
            load(path)
        os.rmdir(path) if path.is_dir() else os.unlink(path)


def test_a_symbolic_link_is_written_through_and_the_umask_holds(path):
    target = path.parent / f"target{path.suffix}"
    before = os.umask(0o027)
    try:
        save(target, {"a": 1})
    finally:
        os.umask(before)
    assert target.stat().st_mode & 0o777 == 0o640
    path.symlink_to(target)
    save(path, {"a": 2})
    assert path.is_symlink() and load(target) == {"a": 2}


# a file is whole or not there


LOOP = []
LOOP.append(LOOP)
UNSAVABLE = [
    ([1], TypeError, "save() needs a dict; found list."),
    ({1: 2}, TypeError, "save() needs strings as keys; state has 1."),
    ({"a": [{"b": {None: 1}}]}, TypeError, "state['a'][0]['b'] has None"),
    ({"a": [0, {1}]}, TypeError, "cannot write state['a'][1], a set: a checkpoint"),
    ({"t": Tensor([1.0])}, TypeError, "cannot write state['t'], a Tensor"),
    ({"o": np.array([None])}, TypeError, "state['o'], a ndarray of object"),
    ({"s": np.array(["x"])}, TypeError, "cannot write state['s'], a ndarray of <U1"),
    ({"z": 1j}, TypeError, "cannot write state['z'], a complex"),
    ({"l": LOOP}, TypeError, "nested too deeply, or contains itself"),
    ({"text": "x" * PARSED_BYTES}, ValueError, f"at most {PARSED_BYTES}"),
]


@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt()])
@pytest.mark.parametrize("moment", ["write", "fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    path, moment, error, monkeypatch
):
    save(path, SMALL)
    for state, kind, message in UNSAVABLE if moment == "write" else ():
        with pytest.raises(kind) as caught:
            save(path, state)
        assert message in str(caught.value)

    def fail(*args, **kwargs):
        raise error

    if moment == "write":
        monkeypatch.setattr(safetensors, "write", fail)
    else:
        monkeypatch.setattr(os, moment, fail)
    with pytest.raises(type(error), match=".*No space left" if error.args else None):
        save(path, {"a": 1})
    monkeypatch.undo()
    assert os.listdir(path.parent) == [path.name]
    assert_same(load(path), SMALL)


def test_bytes_reach_the_disk_before_the_name_does(path, monkeypatch):
    order = []
    for name in ("fsync", "replace"):

        def noted(*args, name=name, function=getattr(os, name)):
            order.append(name)
            return function(*args)

        monkeypatch.setattr(os, name, noted)
    save(path, SMALL)
    assert order == ["fsync", "replace", "fsync"]
