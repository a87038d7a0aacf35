"""The vocabulary: which ids, in which order, and what becomes of the unknown."""

import json
import random

import numpy as np
import pytest

import minigrad as mg
from attention.tasks.vocabulary import SPECIAL, UNK, Vocabulary

SENTENCES = ["b a c a".split(), "a b d".split(), "é b".split()]


def test_special_ids_then_the_frequent_then_the_alphabet():
    v = Vocabulary.build(SENTENCES)
    # b and a thrice, then once each: c d é, by code points
    assert v.words == ["a", "b", "c", "d", "é"]
    assert len(v) == 9 and UNK == 3
    assert SPECIAL == ("<pad>", "<sos>", "<eos>", "<unk>")
    assert v.encode(["a", "é"]).tolist() == [4, 8]
    assert "a" in v and "<unk>" not in v and "x" not in v


def test_neither_the_order_of_sentences_nor_of_words_matters():
    rng = random.Random(1)
    words = [f"w{i}" for i in range(50) for _ in range(1 + i % 4)]
    vocabularies = []
    for _ in range(5):
        rng.shuffle(words)
        vocabularies.append(Vocabulary.build([words[:60], words[60:]]))
    assert all(v == vocabularies[0] for v in vocabularies)
    counts = [words.count(w) for w in vocabularies[0].words]
    assert counts == sorted(counts, reverse=True)


def test_minimum_count_and_size():
    assert Vocabulary.build(SENTENCES, min_count=2).words == ["a", "b"]
    assert Vocabulary.build(SENTENCES, min_count=3).words == ["a", "b"]
    assert Vocabulary.build(SENTENCES, max_size=7).words == ["a", "b", "c"]
    assert Vocabulary.build(SENTENCES, max_size=99).words == ["a", "b", "c", "d", "é"]


def test_unknown_words():
    v = Vocabulary.build(SENTENCES, min_count=2)
    ids = v.encode(["a", "c", "<pad>", "<eos>", "b"])
    assert ids.tolist() == [4, 3, 3, 3, 5] and ids.dtype == np.int64
    assert v.decode(ids) == ["a", "<unk>", "<unk>", "<unk>", "b"]
    assert v.unknown([["a", "x"], ["y", "b"]]) == 0.5
    assert v.unknown([]) == 0.0
    assert v.encode([]).shape == (0,) and v.encode([]).dtype == np.int64


def test_a_special_word_in_the_text_is_no_word():
    v = Vocabulary.build([["<pad>", "<pad>", "a", "<unk>"]])
    assert v.words == ["a"]


def test_decode_ends_at_the_end_and_leaves_padding_out():
    v = Vocabulary.build(SENTENCES)
    assert v.decode(np.array([1, 4, 0, 5, 2, 6, 99])) == ["a", "b"]
    assert v.decode([]) == [] and v.decode([2]) == []


def test_what_is_encoded_is_decoded():
    v = Vocabulary.build(SENTENCES)
    for sentence in SENTENCES:
        assert v.decode(v.encode(sentence)) == sentence


def test_state_through_json_and_through_a_checkpoint(tmp_path):
    v = Vocabulary.build(SENTENCES)
    assert Vocabulary.from_state(json.loads(json.dumps(v.state_dict()))) == v
    mg.checkpoint.save(tmp_path / "v.npz", {"source": v.state_dict()})
    again = Vocabulary.from_state(mg.checkpoint.load(tmp_path / "v.npz")["source"])
    assert again == v and (again.encode(["é", "a"]) == v.encode(["é", "a"])).all()
    assert v != Vocabulary.build(SENTENCES, max_size=7) and v != "v"


def test_a_state_is_apart_from_its_vocabulary():
    v = Vocabulary.build(SENTENCES)
    v.state_dict()["words"].append("x")
    assert "x" not in v.words


def test_repr():
    assert repr(Vocabulary(["a"])) == "Vocabulary(5 ids: a)"
    assert repr(Vocabulary(list("abcdef"))) == "Vocabulary(10 ids: a b c d e …)"


V = Vocabulary(["a", "b"])
MESSAGES = [
    (
        lambda: Vocabulary("a b"),
        TypeError,
        "Vocabulary: words is one string; expected a list of words. tokenize makes one "
        "of a text.",
    ),
    (
        lambda: Vocabulary(["a", 5]),
        TypeError,
        "Vocabulary: 5 is no word; expected a str.",
    ),
    (
        lambda: Vocabulary(["a", "a"]),
        ValueError,
        "Vocabulary: 'a' stands twice; expected each word once.",
    ),
    (
        lambda: Vocabulary(["<eos>"]),
        ValueError,
        "Vocabulary: '<eos>' has an id of its own; expected each word once.",
    ),
    (
        lambda: Vocabulary.build("a b"),
        TypeError,
        "Vocabulary.build: sentences is one string; expected a list of sentences, each "
        "a list of words.",
    ),
    (
        lambda: Vocabulary.build([["a"], "a b"]),
        TypeError,
        "Vocabulary.build: sentence 1 is 'a b'; expected a list of words. tokenize "
        "makes one of a text.",
    ),
    (
        lambda: Vocabulary.build([["a", 5]]),
        TypeError,
        "Vocabulary.build: sentence 0 holds 5; expected words, each a str.",
    ),
    (
        lambda: Vocabulary.build([["a", "a"]], min_count=3),
        ValueError,
        "Vocabulary.build: no word occurs 3 times or more; the most frequent one "
        "occurs 2 times.",
    ),
    (
        lambda: Vocabulary.build([]),
        ValueError,
        "Vocabulary.build: no word occurs 1 times or more; the most frequent one "
        "occurs 0 times.",
    ),
    (
        lambda: Vocabulary.build([["a"]], min_count=0),
        ValueError,
        "Vocabulary.build: min_count is 0; expected a whole number, 1 or more.",
    ),
    (
        lambda: Vocabulary.build([["a"]], min_count=1.5),
        TypeError,
        "Vocabulary.build: min_count is 1.5; expected a whole number.",
    ),
    (
        lambda: Vocabulary.build([["a"]], max_size=4),
        ValueError,
        "Vocabulary.build: max_size is 4; expected a whole number, 5 or more.",
    ),
    (
        lambda: V.encode("a b"),
        TypeError,
        "Vocabulary.encode: the sentence is 'a b'; expected a list of words. tokenize "
        "makes one of a text.",
    ),
    (
        lambda: V.encode([1]),
        TypeError,
        "Vocabulary.encode: the sentence holds 1; expected words, each a str.",
    ),
    (
        lambda: V.decode([4, 6]),
        ValueError,
        "Vocabulary.decode: 6 is no id; expected 0 to 5.",
    ),
    (
        lambda: V.decode([-1]),
        ValueError,
        "Vocabulary.decode: -1 is no id; expected 0 to 5.",
    ),
    (
        lambda: V.decode([[4, 5]]),
        TypeError,
        "Vocabulary.decode: ids are int64 of shape (1, 2); expected whole numbers of "
        "shape (T,), one sentence.",
    ),
    (
        lambda: V.decode(np.ones(2)),
        TypeError,
        "Vocabulary.decode: ids are float64 of shape (2,); expected whole numbers of "
        "shape (T,), one sentence.",
    ),
    (
        lambda: Vocabulary.from_state({"step": 1}),
        ValueError,
        "Vocabulary.from_state: this is no state of a vocabulary; expected what "
        "state_dict returned, a dict with a list of words.",
    ),
    (
        lambda: Vocabulary.from_state({"format": "bpe", "words": ["a"]}),
        ValueError,
        "Vocabulary.from_state: the state's format is 'bpe'; expected 'words'.",
    ),
]


@pytest.mark.parametrize("call, kind, sentence", MESSAGES)
def test_messages(call, kind, sentence):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == sentence
