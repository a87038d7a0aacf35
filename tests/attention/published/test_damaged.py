"""Damaged files of published models: each is one sentence, a FileError, or is read.

No damage makes a reader allocate more than a few times the size of the file.
"""

import json
import random
import tracemalloc

import pytest

from attention.published import open_model
from minigrad.bounds import FileError

from .file_cases import (
    MERGES, VOCABULARY, damaged, gguf, make_folder, metadata, safetensors,
)  # fmt: skip


def one_gguf(path):
    tensors = {
        kind: (kind, (2, 32), 2 * bytes(range(n)))
        for kind, n in [("Q4_0", 18), ("Q4_1", 20), ("Q8_0", 34), ("F16", 64)]
    }
    (path / "x.gguf").write_bytes(gguf(metadata(unknown_token_id=0), tensors))
    return "x.gguf"


def one_folder(path):
    make_folder(path)
    return "model.safetensors", "tokenizer.json", "config.json"


def shards(path):
    make_folder(path)
    (path / "model.safetensors").unlink()
    (path / "tokenizer.json").unlink()
    (path / "vocab.json").write_text(json.dumps(VOCABULARY))
    lines = "\n".join(map(" ".join, MERGES))
    (path / "merges.txt").write_text(lines, encoding="utf-8")
    for name in "ab":
        raw = safetensors({name: ("F32", [2], bytes(8))})
        (path / f"{name}.safetensors").write_bytes(raw)
    places = {name: f"{name}.safetensors" for name in "ab"}
    index = "model.safetensors.index.json"
    (path / index).write_text(json.dumps({"weight_map": places}))
    return index, "a.safetensors", "vocab.json", "merges.txt"


def outcome(path):
    """Return the sentence about a model's files, or "" if they can be read."""
    try:
        model = open_model(path)
    except FileError as error:
        sentence = str(error)
        assert str(path) in sentence and sentence.endswith(".") and "\n" not in sentence
        return sentence
    for tensor in model.tensors.values():
        tensor.array()
    try:
        model.tokenizer.decode(model.tokenizer.encode("lower 12 \u00e9<|end|>"))
    except ValueError as error:
        assert str(error).startswith("encode: the vocabulary has no token for")
    return ""


@pytest.mark.parametrize("count", [100, pytest.param(3000, marks=pytest.mark.deep)])
@pytest.mark.parametrize("make", [one_gguf, one_folder, shards])
def test_damaged_files(make, count, tmp_path):
    rng, sentences = random.Random(count), 0
    names = make(tmp_path)
    names = [names] if isinstance(names, str) else names
    assert outcome(tmp_path) == ""
    originals = {name: (tmp_path / name).read_bytes() for name in names}
    tracemalloc.start()
    try:
        for _ in range(count // 3):
            name = rng.choice(names)
            (tmp_path / name).write_bytes(damaged(originals[name], rng))
            sentences += outcome(tmp_path) != ""
            (tmp_path / name).write_bytes(originals[name])
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
    assert sentences > count // 3 / 2


@pytest.mark.parametrize("step", [97, pytest.param(5, marks=pytest.mark.deep)])
def test_cut_at_each_place(step, tmp_path):
    raw = (tmp_path / one_gguf(tmp_path)).read_bytes()
    for n in range(0, len(raw) - 1, step):
        (tmp_path / "x.gguf").write_bytes(raw[:n])
        assert outcome(tmp_path)
