"""What an operation may take and return, what it may not, and how it is registered."""

import inspect

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor, differentiable, lift
from minigrad.registry import OPS

from .engine_cases import draw, leaf

# Operations with several outputs, and tensors by keyword


def _sin_cos():
    seen = []

    @lift
    def sin_cos(x):
        s, c = np.sin(x), np.cos(x)

        def backward(g):
            seen.append([each.copy() for each in g])
            return g[0] * c - g[1] * s

        return (s, c), backward

    return sin_cos, seen


@pytest.mark.parametrize("used", ["first", "second", "both", "first twice"])
def test_several_outputs_of_which_some_are_used(used):
    sin_cos, seen = _sin_cos()
    x = leaf([0.3, 0.7])
    s, c = sin_cos(x)
    assert (s._node.op, c._node.op) == ("sin_cos[0]", "sin_cos[1]")
    loss, expected = {
        "first": (s, np.cos(x.data)),
        "second": (c, -np.sin(x.data)),
        "both": (2 * s + c, 2 * np.cos(x.data) - np.sin(x.data)),
        "first twice": (s * s, 2 * np.sin(x.data) * np.cos(x.data)),
    }[used]
    loss.sum().backward()
    assert x.grad == pytest.approx(expected)
    assert len(seen) == 1  # one backward for both outputs
    if used == "first":
        assert seen[0][1].tolist() == [0.0, 0.0]


def test_the_forward_receives_which_gradients_are_needed():
    """One boolean for each argument that was passed, and each element of a list."""
    received = []

    @lift
    def product(x, y, parts=(), n=3, *, k=1, needs):
        received.append(needs)
        return x * y * k, lambda g: (g * y * k, g * x * k, *[None] * len(parts), None)

    x, c = leaf([1.0]), Tensor([2.0])
    product(x, c).backward()
    product(c, x * 1.0, [c, x], 3)
    product(x, 2.0, n=4)
    product(k=3, y=x, x=c).backward()
    assert received == [
        (True, False),
        (False, True, False, True, False),
        (True, False),
        (False, True, False, False),  # with the defaults, for keywords
    ]
    assert x.grad.item() == 2 + 6
    with mg.no_grad():
        product(x, x)
    assert not any(received[-1])
    with pytest.raises(TypeError, match="needs"):
        product(x, c, needs=(True, True))
    assert "needs" not in inspect.signature(product).parameters


def test_tensors_passed_by_keyword_receive_gradients():
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    mg.concat(axis=0, tensors=[x, y]).sum().backward()
    mg.mul(b=x, a=y).sum().backward()
    assert x.grad.tolist() == [4.0, 5.0] and y.grad.tolist() == [2.0, 3.0]
    single = mg.clip(Tensor(np.ones(2, np.float32)), min=np.float64(0))
    assert single.dtype == np.float32  # as for a number that is passed by position


# What a backward may not return


@pytest.mark.parametrize(
    "returned, kind, says",
    [
        (lambda g: (g[:1], g), ValueError,
         "found a gradient of shape (1,) for a tensor of shape (2,), which does not "
         "broadcast to (1,)."),
        (lambda g: (1.0, g), TypeError,
         "found a float as a gradient; expected an array or None."),
        (lambda g: (g,), ValueError,
         "found 1 gradients for 2 inputs; expected one for each input, or None."),
        (lambda g: (g, g, g), ValueError,
         "found 3 gradients for 2 inputs; expected one for each input, or None."),
    ],
)  # fmt: skip
def test_wrong_gradients_are_refused_by_name(returned, kind, says):
    @lift
    def bad(x, y):
        return x * y, returned

    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    with pytest.raises(kind) as error:
        bad(x, y * 1).sum().backward()
    assert str(error.value) == says
    assert error.value.__notes__ == ["(in the backward of bad, output shape (2,))"]


def test_a_list_of_gradients_will_do_and_trailing_none_may_be_left_out():
    @lift
    def product(x, y, name):
        return x * y, lambda g: [g * y, g * x]

    x, y = leaf([2.0]), leaf([3.0])
    product(x, y, "name").backward()
    assert (x.grad.item(), y.grad.item()) == (3.0, 2.0)


# Errors of the forward, and the registry


@pytest.mark.parametrize(
    "call, kind, says, note",
    [
        (lambda x: x + np.ones(4), ValueError, r"broadcast.*\(3,5\) \(4,\)",
         "(in add, inputs: (float64 (3, 5), float64 (4,)))"),
        (lambda x: x.sum(axis=2), np.exceptions.AxisError, "axis 2 is out of bounds",
         "(in sum, inputs: (float64 (3, 5), axis=2, keepdims=False))"),
        (lambda x: x * None, TypeError, "NoneType",
         "(in mul, inputs: (float64 (3, 5), NoneType))"),
        (lambda x: mg.matmul(a=x, b=x), ValueError, "do not fit",
         "(in matmul, inputs: (float64 (3, 5), float64 (3, 5)))"),
        (lambda x: mg.matmul(np.ones(3), b=np.ones(4)), ValueError, "do not fit",
         "(in matmul, inputs: (float64 (3,), b=float64 (4,)))"),
        (lambda x: mg.sum(x=1.0, axes=[0]), TypeError, "axes",
         "(in sum, inputs: (x=1.0, axes=(0)))"),
        (lambda x: x[7], IndexError, "index 7 is out of bounds",
         "(in getitem, inputs: (float64 (3, 5), 7))"),
    ],
)  # fmt: skip
def test_errors_keep_their_type_and_note_the_inputs(call, kind, says, note):
    for x in (leaf(draw(3, 5)), Tensor(draw(3, 5))):
        with pytest.raises(kind, match=says) as error:
            call(x)
        assert error.value.__notes__[0] == note  # a hint may follow
        assert type(error.value) is kind


@pytest.mark.parametrize(
    "returned, described",
    [
        (np.ones(2), "float64 (2,)"),
        ((np.ones(2), np.ones(2)), "(float64 (2,), float64 (2,))"),
        (None, "NoneType"),
    ],
)
def test_a_function_without_a_backward_is_refused_at_its_first_call(
    returned, described
):
    @lift
    def square(x):
        return returned

    for x in (leaf([1.0, 2.0]), Tensor([1.0, 2.0])):
        with pytest.raises(TypeError) as error:
            square(x)
        assert str(error.value) == (
            f"square returned {described}; an operation returns (output, backward), "
            "where backward maps g = dL/d(output) to the gradients of the inputs."
        )


def test_an_operation_may_be_defined_again_where_it_was_defined():
    def cell():
        @differentiable
        def cubed(x):
            return x**3, lambda g: g * 3 * x**2

        return cubed

    try:
        cell()
        second = cell()
        assert OPS["cubed"] is second
    finally:
        del OPS["cubed"]


@pytest.mark.parametrize("value", [3, "tanh", None])
def test_an_operation_is_made_from_a_function(value):
    for make in differentiable, lift:
        found = f"found a value of type {type(value).__name__}; expected a function"
        with pytest.raises(TypeError, match=found):
            make(value)


def test_a_second_operation_of_a_name_is_refused():
    first = OPS["tanh"]
    with pytest.raises(ValueError) as error:

        @differentiable
        def tanh(x):
            return x, lambda g: g

    assert str(error.value) == (
        "An operation named 'tanh' exists already, in minigrad.ops.activation. Rename "
        "yours, or decorate it with minigrad.lift, which makes an operation without "
        "registering its name."
    )
    assert OPS["tanh"] is first
