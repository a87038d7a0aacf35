"""Every variant has a definition, every definition a test; what ``check`` notices."""

import functools
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
import attention
from attention import definitions
from attention.costs import trials
from attention.costs.counted import definition_of
from attention.costs.formulas import ARRAY
from attention.variants.table import SCORES, VARIANTS
from minigrad import differentiable

from ..minigrad.array_cases import draw
from .definition_cases import batched, check

D = 4
TESTS = Path(__file__).resolve().parents[1]
FUNCTIONS = dict(inspect.getmembers(definitions, inspect.isfunction))


@pytest.mark.parametrize("name", VARIANTS)
def test_the_function_or_layer_of_a_row_computes_its_definition(name):
    """In values and gradients, with the parameters that the row names."""
    row = VARIANTS[name]
    options = row.options | row.small
    sizes = trials.SMALL | dict(A=trials.SMALL["E"])  # as the layers have it
    if not row.equal_widths:
        sizes["Dk"] = 3
    if "Ev" in row.parameters:
        sizes["Ev"] = sizes["E"]
    inputs, parameters = trials.arrays_of(name, **sizes | options)
    function, own = trials.prepared(name, inputs, parameters, options)
    for parameter in own.values():
        parameter.data = parameter.data.astype(float)
    names = [name for name, _ in ARRAY.findall(row.parameters)]
    assert [n.removesuffix(".weight") for n in own][: len(names)] == names
    definition = functools.partial(definition_of(name), **options)
    check(function, definition, inputs, list(own.values()))


@pytest.mark.parametrize("name", SCORES)
def test_equal_widths_of_queries_and_keys_are_what_a_layer_needs(name):
    try:
        SCORES[name].layer(D, 3, None).score(*draw((5, D), (7, 3)))
        refused = False
    except ValueError:
        refused = True
    assert refused == SCORES[name].equal_widths


def test_every_definition_is_compared_with_the_package():
    """A row or a test names it, or another definition that is named calls it."""
    files = [*TESTS.glob("attention/**/*.py"), *TESTS.glob("ops/*.py")]
    text = "".join(f.read_text("utf-8") for f in files if f != Path(__file__))
    pages = Path(attention.__file__).parent.rglob("*.py")
    text += "".join(f.read_text("utf-8") for f in pages if f.name != "counted.py")
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
