"""No right gradient is called wrong and no wrong one right, at eight scales of x.

A check that raises VacuousCheckError judges nothing. It is right only where float64
shows nothing of the function: a saturated softmax has slopes of 1e-40.
"""

import numpy as np
import pytest

import minigrad as mg
from minigrad import lift

from .gradcheck_cases import with_backward as op

SCALES = [1e-6, 1e-4, 1e-2, 1.0, 3.0, 10.0, 100.0, 1000.0]
QUICK = 1e-6, 1.0, 1000.0
GRID = [
    pytest.param(
        scale, seed, marks=[] if scale in QUICK and not seed else [pytest.mark.deep]
    )
    for scale in SCALES
    for seed in range(20)
]
ROWS = np.array([1e12, 1.0, 1.0, 1.0, 1.0])
LABELS = np.array([2, 0, 4])


def transposed(x):
    return x.swapaxes(-1, -2)


def attention(q, k, v):
    return mg.softmax(q @ transposed(k)) @ v


def norm(x):
    return mg.sqrt((x * x).sum(-1, keepdims=True))


ONE, TWO, THREE = [(3, 5)], [(3, 5), (5,)], [(4, 3), (5, 3), (5, 2)]
RIGHT = {  # name: (function, shapes of its inputs)
    "softmax of products": (lambda q: mg.softmax(q @ transposed(q)), [(5, 4)]),
    "attention": (attention, THREE),
    "cross entropy": (lambda x: mg.cross_entropy(x, LABELS), ONE),
    "large offset that cancels": (lambda x: (x + 1e8) - 1e8, ONE),
    "large offset": (lambda x: x * x + 1e6, ONE),
    "relu": (mg.relu, ONE),
    "1/x": (lambda x: 1 / x, ONE),
    "layer norm": (lambda x, w: mg.layer_norm(x, w, w), TWO),
    "unit vectors": (lambda x: x / norm(x), ONE),
    "sigmoid": (mg.sigmoid, ONE),
    "largest": (lambda x: mg.max(x, axis=-1), ONE),
    "outputs of unlike size": (lambda x: x * ROWS, ONE),
    "several outputs": (lambda x: (1e12 * mg.tanh(x), mg.sigmoid(x)), ONE),
}


@lift
def wrong_for_one_input(a, b, *, needs):
    def backward(g):
        return g * b, g * a * (1.0 if needs[0] else 1.5)

    return a * b, backward


@lift
def wrong_for_an_unused_output(x):
    def backward(g):
        return g[0] * 2 * x + g[1] * 3 * (x * x if g[0].any() else x)

    return (x * x, x * x * x), backward


class WrongInTraining(mg.nn.Module):
    def __init__(self):
        self.w = mg.nn.Parameter(np.ones(5))

    def forward(self, x):
        k = 1.5 if self.training else 1.0
        times = op(np.multiply, lambda g, y, x, w: (g * w, k * g * x))
        return times(x, self.w)


def mask_of_the_first_call():
    masks = {}

    @lift
    def relu(x):
        mask = masks.setdefault(x.shape, x > 0)
        return np.maximum(x, 0), lambda g: g * mask

    return relu


def in_order(a):
    """Return ``a``, but with its memory read in the wrong order if it has gaps."""
    return a if a.flags.c_contiguous else a.ravel(order="F").reshape(a.shape)


def has_equal_entries(a):
    return (a == a.flat[0]).all()


WRONG = {  # name: (() -> function, shapes of its inputs)
    "for one input alone": (lambda: wrong_for_one_input, ONE * 2),
    "for an unused output": (lambda: wrong_for_an_unused_output, ONE),
    "in training": (WrongInTraining, ONE),
    "for memory with gaps": (
        lambda: op(np.square, lambda g, y, x: 2 * x * in_order(g)), ONE),
    "for inputs in Fortran order": (
        lambda: op(np.square, lambda g, y, x: 2 * g * in_order(x)), ONE),
    "for inputs with gaps": (
        lambda: op(np.square, lambda g, y, x: (2 if x.flags.forc else 3) * g * x), ONE),
    "for equal cotangents": (
        lambda: op(np.square, lambda g, y, x:
                   (3 if has_equal_entries(g) else 2) * g * x), ONE),
    "for cotangents of stride 0": (
        lambda: op(np.square, lambda g, y, x: (3 if 0 in g.strides else 2) * g * x),
        ONE),
    "for cotangents of equal rows": (
        lambda: op(np.square, lambda g, y, x:
                   (3 if g.strides[0] == 0 != g.strides[1] else 2) * g * x), ONE),
    "mask of the first call": (mask_of_the_first_call, ONE),
    "in float32": (
        lambda: op(np.square, lambda g, y, x:
                   g * x * (2 if x.dtype == np.float64 else 3)), ONE),
}  # fmt: skip


def check(function, shapes, scale, seed):
    """Return the result; None if the check is vacuous."""
    rng = np.random.default_rng(seed)
    inputs = [scale * rng.normal(size=shape) for shape in shapes]
    try:
        if isinstance(function, mg.nn.Module):
            return mg.gradcheck_module(function, *inputs, seed=seed)
        return mg.gradcheck(function, inputs, seed=seed)
    except mg.VacuousCheckError:
        return None


@pytest.mark.parametrize("scale, seed", GRID)
def test_no_right_gradient_is_called_wrong(scale, seed):
    for name, (function, shapes) in RIGHT.items():
        result = check(function, shapes, scale, seed)
        assert result is None or result.ok, f"{name}\n{result}"
        if scale == 1:
            assert result is not None, f"{name}: nothing was measured"


@pytest.mark.parametrize("scale, seed", GRID)
def test_no_wrong_gradient_is_called_right(scale, seed):
    for name, (make, shapes) in WRONG.items():
        result = check(make(), shapes, scale, seed)
        assert result is not None and not result.ok, f"{name}\n{result}"
