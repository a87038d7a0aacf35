"""Decoding: what it says of models, arguments and options that do not fit."""

import numpy as np
import pytest

from attention.seq2seq.beam import beam_search, hypotheses
from attention.seq2seq.sampling import sample

from .decoding_cases import LENGTHS, SOURCE, Table, V, every_way


class Wrong(Table):
    def __init__(self, logits, weights):
        super().__init__()
        self.given = logits, weights

    def step(self, state, tokens):
        return self.given[0], state, self.given[1]


def wrong(logits, weights=None):
    return lambda way: way(Wrong(logits, weights), SOURCE, LENGTHS, 3)


@pytest.mark.parametrize("way", every_way())
@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda way: way(Table(), SOURCE[0], None, 3), ValueError,
         "source is int64 of shape (3,); expected ids (B, S), whole numbers, one row "
         "or more."),
        (lambda way: way(Table(), SOURCE[:0], None, 3), ValueError, "shape (0, 3)"),
        (lambda way: way(Table(), SOURCE * 1.0, None, 3), ValueError, "is float64"),
        (lambda way: way(Table(), SOURCE, [1, 2], 3), ValueError,
         "there are 2 lengths for 4 rows of source; expected as many."),
        (lambda way: way(Table(), SOURCE, [1, 2, 3, 4], 3), ValueError,
         "lengths holds 4; expected numbers from 0 to 3, the tokens of a row."),
        (lambda way: way(Table(), SOURCE, LENGTHS, 0), ValueError,
         "max_length is 0; expected a whole number, 1 or more."),
        (lambda way: way(Table(), SOURCE, LENGTHS, 2.0), TypeError,
         "max_length is 2.0; expected a whole number."),
        (wrong(np.full((4, V), np.nan)), FloatingPointError,
         "the model's logits are NaN, infinity, or -infinity for all tokens; expected "
         "finite ones."),
        (wrong(np.full((4, V), np.inf)), FloatingPointError, "infinity"),
        (wrong(np.full((4, V), -np.inf)), FloatingPointError, "infinity"),
        (wrong(np.zeros((3, V))), ValueError,
         "the model's step gave logits of shape (3, 5); expected (4, V), a row for "
         "each token, with V more than 2."),
        (wrong(np.zeros((4, 2))), ValueError, "logits of shape (4, 2)"),
        (wrong(np.zeros((4, V)), np.zeros((4, 2))), ValueError,
         "the model's step gave weights of shape (4, 2); expected (n, S) = (4, 3), a "
         "row for each token, or None."),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit(way, call, kind, message):
    with pytest.raises(kind) as error:
        call(every_way()[way])
    name = {"beam": "beam_search", "hot": "sample"}.get(way, way)
    assert str(error.value).startswith(name + ": ") and message in str(error.value)


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda *a: beam_search(*a, 0), ValueError,
         "beam_search: beam is 0; expected a whole number, 1 or more."),
        (lambda *a: beam_search(*a, alpha=-1.0), ValueError,
         "beam_search: alpha is -1.0; expected a number, 0 or more."),
        (lambda *a: beam_search(*a, beta=np.nan), ValueError,
         "beam_search: beta is nan; expected a number, 0 or more."),
        (lambda *a: beam_search(*a, alpha="1"), TypeError,
         "beam_search: alpha is '1'; expected a number."),
        (lambda *a: hypotheses(*a, best=0), ValueError,
         "beam_search: best is 0; expected a whole number, 1 or more."),
        (lambda _, *a: beam_search(Table(attends=False), *a, beta=1.0), ValueError,
         "beam_search: beta is 1.0, and the model returned no weights; expected "
         "weights (n, S) for a coverage penalty, or beta 0."),
        (lambda *a: sample(*a, temperature=0), ValueError,
         "sample: temperature is 0; expected a number above 0. What it comes to at 0 "
         "is greedy."),
        (lambda *a: sample(*a, temperature=None), TypeError,
         "sample: temperature is None; expected a number."),
        (lambda *a: sample(*a, temperature=np.nan), ValueError, "temperature is nan"),
        (lambda *a: sample(*a, top_p=0.0), ValueError,
         "sample: top_p is 0.0; expected a number above 0 and at most 1."),
        (lambda *a: sample(*a, top_p=1.1), ValueError, "top_p is 1.1"),
        (lambda *a: sample(*a, top_p=True), TypeError, "top_p is True"),
        (lambda *a: sample(*a, top_k=0), ValueError,
         "sample: top_k is 0; expected a whole number, 1 or more."),
        (lambda *a: sample(*a, top_k=2.5), TypeError, "top_k is 2.5"),
        (lambda *a: sample(*a, rng=7), TypeError,
         "sample: rng is a int; expected a numpy.random.Generator, such as "
         "np.random.default_rng(0)."),
    ],
)  # fmt: skip
def test_options_that_do_not_fit(call, kind, message):
    with pytest.raises(kind) as error:
        call(Table(), SOURCE, LENGTHS, 3)
    assert message in str(error.value)
