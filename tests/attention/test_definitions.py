"""Every variant has a definition, every definition a test; what ``check`` notices."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from attention import definitions
from attention.variants.table import SCORES
from minigrad import differentiable

from ..minigrad.array_cases import draw
from .definition_cases import batched, check

D = 4
TESTS = Path(__file__).resolve().parents[1]
FUNCTIONS = dict(inspect.getmembers(definitions, inspect.isfunction))


@pytest.mark.parametrize("name", SCORES)
def test_a_row_of_the_table_of_scores_has_a_definition(name):
    """It has the name of the row and the parameters of its layer."""
    layer = SCORES[name].layer(D, D, np.random.default_rng(0))
    for parameter in layer.parameters():
        parameter.data = parameter.data.astype(float)
    names = [n.replace("log_bandwidth", "h") for n, _ in layer.named_parameters()]
    definition = FUNCTIONS["scaled_dot" if name == "scaled" else name]

    def scores(q, k, *parameters):
        P = dict(zip(names, parameters))
        if "h" in P:
            P["h"] = np.exp(P["h"])
        return definition(q, k, **P)

    check(layer.score, scores, draw((5, D), (7, D)), layer.parameters())


def test_every_definition_is_compared_with_the_package():
    """A test names it, or another definition that a test names calls it."""
    files = [*TESTS.glob("attention/**/*.py"), *TESTS.glob("ops/*.py")]
    text = "".join(f.read_text("utf-8") for f in files if f != Path(__file__))
    named = set(re.findall(r"\bdefinitions\.(\w+)", text)) & FUNCTIONS.keys()
    called = {n for name in named for n in FUNCTIONS[name].__code__.co_names}
    assert FUNCTIONS.keys() - named - called == set()


# wrong gradients that ``check`` must notice, of scores q . k with a square matrix of g

ONE_ENTRY = np.zeros((3, D, D))
ONE_ENTRY[1, 2, 0] = 1e-4
WRONG = {
    "one entry": lambda dq, dk: (dq + ONE_ENTRY, dk),
    "swapped": lambda dq, dk: (dk, dq),
    "transposed": lambda dq, dk: (dq.swapaxes(-1, -2), dk),
    "a sign": lambda dq, dk: (dq, -dk),
    "half of it": lambda dq, dk: (dq / 2, dk),
    "missing": lambda dq, dk: (dq, None),
    "examples exchanged": lambda dq, dk: (dq[::-1], dk),
}


@pytest.mark.parametrize("mistake", [None, *WRONG])
def test_check_notices_a_wrong_gradient(mistake):
    @differentiable
    def scores(q, k):
        def backward(g):
            right = g @ k, g.swapaxes(-1, -2) @ q
            return WRONG[mistake](*right) if mistake else right

        return q @ k.swapaxes(-1, -2), backward

    each_head = batched(definitions.dot, "(l,d),(s,d)->(l,s)")
    arrays = draw((3, D, D), (3, D, D))
    if mistake is None:
        check(scores, each_head, arrays)
    else:
        with pytest.raises(AssertionError, match="input ., of shape"):
            check(scores, each_head, arrays)


def test_check_notices_a_wrong_value_and_a_missing_output():
    arrays = draw((3, D), (3, D))
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check(lambda q, k: q @ mg.swapaxes(k, 0, 1) * 1.000001, definitions.dot, arrays)
    with pytest.raises(ValueError, match="zip"):
        check(lambda q, k: (q * 1.0, k * 1.0), lambda q, k: q, arrays)
