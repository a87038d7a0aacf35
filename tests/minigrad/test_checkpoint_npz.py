"""A checkpoint in .npz: NumPy reads ours, we read NumPy's, and lies are refused."""

import zipfile

import numpy as np
import pytest

from minigrad.checkpoint import load, save

from .checkpoint_cases import assert_refused, assert_same


def test_numpy_reads_ours_and_we_read_numpys(tmp_path):
    save(tmp_path / "x.npz", {"a": {"W": np.arange(3.0)}, "n": 1})
    with np.load(tmp_path / "x.npz") as file:
        np.testing.assert_array_equal(file["a/W"], [0, 1, 2])
    np.savez(tmp_path / "y.npz", W=np.ones((2, 3), order="F"), b=np.int8(4))
    assert_same(
        load(tmp_path / "y.npz"), {"W": np.ones((2, 3)), "b": np.array(4, "i1")}
    )


def npy(header, data=b"", version=(1, 0)):
    text = (repr(header) if isinstance(header, dict) else header).encode() + b"\n"
    size = len(text).to_bytes(2 if version == (1, 0) else 4, "little")
    return b"\x93NUMPY" + bytes(version) + size + text + data


def described(descr="<f8", shape=(2,), fortran_order=False):
    return {"descr": descr, "fortran_order": fortran_order, "shape": shape}


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "no valid header"),
        (b"text", "no valid header"),
        (npy(described(), bytes(15)), "has 15 bytes, too few"),
        (npy(described(shape=(10**15,)), bytes(16)), "has 16 bytes, too few"),
        (npy(described("|O"), bytes(16)), "its array 'w' holds object, not numbers"),
        (npy(described("<U2"), bytes(16)), "its array 'w' holds <U2, not numbers"),
        (npy(described(), bytes(16), (9, 0)), "no valid header"),
        (npy("__import__('os').system('true')", bytes(16)), "no valid header"),
        (npy(repr(described()) + 20_000 * " ", bytes(16), (2, 0)), "no valid header"),
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
