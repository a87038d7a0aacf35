"""What the recurrent models, their decoding and their metrics reject, and how."""

import numpy as np
import pytest

from attention.decoding.beam import beam_search
from attention.decoding.greedy import greedy
from attention.decoding.sampling import sample
from attention.metrics import (
    alignment_error_rate,
    attention_entropy,
    corpus_alignment_error_rate,
    corpus_bleu,
    exact_match,
    renormalized,
    token_accuracy,
)
from attention.seq2seq.attention_gru import attention_gru
from attention.seq2seq.reverser import Reverser

from ...messages import check_message
from ..decoding import decoding_cases as tables
from .seq2seq_cases import LENGTHS, SOURCE, TARGET, config, model

CONFIGS = [
    (dict(cell="rnn"), ["cell is 'rnn'", "'gru' or 'lstm'"]),
    (dict(attention="bahdanu"), ["attention is 'bahdanu'", "'bahdanau'"]),
    (dict(attention="none", coverage=True), ["coverage", "attention is 'none'"]),
    (dict(attention="none", decoder_init="zero"), ["decoder_init 'encoder'"]),
    (dict(input_feeding=True), ["input_feeding", "attention 'luong'"]),
    (dict(window=2), ["local is None and window 2"]),
    (dict(local="m"), ["local is 'm' and window None"]),
    (dict(local="m", window=1, coverage=True), ["one of them at most"]),
    (dict(coverage=True, score="dot"), ["'additive'", "'dot'"]),
    (dict(score="dot", bidirectional=True), ["6 numbers", "decoder has 3"]),
]


@pytest.mark.parametrize("options, fragments", CONFIGS)
def test_a_config_that_cannot_be(options, fragments):
    check_message(lambda: config(**options), ["Seq2SeqConfig: ", *fragments])


EYE, IDS = np.eye(3), np.array([[4, 2]])
M = model("bahdanau")
TABLE = tables.Table(), tables.SOURCE, tables.LENGTHS


class Bad(tables.Table):
    """A model whose logits are NaN."""

    def step(self, state, tokens):
        return np.full((len(tokens), tables.V), np.nan), state, None


SHAPES = (2, 3, 4), (2, 5), (2, 6, 7), (2, 6, 5), (15, 11), (15, 5), (15,), (15,)
ROWS = [np.ones(shape) for shape in SHAPES]  # arguments of attention_gru
CALLS = [
    # the model
    (lambda: Reverser("nearest"), ValueError, ["kind is 'nearest'", "'additive'"]),
    (lambda: Reverser("dot", decoder_init="last"), ValueError, ["'last'", "'zero'"]),
    (lambda: M(SOURCE, TARGET, [1, 2, 6]), ValueError, ["lengths hold 6", "1 to 5"]),
    (lambda: M(SOURCE + 1, TARGET), IndexError, ["7"]),
    (lambda: M.step(M.start(SOURCE, LENGTHS), [1]), ValueError, ["(3, 5, 3)", "(1, "]),
    (lambda: M.start(SOURCE, LENGTHS).select([3]), ValueError, ["indices hold 3"]),
    (
        lambda: attention_gru(*ROWS[:3], np.ones((2, 6, 8)), *ROWS[4:]),
        ValueError, ["keys", "(2, 6, 8)", "width H = 5"],
    ),
    # decoding
    (lambda: beam_search(*TABLE, 2.0), TypeError, ["max_length is 2.0"]),
    (lambda: beam_search(*TABLE, 3, alpha=np.nan), ValueError, ["alpha is nan"]),
    (lambda: sample(*TABLE, 3, temperature=0), ValueError, ["temperature is 0"]),
    (lambda: sample(*TABLE, 3, top_p=1.1), ValueError, ["top_p is 1.1"]),
    (lambda: sample(*TABLE, 3, rng=7), TypeError, ["rng", "numpy.random.Generator"]),
    (lambda: greedy(Bad(), *TABLE[1:], 3), FloatingPointError, ["NaN"]),
    # metrics
    (lambda: corpus_bleu("a b", ["a b"]), TypeError, ["hypotheses", "in a list"]),
    (lambda: corpus_bleu(["a"], ["a", "b"]), ValueError, ["1 hypotheses", "2 ref"]),
    (lambda: corpus_bleu([], []), ValueError, ["0 hypotheses", "one or more"]),
    (lambda: corpus_bleu(["a"], ["a"], smoothing="x"), ValueError, ["'x'", "'exp'"]),
    (lambda: exact_match(IDS, IDS[0]), ValueError, ["(2,)", "(B, T)"]),
    (lambda: token_accuracy(IDS, [[0, 0]]), ValueError, ["no token", "not 0"]),
    (lambda: alignment_error_rate(EYE * 2, {(0, 0)}), ValueError, ["row (0,)", "to 2"]),
    (lambda: alignment_error_rate(EYE, {(0, 3)}), ValueError, ["(0, 3)", "3 sources"]),
    (lambda: alignment_error_rate(EYE[:2] * 0, set()), ValueError, ["not defined"]),
    (lambda: corpus_alignment_error_rate([EYE], []), ValueError,
     ["1 weights, 0 golds", "one of each"]),
    (lambda: attention_entropy(np.ones(3) / 3), ValueError, ["(3,)", "(..., L, S)"]),
    (lambda: attention_entropy(EYE / 2), ValueError, ["renormalized(weights)"]),
    (lambda: renormalized(EYE * 2), ValueError, ["renormalized: row (0,)"]),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, fragments", CALLS)
def test_arguments_that_do_not_fit(call, kind, fragments):
    check_message(call, fragments, kind)
