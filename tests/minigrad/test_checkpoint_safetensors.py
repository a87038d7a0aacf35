"""A checkpoint in .safetensors: its rules, files from elsewhere, and lies refused."""

import json
import zlib

import numpy as np
import pytest

from minigrad.checkpoint import load, save

from .checkpoint_cases import assert_refused, assert_same


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


def sealed(structure, arrays=None, data=b""):
    """A safetensors file with whatever structure and the right checksum."""
    header = {"__metadata__": {"minigrad.json": structure}, **(arrays or {})}
    crc = zlib.crc32(data, zlib.crc32(json.dumps(header, sort_keys=True).encode()))
    header["__metadata__"]["minigrad.crc32"] = f"{crc:08x}"
    return build(header, data)


W = {"w": entry()}
LIES = [
    (b"\2\0\0\0", "a header of 2 bytes, and the file has 4"),
    (build(W, b"", 2**62), f"a header of {2**62} bytes, and the file has"),
    (build(b"{'w': 1}", bytes(8)), "Expecting property name"),
    (build(b"\xff\xfe\xfd{}", bytes(8)), "codec can't decode"),
    (build([], bytes(8)), "its header is not a dict"),
    (build({"w": {"shape": [], "data_offsets": [0, 0]}}), "its array 'w' has no dtype"),
    (build({"w": {"dtype": "F32", "shape": []}}), "its array 'w' has no data_offsets"),
    (build({"w": 3}), "its array 'w' has no dtype"),
    (build({"w": entry("F8_E4M3", (8,))}, bytes(8)), "dtype 'F8_E4M3'"),
    (build({"w": entry(shape=(-1, -2))}, bytes(8)), "negative dimensions"),
    (build({"w": entry(shape=(2.0,))}, bytes(8)), "float"),
    (build({"w": entry(shape=(2**40, 2**40))}, bytes(8)), "has 8 bytes, too few"),
    (build({"w": entry(shape=(3,))}, bytes(8)), "too few or too many for F32 [3]"),
    (build({"w": entry(offsets=(8, 0))}, bytes(8)), "lies at bytes 8 to 0"),
    (build({"w": entry()}, bytes(4)), "and the file has 4 bytes of arrays"),
    (build({"w": entry()}, bytes(9)), "has 9 bytes of arrays; its header describes 8"),
    (
        build({"v": entry(), "w": entry(offsets=(4, 12))}, bytes(12)),
        "its array 'w' lies at bytes 4 to 12; expected a begin at 8",
    ),
    (sealed("{nonsense"), "Expecting property name"),
    (sealed('{"x": {"@array": "x"}}'), "its array 'x' is missing"),
    (sealed("{}", W, bytes(8)), "nothing refers to its array 'w'"),
    (sealed("[]"), "its minigrad.json does not hold a dict"),
    (build({"__metadata__": {"minigrad.json": "{}"}}), "its checksum is missing"),
    (
        build({"__metadata__": {"minigrad.crc32": "00000000"}, **W}, bytes(8)),
        "its checksum does not match: the file is damaged",
    ),
]


@pytest.mark.parametrize("raw, message", LIES, ids=range(len(LIES)))
def test_lying_safetensors(tmp_path, raw, message):
    path = tmp_path / "x.safetensors"
    path.write_bytes(raw)
    assert_refused(path, message)


def test_the_checks_above_leave_a_true_file_alone(tmp_path):
    w = np.zeros(2, np.float32)
    (tmp_path / "x.safetensors").write_bytes(build(W, bytes(8)))
    assert_same(load(tmp_path / "x.safetensors"), {"w": w})
    raw = sealed('{"a": {"@array": "w"}}', W, bytes(8))
    (tmp_path / "x.safetensors").write_bytes(raw)
    assert_same(load(tmp_path / "x.safetensors"), {"a": w})
