"""The numeric slopes: no kink passes for a slope, and the error bars are honest."""

import re

import numpy as np
import pytest

import minigrad as mg
from minigrad.checking.numeric import STEP, slopes

from .gradcheck_cases import draw, logistic_map, with_backward

# Kinks


def at(x, others=(1.0, -2.0)):
    return np.array([x, *others])


@pytest.mark.parametrize("fn, inputs", [
    (mg.abs, [at(0.0)]),
    (mg.relu, [at(0.0)]),
    (mg.maximum, [at(0.5), at(0.5, (3.0, 3.0))]),
    (lambda x: mg.max(x), [at(1.0)]),
    (lambda x: mg.clip(x, -1.5, 1.0), [at(0.5)]),
    (mg.sqrt, [at(0.0, (1.0, 2.0))]),
    (with_backward(np.floor, lambda g, y, x: np.zeros_like(x)), [at(2.0)]),
])  # fmt: skip
def test_kink_is_reported_and_never_passed(fn, inputs):
    result = mg.gradcheck(fn, inputs)
    assert not result.ok
    assert result.tag == "kink", str(result)
    assert re.search(r"input \d, entry \[\d\]: a kink", result.message)
    assert "Check at a point where the function is smooth." in result.message
    assert "kink" in result.table()


@pytest.mark.parametrize("distance", [1e-12, 1e-6, 0.5 * STEP, STEP, 2 * STEP])
@pytest.mark.parametrize("place", [0.0, 0.7])
def test_a_point_beside_a_kink_is_smooth(distance, place):
    for side in (-1, 1):
        x = at(place + side * distance)
        if distance > 1e-9 or place == 0:
            result = mg.gradcheck(lambda x: mg.relu(x - place), [x])
            assert result.ok, str(result)


def test_slopes_on_both_sides_of_a_kink():
    message = mg.gradcheck(lambda x: mg.abs(x).sum(), [at(0.0)]).message
    left, right = (
        float(re.search(rf"slope on the {side} +(\S+)", message)[1])
        for side in ("left", "right")
    )
    assert left == pytest.approx(-right, rel=1e-6) and right != 0


def test_a_wrong_gradient_beside_a_kink_is_wrong():
    op = with_backward(np.abs, lambda g, y, x: -g * np.sign(x))
    result = mg.gradcheck(op, [at(0.0)])
    assert result.tag.startswith("scale") and result.worst.index != (0,)


# The numeric side


SMOOTH = {
    "sin": (np.sin, np.cos),
    "exp": (np.exp, np.exp),
    "cube": (lambda x: x**3, lambda x: 3 * x**2),
    "pole": (lambda x: 1 / (x - 3.1), lambda x: -1 / (x - 3.1) ** 2),
    "offset": (lambda x: 1e7 + np.sin(x), np.cos),
    "cancelling": (lambda x: (1e5 + np.sin(x)) - 1e5, np.cos),
    "constant": (lambda x: np.sin(x) ** 2 + np.cos(x) ** 2, lambda x: 0 * x),
    "steep": (lambda x: np.tanh(90 * x), lambda x: 90 / np.cosh(90 * x) ** 2),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_error_bars_are_honest(name):
    """The truth lies within 10 bars and the rounding of the slope itself."""
    f, derivative = SMOOTH[name]
    x = np.linspace(-3, 3, 61)
    found = slopes(lambda x: (f(x),), x, [np.ones(61)])
    error = np.abs(found.value - derivative(x))
    assert not found.kink.any()
    assert (error <= 10 * found.bar + 1e-15 * np.abs(derivative(x)).max()).all()
    if name != "constant":
        limits = {"offset": 1e-3, "cancelling": 1e-5}
        small = limits.get(name, 1e-6)
        assert (found.bar <= small * np.abs(derivative(x)).max()).all()


def test_a_wrong_gradient_of_a_steep_function_is_wrong():
    for factor in (2, 1.0001):
        sine = with_backward(np.sin, lambda g, y, x: factor * g * np.cos(x))
        found = mg.gradcheck(lambda x: sine(1e3 * x), [draw(3, 5)])
        assert found.tag == f"scale:{factor}"


@pytest.mark.parametrize(
    "shape, no_gradient", [((7,), ()), ((7,), (0,)), ((19, 23), ())]
)
def test_a_function_too_rough_to_measure_is_not_called_wrong(shape, no_gradient):
    x = np.random.default_rng(0).uniform(0.05, 0.95, shape)
    for backward in (lambda g, y, x: g * np.cos(x), lambda g, y, x: 0 * g):
        sine = with_backward(np.sin, backward)
        chaotic = lambda x: sine(logistic_map(x, 60))
        for fn in (lambda x: sine(1e6 * x), lambda x: sine(1e14 * x), chaotic):
            result = mg.gradcheck(fn, [x], no_gradient=no_gradient)
            assert not result.ok and result.tag == "rough", str(result)
            assert "input 0: " in result.message and "not measured" in result.table()
            assert "The gradient cannot be measured at this point" in result.message
            assert all(len(line) <= 80 for line in str(result).splitlines())
