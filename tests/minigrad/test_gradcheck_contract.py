"""Right gradients of inputs of every kind pass, and misuse is refused in a sentence."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import lift

from .gradcheck_cases import X, draw, sin, with_backward

RIGHT = {  # beside those of test_gradcheck_errors.py
    "large": (mg.softmax, [draw(30, 50)]),
    "large with corners": (mg.relu, [draw(100, 100)]),
    "empty": (mg.tanh, [np.zeros((0, 3))]),
    "empty output": (lambda x: x[:0], [X]),
    "one empty": (mg.matmul, [np.zeros((0, 3)), draw(3, 5)]),
    "steep": (lambda x: mg.exp(100 * x), [X / 10]),
    "flat": (lambda x: x * x * x, [np.array([0.0, 1.0, -2.0])]),
    "entries of unlike size": (mg.log, [np.array([1e-7, 1e-3, 1.0, 1e6])]),
    "not contiguous": (mg.tanh, [draw(5, 3).T[::2]]),
    "infinite outputs": (lambda x: mg.where(X > 0, x * x, -np.inf), [X]),
    "smooth at a seam": (mg.elu, [np.array([0.0, 1.0, -1.0])]),
    "read-only": (mg.tanh, [np.broadcast_to(draw(1, 5), (3, 5))]),
    "constants of float64": (lambda x: x * np.float64(3) + np.ones(5), [X]),
    "sin(1e3 x)": (lambda x: sin(1e3 * x), [X]),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_gradient_passes(name):
    fn, inputs = RIGHT[name]
    before = [np.array(x) for x in inputs]
    result = mg.gradcheck(fn, inputs)
    result.assert_ok()
    assert result and (result.tag, result.message) == (None, "")
    assert all(np.array_equal(a, b) for a, b in zip(before, inputs))


def test_kinds_of_inputs():
    """Float arrays and Tensors are checked, all else is passed on as it is."""
    seen = []

    def fn(a, b, c, ids, flags, n, nothing, pair, name):
        seen.append((ids, flags, n, nothing, name))
        for t in (a, b, c, *pair):
            assert isinstance(t, mg.Tensor) and t.dtype in (np.float64, np.float32)
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
    constants = mg.Tensor([3]), mg.Tensor([3.0]), mg.Tensor(np.zeros(0))
    assert mg.gradcheck(lambda x: (x * x, *constants), [X]).ok
    assert mg.gradcheck(lambda x, y: (x * x, y * y), [X, X]).ok
    result = mg.gradcheck(first_alone, [X])
    assert not result.ok and result.message.startswith("first_alone, input 0, entry [")


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


def test_one_wrong_entry_among_many_is_found():
    def backward(g, y, x):
        d = g * (1 - y * y)
        d[17, 31] *= 1.01
        return d

    op = with_backward(np.tanh, backward)
    result = mg.gradcheck(op, [draw(19, 37)])
    assert result.worst.index == (17, 31)
    assert result.worst.analytic == pytest.approx(1.01 * result.worst.numeric, rel=1e-6)
    assert "6 directions" in result.table()
    assert "along a random direction" in mg.gradcheck(op, [draw(67, 71)]).message


def test_large_wrong_gradient_is_diagnosed_where_that_is_cheap():
    op = with_backward(np.tanh, lambda g, y, x: 2 * g * (1 - y * y))
    assert mg.gradcheck(op, [draw(19, 37)]).tag == "scale:2"
    result = mg.gradcheck(op, [draw(100, 100)])
    assert result.tag == "unknown"
    assert "not diagnosed: 10000 entries; check a smaller input" in result.message


# Uses that make no sense


@pytest.mark.parametrize(
    "fn, inputs, says",
    [
        (mg.tanh, [], "found no array of floats among the inputs"),
        (mg.tanh, [np.arange(3)], "found no array of floats among the inputs"),
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


def test_names_of_another_number_of_inputs():
    with pytest.raises(ValueError, match="names has 1 entries; expected 2, one for"):
        mg.gradcheck(mg.mul, [X, X], names=["a"])


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: mg.gradcheck("tanh", [X]), "fn is of type str; expected a function"),
        (lambda: mg.gradcheck_module(mg.tanh, X), "module is of type function; expecte"),
        (lambda: mg.gradcheck(mg.tanh, [X], seed="a"), "seed is 'a'; expected a whole"),
        (lambda: mg.gradcheck(mg.tanh, [X], rtol=-1), "rtol is -1; expected a finite"),
        (lambda: mg.gradcheck(mg.tanh, [X], atol=-1), "atol is -1; expected a finite"),
    ],
)
def test_arguments_of_another_kind(call, says):
    with pytest.raises((TypeError, ValueError), match=says):
        call()


def test_a_title_for_a_function_without_operations():
    assert str(mg.gradcheck(lambda x: x, X)).startswith("gradcheck of a function")


@pytest.mark.parametrize("fn", [lambda x: mg.exp(1000 * x), lambda x: mg.log(0 * x)])
def test_an_infinite_output_is_named(fn):
    with np.errstate(all="ignore"):
        result = mg.gradcheck(fn, [np.ones(3)])
    assert "if it overflows, check smaller inputs" in result.message


def test_what_fn_raises_comes_through():
    with pytest.raises(ValueError, match="matmul"):
        mg.gradcheck(mg.matmul, [X, X])
