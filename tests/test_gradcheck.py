"""The checker checked: it passes right gradients, and names what is wrong with others.

Axis sizes are distinct odd primes wherever a confusion of axes must not go unseen.
"""

import re

import numpy as np
import pytest

import minigrad as mg
from minigrad import lift
from minigrad.checking.numeric import STEP, jacobian, random_directions, slopes
from minigrad.checking.diagnosis import Case, diagnose
from minigrad.nn import Dropout, Linear, Module, Parameter


def draw(*shape, seed=0):
    return np.asarray(np.random.default_rng((seed, *shape)).normal(size=shape))


X = draw(3, 5)
SQUARE, OTHER = draw(5, 5), draw(5, 5, seed=1)


def with_backward(forward, backward):
    """An operation with the given forward, and backward(g, y, *inputs)."""

    def op(*arrays):
        y = forward(*arrays)
        return y, lambda g: backward(g, y, *arrays)

    op.__name__ = getattr(forward, "__name__", "op").strip("<>")
    return lift(op)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def embed(ids):
    def embed(w):
        return w[ids]

    return embed


IDS = np.array([4, 1, 4, 0, 4, 2, 2])


def scatter(g, y, w):
    out = np.zeros_like(w)
    out[IDS] = g  # not np.add.at
    return out


def add_bias(x, b):
    return x + b


def matmul(a, b):
    return a @ b


def tanh_of(x):
    return np.tanh(x)


# wrong operations: (tag, forward, backward, inputs)
WRONG = [
    ("none", np.tanh, lambda g, y, x: None, [X]),
    ("zero", np.tanh, lambda g, y, x: np.zeros_like(x), [X]),
    ("nan", np.tanh, lambda g, y, x: np.where(x > 1, np.nan, g * (1 - y * y)), [X]),
    ("nan", np.tanh, lambda g, y, x: g * (1 - y * y) + np.where(x > 1, np.inf, 0), [X]),
    ("unbroadcast", add_bias, lambda g, y, x, b: (g, g[0].copy()), [X, draw(5)]),
    ("unbroadcast", add_bias, lambda g, y, x, b: (g, g[-1].copy()), [X, draw(5)]),
    ("unbroadcast", matmul, lambda g, y, a, b: (g @ b.T, np.outer(a[0], g[0])),
     [X, draw(5, 7)]),
    ("transpose", matmul, lambda g, y, a, b: (g @ b.T, g.T @ a), [SQUARE, OTHER]),
    ("transpose", matmul, lambda g, y, a, b: (g @ b.T, g.T @ a), [X, draw(5, 7)]),
    ("transpose", np.transpose, lambda g, y, x: g, [SQUARE]),
    ("scale:-1", np.tanh, lambda g, y, x: -g * (1 - y * y), [X]),
    ("scale:2", np.square, lambda g, y, x: 4 * g * x, [X]),
    ("scale:1/2", np.square, lambda g, y, x: g * x, [X]),
    ("scale:1/3", add_bias, lambda g, y, x, b: (g, g.mean(0)), [X, draw(5)]),
    ("scale:5", lambda x: x.mean(1), lambda g, y, x: g[:, None] + 0 * x, [X]),
    ("scale:sqrt(5)", lambda x: x / np.sqrt(5), lambda g, y, x: g * 1, [X]),
    ("scale:1/sqrt(5)", lambda x: x * np.sqrt(5), lambda g, y, x: g * 1, [X]),
    ("scale:0.434294", np.log, lambda g, y, x: g / x / np.log(10), [X**2 + 1]),
    ("ignores-upstream", np.tanh, lambda g, y, x: 1 - y * y, [X]),
    ("ignores-upstream", np.sum, lambda g, y, x: np.ones_like(x), [X]),
    ("not-linear", np.tanh, lambda g, y, x: np.sign(g) * (1 - y * y), [X]),
    ("not-linear", np.tanh, lambda g, y, x: (g + 0.1) * (1 - y * y), [X]),
    ("softmax-diagonal", softmax, lambda g, y, x: g * y * (1 - y), [X]),
    ("softmax-diagonal", lambda x: x.cumsum(-1), lambda g, y, x: g * 1, [X]),
    ("softmax-nocentre", softmax, lambda g, y, x: g * y, [X]),
    ("wrong-axis", softmax, lambda g, y, x: y * (g - (g * y).sum(0)), [X]),
    ("wrong-axis", lambda x: x.cumsum(1), lambda g, y, x: g[::-1].cumsum(0)[::-1], [X]),
    ("overwrites", embed(IDS), scatter, [X.T.copy()]),
    ("mask-leak", lambda x: np.maximum(x, 0), lambda g, y, x: g * 1, [X]),
    ("mask-leak", lambda x: x * (np.arange(5) < 3), lambda g, y, x: g + 0 * x, [X]),
    ("block:first of axis 0", np.tanh, lambda g, y, x: _spoil(g * (1 - y * y), 0), [X]),
    ("block:last of axis 1", np.tanh,
     lambda g, y, x: _spoil(g * (1 - y * y), np.s_[:, -1]), [X]),
    ("block:2 of axis 1", np.tanh,
     lambda g, y, x: _spoil(g * (1 - y * y), np.s_[:, 2]), [X]),
    ("shape", np.tanh, lambda g, y, x: g[:, :4], [X]),
    ("shape", np.sum, lambda g, y, x: np.ones(7), [X]),
    ("raises", np.tanh, lambda g, y, x: g @ g, [X]),
    ("raises", np.tanh, lambda g, y, x: 0.0, [X]),
    ("raises", add_bias, lambda g, y, x, b: g, [X, draw(5)]),
    ("unknown", np.tanh, lambda g, y, x: g * (1 - x * x), [X]),
    ("unknown", np.exp, lambda g, y, x: g * x, [X]),
    ("unknown", matmul, lambda g, y, a, b: (g @ b, a.T @ g), [SQUARE, OTHER]),
]  # fmt: skip


def _spoil(d, index):
    d = d.copy()
    d[index] *= 2 + np.arange(d[index].size).reshape(d[index].shape) ** 2
    return d


@pytest.mark.parametrize("tag, forward, backward, inputs", WRONG)
def test_wrong_gradient_is_refused_and_named(tag, forward, backward, inputs):
    result = mg.gradcheck(with_backward(forward, backward), inputs)
    assert not result
    assert not result.ok
    assert result.tag == tag, str(result)
    if tag not in ("none", "shape", "raises", "unknown", "transpose"):
        assert f"[{tag}]" in result.message


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

    def accumulates_in_place(self, x):
        y, total = np.tanh(x), np.zeros_like(x)

        def backward(g):
            total[...] += g * (1 - y * y)
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
        ("accumulates_in_place", "accumulates", "a second backward returns 2 x d_0"),
        ("counts", "stateful", "equal inputs return different values"),
        ("shared_gradient", "aliases", "d_1 is the same memory as d_0"),
        ("returns_its_output", "stateful", "d_0 is the same memory as the output"),
        ("returns_its_cache", "aliases", "what the next backward returns"),
        ("mutates_input", "mutates-input", "the forward wrote into input 0"),
        ("mutates_input_backward", "mutates-input", "the backward wrote into input 0"),
        (
            "mutates_cotangent",
            "mutates-cotangent",
            "writes into the gradient it is given",
        ),
        ("single_inside", "float32", "every entry of the output is a float32 number"),
        ("single_output", "float32", "the output is float32; the inputs are float64"),
        ("single_gradient", "float32", "every entry of d_0 is a float32 number"),
        ("nan_output", "nan", "the output is nan at ["),
        ("normalises", "not-linear", "for a cotangent of 0, d_0 is not 0"),
        ("clips", "not-linear", "d_0 is not linear in the cotangent"),
        (
            "first_use_alone",
            "overwrites",
            "d_0 of several uses is not the sum of theirs",
        ),
    ],
)
def test_broken_law_is_refused_and_named(name, tag, says):
    op = lift(getattr(Keeps(), name).__func__.__get__(Keeps()))
    inputs = [X + 0.5] * (2 if name == "shared_gradient" else 1)
    result = mg.gradcheck(op, inputs)
    assert not result.ok
    assert (result.tag, says in result.message) == (tag, True), str(result)
    assert name in result.message


def test_state_of_several_inputs():
    kept = {}

    @lift
    def product(x, y):
        first = kept.setdefault("first", (x.copy(), y.copy()))
        return x * y, lambda g: (g * first[1], g * first[0])

    assert mg.gradcheck(product, [X, draw(3, 5, seed=1)]).tag == "stale-cache"


def test_sums_that_outlive_the_call():
    total = np.ones_like(X)

    @lift
    def tanh(x):
        y = np.tanh(x)

        def backward(g):
            nonlocal total
            total = total + g * (1 - y * y)
            return total

        return y, backward

    result = mg.gradcheck(tanh, [X])
    assert result.tag == "accumulates"
    assert "a second, identical call returns yours + numeric" in result.message


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


def test_fan_out_of_a_closure_that_remembers_one_use():
    calls = []

    @lift
    def square(x):
        calls.append(x)

        def backward(g):  # of two uses in one graph, only the latest is remembered
            return g * 2 * calls[-1] if calls[-1] is x else np.zeros_like(x)

        return x * x, backward

    result = mg.gradcheck(lambda x: square(x * 1.0), [X])
    assert not result.ok


# Right gradients


RIGHT = {
    "elementwise": (mg.tanh, [X]),
    "broadcast": (mg.mul, [draw(3, 1, 5), draw(7, 1)]),
    "matmul": (mg.matmul, [draw(2, 3, 5), draw(5, 7)]),
    "number": (lambda x: x, [X]),
    "zero-dimensional": (mg.exp, [np.array(0.3)]),
    "size one": (mg.exp, [np.array([[0.3]])]),
    "scalar output": (lambda x: (x * x).sum(), [X]),
    "large": (mg.softmax, [draw(30, 50)]),
    "large and small": (mg.matmul, [draw(30, 50), draw(50, 7)]),
    "large with corners": (mg.relu, [draw(200, 500)]),
    "empty": (mg.tanh, [np.zeros((0, 3))]),
    "empty output": (lambda x: x[:0], [X]),
    "empty sum": (mg.matmul, [np.zeros((3, 0)), np.zeros((0, 5))]),
    "one empty": (mg.matmul, [np.zeros((0, 3)), draw(3, 5)]),
    "shared input": (lambda x: mg.matmul(x, x) + x, [SQUARE]),
    "steep": (lambda x: mg.exp(100 * x), [X / 10]),
    "flat": (lambda x: x * x * x, [np.array([0.0, 1.0, -2.0])]),
    "near the edge of a domain": (mg.log, [np.array([1e-7, 1e-3, 1.0, 1e6])]),
    "near a pole": (lambda x: 1 / x, [np.array([1e-3, -1e-2, 3.0])]),
    "large numbers": (mg.softmax, [np.array([[1e4, 1e4 + 0.3, 1e4 - 1, -1e4]])]),
    "large offset": (lambda x: x * x + 1e6, [X]),
    "not contiguous": (mg.tanh, [draw(5, 3).T[::2]]),
    "infinite outputs": (lambda x: mg.where(X > 0, x * x, -np.inf), [X]),
    "noisy, and not for complex numbers": (
        with_backward(
            lambda x: (1e6 + np.abs(x)) - 1e6, lambda g, y, x: g * np.sign(x)
        ),
        [X],
    ),
    "smooth at a seam": (mg.elu, [np.array([0.0, 1.0, -1.0])]),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_gradient_passes(name):
    fn, inputs = RIGHT[name]
    before = [x.copy() for x in inputs]
    result = mg.gradcheck(fn, inputs)
    assert result.ok, str(result)
    assert result
    assert (result.tag, result.message) == (None, "")
    assert all(np.array_equal(a, b) for a, b in zip(before, inputs))
    result.assert_ok()


def test_kinds_of_inputs():
    """Float arrays and Tensors are checked, all else is passed on as it is."""
    seen = []

    def fn(a, b, c, ids, flags, n, nothing, pair, name):
        seen.append((ids, flags, n, nothing, name))
        for t in (a, b, c, *pair):
            assert isinstance(t, mg.Tensor) and t.dtype in (np.float64, np.complex128)
        kept = mg.where(flags, a, 0.0)
        return (kept * b)[ids] * n + mg.concat(pair, axis=0)[0] * c.sum()

    ids, flags = np.array([0, 2, 2]), np.arange(5) < 4
    single = draw(3, 5).astype(np.float32)
    tensor = mg.Tensor(draw(3, 5, seed=1).astype(np.float32))
    frozen = mg.Tensor(draw(7))
    pair = [draw(2, 5), draw(1, 5)]
    result = mg.gradcheck(
        fn,
        (single, tensor, frozen, ids, flags, 3, None, pair, "name"),
        no_gradient=("7[1]",),
    )
    assert result.ok, str(result)
    assert [row.input for row in result.rows] == ["0", "1", "2", "7[0]", "7[1]"]
    for row in seen:
        assert row[0] is ids and row[1] is flags and row[2:] == (3, None, "name")
    assert tensor.dtype == np.float32 and tensor.grad is None
    assert not tensor.requires_grad


def test_one_array_stands_for_a_list_of_one():
    assert mg.gradcheck(mg.tanh, X).ok
    assert mg.gradcheck(mg.tanh, mg.Tensor(X, requires_grad=True)).ok


def test_read_only_inputs():
    x = X.copy()
    x.flags.writeable = False
    assert mg.gradcheck(mg.tanh, [x]).ok


def test_several_outputs():
    @lift
    def both(x):
        s, c = np.sin(x), np.cos(x)
        return (s, c), lambda g: g[0] * c - g[1] * s

    @lift
    def first_alone(x):
        s, c = np.sin(x), np.cos(x)
        return (s, c), lambda g: g[0] * c

    assert mg.gradcheck(both, [X]).ok
    assert mg.gradcheck(lambda x: both(x)[1], [X]).ok
    assert mg.gradcheck(lambda x: [both(x)[0].sum(), (x, (x * x,))], [X]).ok
    result = mg.gradcheck(first_alone, [X])
    assert not result.ok and result.message.startswith("first_alone, input 0, entry [")


def test_integer_outputs_are_left_out():
    op = lift(lambda x: ((np.tanh(x), x.argmax(-1)), lambda g: g[0] / np.cosh(x) ** 2))
    assert mg.gradcheck(lambda x: op(x), [X]).ok


def test_same_seed_same_result():
    results = [mg.gradcheck(mg.softmax, [X], seed=seed).worst for seed in (0, 0, 1)]
    assert results[0] == results[1] != results[2]


def test_the_global_generator_is_left_alone():
    np.random.seed(5)
    before = np.random.get_state()[1].copy()
    mg.gradcheck(mg.softmax, [draw(30, 50)])
    assert np.array_equal(before, np.random.get_state()[1])


# Tolerances and size


@pytest.mark.parametrize(
    "error, rtol, ok",
    [(1e-5, 1e-6, False), (1e-5, 1e-4, True), (2e-7, 1e-6, True), (2e-7, 1e-7, False)],
)
def test_rtol(error, rtol, ok):
    op = with_backward(np.exp, lambda g, y, x: g * y * (1 + error))
    assert mg.gradcheck(op, [X], rtol=rtol).ok is ok


@pytest.mark.parametrize("atol, ok", [(1e-8, False), (1e-3, True)])
def test_atol_is_relative_to_the_largest_slope(atol, ok):
    def backward(g, y, x):  # off by 1e-4 where the slope is 1, among slopes of 1e3
        return g * np.where(x > 0, 1e3, 1 + 1e-4)

    op = with_backward(lambda x: x * np.where(x > 0, 1e3, 1), backward)
    for unit in (1.0, 1e-9, 1e9):
        scaled = mg.gradcheck(lambda x: op(x) * unit, [X], atol=atol)
        assert scaled.ok is ok


@pytest.mark.parametrize("shape", [(19, 37), (300, 400)])
def test_one_wrong_entry_among_many_is_found(shape):
    def backward(g, y, x):
        d = g * (1 - y * y)
        d[17, 31] *= 1.01
        return d

    x = draw(*shape)
    result = mg.gradcheck(with_backward(np.tanh, backward), [x])
    assert not result.ok
    assert result.worst.index == (17, 31)
    assert result.worst.analytic == pytest.approx(1.01 * result.worst.numeric, rel=1e-6)
    assert "6 directions" in result.table()


def test_large_wrong_gradient_is_diagnosed_where_that_is_cheap():
    op = with_backward(np.tanh, lambda g, y, x: 2 * g * (1 - y * y))
    assert mg.gradcheck(op, [draw(19, 37)]).tag == "scale:2"
    result = mg.gradcheck(op, [draw(100, 100)])
    assert result.tag == "unknown"
    assert "not diagnosed: 10000 entries; check a smaller input" in result.message


# The report


def test_the_whole_report():
    op = with_backward(softmax, lambda g, y, x: g * y * (1 - y))
    result = mg.gradcheck(op, [X])
    assert str(result) == "\n".join(
        [
            "gradcheck of softmax: FAIL",
            "",
            "input  shape   checked     largest  error  verdict",
            "0      (3, 5)  15 entries  2.4e-01  6e-01  wrong",
            "",
            "softmax, input 0, entry [2, 0]",
            "    yours    +0.00977604",
            "    numeric  +0.0522379 ± 4e-11",
            "15 of 15 entries differ",
            "yours equals diag(J) * c, the diagonal of the Jacobian J = dy/dx alone",
            "[softmax-diagonal]",
        ]
    )
    with pytest.raises(mg.GradcheckError, match="gradcheck of softmax: FAIL"):
        result.assert_ok()
    assert issubclass(mg.GradcheckError, AssertionError)


@pytest.mark.parametrize("tag, forward, backward, inputs", WRONG)
def test_no_line_is_wider_than_80_columns(tag, forward, backward, inputs):
    result = mg.gradcheck(with_backward(forward, backward), inputs)
    long = [line for line in str(result).splitlines() if len(line) > 80]
    assert not long or tag in ("raises", "shape"), long


def test_worst_entry_says_what_the_message_says():
    op = with_backward(np.tanh, lambda g, y, x: _spoil(g * (1 - y * y), np.s_[1, 2]))
    result = mg.gradcheck(lambda a, b: op(a * 1.0) + b, [X, draw(5)])
    worst = result.worst
    assert (worst.input, worst.index) == ("0", (1, 2))
    assert worst.analytic == pytest.approx(2 * worst.numeric, rel=1e-6)
    assert 0 < worst.bar < 1e-8
    message = result.message
    assert "a graph of 3 operations that ends in add, input 0, entry [1, 2]" in message
    assert f"{worst.analytic:+.6g}" in message and f"{worst.numeric:+.6g} ±" in message
    assert "1 of 15 entries differ" in message
    assert [row.verdict for row in result.rows] == ["wrong", "ok"]


def test_wrong_entries_that_form_a_pattern_are_drawn():
    def spoiled(index, shape):
        op = with_backward(np.tanh, lambda g, y, x: _spoil(g * (1 - y * y), index))
        return mg.gradcheck(op, [draw(*shape)]).message

    rows = "    .......\n    #######\n    .......\n    (# differs; the last axis"
    assert rows in spoiled(np.s_[1], (3, 7))
    assert "    #....\n    .#...\n    ..#..\n" in spoiled(
        (np.arange(3), np.arange(3)), (3, 5)
    )
    assert "    ##..\n    ....\n    ##..\n" in spoiled(np.s_[::2, :2], (3, 4))
    assert "#" not in spoiled(([0, 1, 2], [0, 3, 1]), (3, 5)).replace("(#", "")
    tall = spoiled(np.s_[:, 0], (29, 13)).splitlines()
    assert tall.count("    #............") == 8  # 29 rows in 8 lines


# Checks that could not have failed


def additive(q, k, w):
    """sum_a w_a tanh(q + k)_a, as additive attention scores."""
    return (mg.tanh(q + k) * w).sum(-1)


VACUOUS = {
    "softmax summed": (lambda x: mg.softmax(x).sum(), [X], "0"),
    "softmax summed per row": (lambda x: mg.softmax(x).sum(-1), [X], "0"),
    "softmax of two, summed": (lambda x: mg.softmax(x).sum(), [draw(3, 2)], "0"),
    "softmax of two, less its sum": (
        lambda x: mg.softmax(x).sum(-1) - 1, [draw(3, 2)], "0"),
    "softmax of one": (mg.softmax, [draw(3, 1)], "0"),
    "log of softmax summed": (lambda x: mg.log(mg.softmax(x).sum(-1)), [X], "0"),
    "layer norm summed": (
        lambda x: mg.layer_norm(x, np.ones(5), np.zeros(5)).sum(-1), [X], "0"),
    "product with zeros": (mg.mul, [X, np.zeros((3, 5))], "0"),
    "square at zero": (lambda x: x * x, [np.zeros(5)], "0"),
    "additive scores, w_v = 0": (additive, [X, draw(5), np.zeros(5)], "0"),
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
    declared = (0, 1) if name == "additive scores, w_v = 0" else int(which)
    result = mg.gradcheck(fn, inputs, no_gradient=declared)
    assert result.ok, str(result)
    assert "ok, none" in result.table()


def test_a_declared_zero_is_checked():
    loud = with_backward(softmax, lambda g, y, x: g * y)
    result = mg.gradcheck(lambda x: loud(x).sum(), [X], no_gradient=0)
    assert not result.ok
    result = mg.gradcheck(mg.mul, [X, X], no_gradient=(1,))
    assert result.tag == "declared"
    assert "no_gradient declares input 1 0; numeric is not" in result.message
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


# Kinks


def at(x, others=(1.0, -2.0)):
    return np.array([x, *others])


@pytest.mark.parametrize(
    "fn, inputs",
    [
        (mg.abs, [at(0.0)]),
        (mg.relu, [at(0.0)]),
        (mg.abs, [np.zeros(3)]),
        (mg.maximum, [at(0.5), at(0.5, (3.0, 3.0))]),
        (lambda x: mg.max(x), [at(1.0)]),
        (lambda x: mg.clip(x, -1.5, 1.0), [at(0.5)]),
        (mg.sqrt, [at(0.0, (1.0, 2.0))]),
        (with_backward(np.floor, lambda g, y, x: np.zeros_like(x)), [at(2.0)]),
        *((mg.relu, [at(s * STEP)]) for s in (0.02, 0.2, 0.3, 0.45, 0.5, 0.7, 0.9)),
        *((mg.relu, [at(-s * STEP)]) for s in (0.02, 0.2, 0.3, 0.45, 0.5, 0.7, 0.9)),
    ],
)
def test_kink_is_reported_and_never_passed(fn, inputs):
    result = mg.gradcheck(fn, inputs)
    assert not result.ok
    assert result.tag == "kink", str(result)
    assert re.search(r"input \d, entry \[\d\]: a kink", result.message)
    assert "Check at a point where the function is smooth." in result.message
    assert "kink" in result.table()


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


# Uses that make no sense


@pytest.mark.parametrize(
    "fn, inputs, says",
    [
        (mg.tanh, [], "there is no array of floats among the inputs"),
        (mg.tanh, [np.arange(3)], "there is no array of floats among the inputs"),
        (lambda x: x.data.sum(), [X], "the function returned no float tensor"),
        (lambda x: None, [X], "the function returned no float tensor"),
        (lambda x: mg.Tensor(x.data), [X], "no gradient leads from the output"),
        (lambda x: mg.tanh(x.detach()), [X], "no gradient leads from the output"),
        (mg.no_grad()(mg.tanh), [X], "no gradient leads from the output"),
        (mg.tanh, [np.array([0.0, -np.inf])], "input 0 holds -inf"),
    ],
)
def test_bad_use_is_one_sentence(fn, inputs, says):
    with pytest.raises(mg.GradcheckError) as error:
        mg.gradcheck(fn, inputs)
    assert says in str(error.value)
    assert not isinstance(error.value, mg.VacuousCheckError)


def test_no_gradient_of_an_unknown_input():
    with pytest.raises(
        mg.GradcheckError, match="no_gradient names 3; the inputs with a"
    ):
        mg.gradcheck(mg.mul, [X, X], no_gradient=(3,))


def test_what_fn_raises_comes_through():
    with pytest.raises(ValueError, match="matmul"):
        mg.gradcheck(mg.matmul, [X, X])


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
@pytest.mark.parametrize("take_complex", [True, False])
def test_error_bars_are_honest(name, take_complex):
    """The truth lies within 10 bars and the rounding of the slope itself."""
    f, derivative = SMOOTH[name]

    def function(x):
        if np.iscomplexobj(x) and not take_complex:
            raise TypeError
        return (f(x),)

    x = np.linspace(-3, 3, 61)
    found = slopes(function, x, [np.ones(61)])
    error = np.abs(found.value - derivative(x))
    assert not found.kink.any()
    assert (error <= 10 * found.bar + 1e-15 * np.abs(derivative(x)).max()).all()
    if take_complex and name in ("pole", "offset", "cancelling", "steep"):
        assert (found.bar <= 1e-7 * np.abs(derivative(x)).max()).all()


def test_complex_step_is_not_trusted_where_it_is_wrong():
    """|x| + 1e7 is noisy; NumPy's complex max, real, and abs lead elsewhere."""
    x = np.array([-2.0, 1.0])
    for f in (
        lambda x: 1e7 + np.abs(x),
        lambda x: 1e7 + np.sqrt((x * np.conj(x))),
        lambda x: 1e7 + np.abs(x) + 0 * x,
        lambda x: 1e7 + np.maximum(x, -x),
    ):
        found = slopes(lambda x, f=f: (f(x),), x, [np.ones(2)])
        assert found.value == pytest.approx(np.sign(x), abs=1e-2)
        assert not found.kink.any()


def test_the_error_of_order_h_squared_is_cancelled():
    def f(x):
        return (np.exp(100 * x.real),)  # one step h/2 alone would be off by 1.5e-8

    x = np.linspace(-0.01, 0.01, 7)
    found = slopes(f, x, [np.ones(7)])
    assert found.value == pytest.approx(100 * np.exp(100 * x), rel=3e-9)


def test_directions_and_jacobian_agree_with_single_slopes():
    A = draw(7, 3)

    def f(x):
        return (np.tanh(A @ x), x.sum(keepdims=True))

    x, c = draw(3, 5), [draw(7, 5), draw(1, 1)]
    G = slopes(f, x, c).value
    vs = random_directions(x, np.random.default_rng(0))
    found = slopes(f, x, c, vs)
    assert found.value == pytest.approx(found.along(G.reshape(x.shape)), rel=1e-8)
    J = jacobian(f, x)
    assert J.shape == (7 * 5 + 1, 15)
    flat = np.concatenate([each.reshape(-1) for each in c])
    assert flat @ J == pytest.approx(G, rel=1e-8)
    assert jacobian(f, x, largest=10) is None


# The bank by itself


def test_bank_takes_arrays_alone():
    G = draw(3, 5)
    assert diagnose(Case(G.T, G)).tag == "transpose"
    assert diagnose(Case(-G, G)).sentence == "yours = -1 x numeric"
    batch = draw(7, 3, 5)
    found = diagnose(Case(batch, batch.sum(0)))
    assert found.tag == "unbroadcast"
    assert found.sentence == (
        "yours has shape (7, 3, 5); summed over axes [0] it equals numeric"
    )
    found = diagnose(Case(draw(3, 5, seed=1), G))
    assert (found.tag, found.sentence) == ("unknown", "no known pattern")


def test_bank_uses_the_names_of_axes_and_blocks():
    G = draw(3 * 4, 5)
    found = diagnose(Case(G / 11, G, x=G, y=draw(11, 12), names={11: "B"}))
    assert (found.tag, found.sentence) == ("scale:1/B", "yours = 1/B x numeric")
    gates = {name: np.s_[4 * i : 4 * i + 4] for i, name in enumerate("rzn")}
    A = G.copy()
    A[5:7] += draw(2, 5, seed=1)
    found = diagnose(Case(A, G, blocks=gates))
    assert (found.tag, found.sentence) == ("block:z", "all wrong entries are in z")


def test_bank_says_whether_the_mask_allows_nothing():
    mask = np.ones((3, 5), bool)
    mask[1] = False
    A, G = draw(3, 5), draw(3, 5)
    A[1] = np.nan
    assert diagnose(Case(A, G, mask=mask)).sentence == (
        "yours is nan at [1, 0], and not finite in 5 of 15 entries; the mask allows "
        "nothing in that row"
    )


def test_bank_variants_and_mutation():
    A, G = draw(3, 5), draw(3, 5, seed=1)
    asked = [("mask-forgotten", "yours is that without a mask", lambda: A.copy())]
    assert diagnose(Case(A, G, variants=asked)).tag == "mask-forgotten"
    assert diagnose(Case(A, G, mutated=True)).tag == "mutates-input"


def test_bank_recognises_single_precision():
    G = draw(3, 5)
    A = (G * (1 + 1e-4 * draw(3, 5, seed=1))).astype(np.float32).astype(np.float64)
    found = diagnose(Case(A, G, x=draw(3, 5)))
    assert (found.tag, found.sentence) == (
        "float32",
        "every entry of yours is a float32 number",
    )


def test_one_number_is_no_proof_of_a_factor():
    assert diagnose(Case(np.array(0.7), np.array(0.31))).tag == "unknown"
    assert diagnose(Case(np.array(-0.62), np.array(0.31))).tag == "scale:-2"


# Modules


class Scaled(Module):
    """w * x, with a dropout behind it that must not act."""

    def __init__(self, backward):
        self.inner = Linear(5, 7)
        self.w = Parameter(draw(7).astype(np.float32))
        self.frozen = Parameter(draw(7).astype(np.float32))
        self.frozen.requires_grad = False
        self.again = self.w
        self.dropout = Dropout(0.5)
        self.op = with_backward(np.multiply, backward)

    def forward(self, x, n=1):
        return self.dropout(self.op(self.inner(x), self.w)) * n + self.frozen


def right(g, y, x, w):
    return g * w, g * x


def wrong(g, y, x, w):
    return g * w, -g * x


def photograph(module):
    return [
        (p, p._data, p._data.copy(), p.dtype, p.requires_grad, p.grad)
        for _, p in module.named_parameters()
    ]


def assert_same_as(module, before):
    for p, array, values, dtype, requires_grad, grad in before:
        assert p._data is array and np.array_equal(array, values)
        assert (p.dtype, p.requires_grad, p.grad is grad) == (
            dtype,
            requires_grad,
            True,
        )


def test_module_is_checked_and_restored():
    module = Scaled(right)
    module.dropout.training = False
    module.w.grad = np.ones(7, np.float32)
    before = photograph(module)
    result = mg.gradcheck_module(module, X, 3)
    assert result.ok, str(result)
    names = ["inner.weight", "inner.bias", "w", "0"]
    assert sorted(row.input for row in result.rows) == sorted(names)
    assert str(result).startswith("gradcheck of Scaled: ok")
    assert_same_as(module, before)
    assert module.training and module.inner.training and not module.dropout.training


def test_wrong_parameter_is_named():
    result = mg.gradcheck_module(Scaled(wrong), X)
    assert (result.tag, result.worst.input) == ("scale:-1", "w")
    assert result.message.startswith("Scaled, w, entry [")
    verdicts = {row.input: row.verdict for row in result.rows}
    assert verdicts == {
        "w": "wrong",
        "inner.weight": "ok",
        "inner.bias": "ok",
        "0": "ok",
    }


def test_module_is_restored_after_an_error():
    def fails(g, y, x, w):
        raise KeyboardInterrupt

    module = Scaled(fails)
    before = photograph(module)
    with pytest.raises(KeyboardInterrupt):
        mg.gradcheck_module(module, X)
    assert_same_as(module, before)
    with pytest.raises(ValueError):
        mg.gradcheck_module(module, draw(3, 4))
    assert_same_as(module, before)
    assert module.training and module.dropout.training


def test_module_without_influence_of_a_parameter():
    class Shifted(Module):
        def __init__(self):
            self.bias = Parameter(np.ones(1))

        def forward(self, x):
            return mg.softmax(x + self.bias)

    with pytest.raises(mg.VacuousCheckError, match=r"no_gradient=\('bias',\)"):
        mg.gradcheck_module(Shifted(), X)
    assert mg.gradcheck_module(Shifted(), X, no_gradient=("bias",)).ok


def test_a_parameter_that_was_looked_at_is_not_taken_for_overwritten():
    module = Scaled(right)
    handed_out = [p.data for p in module.parameters()]
    loss = module(mg.Tensor(X.astype(np.float32))).sum()
    assert mg.gradcheck_module(module, X).ok
    loss.backward()  # the check has changed nothing that this graph needs
    assert all(a is p.data for a, p in zip(handed_out, module.parameters()))


def test_writes_are_still_noticed_after_a_check():
    module = Scaled(right)
    array = module.w.data
    loss = module(mg.Tensor(X.astype(np.float32))).sum()
    assert mg.gradcheck_module(module, X).ok
    array[0] += 1
    with pytest.raises(RuntimeError, match="overwritten in place"):
        loss.backward()
