"""A check that could not have failed is refused, unless the zero is declared."""

import numpy as np
import pytest

import minigrad as mg

from .gradcheck_cases import X, draw, softmax, with_backward


VACUOUS = {
    "softmax summed": (lambda x: mg.softmax(x).sum(), [X], "0"),
    "softmax of two, less its sum": (
        lambda x: mg.softmax(x).sum(-1) - 1, [draw(3, 2)], "0"),
    "softmax of one": (mg.softmax, [draw(3, 1)], "0"),
    "layer norm summed": (
        lambda x: mg.layer_norm(x, np.ones(5), np.zeros(5)).sum(-1), [X], "0"),
    "product with zeros": (mg.mul, [X, np.zeros((3, 5))], "0"),
    "saturated": (mg.tanh, [100 + X**2], "0"),
    "unused": (lambda x, y: x * 1.0, [X, X], "1"),
    "used, then cancelled": (lambda x, y: x + y - y, [X, X], "1"),
    "rounded away": (lambda x, y: x + 1e-14 * y, [X, X], "1"),
    "shifted scores": (lambda x, b: mg.softmax(x + b), [X, draw(3, 1)], "1"),
    "large": (lambda x: mg.softmax(x).sum(), [draw(30, 50)], "0"),
}  # fmt: skip


@pytest.mark.parametrize("name", VACUOUS)
def test_vacuous_check_is_refused(name):
    fn, inputs, which = VACUOUS[name]
    with pytest.raises(mg.VacuousCheckError) as error:
        mg.gradcheck(fn, inputs)
    message = str(error.value)
    assert "this check could not have failed" in message
    assert f"of input {which}, shape {inputs[int(which)].shape}, is 0" in message
    assert f"no_gradient=({which},)" in message
    assert "no signal" in message  # in the table


@pytest.mark.parametrize("name", VACUOUS)
def test_no_gradient_declares_a_true_zero(name):
    fn, inputs, which = VACUOUS[name]
    result = mg.gradcheck(fn, inputs, no_gradient=int(which))
    assert result.ok, str(result)
    assert "ok, none" in result.table()


def test_a_declared_zero_is_checked():
    loud = with_backward(softmax, lambda g, y, x: g * y)
    result = mg.gradcheck(lambda x: loud(x).sum(), [X], no_gradient=0)
    assert not result.ok
    result = mg.gradcheck(mg.mul, [X, X], no_gradient=(1,))
    assert result.tag == "declared"
    assert "no_gradient names input 1; the measured one is not 0" in result.message
    blocked = with_backward(np.tanh, lambda g, y, x: None)
    result = mg.gradcheck(blocked, [X], no_gradient=(0,))
    assert result.tag == "declared"


def test_a_gradient_that_is_loud_where_the_truth_is_silent_is_wrong():
    """The sum of softmax: zero passes nothing, and a wrong backward shows."""
    loud = with_backward(softmax, lambda g, y, x: g * y)
    assert not mg.gradcheck(lambda x: loud(x).sum(), [X]).ok
    silent = with_backward(softmax, lambda g, y, x: np.zeros_like(x))
    with pytest.raises(mg.VacuousCheckError):
        mg.gradcheck(lambda x: silent(x).sum(), [X])
    assert mg.gradcheck(silent, [X]).tag == "zero"


def test_small_signals_are_signals():
    assert mg.gradcheck(lambda x: mg.tanh(x) * 1e-200, [X]).ok
    assert mg.gradcheck(lambda x: mg.softmax(x).sum() + 1e-3 * x.sum(), [X]).ok
    wrong = with_backward(np.tanh, lambda g, y, x: 1.1 * g * (1 - y * y))
    assert not mg.gradcheck(lambda x: wrong(x) * 1e-200, [X]).ok
