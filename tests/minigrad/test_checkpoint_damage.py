"""A damaged checkpoint gives what was saved or one sentence, in memory like its own."""

import json
import os
import random
import tracemalloc
import zipfile

import numpy as np
import pytest

from minigrad.bounds import PARSED_BYTES
from minigrad.checkpoint import CheckpointError, load, save

from .checkpoint_cases import FORMATS, SMALL, altered, assert_refused, assert_same

STATE = {
    **SMALL,
    "losses": np.linspace(3, 1, 20),
    "best": {"step": 12, "loss": 1.25, "model": {"W": np.ones((3, 2), np.float32)}},
    "validations": [[4, 2.5], [8, 1.5], [12, 1.25]],
    "text": "é √",
    "none": None,
}


@pytest.fixture(params=FORMATS)
def path(request, tmp_path):
    return tmp_path / f"state{request.param}"


def outcome(path, raw, expected):
    """Return "equal" or "refused" of a file with these bytes; fail on other data."""
    path.write_bytes(raw)
    try:
        state = load(path)
    except CheckpointError as error:
        sentence = str(error)
        assert sentence.startswith(f"{path} cannot be loaded: ") and sentence[-1] == "."
        assert "allow_pickle" not in sentence
        return "refused"
    assert_same(state, expected)
    return "equal"


def test_truncated_anywhere(path):
    save(path, SMALL)
    raw = path.read_bytes()
    outcomes = [outcome(path, raw[:n], SMALL) for n in range(len(raw))]
    assert outcomes == ["refused"] * len(raw)


def test_something_appended(path):
    save(path, SMALL)
    raw = path.read_bytes() + b"\0"
    # a zip is found from its end, and a comment may follow
    assert outcome(path, raw, SMALL) == ("equal" if ".npz" in path.name else "refused")


@pytest.mark.parametrize(
    "value", [0xFF, *(pytest.param(b, marks=pytest.mark.deep) for b in (0, 1))]
)
def test_any_byte_changed(path, value):
    """A zip says some things twice, so a change may not matter; no value differs."""
    save(path, SMALL)
    raw, outcomes = path.read_bytes(), []
    for i in range(len(raw)):
        changed = bytearray(raw)
        changed[i] = value if raw[i] != value else raw[i] ^ 1
        outcomes.append(outcome(path, changed, SMALL))
    assert outcomes.count("refused") > len(raw) / 2
    # the checksum of a safetensors file covers all but the spaces after the header
    if ".safetensors" in path.name:
        assert outcomes.count("equal") <= 8


def test_noise(path):
    rng = random.Random(0)
    for n in (0, 1, 7, 8, 9, 100, 5000):
        assert outcome(path, rng.randbytes(n), {}) == "refused"


def test_files_without_an_end_are_not_read(path):
    os.mkfifo(path)
    with pytest.raises(CheckpointError, match="is a folder, a pipe or a device"):
        load(path)
    os.unlink(path)
    path.symlink_to("/dev/zero")
    with pytest.raises(CheckpointError, match="is a folder, a pipe or a device"):
        load(path)


def test_memory_stays_near_the_size_of_the_file(tmp_path):
    path, npz = tmp_path / "x.safetensors", tmp_path / "x.npz"
    header = b"[" + b"[]," * PARSED_BYTES + b"[]]"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA):
        with zipfile.ZipFile(npz, "w", method) as archive:
            archive.writestr("w.npy", bytes(10_000_000))
        tracemalloc.start()
        try:
            assert_refused(npz, "its entries are compressed", "numpy.load")
            assert_refused(path, "its header has", f"at most {PARSED_BYTES}")
            assert tracemalloc.get_traced_memory()[1] < 1_000_000
        finally:
            tracemalloc.stop()


def test_a_state_that_could_not_be_loaded_is_not_saved(path):
    with pytest.raises(ValueError, match=f"at most {PARSED_BYTES}"):
        save(path, {"text": "x" * PARSED_BYTES})
    assert not path.exists()


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(4))
def test_random_damage(path, seed):
    """Bytes overwritten, cut out, repeated, swapped; several at once."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    save(path, STATE)
    raw, outcomes = path.read_bytes(), []
    for _ in range(1000):
        damaged = bytearray(raw)
        for _ in range(rng.choice((1, 1, 2, 5))):
            i, j = sorted(rng.randrange(len(damaged) + 1) for _ in range(2))
            i = max(i, j - rng.choice((1, 4, 64)))
            damaged[i:j] = rng.choice(
                (rng.randbytes(j - i), b"", damaged[i:j] * 2, bytes(j - i))
            )
        outcomes.append(outcome(path, damaged, STATE))
    print({name: outcomes.count(name) for name in ("equal", "refused")})
    assert outcomes.count("refused") > 800


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(4))
def test_an_altered_header(tmp_path, seed):
    """Without its metadata a file is one from elsewhere, which has no checksum."""
    print(f"seed {seed}")
    rng, path = random.Random(seed), tmp_path / "x.safetensors"
    save(path, STATE)
    raw = path.read_bytes()
    n = 8 + int.from_bytes(raw[:8], "little")
    header, outcomes = json.loads(raw[8:n]), []
    for _ in range(1000):
        changed = altered(header, rng)
        if not isinstance(changed, dict) or not changed.get("__metadata__"):
            continue
        text = json.dumps(changed).encode()
        data = len(text).to_bytes(8, "little") + text + raw[n:]
        outcomes.append(outcome(path, data, STATE))
    print({name: outcomes.count(name) for name in ("equal", "refused")})
    assert outcomes.count("refused") > 400
