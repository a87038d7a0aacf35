"""SentencePiece by hand: against all cuts, against the reference, and damaged files.

``tests/golden/marian_*.spm`` and ``marian_text.json`` were recorded from sentencepiece
by ``tests/golden/record_marian.py``; the character maps in them are small.
"""

import itertools
import json
import math
import pathlib
import random
import struct

import numpy as np
import pytest

from attention.marian import sentencepiece
from attention.marian.normalizer import CharacterMap
from attention.marian.protobuf import as_int, fields
from attention.marian.sentencepiece import SentencePiece

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
NAMES = ("source", "target", "bytes", "own", "plain")
BYTES = {name: (GOLDEN / f"marian_{name}.spm").read_bytes() for name in NAMES}
TEXT = json.loads((GOLDEN / "marian_text.json").read_text())


# a protocol buffer, written


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number * 8) + varint(value)
    if isinstance(value, float):
        return varint(number * 8 + 5) + struct.pack("<f", value)
    return varint(number * 8 + 2) + varint(len(value)) + value


def spm(pieces, trainer=b"", normalizer=b""):
    """The bytes of a model with {text: score} or {text: (score, type)}."""
    proto = field(1, field(1, b"<unk>") + field(3, 2))
    for text, score in pieces.items():
        score, kind = score if isinstance(score, tuple) else (score, 1)
        piece = field(1, text.encode()) + field(2, score)
        proto += field(1, piece + (field(3, kind) if kind != 1 else b""))
    return proto + field(2, trainer) + field(3, normalizer)


# the definition


def all_cuts(text):
    for n in range(len(text)):
        for ends in itertools.combinations(range(1, len(text)), n):
            marks = (0, *ends, len(text))
            yield [text[i:j] for i, j in itertools.pairwise(marks)]


@pytest.mark.parametrize("seed", range(12))
def test_the_best_cut_is_the_best_of_all(seed):
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


def test_the_goldens_hold_what_they_should():
    texts = {name: "".join(t for t, _ in TEXT[name]["encoded"]) for name in NAMES}
    for odd in ("\ufb01", "e\u0301", "\u3000", "Ω", "😀", "  ", "a\u0308\u0301"):
        assert any(odd in text for text in texts.values()), odd
    pieces = {p for _, row in TEXT["bytes"]["encoded"] for p in row}
    assert any(p.startswith("<0x") for p in pieces)
    assert "<sea>" in {p for _, row in TEXT["own"]["encoded"] for p in row}


def test_there_and_back():
    model = sentencepiece.load(GOLDEN / "marian_source.spm")
    for text in ("the old sailor", "where is the dog?", "a naïve café owner"):
        assert model.decode(model.encode(text)) == text
    assert model.decode(model.encode("  the   dog ")) == "the dog"
    assert model.encode("") == model.encode(" \t ") == [] and model.decode([]) == ""


def test_a_rule_that_is_longer_wins_and_no_rule_leaves_a_text_alone():
    model = SentencePiece(BYTES["source"])
    assert model.normalize("a\u0308\u0301") == "\u2581ǟ"  # and not ä + \u0301
    assert model.normalize("a\u0308b") == "\u2581äb"
    assert model.normalize("\u1100\u1161\u11a8") == "\u2581\uac01"
    plain = SentencePiece(BYTES["plain"])
    assert plain.normalize(" a\u0308  ﬁ ") == "\u2581a\u0308\u2581\u2581ﬁ\u2581"


def test_what_the_user_defined_wins_and_no_rule_touches_it():
    pieces = {"ab": (-9.0, 4), "a": -1.0, "c": -1.0, "bc": -0.1, "\u2581": -1.0}
    assert SentencePiece(spm(pieces)).encode("abc") == ["\u2581", "ab", "c"]
    units = [0] * 512
    units[ord("a")] = ord("a") | 1 << 8 | 300 << 10
    units[ord("a") ^ 300] = 1 << 31  # a is replaced by the text at 0
    rules = struct.pack("<I512I", 4 * 512, *units) + b"x\0"
    pieces = {"b": (-1.0, 4), "ba": (-1.0, 4)}
    model = SentencePiece(spm(pieces, normalizer=field(2, rules)))
    assert model.encode("baa") == ["\u2581", "ba", "x"]


def test_protobuf_fields():
    message = field(1, 300) + field(2, b"xy") + field(3, 1.5) + field(4, (1 << 64) - 1)
    message += varint(5 * 8 + 1) + b"12345678"
    found = fields(message)
    assert found[:2] == [(1, 300), (2, b"xy")] and found[4] == (5, b"12345678")
    assert as_int(found[3][1], "n") == -1 and as_int(7, "n") == 7
    for n in range(len(message)):
        try:
            assert fields(message[:n]) == found[: len(fields(message[:n]))]
        except ValueError as error:
            assert "\n" not in str(error)


BAD = {
    "empty": (b"", "it has no pieces (it is empty, or not a .spm)"),
    "text": (b"hello world", "kind"),
    "announces": (varint(10) + varint(1 << 60), "announces 1152921504606846976 bytes"),
    "endless": (b"\xff" * 20, "more than 10 bytes"),
    "bpe": (spm({"a": -1.0}, trainer=field(3, 2)), "BPE model; only unigram"),
    "twice": (spm({"a": -1.0}) + field(1, field(1, b"a")), "the piece 'a' twice"),
    "nan": (spm({"a": math.nan}), "has the score nan"),
    "type": (spm({"a": (-1.0, 9)}), "unknown type 9"),
    "nothing": (spm({"": -1.0}), "piece 1 is empty"),
    "utf-8": (field(1, field(1, b"\xff")), "piece 0 is not UTF-8"),
    "number": (field(1, 7), "piece is a number"),
    "map": (spm({"a": -1.0}, normalizer=field(2, b"abc")), "fewer than 4 bytes"),
    "trie": (spm({"a": -1.0}, normalizer=field(2, b"\xff\xff\xff\x7f")), "announces"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_model_is_refused_in_a_sentence(name, tmp_path):
    data, reason = BAD[name]
    path = tmp_path / "x.spm"
    path.write_bytes(data)
    with pytest.raises(ValueError) as error:
        sentencepiece.load(path)
    said = str(error.value)
    assert said.startswith(f"{path} cannot be read as a SentencePiece model: ")
    assert reason in said and said.endswith(".")


def test_a_text_must_be_text():
    model = SentencePiece(BYTES["source"])
    with pytest.raises(TypeError, match="text is a bytes; expected a str"):
        model.encode(b"dog")
    with pytest.raises(ValueError, match="surrogate"):
        model.encode("a\ud800")
    with pytest.raises(FileNotFoundError):
        sentencepiece.load("nowhere.spm")


def test_a_map_that_points_outside_itself():
    units = [0] * 512
    units[ord("a")] = ord("a") | 1 << 8 | 300 << 10  # a leaf, whose value is elsewhere
    units[ord("a") ^ 300] = 1 << 31 | 99
    rules = CharacterMap(struct.pack("<I512I", 4 * 512, *units) + b"x\0")
    with pytest.raises(ValueError, match="points outside itself"):
        rules.longest(b"a", 0)
    assert rules.longest(b"b", 0) is None
    units[ord("a") ^ 300] = 1 << 31
    rules = CharacterMap(struct.pack("<I512I", 4 * 512, *units) + b"x\0")
    assert rules.longest(b"ab", 0) == (1, b"x")


def test_damaged_files_give_a_model_or_a_sentence():
    rng = np.random.default_rng(0)
    refused = 0
    for n in range(120):
        data = bytearray(BYTES[NAMES[n % len(NAMES)]])
        if n % 3 == 0:
            data = data[: rng.integers(len(data))]
        else:
            for _ in range(rng.integers(1, 8)):
                data[rng.integers(len(data))] = rng.integers(256)
        try:
            model = SentencePiece(bytes(data))
            model.decode(model.encode("the dog e\u0301\ufb01 \u3000 Ω\uff41"))
        except ValueError as error:
            assert len(str(error)) < 300 and "\n" not in str(error)
            refused += 1
    assert refused > 20
