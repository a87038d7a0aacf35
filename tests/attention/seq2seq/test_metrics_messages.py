"""What the metrics refuse, and in which words."""

import numpy as np
import pytest

from attention.seq2seq.metrics import (
    alignment_error_rate,
    attention_entropy,
    corpus_alignment_error_rate,
    corpus_bleu,
    diagonal_baseline,
    exact_match,
    mean_attention_entropy,
    sentence_bleu,
    token_accuracy,
    uniform_baseline,
)

EYE = np.eye(3)
IDS = np.array([[4, 2]])
AER = "alignment_error_rate: "
H = "attention_entropy: "
BLEU = [
    (
        lambda: corpus_bleu("a b", ["a b"]),
        TypeError,
        "BLEU: hypotheses is one string; expected a list of sentences. For one "
        "sentence there is sentence_bleu.",
    ),
    (
        lambda: corpus_bleu(["a b"], "a b"),
        TypeError,
        "BLEU: references is one string; expected a list of sentences. For one "
        "sentence there is sentence_bleu.",
    ),
    (
        lambda: corpus_bleu(["a"], ["a", "b"]),
        ValueError,
        "BLEU: 1 hypotheses and 2 references; expected one entry of references for "
        "each hypothesis.",
    ),
    (
        lambda: corpus_bleu([], []),
        ValueError,
        "BLEU: there are no hypotheses; expected one or more.",
    ),
    (
        lambda: corpus_bleu(["a"], [["a b", "a c"]]),
        TypeError,
        "BLEU: reference 0 of hypothesis 0 holds 'a b'; expected tokens, strings "
        "without spaces or ids. For several references of each hypothesis pass "
        "several=True.",
    ),
    (
        lambda: corpus_bleu([["a"]], [[["a"], ["b"]]]),
        TypeError,
        "BLEU: reference 0 of hypothesis 0 holds ['a']; expected tokens, strings "
        "without spaces or ids. For several references of each hypothesis pass "
        "several=True.",
    ),
    (
        lambda: corpus_bleu([[0.5]], ["a"]),
        TypeError,
        "BLEU: hypothesis 0 holds 0.5; expected tokens, strings without spaces or ids. "
        "For several references of each hypothesis pass several=True.",
    ),
    (
        lambda: corpus_bleu(["a"], ["a"], several=True),
        ValueError,
        "BLEU: the references of hypothesis 0 are 'a'; with several=True, expected a "
        "list of one sentence or more.",
    ),
    (
        lambda: corpus_bleu(["a", "b"], [["a"], []], several=True),
        ValueError,
        "BLEU: the references of hypothesis 1 are []; with several=True, expected a "
        "list of one sentence or more.",
    ),
    (
        lambda: corpus_bleu(["a"], [["a", " "]], several=True),
        ValueError,
        "BLEU: reference 1 of hypothesis 0 is empty; expected a sentence.",
    ),
    (
        lambda: sentence_bleu(None, "a"),
        TypeError,
        "BLEU: hypothesis 0 is None; expected a string or a list of tokens.",
    ),
    (
        lambda: corpus_bleu(["a"], ["a"], smoothing="laplace"),
        ValueError,
        "BLEU: there is no smoothing 'laplace'; choose from none, floor, add-k, exp.",
    ),
    (
        lambda: corpus_bleu(["a"], ["a"], smoothing="exp", value=0.1),
        ValueError,
        "BLEU: value is 0.1, and smoothing 'exp' takes none; it belongs to floor and "
        "add-k.",
    ),
    (
        lambda: corpus_bleu(["a"], ["a"], smoothing="floor", value=0),
        ValueError,
        "BLEU: value is 0; expected a positive number.",
    ),
    (
        lambda: corpus_bleu(["a"], ["a"], smoothing="add-k", value=float("nan")),
        ValueError,
        "BLEU: value is nan; expected a positive number.",
    ),
    (
        lambda: corpus_bleu(["a"], ["a"], max_order=0),
        ValueError,
        "BLEU: max_order is 0; expected a whole number, 1 or more.",
    ),
]
ACCURACY = [
    (
        lambda: token_accuracy(np.ones((1, 2)), IDS),
        TypeError,
        "token_accuracy: said holds float64; expected ids, whole numbers. Of logits, "
        ".argmax(-1) makes them.",
    ),
    (
        lambda: exact_match(IDS, IDS[0]),
        ValueError,
        "exact_match: wanted has shape (2,); expected (B, T), a row of ids for each "
        "sentence.",
    ),
    (
        lambda: exact_match(IDS, np.ones((2, 2), int)),
        ValueError,
        "exact_match: said has 1 rows and wanted 2; expected as many.",
    ),
    (
        lambda: token_accuracy(np.ones((2, 2), int), [[4, 2], [0, 0]]),
        ValueError,
        "token_accuracy: row 1 holds no token that counts; expected one or more that "
        "are not 0.",
    ),
    (
        lambda: token_accuracy(np.ones((0, 2), int), np.ones((0, 2), int)),
        ValueError,
        "token_accuracy: wanted holds no token that counts; expected one or more that "
        "are not 0.",
    ),
]
ALIGNMENT = [
    (
        lambda: alignment_error_rate(EYE[None], {(0, 0)}),
        ValueError,
        AER + "weights have shape (1, 3, 3); expected (T, S), of one sentence and one "
        "head.",
    ),
    (
        lambda: alignment_error_rate(EYE > 0, {(0, 0)}),
        TypeError,
        AER + "weights are bool; expected numbers.",
    ),
    (
        lambda: alignment_error_rate(EYE * 2, {(0, 0)}),
        ValueError,
        AER
        + "row 0 of the weights sums to 2; expected numbers from 0 up that sum to 1, "
        "as of a softmax, or zeros alone.",
    ),
    (
        lambda: alignment_error_rate([[1, 0], [2, -1]], {(0, 0)}),
        ValueError,
        AER
        + "row 1 of the weights holds -1; expected numbers from 0 up that sum to 1, "
        "as of a softmax, or zeros alone.",
    ),
    (
        lambda: alignment_error_rate([[1, 0], [np.nan, 1]], {(0, 0)}),
        ValueError,
        AER
        + "row 1 of the weights sums to nan; expected numbers from 0 up that sum to "
        "1, as of a softmax, or zeros alone.",
    ),
    (
        lambda: alignment_error_rate(EYE, {(0, 3)}),
        ValueError,
        AER + "gold holds the link (0, 3), and there are 3 targets and 3 sources; "
        "expected (t, s), both from 0.",
    ),
    (
        lambda: alignment_error_rate(EYE, {(0, 0)}, {(0, 1, 2)}),
        TypeError,
        AER + "possible holds (0, 1, 2); expected pairs (t, s) of whole numbers, 0 or "
        "more.",
    ),
    (
        lambda: alignment_error_rate(EYE, {(0, -1)}),
        TypeError,
        AER + "gold holds (0, -1); expected pairs (t, s) of whole numbers, 0 or more.",
    ),
    (
        lambda: alignment_error_rate(EYE, [4]),
        TypeError,
        AER + "gold holds 4; expected pairs (t, s) of whole numbers, 0 or more.",
    ),
    (
        lambda: alignment_error_rate(EYE, np.eye(2, dtype=bool)),
        ValueError,
        AER
        + "gold is bool of shape (2, 2); expected bool of shape (3, 3), or a set of "
        "(t, s).",
    ),
    (
        lambda: alignment_error_rate(EYE, np.eye(3)),
        ValueError,
        AER
        + "gold is float64 of shape (3, 3); expected bool of shape (3, 3), or a set "
        "of (t, s).",
    ),
    (
        lambda: alignment_error_rate(EYE, 5),
        TypeError,
        AER + "gold is 5; expected a set of (t, s), or a bool matrix (T, S).",
    ),
    (
        lambda: alignment_error_rate(np.zeros((2, 2)), set()),
        ValueError,
        "The alignment error rate is not defined: there is neither a row of weights "
        "nor a sure link.",
    ),
    (
        lambda: corpus_alignment_error_rate([EYE], []),
        ValueError,
        "corpus_alignment_error_rate: 1 weights, 0 golds and 0 possibles; expected as "
        "many, one a sentence.",
    ),
    (
        lambda: corpus_alignment_error_rate([], []),
        ValueError,
        "The alignment error rate is not defined: there is neither a row of weights "
        "nor a sure link.",
    ),
    (
        lambda: diagonal_baseline(2, 0, set()),
        ValueError,
        "diagonal_links: S is 0; expected a whole number, 1 or more.",
    ),
    (
        lambda: uniform_baseline(2, 0, set()),
        ValueError,
        "uniform_baseline: S is 0; expected a whole number, 1 or more.",
    ),
    (
        lambda: uniform_baseline(2, 2, {(2, 0)}),
        ValueError,
        "uniform_baseline: gold holds the link (2, 0), and there are 2 targets and 2 "
        "sources; expected (t, s), both from 0.",
    ),
]
ENTROPY = [
    (
        lambda: attention_entropy(np.ones(3) / 3),
        ValueError,
        H + "weights have shape (3,); expected (..., L, S).",
    ),
    (
        lambda: attention_entropy(np.ones((2, 4, 3))),
        ValueError,
        H
        + "row (0, 0) of the weights sums to 3; expected numbers from 0 up that sum to "
        "1, as of a softmax, or zeros alone.",
    ),
    (
        lambda: attention_entropy(EYE[None], [1, 2]),
        ValueError,
        H + "source_lengths have shape (2,) and weights (1, 3, 3); expected (B,) and "
        "(B, ..., L, S).",
    ),
    (
        lambda: attention_entropy(EYE, [1, 2, 3]),
        ValueError,
        H + "source_lengths have shape (3,) and weights (3, 3); expected (B,) and "
        "(B, ..., L, S).",
    ),
    (
        lambda: attention_entropy(EYE[None], [4]),
        ValueError,
        H + "source_lengths hold 4 to 4; expected 0 to 3, an axis of the weights.",
    ),
    (
        lambda: mean_attention_entropy(EYE[None], None, [-1]),
        ValueError,
        H + "target_lengths hold -1 to -1; expected 0 to 3, an axis of the weights.",
    ),
    (
        lambda: attention_entropy(EYE[None], [1.0]),
        TypeError,
        H + "source_lengths holds float64; expected whole numbers.",
    ),
    (
        lambda: mean_attention_entropy(EYE[None], None, [0]),
        ValueError,
        "mean_attention_entropy: no row of weights is left to count.",
    ),
]


@pytest.mark.parametrize(
    "call, kind, sentence", [*BLEU, *ACCURACY, *ALIGNMENT, *ENTROPY]
)
def test_messages(call, kind, sentence):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == sentence
