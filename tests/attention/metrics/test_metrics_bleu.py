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
    # a word counts at most as often as in the reference
    assert bleu_parts(["a a a a"], ["a a b"], 1).precisions == [50]


@pytest.mark.parametrize(
    "hypotheses, references",
    [(["a b"], [["a b"]]), ([["a b"]], [["a b"]]), (["a"], [None])],
)
def test_a_sentence_in_another_list_is_no_word(hypotheses, references):
    with pytest.raises(ValueError, match="BLEU: a sentence has the token .* has one reference"):
        corpus_bleu(hypotheses, references)


def test_a_token_may_begin_with_a_space():
    pieces = ["the", " black", " cat", " sleeps"]  # of a tokenizer such as GPT-2's
    assert corpus_bleu([pieces], [pieces]) == pytest.approx(100)


@pytest.mark.parametrize("name", RECORDED["cases"])
def test_bleu_is_that_of_sacrebleu(name):
    case = RECORDED["cases"][name]
    for call, wanted in zip(RECORDED["arguments"], case["scores"], strict=True):
        options = dict(zip(("smoothing", "max_order"), call))
        found = corpus_bleu(case["hypotheses"], case["references"], **options)
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12), call


def test_strings_lists_and_ids_give_the_same_score():
    case = RECORDED["cases"]["random 1"]
    strings, references = case["hypotheses"], case["references"]
    wanted = corpus_bleu(strings, references)
    for split in str.split, lambda text: np.array([ord(w) for w in text.split()]):
        each = ([split(text) for text in texts] for texts in (strings, references))
        assert corpus_bleu(*each) == wanted
    spaced = [" \t".join(text.split()) + "\n" for text in references]
    assert corpus_bleu(strings, spaced) == wanted
