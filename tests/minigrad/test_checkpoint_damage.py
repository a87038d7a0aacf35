"""A checkpoint cut short, changed in any byte, or of noise says so."""

import random

import pytest

from minigrad.checkpoint import CheckpointError, load, save

from .checkpoint_cases import FORMATS, SMALL, assert_refused, assert_same


@pytest.fixture(params=FORMATS)
def path(request, tmp_path):
    return tmp_path / f"state{request.param}"


def test_truncated_anywhere(path):
    save(path, SMALL)
    raw = path.read_bytes()
    said = "is cut short, or never was a .npz file" if path.suffix == ".npz" else ""
    for n in range(len(raw)):
        path.write_bytes(raw[:n])
        assert_refused(path, said)


def test_something_appended(path):
    save(path, SMALL)
    raw = path.read_bytes()
    path.write_bytes(raw + b"\0")
    if path.suffix == ".npz":  # a zip is found from its end, and a comment may follow
        assert_same(load(path), SMALL)
    else:
        assert_refused(path, "holds 51 bytes of arrays, where 50 are due")


@pytest.mark.parametrize("mask", [0xFF, pytest.param(0x01, marks=pytest.mark.deep)])
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


@pytest.mark.parametrize("mask", [0xFF, pytest.param(0x01, marks=pytest.mark.deep)])
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
