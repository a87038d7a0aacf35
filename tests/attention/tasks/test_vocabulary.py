"""The vocabulary: its ids, their order, unknown words, and symbols."""

import json

import numpy as np
import pytest

import minigrad as mg
from attention.tasks.vocabulary import SPECIAL, UNK, Symbols, Vocabulary
from attention.tasks.words import tokenize

from ...messages import check_message

SENTENCES = ["b a c a".split(), "a b d".split(), "é b".split()]


def test_special_ids_then_the_frequent_then_the_alphabet():
    v = Vocabulary.build(SENTENCES)
    # b and a thrice, then once each: c d é, by code points
    assert v.words == ["a", "b", "c", "d", "é"]
    assert len(v) == 9 and UNK == 3
    assert SPECIAL == ("<pad>", "<sos>", "<eos>", "<unk>")
    assert v.encode(["a", "é"]).tolist() == [4, 8]
    assert "a" in v and "<unk>" not in v and "x" not in v


def test_rare_words_are_unknown_and_special_words_are_no_words():
    v = Vocabulary.build(SENTENCES, min_count=2)
    assert v.words == ["a", "b"]
    ids = v.encode(["a", "c", "<pad>", "<eos>", "b"])
    assert ids.tolist() == [4, 3, 3, 3, 5] and ids.dtype == np.int64
    assert v.decode(ids) == ["a", "<unk>", "<unk>", "<unk>", "b"]
    assert v.encode([]).shape == (0,) and v.encode([]).dtype == np.int64
    assert Vocabulary.build([["<pad>", "<pad>", "a", "<unk>"]]).words == ["a"]


def test_decode_ends_at_the_end_and_leaves_padding_out():
    v = Vocabulary.build(SENTENCES)
    assert v.decode(np.array([1, 4, 0, 5, 2, 6, 99])) == ["a", "b"]
    assert v.decode([]) == [] and v.decode([2]) == []
    for sentence in SENTENCES:
        assert v.decode(v.encode(sentence)) == sentence


def test_state_through_json_and_through_a_checkpoint(tmp_path):
    v = Vocabulary.build(SENTENCES)
    assert Vocabulary.from_state(json.loads(json.dumps(v.state_dict()))) == v
    mg.checkpoint.save(tmp_path / "v.safetensors", {"source": v.state_dict()})
    again = Vocabulary.from_state(mg.checkpoint.load(tmp_path / "v.safetensors")["source"])
    assert again == v and (again.encode(["é", "a"]) == v.encode(["é", "a"])).all()
    assert v != Vocabulary.build(SENTENCES, min_count=2) and v != "v"


V = Vocabulary(["a", "b"])
BUILD = Vocabulary.build
MESSAGES = [
    (lambda: Vocabulary("a b"), TypeError, ["words is 'a b'", "tokenize"]),
    (lambda: Vocabulary(["a", "a"]), ValueError, ["'a' occurs twice"]),
    (lambda: Vocabulary(["<eos>"]), ValueError, ["'<eos>' is a special word"]),
    (lambda: BUILD("a b"), TypeError, ["one string", "a list of sentences"]),
    (lambda: BUILD([["a", "a"]], 3), ValueError, ["3 times or more", "2 times"]),
    (lambda: V.encode("a b"), TypeError, ["sentence is 'a b'", "a list of words"]),
    (lambda: V.decode([4, 6]), ValueError, ["ids holds 6", "0 to 5"]),
    (lambda: Vocabulary.from_state({"step": 1}), ValueError, ["None", "'words'"]),
    (
        lambda: Vocabulary.from_state({"format": "bpe", "words": ["a"]}),
        ValueError, ["'bpe'", "'words'"],
    ),
    (lambda: Symbols("abc").encode("abd"), ValueError, ["'d' at place 2", "a b c"]),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, fragments", MESSAGES)
def test_messages(call, kind, fragments):
    check_message(call, fragments, kind)


@pytest.mark.parametrize("c", ["\ufeff", "\u200b", "\u00ad", "\u200d", "\u200c", "\u2060", "\u200e"])
def test_characters_without_a_shape_are_no_part_of_words(c):
    assert tokenize(f"{c}the c{c}at sleeps{c} {c}.{c}") == "the cat sleeps .".split()


@pytest.mark.parametrize("word", ["می\u200cخواهم", "क्\u200dष", "👩\u200d🔬", "❤\ufe0f\u200d🔥"])
def test_joiners_stay_where_they_change_a_word(word):
    assert tokenize(f"a {word} b") == ["a", word, "b"]
