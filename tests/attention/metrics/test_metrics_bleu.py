"""BLEU is that of sacrebleu, and of a few sentences by hand.

``tests/golden/bleu.json`` holds texts and the scores that sacrebleu computed of them,
with its version and arguments.
"""

import json
import math
import pathlib

import numpy as np
import pytest

from attention.metrics import bleu_parts, corpus_bleu

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "bleu.json"
RECORDED = json.loads(GOLDEN.read_text("utf-8"))


def test_brevity():
    # 3 words, 2 pairs and 1 triple are right; the reference has 6 words
    parts = bleu_parts(["the cat is"], ["the cat is on the mat"], max_order=3)
    assert parts.precisions == [100, 100, 100]
    assert parts.brevity_penalty == pytest.approx(math.exp(1 - 6 / 3))
    assert parts.score == pytest.approx(100 * math.exp(-1))
    # a long hypothesis has no penalty, but a lower precision
    long = bleu_parts(["the cat is on the mat now"], ["the cat is on the mat"], 1)
    assert long.brevity_penalty == 1 and long.score == pytest.approx(100 * 6 / 7)
    # the nearest reference counts, and of two the shorter
    ones = ["a b", "a b c d", "a b c d e f g"]
    for text, nearest in [("a b c", 2), ("a b c d e", 4), ("a b c d e f", 7)]:
        assert bleu_parts([text], [ones], 1, several=True).reference_length == nearest


def test_a_word_counts_as_often_as_in_the_reference_that_has_it_most_often():
    parts = bleu_parts(["a a a a"], [["a a b", "a c d"]], 1, several=True)
    assert parts.precisions == [50]


@pytest.mark.parametrize(
    "hypotheses, references",
    [(["a b"], [["a b"]]), ([["a b"]], [["a b"]]), (["a"], [None])],
)
def test_a_sentence_in_another_list_is_no_word(hypotheses, references):
    with pytest.raises(ValueError, match="BLEU: a sentence has the token .* several=True"):
        corpus_bleu(hypotheses, references)


def test_a_token_may_begin_with_a_space():
    pieces = ["the", " black", " cat", " sleeps"]  # of a tokenizer such as GPT-2's
    assert corpus_bleu([pieces], [pieces]) == pytest.approx(100)


@pytest.mark.parametrize("name", RECORDED["cases"])
def test_bleu_is_that_of_sacrebleu(name):
    case = RECORDED["cases"][name]
    for call, wanted in zip(RECORDED["arguments"], case["scores"], strict=True):
        smoothing, order, effective = call
        found = corpus_bleu(
            case["hypotheses"],
            case["references"],
            max_order=order,
            smoothing=smoothing,
            several=True,
            effective_order=effective,
        )
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12), call


def test_strings_lists_and_ids_give_the_same_score():
    case = RECORDED["cases"]["random 2"]
    strings, references = case["hypotheses"], case["references"]
    wanted = corpus_bleu(strings, references, several=True)
    for split in str.split, lambda text: np.array([ord(w) for w in text.split()]):
        words = [split(text) for text in strings]
        ones = [[split(text) for text in options] for options in references]
        assert corpus_bleu(words, ones, several=True) == wanted
    spaced = [[" \t".join(x.split()) + "\n" for x in each] for each in references]
    assert corpus_bleu(strings, spaced, several=True) == wanted
