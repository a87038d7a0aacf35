"""Every variant has a definition, every definition a test; what ``check`` notices."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
import attention
from attention import definitions
from minigrad import differentiable

from ..minigrad.array_cases import draw
from .definition_cases import batched, check

D = 4
TESTS = Path(__file__).resolve().parents[1]
FUNCTIONS = dict(inspect.getmembers(definitions, inspect.isfunction))


def test_every_definition_is_compared_with_the_package():
    """A row or a test names it, or another definition that is named calls it."""
    files = [f for f in TESTS.rglob("*.py") if f != Path(__file__)]
    text = "".join(f.read_text("utf-8") for f in files)
    pages = Path(attention.__file__).parent.rglob("*.py")
    text += "".join(f.read_text("utf-8") for f in pages if f.name != "counted.py")
    named = set(re.findall(r"\bdefinitions\.(\w+)", text)) & FUNCTIONS.keys()
    for _ in FUNCTIONS:  # those that they call, and so on
        named |= {n for name in named for n in FUNCTIONS[name].__code__.co_names}
        named &= FUNCTIONS.keys()
    assert FUNCTIONS.keys() - named == set()


# wrong gradients that ``check`` must notice, of scores q . k with a square matrix of g

ONE_ENTRY = np.zeros((3, D, D))
ONE_ENTRY[1, 2, 0] = 1e-4
WRONG = {
    "one entry": lambda dq, dk: (dq + ONE_ENTRY, dk),
    "a sign": lambda dq, dk: (dq, -dk),
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
