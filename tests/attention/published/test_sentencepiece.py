"""SentencePiece equals the best of all cuts, and the recorded reference.

``tests/golden/marian_*.spm`` and ``marian_text.json`` were recorded from sentencepiece
by ``tests/golden/record_marian.py``; the character maps in them are small.
"""

import itertools
import json
import math
import pathlib
import random
import struct

import pytest

from attention.published import sentencepiece
from attention.published.protobuf import read_fields
from attention.published.sentencepiece import SentencePiece

from .file_cases import damaged
from .marian_cases import field, spm, varint

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
NAMES = ("source", "target", "own")
BYTES = {name: (GOLDEN / f"marian_{name}.spm").read_bytes() for name in NAMES}
TEXT = json.loads((GOLDEN / "marian_text.json").read_text())


# the definition


def all_cuts(text):
    for n in range(len(text)):
        for ends in itertools.combinations(range(1, len(text)), n):
            marks = (0, *ends, len(text))
            yield [text[i:j] for i, j in itertools.pairwise(marks)]


@pytest.mark.parametrize("seed", range(6))
def test_the_cut_is_the_best_of_all_cuts(seed):
    rng = random.Random(seed)
    words = {"".join(rng.choices("ab\u2581", k=rng.randint(1, 4))) for _ in range(9)}
    pieces = {word: -rng.uniform(0.5, 6) for word in sorted(words)}
    model = SentencePiece(spm(pieces))
    worst = min(pieces.values()) - 10

    def score(cut):
        if any(len(x) > 1 and x not in pieces for x in cut):
            return -math.inf
        return sum(pieces.get(x, worst) for x in cut)

    for _ in range(20):
        text = "".join(rng.choices("abc ", k=rng.randint(1, 8)))
        normal = model.normalize(text)
        if not normal:
            assert model.encode(text) == []
            continue
        best = max(all_cuts(normal), key=score)
        merged = []
        for piece in best:  # unknown neighbours are one
            if piece not in pieces and merged and merged[-1] not in pieces:
                merged[-1] += piece
            else:
                merged.append(piece)
        assert model.encode(text) == merged, (text, pieces)


def test_among_equals_the_longest_last_piece_wins():
    model = SentencePiece(spm({"a": -1.0, "aa": -1.0, "\u2581": -1.0}))
    assert model.encode("aaa") == ["\u2581", "a", "aa"]


@pytest.mark.parametrize("name", NAMES)
def test_pieces_are_those_of_the_reference(name):
    model = SentencePiece(BYTES[name])
    assert len(TEXT[name]["encoded"]) > 100
    for text, pieces in TEXT[name]["encoded"]:
        assert model.encode(text) == pieces, text


@pytest.mark.parametrize("name", NAMES)
def test_texts_are_those_of_the_reference(name):
    model = SentencePiece(BYTES[name])
    for pieces, text in TEXT[name]["decoded"]:
        assert model.decode(pieces) == text, pieces


def test_decode_reverses_encode():
    model = sentencepiece.load(GOLDEN / "marian_source.spm")
    for text in ("the old sailor", "where is the dog?", "a naïve café owner"):
        assert model.decode(model.encode(text)) == text
    assert model.decode(model.encode("  the   dog ")) == "the dog"
    assert model.encode("") == model.encode(" \t ") == [] and model.decode([]) == ""


def test_a_rule_that_is_longer_wins():
    model = SentencePiece(BYTES["source"])
    assert model.normalize("a\u0308\u0301") == "\u2581ǟ"  # and not ä + \u0301
    assert model.normalize("a\u0308b") == "\u2581äb"
    assert model.normalize("\u1100\u1161\u11a8") == "\u2581\uac01"


@pytest.mark.parametrize("offset", [300 << 10, 1 << 10 | 1 << 9])  # 300, and 1 * 256
def test_user_defined_pieces_win_and_no_rule_changes_them(offset):
    pieces = {"ab": (-9.0, 4), "a": -1.0, "c": -1.0, "bc": -0.1, "\u2581": -1.0}
    assert SentencePiece(spm(pieces)).encode("abc") == ["\u2581", "ab", "c"]
    units = [0] * 512
    units[ord("a")] = ord("a") | 1 << 8 | offset
    units[ord("a") ^ (256 if offset >> 9 & 1 else 300)] = 1 << 31 | 2  # a -> x
    rules = struct.pack("<I512I", 4 * 512, *units) + b"y\0x\0"
    pieces = {"b": (-1.0, 4), "ba": (-1.0, 4)}
    model = SentencePiece(spm(pieces, normalizer=field(2, rules)))
    assert model.encode("baa") == ["\u2581", "ba", "x"]


def test_fields_of_a_protocol_buffer():
    message = field(1, 300) + field(2, b"xy") + field(3, 1.5) + field(4, (1 << 64) - 1)
    message += varint(5 * 8 + 1) + b"12345678"
    found = read_fields(message)
    assert found == [
        (1, 300), (2, b"xy"), (3, struct.pack("<f", 1.5)), (4, (1 << 64) - 1),
        (5, b"12345678"),
    ]  # fmt: skip
    for n in range(len(message)):  # a part gives a part of the fields, or an error
        try:
            part = read_fields(message[:n])
        except (ValueError, IndexError):
            continue
        assert part == found[: len(part)]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [200, pytest.param(3000, marks=pytest.mark.deep)])
def test_a_damaged_file_gives_a_model_or_a_message(name, n, tmp_path):
    rng, path, refused = random.Random(n), tmp_path / "x.spm", 0
    text = "".join(text for text, _ in TEXT[name]["encoded"][::9])
    for _ in range(n):
        path.write_bytes(damaged(BYTES[name], rng))
        try:
            model = sentencepiece.load(path)
            model.decode(model.encode(text) + list(model.types))
        except ValueError as error:
            message, refused = str(error), refused + 1
            assert "is damaged" in message and message.endswith("."), message
    assert 0 < refused < n


DAMAGED = {  # the bytes, and what the message says of them
    "empty": (b"", "it has 0 pieces"),
    "text": (b"hello world", "encoding"),
    "short": (b"\x0a\x7f", "field 1 has 0 of 127 bytes"),
    "endless": (b"\xff" * 20, "more than 64 bits"),
    "bpe": (spm({"a": -1.0}, trainer=b"\x18\x02"), "the type 2; expected"),
    "bytes": (spm({"a": -1.0}, field(35, 1)), "byte_fallback is 1; expected 0"),
    "spaces": (spm({"a": -1.0}, b"", field(4, 0)), "whitespaces is 0; expected 1"),
    "number": (b"\x08\x07", "found the int 7"),
    "own piece": (spm({"a": -1.0, "": (0.0, 4)}), "the piece '' has the score 0.0"),
    "score": (spm({"a": math.nan}), "the piece 'a' has the score nan"),
    "trie": (spm({"a": -1.0}, normalizer=field(2, bytes(4))), "its rules is empty"),
    "rule": (
        spm({"a": -1.0}, normalizer=field(2, struct.pack("<513I", 2048, *[353] * 512))),
        "a rule that rewrites characters has no replacement",
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_file_that_is_not_a_sentencepiece_model(name, tmp_path):
    data, fragment = DAMAGED[name]
    path = tmp_path / "x.spm"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="is damaged") as error:
        sentencepiece.load(path).encode("aaa")
    assert fragment in str(error.value)
