"""Checkpoints: what is saved comes back to the last bit; what is broken says so."""

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
import zipfile
import zlib

import numpy as np
import pytest

from minigrad import checkpoint, optim
from minigrad.checkpoint import CheckpointError, load, save
from minigrad.tensor import Tensor

FORMATS = [".npz", ".safetensors"]


@pytest.fixture(params=FORMATS)
def path(request, tmp_path):
    return tmp_path / f"state{request.param}"


def assert_same(a, b):
    """Equal to the last bit, and of the same types, all the way down."""
    assert type(a) is type(b), (a, b)
    if isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, list):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            assert_same(x, y)
    elif isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes()
    elif isinstance(a, float) and math.isnan(a):
        assert math.isnan(b)
    else:
        assert a == b and str(a) == str(b)  # -0.0 == 0.0, but not as a string


def round_trip(path, state):
    save(path, state)
    return load(path)


# -- what comes back ------------------------------------------------------------------


@pytest.mark.parametrize("code", "f8 f4 f2 i8 i4 i2 i1 u8 u4 u2 u1 ?".split())
@pytest.mark.parametrize("shape", [(), (5,), (2, 3, 4), (0,), (3, 0, 2), (1, 1)])
def test_every_dtype_and_shape(path, code, shape):
    raw = np.random.default_rng(0).integers(0, 2, size=(*shape, 8), dtype="u1")
    array = raw[..., 0] != 0 if code == "?" else raw.view(code)[..., 0]
    array = np.asarray(array)
    assert_same(round_trip(path, {"x": array}), {"x": array.copy()})


def test_special_values(path):
    for dtype in (np.float64, np.float32, np.float16):
        info = np.finfo(dtype)
        values = [np.nan, np.inf, -np.inf, -0.0, info.max, info.tiny, info.eps]
        array = np.array([*values, info.smallest_subnormal], dtype)
        assert_same(round_trip(path, {"x": array}), {"x": array})
    extremes = np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max])
    assert_same(round_trip(path, {"x": extremes}), {"x": extremes})


def test_views_of_any_layout(path):
    base = np.arange(60.0).reshape(3, 4, 5)
    base.flags.writeable = False
    state = {
        "reversed": base[::-1, :, ::2],
        "transposed": base.T,
        "fortran": np.asfortranarray(base),
        "broadcast": np.broadcast_to(base[0], (2, 4, 5)),
    }
    expected = {name: np.array(a, order="C") for name, a in state.items()}
    back = round_trip(path, state)
    assert_same(back, expected)
    assert all(a.flags.writeable and a.flags.c_contiguous for a in back.values())


def test_other_byte_order_and_complex(tmp_path):
    for suffix in FORMATS:
        back = round_trip(tmp_path / f"x{suffix}", {"x": np.arange(3, dtype=">i4")})
        np.testing.assert_array_equal(back["x"], [0, 1, 2])
    z = np.array([1 + 2j, np.nan])
    assert_same(round_trip(tmp_path / "z.npz", {"z": z}), {"z": z})
    with pytest.raises(TypeError, match="cannot hold complex128, the dtype of 'a.z'"):
        save(tmp_path / "z.safetensors", {"a": {"z": z}})
    assert not (tmp_path / "z.safetensors").exists()


NESTED = {
    "model": {"encoder.W": np.ones((2, 2)), "b": np.zeros(2, np.float32)},
    "encoder": {"W": np.full(3, 7.0)},
    "numbers": [0, -1, 2**200, -(2**64), 1.5, 1e-310, True, False, None],
    "special": [math.nan, math.inf, -math.inf, -0.0, 0.1 + 0.2],
    "text": ["", "é/√ 漢字 \U0001f600", 'quotes " and \\', "line\nend\0", "\ud800"],
    "lists": [[np.arange(3), [np.arange(2)]], [], {}, {"a": [{"b": np.int8([1])}]}],
    "empty": {},
}


def test_nested_state(path):
    assert_same(round_trip(path, NESTED), NESTED)
    assert_same(round_trip(path, {}), {})


def test_odd_keys(path):
    keys = [
        "",
        "/",
        "a/b",
        "../up",
        ".",
        "a.b",
        " ",
        "@array",
        "@",
        "@@x",
        "__metadata__",
    ]
    keys += ["minigrad.json", "x.npy", "'", "é", "\0", "\n", "\ud800", "C:\\x", "0"]
    flat = {key: np.array(i) for i, key in enumerate(keys)}
    nested = {key: {key: np.array(i), "n": i} for i, key in enumerate(keys)}
    clash = {"a.b": np.array(0), "a": {"b": np.array(1), "b'": np.array(2)}}
    clash["a/b"] = np.array(3)
    for state in (flat, nested, clash, {"@array": "model"}, {"@array": {"@array": 1}}):
        assert_same(round_trip(path, state), state)


def test_tuples_become_lists_and_numpy_scalars_python_numbers(path):
    state = {"betas": (0.9, 0.999), "lr": np.float32(0.1), "n": np.int64(3)}
    back = round_trip(path, {**state, "on": np.bool_(True), "s": np.str_("x")})
    expected = {"betas": [0.9, 0.999], "lr": float(np.float32(0.1)), "n": 3}
    assert_same(back, {**expected, "on": True, "s": "x"})


@pytest.mark.parametrize("bits", ["PCG64", "MT19937", "Philox", "SFC64"])
def test_a_random_generator_resumes(path, bits):
    rng = np.random.Generator(getattr(np.random, bits)(7))
    rng.normal(size=11), rng.integers(10, size=3, dtype=np.int32)
    save(path, {"rng": rng.bit_generator.state})
    expected = rng.normal(size=5)
    other = np.random.Generator(getattr(np.random, bits)(8))
    other.bit_generator.state = load(path)["rng"]
    assert other.normal(size=5).tobytes() == expected.tobytes()


def test_an_optimizer_resumes_with_the_same_bits(path):
    def advance(w, optimizer, schedule, steps):
        for k in steps:
            w.grad = np.random.default_rng(k).normal(size=3).astype(np.float32)
            optimizer.step(), schedule.step()

    def make(w):
        optimizer = optim.Adam([w], lr=0.1)
        return optimizer, optim.WarmupLR(
            optimizer, 2, after=optim.CosineAnnealingLR(optimizer, 8)
        )

    whole = Tensor(np.ones(3, np.float32), requires_grad=True)
    parts = make(whole)
    advance(whole, *parts, range(5))
    save(path, {"w": whole.data, "parts": [part.state_dict() for part in parts]})
    advance(whole, *parts, range(5, 9))

    state = load(path)
    resumed = Tensor(state["w"], requires_grad=True)
    parts = make(resumed)
    for part, saved in zip(parts, state["parts"]):
        part.load_state_dict(saved)
    advance(resumed, *parts, range(5, 9))
    assert resumed.data.tobytes() == whole.data.tobytes()


def test_the_same_state_gives_the_same_bytes(path, tmp_path):
    save(path, NESTED)
    first = path.read_bytes()
    save(path, NESTED)
    assert path.read_bytes() == first


# -- other programs' files ------------------------------------------------------------


def test_numpy_reads_ours_and_we_read_numpys(tmp_path):
    save(tmp_path / "x.npz", {"a": {"W": np.arange(3.0)}, "n": 1})
    with np.load(tmp_path / "x.npz") as file:
        np.testing.assert_array_equal(file["a/W"], [0, 1, 2])
    np.savez(tmp_path / "y.npz", W=np.ones((2, 3), order="F"), b=np.int8(4))
    assert_same(
        load(tmp_path / "y.npz"), {"W": np.ones((2, 3)), "b": np.array(4, "i1")}
    )


def build(header, data=b"", length=None):
    """The bytes of a safetensors file, whatever the header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def test_a_safetensors_file_from_elsewhere(tmp_path):
    """As the reference implementation writes it, without our checksum."""
    path = tmp_path / "x.safetensors"
    header = {
        "__metadata__": {"format": "pt"},
        "b": entry(),
        "a.w": entry("BF16", (1, 2), (8, 12)),
        "scalar": entry("BF16", (), (12, 14)),
        "mask": entry("BOOL", (3,), (14, 17)),
    }
    floats = np.array([1.5, -2.0], "<f4")
    bfloats = b"\x40\x40\x80\xff\xc0\x3f"  # the upper halves of 3, -inf and 1.5
    path.write_bytes(build(header, floats.tobytes() + bfloats + b"\1\0\2"))
    expected = {
        "b": np.float32([1.5, -2]),
        "a.w": np.float32([[3, -np.inf]]),
        "scalar": np.array(1.5, np.float32),
        "mask": np.array([True, False, True]),
    }
    assert_same(load(path), expected)


def test_ours_follow_the_safetensors_rules(tmp_path):
    """Its documentation: 8 bytes of length, a JSON object, no gaps; and alignment."""
    path = tmp_path / "x.safetensors"
    save(path, {"i": np.int8([1, 2, 3]), "w": np.arange(2.0), "h": np.float16([1])})
    raw = path.read_bytes()
    n = int.from_bytes(raw[:8], "little")
    assert n % 8 == 0 and raw[8:9] == b"{"
    header = json.loads(raw[8 : 8 + n])
    metadata = header.pop("__metadata__")
    assert all(isinstance(value, str) for value in metadata.values())
    assert header == {
        "w": entry("F64", (2,), (0, 16)),
        "h": entry("F16", (1,), (16, 18)),
        "i": entry("I8", (3,), (18, 21)),
    }
    assert raw[8 + n :] == np.arange(2.0).tobytes() + b"\x00\x3c" + b"\1\2\3"


# -- broken files ---------------------------------------------------------------------

SMALL = {"a": {"W": np.arange(6.0).reshape(2, 3), "b": np.int8([1, 2])}, "lr": 0.25}


def assert_refused(path, *words):
    with pytest.raises(CheckpointError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(f"{path} cannot be loaded: ") and message.endswith(".")
    for word in words:
        assert word in message, message


def test_truncated_anywhere(path):
    save(path, SMALL)
    raw = path.read_bytes()
    for n in range(len(raw)):
        path.write_bytes(raw[:n])
        assert_refused(path)


def test_something_appended(path):
    save(path, SMALL)
    raw = path.read_bytes()
    path.write_bytes(raw + b"\0")
    if path.suffix == ".npz":  # a zip is found from its end, and a comment may follow
        assert_same(load(path), SMALL)
    else:
        assert_refused(path, "holds 51 bytes of arrays, where 50 are due")


@pytest.mark.parametrize("mask", [0xFF, 0x01, 0x10])
def test_any_byte_changed_in_a_safetensors_file(tmp_path, mask):
    path = tmp_path / "x.safetensors"
    save(path, SMALL)
    raw = bytearray(path.read_bytes())
    padding = raw.index(b"}}  ") + 2 if b"}}  " in raw else len(raw)
    n = 8 + int.from_bytes(raw[:8], "little")
    for i in range(len(raw)):
        broken = raw.copy()
        broken[i] ^= mask
        path.write_bytes(broken)
        if padding <= i < n and bytes(broken[i : i + 1]).isspace():
            assert_same(load(path), SMALL)
        else:
            assert_refused(path)


@pytest.mark.parametrize("mask", [0xFF, 0x01, 0x80])
def test_any_byte_changed_in_a_zip_is_noticed_or_does_not_matter(tmp_path, mask):
    """A zip says some things twice and some for nobody: the values may never differ."""
    path = tmp_path / "x.npz"
    save(path, SMALL)
    raw = bytearray(path.read_bytes())
    noticed = 0
    for i in range(len(raw)):
        broken = raw.copy()
        broken[i] ^= mask
        path.write_bytes(broken)
        try:
            assert_same(load(path), SMALL)
        except CheckpointError:
            noticed += 1
    assert noticed > len(raw) / 2


def test_noise(path):
    rng = random.Random(0)
    for n in (0, 1, 7, 8, 9, 100, 5000):
        path.write_bytes(rng.randbytes(n))
        assert_refused(path)


def sealed(structure, arrays=None, data=b""):
    """A safetensors file with whatever structure and the right checksum."""
    header = {"__metadata__": {"minigrad.json": structure}, **(arrays or {})}
    crc = zlib.crc32(data, zlib.crc32(json.dumps(header, sort_keys=True).encode()))
    header["__metadata__"]["minigrad.crc32"] = f"{crc:08x}"
    return build(header, data)


W = {"w": entry()}
LIES = {
    "short": (b"\2\0\0\0", "has 4 bytes, too few for a header"),
    "long header": (build(W, bytes(8), 2**62), f"a header of {2**62} bytes"),
    "header beyond the end": (
        build(W, b"", 99),
        "a header of 99 bytes, and the file has",
    ),
    "no json": (build(b"{'w': 1}", bytes(8)), "its header is not JSON"),
    "no text": (build(b"\xff\xfe\xfd{}", bytes(8)), "its header is not JSON"),
    "a list": (build([], bytes(8)), "its header is a list, not a dict"),
    "a deep list": (build(b"[" * 100_000, bytes(8)), "recursion"),
    "a huge number": (build(b'{"w": ' + b"9" * 5000 + b"}"), "integer string"),
    "twice": (
        build(b'{"w": %b, "w": %b}' % ((json.dumps(entry()).encode(),) * 2), bytes(8)),
        "its header has 'w' twice",
    ),
    "no entry": (build({"w": 3}), "its array 'w' lacks a dtype, shape or data_offsets"),
    "no dtype": (
        build({"w": {"shape": [], "data_offsets": [0, 0]}}),
        "'w' lacks a dtype",
    ),
    "unknown dtype": (
        build({"w": entry("F8_E4M3", (8,))}, bytes(8)),
        "dtype 'F8_E4M3'",
    ),
    "a dtype that is a list": (build({"w": entry([])}, bytes(8)), "has the dtype []"),
    "negative": (
        build({"w": entry(shape=(-1, -2))}, bytes(8)),
        "has the shape [-1, -2]",
    ),
    "fraction": (build({"w": entry(shape=(2.0,))}, bytes(8)), "has the shape [2.0]"),
    "a truth": (
        build({"w": entry("I8", (True,), (0, 1))}, b"1"),
        "has the shape [True]",
    ),
    "huge": (
        build({"w": entry(shape=(2**40, 2**40))}, bytes(8)),
        "has 8 bytes, where F32",
    ),
    "vast and empty": (
        build({"w": entry(shape=(0, 10**30), offsets=(0, 0))}),
        "dimension",
    ),
    "64 dimensions": (
        build({"w": entry(shape=[1] * 65, offsets=(0, 4))}, bytes(4)),
        "'w' has 65 axes, and NumPy's have up to 64",
    ),
    "a product of a million digits": (
        build({"w": entry(shape=[10**4000] * 60)}, bytes(8)),
        "needs more than any file",
    ),
    "a long story": (
        build({"w" * 9999: entry(shape=["x" * 9999] * 999)}, bytes(8)),
        "www' has the shape",
    ),
    "wrong size": (build({"w": entry(shape=(3,))}, bytes(8)), "where F32 [3] needs 12"),
    "backwards": (build({"w": entry(offsets=(8, 0))}, bytes(8)), "data_offsets [8, 0]"),
    "three": (
        build({"w": entry(offsets=(0, 8, 8))}, bytes(8)),
        "data_offsets [0, 8, 8]",
    ),
    "beyond": (
        build({"w": entry(offsets=(0, 8))}, bytes(4)),
        "holds 4 bytes of arrays",
    ),
    "overlap": (
        build({"v": entry(), "w": entry(offsets=(4, 12))}, bytes(12)),
        "its array 'w' begins at byte 4, where byte 8 is due",
    ),
    "gap": (
        build({"w": entry(offsets=(4, 12))}, bytes(12)),
        "begins at byte 4, where byte 0",
    ),
    "metadata": (
        build({"__metadata__": {"a": 1}}),
        "__metadata__ is not a dict of strings",
    ),
    "structure": (sealed("{nonsense"), "Expecting property name"),
    "no such array": (sealed('{"x": {"@array": "x"}}'), "its array 'x' is missing"),
    "used twice": (
        sealed('[{"@array": "w"}, {"@array": "w"}]', W, bytes(8)),
        "its array 'w' is missing",
    ),
    "unused": (sealed("{}", W, bytes(8)), "nothing refers to its array 'w'"),
    "not a dict": (sealed("[]"), "its minigrad.json does not hold a dict"),
    "no checksum": (
        build({"__metadata__": {"minigrad.json": "{}"}}),
        "its checksum is missing",
    ),
    "checksum": (
        build({"__metadata__": {"minigrad.crc32": "00000000"}, **W}, bytes(8)),
        "its checksum does not match: the file is damaged",
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_lying_safetensors(tmp_path, name):
    path = tmp_path / "x.safetensors"
    raw, message = LIES[name]
    path.write_bytes(raw)
    assert_refused(path, message)


def test_the_checks_above_leave_a_true_file_alone(tmp_path):
    w = np.zeros(2, np.float32)
    (tmp_path / "x.safetensors").write_bytes(build(W, bytes(8)))
    assert_same(load(tmp_path / "x.safetensors"), {"w": w})
    raw = sealed('{"a": {"@array": "w"}}', W, bytes(8))
    (tmp_path / "x.safetensors").write_bytes(raw)
    assert_same(load(tmp_path / "x.safetensors"), {"a": w})


def npy(header, data=b"", version=(1, 0)):
    text = (repr(header) if isinstance(header, dict) else header).encode() + b"\n"
    size = len(text).to_bytes(2 if version == (1, 0) else 4, "little")
    return b"\x93NUMPY" + bytes(version) + size + text + data


def described(descr="<f8", shape=(2,), fortran_order=False):
    return {"descr": descr, "fortran_order": fortran_order, "shape": shape}


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "magic"),
        (b"text", "magic"),
        (npy(described(), bytes(15)), "its array 'w' has 15 bytes, where float64 (2,)"),
        (npy(described(shape=(10**12,)), bytes(16)), "needs 8000000000000"),
        (npy(described(shape=(-2, -1)), bytes(16)), "float64 (-2, -1)"),
        (npy(described("|O"), bytes(16)), "its array 'w' holds object, not numbers"),
        (npy(described("<U2"), bytes(16)), "its array 'w' holds <U2, not numbers"),
        (npy(described(), bytes(16), (9, 0)), "version (9, 0) of the .npy format"),
        (npy("__import__('os').system('true')", bytes(16)), "malformed node"),
        (npy(described("<f0"), b""), "descr is not a valid dtype"),
    ],
)
def test_lying_npy(tmp_path, content, message):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("w.npy", content)
    assert_refused(path, message)


def test_a_true_npy_of_either_version(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        for name, version in (("v.npy", (1, 0)), ("w.npy", (2, 0))):
            archive.writestr(name, npy(described(), bytes(16), version))
    assert_same(load(tmp_path / "x.npz"), {"v": np.zeros(2), "w": np.zeros(2)})


def test_a_pickle_is_never_opened(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, w=np.array([{"a": 1}], dtype=object))
    assert_refused(path, "its array 'w' holds object, not numbers")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_lying_zips(tmp_path):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("w.npy", npy(described(), bytes(16)))
        archive.writestr("w.npy", npy(described(), bytes(16)))
    assert_refused(path, "it has two entries named 'w'")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert_refused(path, "its entry 'readme.txt' is not an array")
    np.savez_compressed(path, w=np.zeros(100_000))
    assert_refused(path, "its entries are compressed", "numpy.load")


def test_memory_stays_near_the_size_of_the_file(tmp_path):
    """A small file that claims much is refused before the memory is taken."""
    import tracemalloc

    claims = [LIES["huge"][0], LIES["long header"][0], LIES["vast and empty"][0]]
    tracemalloc.start()
    try:
        for raw in claims:
            (tmp_path / "x.safetensors").write_bytes(raw)
            assert_refused(tmp_path / "x.safetensors")
        np.savez_compressed(tmp_path / "x.npz", w=np.zeros(10_000_000, np.uint8))
        tracemalloc.reset_peak()
        assert_refused(tmp_path / "x.npz")
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


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
    with pytest.raises(CheckpointError, match="is a folder, not a checkpoint"):
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
        ([1], "save() wants a dict, and got a list."),
        ({1: 2}, "save() wants strings for keys; state has 1."),
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


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), KeyboardInterrupt()]
)
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
