"""Files of other programs are read; a damaged file, or one that lies, gives a sentence.

The sentence comes before memory is allocated in proportion to what the file states.
"""

import io
import json
import random
import zipfile
import zlib

import numpy as np
import pytest

from minigrad.bounds import PARSED_BYTES
from minigrad.checkpoint import CheckpointError, load, save

from ..memory import peak_bytes
from .checkpoint_cases import SMALL, assert_same

# the bytes of a file


def npy(header, data=b"", version=(1, 0)):
    text = (repr(header) if isinstance(header, dict) else header).encode() + b"\n"
    size = len(text).to_bytes(2 if version == (1, 0) else 4, "little")
    return b"\x93NUMPY" + bytes(version) + size + text + data


def described(descr="<f8", shape=(2,), fortran_order=False):
    return {"descr": descr, "fortran_order": fortran_order, "shape": shape}


def zipped(*entries, method=zipfile.ZIP_STORED):
    """Return a zip of (name, bytes)."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return file.getvalue()


def numpys(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def build(header, data=b"", length=None):
    """Return the bytes of a safetensors file, whatever the header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def sealed(structure, arrays=None, data=b""):
    """Return a safetensors file with whatever structure and the right checksum."""
    header = {"__metadata__": {"minigrad.json": structure}, **(arrays or {})}
    crc = zlib.crc32(data, zlib.crc32(json.dumps(header, sort_keys=True).encode()))
    header["__metadata__"]["minigrad.crc32"] = f"{crc:08x}"
    return build(header, data)


# files of other programs

W = {"w": entry()}
ELSEWHERE = {  # as the reference implementation writes it, without our checksum
    "__metadata__": {"format": "pt"},
    "b": entry(),
    "a.w": entry("BF16", (1, 2), (8, 12)),
    "scalar": entry("BF16", (), (12, 14)),
    "mask": entry("BOOL", (3,), (14, 17)),
}
BFLOATS = b"\x40\x40\x80\xff\xc0\x3f"  # the upper halves of 3, -inf and 1.5
TRUE = [
    (".npz", numpys(W=np.ones((2, 3), order="F"), b=np.int8(4)),
     {"W": np.ones((2, 3)), "b": np.array(4, "i1")}),
    (".npz", zipped(("v.npy", npy(described(), bytes(16))),
                    ("w.npy", npy(described(), bytes(16), (2, 0)))),
     {"v": np.zeros(2), "w": np.zeros(2)}),
    (".npz", zipped(("minigrad.json", '{"a": [{"@array": "a/0"}], "n": 1}'),
                    ("a/0.npy", npy(described(), bytes(16)))),  # an earlier version
     {"a": [np.zeros(2)], "n": 1}),
    (".safetensors", build(ELSEWHERE, np.array([1.5, -2], "<f4").tobytes() + BFLOATS
                           + b"\1\0\2"),
     {"b": np.float32([1.5, -2]), "a.w": np.float32([[3, -np.inf]]),
      "scalar": np.array(1.5, np.float32), "mask": np.array([True, False, True])}),
    (".safetensors", build(W, bytes(8)), {"w": np.zeros(2, np.float32)}),
    (".safetensors", sealed('{"a": {"@array": "w"}}', W, bytes(8)),
     {"a": np.zeros(2, np.float32)}),
]  # fmt: skip


@pytest.mark.parametrize("suffix, raw, state", TRUE)
def test_a_file_of_another_program_is_read(tmp_path, suffix, raw, state):
    path = tmp_path / f"x{suffix}"
    path.write_bytes(raw)
    assert_same(load(path), state)


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


# files that lie

NPY = [  # w.npy in a zip
    (b"", "no valid header"),
    (npy(described(), bytes(17)), "has 17 bytes, too few or too many"),
    (npy(described(shape=(10**15,)), bytes(16)), "has 16 bytes, too few"),
    (npy(described("|O"), bytes(16)), "its array 'w' holds object, not numbers"),
    (npy("__import__('os').system('true')", bytes(16)), "no valid header"),
    (npy(repr(described()) + 20_000 * " ", bytes(16), (2, 0)), "no valid header"),
]
TWICE = ("w.npy", npy(described(), bytes(16)))
COMPRESSED = [
    zipped(("w.npy", bytes(10_000_000)), method=method)
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA)
]
ZIPS = [
    *((zipped(("w.npy", content)), message) for content, message in NPY),
    (numpys(w=np.array([{"a": 1}], object)), "holds object, not numbers"),  # a pickle
    (zipped(("readme.txt", b"hello")), "its entry 'readme.txt' is not an array"),
    *((raw, "its entries are compressed; numpy.load") for raw in COMPRESSED),
]
SAFETENSORS = [
    (b"\2\0\0\0", "a header of 2 bytes, and the file has 4"),
    (build(W, b"", 2**62), f"a header of {2**62} bytes, and the file has"),
    (build(b"\xff\xfe\xfd{}", bytes(8)), "codec can't decode"),
    (build([], bytes(8)), "its header is not a dict"),
    (build(b"[" + b"[]," * PARSED_BYTES + b"[]]"), f"at most {PARSED_BYTES}"),
    (build({"w": {"shape": [], "data_offsets": [0, 0]}}), "its array 'w' has no dtype"),
    (build({"w": entry("F8_E4M3", (8,))}, bytes(8)), "dtype 'F8_E4M3'"),
    (build({"w": entry(shape=(-1, -2))}, bytes(8)), "shape [-1, -2]; expected"),
    (build({"w": entry(shape=(2.0,))}, bytes(8)), "shape [2.0]; expected"),
    (build({"w": entry(shape=(2**40, 2**40))}, bytes(8)), "has 8 bytes, too few"),
    (build({"w": entry(shape=(0, 2**60), offsets=(0, 0))}), "a product below 2^60"),
    (build({"w": entry(offsets=(0,))}, bytes(8)), "and two offsets"),
    (build({"w": entry(offsets=(8, 0))}, bytes(8)), "lies at bytes 8 to 0"),
    (build(W, bytes(4)), "and the file has 4 bytes of arrays"),
    (build(W, bytes(9)), "has 9 bytes of arrays; its header describes 8"),
    (build({"v": entry(), "w": entry(offsets=(4, 12))}, bytes(12)),
     "its array 'w' lies at bytes 4 to 12; expected a begin at 8"),
    (sealed("{nonsense"), "Expecting property name"),
    (sealed('{"x": {"@array": "x"}}'), "its array 'x' is missing"),
    (sealed("{}", W, bytes(8)), "nothing refers to its array 'w'"),
    (sealed("[]"), "its minigrad.json does not hold a dict"),
    (build({"__metadata__": {"minigrad.json": "{}"}}), "its checksum is missing"),
    (build({"__metadata__": {"minigrad.crc32": "00000000"}, **W}, bytes(8)),
     "its checksum does not match: the file is damaged"),
]  # fmt: skip
LIES = [
    *((".npz", *case) for case in ZIPS),
    *((".safetensors", *case) for case in SAFETENSORS),
]


def refusal(path, raw, expected=None):
    """Return the sentence about a file with these bytes; "" if it is ``expected``."""
    path.write_bytes(raw)
    try:
        state = load(path)
    except CheckpointError as error:
        sentence = str(error)
        assert sentence.startswith(f"{path} cannot be loaded: ") and sentence[-1] == "."
        assert "allow_pickle" not in sentence
        return sentence
    assert_same(state, expected)
    return ""


@pytest.mark.parametrize("suffix, raw, message", LIES, ids=range(len(LIES)))
def test_a_file_that_lies(tmp_path, suffix, raw, message):
    found = []
    path = tmp_path / f"x{suffix}"
    assert peak_bytes(lambda: found.append(refusal(path, raw))) < 1_000_000
    assert message in found[0]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_zip_with_one_name_twice(tmp_path):
    assert "two entries named 'w'" in refusal(tmp_path / "x.npz", zipped(TWICE, TWICE))


# damage


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.safetensors"


@pytest.mark.parametrize(
    "value, step", [(0xFF, 7), pytest.param(0, 1, marks=pytest.mark.deep)]
)
def test_any_byte_changed(path, value, step):
    """The checksum covers all but the spaces after the header."""
    save(path, SMALL)
    raw, equal = path.read_bytes(), 0
    for i in range(0, len(raw), step):
        changed = bytearray(raw)
        changed[i] = value if raw[i] != value else raw[i] ^ 1
        equal += not refusal(path, changed, SMALL)
    assert equal <= 8


def test_cut_short_or_longer_or_noise(path):
    save(path, SMALL)
    raw, rng = path.read_bytes(), random.Random(0)
    assert all(refusal(path, raw[:n]) for n in range(0, len(raw), 7))
    assert all(refusal(path, rng.randbytes(n)) for n in (0, 1, 7, 8, 9, 100, 5000))
    assert refusal(path, raw + b"\0", SMALL)
