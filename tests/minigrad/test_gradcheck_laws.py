"""An operation that keeps, shares, overwrites or rounds what it must not is named."""

import functools

import numpy as np
import pytest

import minigrad as mg
from minigrad import lift

from .gradcheck_cases import X, draw


class Keeps:
    """Operations with a state that they ought not to have."""

    def __init__(self):
        self.y = self.total = None

    def first_forward(self, x):
        """Backward uses the output of the very first call."""
        y = np.tanh(x)
        self.y = y if self.y is None else self.y
        kept = self.y
        return y, lambda g: g * (1 - kept * kept)

    def last_forward(self, x):
        """Backward uses the output of the latest call, whichever that was."""
        self.y = y = np.tanh(x)
        return y, lambda g: g * (1 - self.y * self.y)

    def accumulates(self, x):
        y, total = np.tanh(x), np.zeros_like(x)

        def backward(g):
            nonlocal total
            total = total + g * (1 - y * y)
            return total

        return y, backward

    def counts(self, x):
        self.total = (self.total or 0) + 1
        return x * self.total, lambda g: g * self.total

    def shared_gradient(self, x, y):
        def backward(g):
            d = 2 * g
            return d, d

        return 2 * (x + y), backward

    def returns_its_output(self, x):
        y = np.exp(x)
        return y, lambda g: np.multiply(g, y, out=y)

    def returns_its_cache(self, x):
        d = np.zeros_like(x)

        def backward(g):
            d[...] = 2 * g
            return d

        return 2 * x, backward

    def normalises(self, x):
        y = np.tanh(x)

        def backward(g):
            size = np.abs(g).max()
            with np.errstate(invalid="ignore"):
                return g / size * size * (1 - y * y)

        return y, backward

    def clips(self, x):
        y = np.tanh(x)
        return y, lambda g: np.clip(g, -2.5, 2.5) * (1 - y * y)

    def first_use_alone(self, x):
        """Of several uses of one input, only the first one's gradient counts."""
        y, key = np.tanh(x), x.tobytes()
        self.total = self.total or set()
        counts = float(key not in self.total)
        self.total.add(key)
        return y, lambda g: counts * g * (1 - y * y)

    def mutates_input(self, x):
        y = np.exp(x)
        x -= 1
        return y, lambda g: g * y

    def mutates_input_backward(self, x):
        def backward(g):
            d = g * 2 * x
            x[0] = 7
            return d

        return x * x, backward

    def mutates_cotangent(self, x):
        y = np.tanh(x)

        def backward(g):
            g *= 1 - y * y
            return g

        return y, backward

    def single_inside(self, x):
        y = np.tanh(x.astype(np.float32)).astype(np.float64)
        return y, lambda g: g * (1 - y * y)

    def single_output(self, x):
        y = np.tanh(x.astype(np.float32))
        return y, lambda g: g * (1 - y * y)

    def single_gradient(self, x):
        y = np.tanh(x)
        return y, lambda g: (g * (1 - y * y)).astype(np.float32)

    def nan_output(self, x):
        return np.where(x > 1, np.nan, x), lambda g: g


@pytest.mark.parametrize(
    "name, tag, says",
    [
        ("first_forward", "stale-cache", "inputs of an earlier call"),
        ("last_forward", "stale-cache", "inputs of an earlier call"),
        ("accumulates", "accumulates", "a second backward returns 2 x d_0"),
        ("counts", "stateful", "equal inputs return different values"),
        ("shared_gradient", "aliases", "d_1 shares memory with d_0"),
        ("returns_its_output", "stateful", "d_0 shares memory with the output"),
        ("returns_its_cache", "aliases", "the gradient that the next backward returns"),
        ("mutates_input", "mutates-input", "the forward wrote into input 0"),
        ("mutates_input_backward", "mutates-input", "the backward wrote into input 0"),
        ("mutates_cotangent", "mutates-cotangent", "writes into the gradient it is"),
        ("single_inside", "float32", "every entry of the output is a float32 number"),
        ("single_output", "float32", "the output is float32; the inputs are float64"),
        ("single_gradient", "float32", "every entry of d_0 is a float32 number"),
        ("nan_output", "nan", "the output is nan at ["),
        ("normalises", "not-linear", "for a cotangent of 0, d_0 is not 0"),
        ("clips", "not-linear", "d_0 is not linear in the cotangent"),
        ("first_use_alone", "overwrites", "d_0 of several uses is not the sum of"),
    ],
)
def test_broken_law_is_refused_and_named(name, tag, says):
    op = lift(getattr(Keeps(), name).__func__.__get__(Keeps()))
    inputs = [X + 0.5] * (2 if name == "shared_gradient" else 1)
    result = mg.gradcheck(op, inputs)
    assert not result.ok
    assert (result.tag, says in result.message) == (tag, True), str(result)
    assert name in result.message


def test_an_input_that_is_overwritten_after_its_use():
    def square(x):
        y = x * x
        with mg.no_grad():
            x[0] = x.data[0]  # no value changes, but the tensor is marked as written
        return y

    result = mg.gradcheck(square, [X])
    assert result.tag == "raises" and "was overwritten in place" in result.message


@pytest.mark.parametrize("where", ["forward", "backward"])
@pytest.mark.parametrize("x", [X, abs(X), np.array(0.7), np.array([0.7, -0.8])])
def test_mask_that_is_cached_by_shape(x, where):
    masks = {}

    @lift
    def relu(x):
        cached = functools.partial(masks.setdefault, x.shape, x > 0)
        mask = cached() if where == "forward" else None
        return np.maximum(x, 0), lambda g: g * (cached() if mask is None else mask)

    result = mg.gradcheck(relu, [x])
    assert result.tag == ("stale-cache" if x.ndim and (x < 0).any() else "zero")


@pytest.mark.parametrize("positive", [(0,), (0, 1), (1,)])
def test_mask_that_is_cached_where_some_inputs_must_be_positive(positive):
    masks = {}

    @lift
    def product(*inputs):  # log x, or x where x > 1/2
        if any((inputs[i] <= 0).any() for i in positive):
            raise ValueError
        mask = masks.setdefault(inputs[0].shape, [x > 0.5 for x in inputs])
        x, y = (np.where(x > 0.5, x, 2 * x) for x in inputs)
        slopes = [np.where(m, 1, 2) for m in mask]
        return x * y, lambda g: (g * y * slopes[0], g * x * slopes[1])

    inputs = [np.exp(draw(3, 5, seed=i) * 2) for i in (0, 1)]
    assert not mg.gradcheck(product, inputs).ok


def test_mutated_constant():
    @lift
    def scaled(x, k):
        y = x * k
        k[...] = 0  # the operation was given the caller's own array
        return y, lambda g: (2 * g, None)

    with mg.no_grad():
        k = mg.Tensor([2])
        assert scaled(np.ones(3), k).tolist() == [2, 2, 2] and k.tolist() == [0]
    result = mg.gradcheck(scaled, [X, mg.Tensor([2])])
    assert result.tag == "mutates-input"
    assert "the forward wrote into a constant of shape (1,)" in result.message
