"""Checks of options, ranges, masks and functions: what they return and refuse."""

import numpy as np
import pytest

from minigrad import Tensor, arguments


def test_what_fits_is_returned():
    assert arguments.whole("f", "n", np.int64(3)) == 3
    assert arguments.whole("f", "n", -3, least=None) == -3
    assert arguments.flag("f", "bias", np.True_) is True
    assert arguments.booleans("f", "mask", [True, False]).tolist() == [True, False]
    assert arguments.number("f", "eps", 0) == arguments.number("f", "eps", 0, least=0) == 0
    assert arguments.number("f", "value", -np.inf, finite=False) == -np.inf
    assert arguments.probability("f", "p", 1) == 1
    assert arguments.scale_or(0.5, "f", None) == 0.5
    assert arguments.scale_or(0.5, "f", 2.0) == 2.0
    assert arguments.one_of("f", "reduction", "sum", ("mean", "sum")) == "sum"
    assert arguments.one_of("f", "kind", None, (None, "a")) is None
    x = np.array([0, 4])
    assert arguments.between("f", "ids", x, 0, 4, "ids") is x
    assert arguments.between("f", "ids", x[:0], 1, 0, "ids").size == 0
    bias = Tensor(np.zeros((3, 1)))
    assert arguments.mask("f", "mask", bias, (2, 3, 4)) is bias
    assert arguments.mask("f", "mask", [True, False], (3, 2)).dtype == bool
    assert arguments.mask("f", "mask", [[0.0, -np.inf]], (3, 2)).dtype == float
    assert arguments.mask("f", "mask", 0.0, (3, 2)).shape == ()
    assert arguments.generator("f", None) is None
    assert arguments.called("f: g", "(a, b)", max, 1, 2) == 2


REFUSED = [  # call, error, message
    (lambda: arguments.whole("f", "n", 2.0), TypeError,
     "f: n is 2.0; expected a whole number, 0 or more."),
    (lambda: arguments.whole("f", "n", True), TypeError, "f: n is True; expected"),
    (lambda: arguments.whole("f", "n", 0, least=1), ValueError,
     "f: n is 0; expected a whole number, 1 or more."),
    (lambda: arguments.whole("f", "n", 5, 1, 4), ValueError,
     "f: n is 5; expected a whole number from 1 to 4."),
    (lambda: arguments.number("f", "eps", -1, least=0), ValueError,
     "f: eps is -1; expected a finite number, 0 or more."),
    (lambda: arguments.number("f", "norm", np.nan, positive=True, finite=False),
     ValueError, "f: norm is nan; expected a positive number."),
    (lambda: arguments.flag("f", "bias", 1), TypeError,
     "f: bias is 1; expected True or False."),
    (lambda: arguments.booleans("f", "mask", [0, 1]), TypeError,
     "f: mask is int64; expected bool. Write mask != 0."),
    (lambda: arguments.number("f", "eps", "1"), TypeError,
     "f: eps is '1'; expected a finite number."),
    (lambda: arguments.number("f", "eps", np.complex128(1)), TypeError, "f: eps is"),
    (lambda: arguments.number("f", "eps", 0.0, positive=True), ValueError,
     "f: eps is 0.0; expected a positive, finite number."),
    (lambda: arguments.probability("f", "p", 1.5), ValueError,
     "f: p is 1.5; expected a probability, from 0 to 1."),
    (lambda: arguments.probability("f", "p", True), TypeError, "f: p is True; expected"),
    (lambda: arguments.scale_or(1, "f", np.inf), ValueError, "f: scale is inf; expected"),
    (lambda: arguments.scale_or(1, "f", [1.0]), TypeError,
     "f: scale is [1.0]; expected a finite number, or None for 1 / sqrt(D)."),
    (lambda: arguments.one_of("f", "kind", "c", ("a", "b")), ValueError,
     "f: kind is 'c'; expected 'a' or 'b'."),
    (lambda: arguments.between("f", "ids", np.array([0, 5]), 0, 4, "ids"), ValueError,
     "f: ids hold 5; expected numbers from 0 to 4, ids."),
    (lambda: arguments.mask("f", "mask", [1, 0], (2,)), TypeError,
     "f: mask is int64; expected bool, where True = may attend, or float"),
    (lambda: arguments.mask("f", "mask", np.ones((2, 2)), (2,)), ValueError,
     "f: mask has shape (2, 2); expected one that broadcasts to (2,)."),
    (lambda: arguments.broadcastable("f", "bias", (3,), (4, 2)), ValueError,
     "f: bias has shape (3,); expected one that broadcasts to (4, 2)."),
    (lambda: arguments.generator("f", 0), TypeError,
     "f: rng is of type int; expected a numpy.random.Generator"),
    (lambda: arguments.called("f: score", "(query, keys)", lambda a: a, 1, 2), TypeError,
     "f: score takes (a); expected a function of (query, keys)."),
    (lambda: arguments.called("f: score", "(query, keys)", "dot", 1, 2), TypeError,
     "f: score is of type str; expected a function of (query, keys)."),
]  # fmt: skip


@pytest.mark.parametrize("call, error, message", REFUSED)
def test_what_does_not_fit_is_refused_in_one_sentence(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value).startswith(message)


def test_an_error_inside_a_function_is_its_own():
    with pytest.raises(TypeError, match="unsupported operand"):
        arguments.called("f: score", "(query, keys)", lambda a, b: a + b, 1, "x")
