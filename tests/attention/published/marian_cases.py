"""Folders of the recorded Marian model, for the tests.

``tests/golden/marian.npz`` and ``marian.safetensors`` were recorded from transformers
(its version is in the file) by ``tests/golden/record_marian.py``: a tiny model, as
``save_pretrained`` writes it.
"""

import json
import os
import pathlib
import shutil
import struct

import numpy as np

from minigrad import checkpoint

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
with np.load(GOLDEN / "marian.npz") as recorded:
    RECORDED = dict(recorded)
RECORDED["lengths"] = RECORDED["mask"].sum(1)
TEXT = json.loads((GOLDEN / "marian_text.json").read_text())["tokenizer"]
VOCAB = TEXT["vocab"]
close = dict(rtol=0, atol=1e-5)


def make_folder(path, generation=(), **changes):
    """A model's folder; changes are entries of config.json, None removes one.

    generation   entries of generation_config.json that change
    """
    config = json.loads(RECORDED["config"].tobytes()) | changes
    config = {key: value for key, value in config.items() if value is not None}
    (path / "config.json").write_text(json.dumps(config))
    settings = json.loads(RECORDED["generation"].tobytes()) | dict(generation)
    (path / "generation_config.json").write_text(json.dumps(settings))
    shutil.copy(GOLDEN / "marian.safetensors", path / "model.safetensors")
    return path


def text_folder(path):
    """A folder with the recorded vocabulary and random weights."""
    V = len(VOCAB)
    make_folder(
        path, vocab_size=V, decoder_vocab_size=V, pad_token_id=V - 1,
        decoder_start_token_id=V - 1, bad_words_ids=[[V - 1]],
    )  # fmt: skip
    os.remove(path / "generation_config.json")
    weights = checkpoint.load(path / "model.safetensors")
    rng = np.random.default_rng(0)
    weights["model.shared.weight"] = rng.normal(0, 0.5, (V, 16)).astype(np.float32)
    weights["final_logits_bias"] = np.zeros((1, V), np.float32)
    checkpoint.save(path / "model.safetensors", weights)
    (path / "vocab.json").write_text(json.dumps(VOCAB))
    shutil.copy(GOLDEN / "marian_source.spm", path / "source.spm")
    return path


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    """A field of a protocol buffer: an int, a float or bytes."""
    if isinstance(value, int):
        return varint(number * 8) + varint(value)
    if isinstance(value, float):
        return varint(number * 8 + 5) + struct.pack("<f", value)
    return varint(number * 8 + 2) + varint(len(value)) + value


def spm(pieces, trainer=b"", normalizer=b""):
    """The bytes of a SentencePiece model of {text: score or (score, type)}."""
    data = field(1, field(1, b"<unk>") + field(3, 2))
    for text, score in pieces.items():
        score, kind = score if isinstance(score, tuple) else (score, 1)
        data += field(1, field(1, text.encode()) + field(2, score) + field(3, kind))
    return data + field(2, trainer) + field(3, normalizer)
