"""Byte-level tokenizers: the ids of the reference, round trips, streams, messages."""

import functools
import json
import pathlib
import random

import pytest

from attention.published import bpe
from attention.published.byte_tokenizer import ByteTokenizer
from attention.published.splitting import RULES, split
from attention.published.tokenizer_files import read_tokenizer, tokenizer_of
from minigrad.bounds import FileError

from ...messages import check_message
from .file_cases import (
    MERGES, SPECIAL, TOKENS, VOCABULARY, make_folder, metadata, tokenizer_json,
)  # fmt: skip

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "smollm2_tokens.json"
RECORDED = json.loads(GOLDEN.read_text())


@pytest.mark.parametrize("text", RECORDED["ids"], ids=range(len(RECORDED["ids"])))
def test_the_ids_of_smollm2(text):
    """Recorded from tokenizers by tests/golden/record_smollm2_tokens.py."""
    merges = [tuple(merge.split(" ")) for merge in RECORDED["merges"]]
    tokenizer = ByteTokenizer(
        RECORDED["vocabulary"], merges, RECORDED["special"], "smollm"
    )
    assert tokenizer.encode(text) == RECORDED["ids"][text]
    assert tokenizer.decode(RECORDED["ids"][text]) == text


SPLITS = [  # by the pre_tokenizers of tokenizers 0.23.3
    ("It's 12 cats  ok",
     {"gpt-2": ["It", "'s", " 12", " cats", " ", " ok"],
      "smollm": ["It", "'s", " ", "1", "2", " cats", " ", " ok"],
      "qwen2": ["It", "'s", " ", "1", "2", " cats", " ", " ok"]}),
    ("I'LL a\u0301 \u00e9 \uff15\u2167\u20ac \u4e2d\u6587\n\n  x\r\n",
     {"gpt-2": ["I", "'", "LL", " a", "\u0301", " \u00e9", " \uff15\u2167", "\u20ac",
                " \u4e2d\u6587", "\n\n ", " x", "\r\n"],
      "smollm": ["I", "'", "LL", " a", "\u0301", " \u00e9", " ", "\uff15", "\u2167",
                 "\u20ac", " \u4e2d\u6587", "\n\n ", " x", "\r\n"]}),
    ("I'LL \u00e1 \uff15\u2167\u20ac \u4e2d\u6587\n\n  x\r\n",
     {"qwen2": ["I", "'LL", " \u00e1", " ", "\uff15", "\u2167", "\u20ac",
                " \u4e2d\u6587", "\n\n", " ", " x", "\r\n"]}),
    ("\u00a0\u2003a \t\tb1 _x_ ",
     {"gpt-2": ["\u00a0", "\u2003", "a", " \t", "\t", "b", "1", " _", "x", "_", " "],
      "smollm": ["\u00a0", "\u2003", "a", " \t", "\t", "b", "1", " _", "x", "_", " "],
      "qwen2": ["\u00a0", "\u2003a", " \t", "\tb", "1", " _", "x", "_", " "]}),
    ("we're  \n  3,00",
     {"gpt-2": ["we", "'re", "  \n ", " 3", ",", "00"],
      "smollm": ["we", "'re", "  \n  ", "3", ",", "0", "0"],
      "qwen2": ["we", "'re", "  \n", " ", " ", "3", ",", "0", "0"]}),
]  # fmt: skip
SPLITS = [(name, text, words) for text, by in SPLITS for name, words in by.items()]


@pytest.mark.parametrize("name, text, words", SPLITS)
def test_words(name, text, words):
    assert split(text, name) == words


def test_merges_in_the_order_of_learning():
    ranks = {("l", "o"): 0, ("e", "r"): 1, ("lo", "w"): 2, ("low", "er"): 3}
    assert bpe.merged("lower", ranks) == ["lower"]
    assert bpe.merged("slower", ranks) == ["s", "lower"]
    assert bpe.merged("aaaaa", {("a", "a"): 0}) == ["aa", "aa", "a"]
    assert bpe.merged("", ranks) == [] and bpe.merged("xyz", ranks) == [*"xyz"]


def test_the_symbols_of_bytes():
    assert bpe.symbols(b" the\n") == "\u0120the\u010a"
    assert len(set(bpe.SYMBOLS.values())) == 256
    assert bpe.bytes_of(bpe.symbols(bytes(range(256)))) == bytes(range(256))


@pytest.fixture(params=RULES)
def tokenizer(request):
    return tokenizer_of(metadata(pre=request.param), "x.gguf")


def test_any_bytes_come_back(tokenizer):
    rng = random.Random(0)
    for n in (0, 1, 5, 50, 500):
        raw = rng.randbytes(n)
        if tokenizer.splitting == "qwen2":  # its texts are normalized
            raw = bytes(b & 127 for b in raw)
        ids = tokenizer.encode(raw)
        assert tokenizer.decode_bytes(ids) == raw
        assert "".join(tokenizer.stream(ids)) == raw.decode("utf-8", "replace")


def test_text_comes_back_and_is_normalized_for_qwen2(tokenizer):
    text = "a\u0301 \U0001f469\u200d\U0001f467 lower"
    expected = "\u00e1" + text[2:] if tokenizer.splitting == "qwen2" else text
    assert tokenizer.decode(tokenizer.encode(text)) == expected


def test_a_stream_holds_back_half_a_character(tokenizer):
    ids = tokenizer.encode("a\U0001f600\u00e9")
    assert len(ids) == 6  # 1, 4 and, merged, 1
    assert list(tokenizer.stream(ids)) == ["a", "\U0001f600", "\u00e9"]
    assert list(tokenizer.stream(ids[:3])) == ["a", "\ufffd"]
    assert list(tokenizer.stream([10**6])) == ["\ufffd"]  # no token


def test_special_tokens_are_set_apart():
    tokenizer = tokenizer_of(metadata(), "x.gguf")
    assert tokenizer.encode("lower<|end|> low")[1:] == [0, VOCABULARY["\u0120low"]]
    assert tokenizer.encode("<|end|><|end|>") == [0, 0]
    ids = tokenizer.encode("<|end|>", special=False)
    assert len(ids) == 7 and tokenizer.decode(ids) == "<|end|>"
    tokenizer = ByteTokenizer({"a": 0}, [], {"<x>": 1, "<x>y": 2}, "gpt-2")
    assert tokenizer.encode("<x>ya<x>") == [2, 0, 1]  # the longest first


def test_a_byte_without_a_token():
    tokens = [token for token in TOKENS if token != "z"]
    few = dict(tokens=tokens, token_type=[1] * len(tokens))
    tokenizer = tokenizer_of(metadata(**few), "x.gguf")
    check_message(lambda: tokenizer.encode("az"), ["no token for b'z'"], ValueError)
    tokenizer = tokenizer_of(metadata(**few, unknown_token_id=1), "x.gguf")
    assert tokenizer.encode("z") == [1]


@pytest.mark.parametrize("name", RULES)
def test_three_forms_of_the_same_tokenizer(name, tmp_path):
    make_folder(tmp_path, name)
    text = "<|im_start|>It's lower 12\n\n caf\u00e9  low"
    expected = tokenizer_of(metadata(pre=name), "x.gguf").encode(text)
    assert read_tokenizer(tmp_path).encode(text) == expected
    if name == "smollm":
        return
    (tmp_path / "tokenizer.json").unlink()
    lines = ["#version: 0.2", *map(" ".join, MERGES), ""]
    (tmp_path / "merges.txt").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "vocab.json").write_text(json.dumps(VOCABULARY))
    special = {str(VOCABULARY[token]): {"content": token} for token in SPECIAL}
    config = {"added_tokens_decoder": special}
    config["tokenizer_class"] = "Qwen2Tokenizer" if name == "qwen2" else "GPT2Tokenizer"
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    assert read_tokenizer(tmp_path).encode(text) == expected


JSON = [  # entries of tokenizer.json
    ({"model": {"type": "WordPiece"}}, "the type of its model is 'WordPiece'"),
    ({"model": {}}, "'merges' is missing"),
    ({"normalizer": {"type": "NFC"}}, "its normalizer is 'NFC'; expected None"),
    ({"pre_tokenizer": {"type": "Whitespace"}}, "is 'Whitespace'; expected 'By"),
    ({"pre_tokenizer": None}, "an entry has the wrong form ('NoneType' object"),
    ({"model": {"ignore_merges": True}}, "ignore_merges is True; expected False"),
    ({"added_tokens": [{"content": "a", "id": 70, "lstrip": True}]}, "lstrip of 'a'"),
    ({"added_tokens": [{"content": "a", "id": 3.5}]}, "the token 'a' has the id 3.5"),
    ({"added_tokens": [{"content": "b", "id": 5}]}, "two tokens have the same id"),
    ({"model": {"vocab": VOCABULARY, "merges": ["l o", "l z"]}}, "merge ('l', 'z')"),
    ({"model": {"vocab": VOCABULARY, "merges": ["l"]}}, "merge ('l',) is no pair"),
    ({"model": {"vocab": {"\u4e2d": 9}, "merges": []}}, "'\u4e2d' is missing or"),
]
GGUF = [  # tokenizer.ggml. in the metadata
    ({"model": "llama"}, "tokenizer.ggml.model is 'llama'; expected 'gpt2'"),
    ({"pre": "llama-bpe"}, "is 'llama-bpe'; expected 'gpt-2' or 'smollm' or"),
    ({"merges": None}, "'tokenizer.ggml.merges' is missing"),
    ({"token_type": [1]}, f"found 1 types of {len(TOKENS)} tokens"),
    ({"tokens": ["a"] * len(TOKENS)}, "a token occurs twice"),
    ({"unknown_token_id": 10**6}, "unknown token has the id 1000000"),
]


@pytest.mark.parametrize("changes, fragment", JSON, ids=range(len(JSON)))
def test_a_json_that_does_not_fit(changes, fragment, tmp_path):
    path = make_folder(tmp_path) / "tokenizer.json"
    path.write_text(json.dumps(tokenizer_json(**changes)))
    check_message(lambda: read_tokenizer(tmp_path), [str(path), fragment], FileError)


@pytest.mark.parametrize("changes, fragment", GGUF, ids=range(len(GGUF)))
def test_metadata_that_do_not_fit(changes, fragment):
    call = functools.partial(tokenizer_of, metadata(**changes), "x.gguf")
    check_message(call, ["The tokenizer in x.gguf cannot be used", fragment], FileError)


def test_a_folder_without_a_tokenizer(tmp_path):
    check_message(
        lambda: read_tokenizer(tmp_path), ["expected tokenizer.json"], FileNotFoundError
    )
