"""Tensors beside arrays and numbers: dtypes, shapes, and NumPy on the left."""

import re

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor, unbroadcast

from .engine_cases import draw, leaf

# dtypes


def test_gradients_have_the_dtype_of_their_leaves():
    x, y = leaf(draw(3, 5), np.float32), leaf(draw(5), np.float64)
    z = x.astype(np.float64) * y + x * y
    assert z.dtype == np.float64
    z.sum().backward()
    assert x.grad.dtype == np.float32 and y.grad.dtype == np.float64
    assert x.grad == pytest.approx(np.broadcast_to(2 * y.data, (3, 5)), rel=1e-6)


def test_only_floats_have_gradients():
    with pytest.raises(TypeError, match="Only floating-point tensors .* this is int64"):
        Tensor([1, 2], requires_grad=True)
    x = leaf([1.0])
    with pytest.raises(TypeError, match="cannot hold int64 data"):
        x.data = np.array([1])
    with pytest.raises(TypeError, match="A tensor holds numbers"):
        Tensor(["a"])
    with pytest.raises(TypeError, match="A tensor holds numbers; found None."):
        Tensor(None)
    with pytest.raises(ValueError, match="The rows of these data differ in length"):
        Tensor([1, [2, 3]])


# Broadcasting


@pytest.mark.parametrize("shape, wide", [((3,), (5,)), ((3, 5), (5,)), ((2,), (3, 1))])
def test_unbroadcast_refuses_what_does_not_fit(shape, wide):
    says = f"found a gradient of shape {wide} for a tensor of shape {shape}, which"
    with pytest.raises(ValueError, match=re.escape(says)):
        unbroadcast(np.ones(wide), shape)


# NumPy on the left, and what looks like an array


def test_numpy_on_the_left_of_an_operator():
    x, a = leaf(draw(3, 5)), draw(3, 5, seed=1)
    for made, expected in (
        (a + x, a + x.data),
        (a - x, a - x.data),
        (a * x, a * x.data),
        (a / x, a / x.data),
        (a @ x.T, a @ x.data.T),
        (np.abs(a) ** x, np.abs(a) ** x.data),
        (np.float64(2) * x, 2 * x.data),
        (np.float32(2) - x, 2 - x.data),
        (np.subtract(x, a), x.data - a),
        (np.matmul(x, a.T), x.data @ a.T),
        (np.multiply(x, 2.0), 2 * x.data),
    ):
        assert type(made) is Tensor and made.requires_grad
        assert made.data == pytest.approx(expected)
    (a * x).sum().backward()
    assert x.grad == pytest.approx(a)


def test_comparisons_are_arrays():
    x = leaf([1.0, 2.0])
    for found, expected in (
        (x == 1.0, [True, False]),
        (x != x, [False, False]),
        (x < [2.0, 2.0], [True, False]),
        (x >= x, [True, True]),
        (np.array([2.0, 1.0]) > x, [True, False]),
        (np.less(x, 2.0), [True, False]),
    ):
        assert isinstance(found, np.ndarray) and found.tolist() == expected
    assert len({x, leaf([1.0, 2.0]), x}) == 2  # tensors hash by identity


def test_numpy_functions_refuse_what_they_could_not_record():
    x = leaf([1.0, 2.0])
    with pytest.raises(TypeError, match="NumPy cannot record gradients"):
        np.asarray(x)
    assert np.asarray(x.detach()).tolist() == [1.0, 2.0]
    with pytest.raises(TypeError):
        np.exp(x)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "var", "cumsum"])
def test_numpy_functions_that_call_a_method_are_recorded(name):
    function, results = getattr(np, name), []
    for call in (lambda x: function(x, axis=0), lambda x: getattr(x, name)(axis=0)):
        x = leaf(draw(3, 5))
        y = call(x)
        y.backward(draw(*y.shape))
        results.append((type(y), y.tolist(), x.grad.tolist()))
    assert results[0] == results[1]
    with pytest.raises(TypeError, match="keyword argument 'out'|record gradients"):
        function(leaf([1.0]), out=np.zeros(()))


MATRIX = np.ones((3, 3)).view(np.matrix)
MASKED = np.ma.masked_array(np.ones((3, 3)), mask=np.eye(3, dtype=bool))


@pytest.mark.parametrize("a", [MATRIX, MASKED], ids=["matrix", "MaskedArray"])
@pytest.mark.parametrize(
    "use",
    [
        lambda x, a: x * a,
        lambda x, a: a @ x,
        lambda x, a: x < a,
        lambda x, a: x[a > 0],
        lambda x, a: Tensor(a),
        lambda x, a: setattr(x, "data", a),
        lambda x, a: x.detach().__setitem__(0, a[0]),
        lambda x, a: (x * 1).backward(a),
        lambda x, a: mg.sum(a),
        lambda x, a: mg.matmul(a=a, b=a),
        lambda x, a: mg.concat([x, a]),
        lambda x, a: mg.where(a > 0, x, 0.0),
        lambda x, a: mg.nn.Linear(3, 3)(a),
        lambda x, a: mg.nn.Linear(3, 3).load_state_dict({"weight": a}, strict=False),
    ],
)
def test_matrices_and_masked_arrays_are_refused(use, a):
    """A * of matrices is a matrix product, and the mask would be lost."""
    with pytest.raises(TypeError, match=type(a).__name__):
        use(leaf(np.ones((3, 3))), a)


def test_other_subclasses_of_arrays_are_arrays(tmp_path):
    mapped = np.memmap(tmp_path / "x", float, "w+", shape=3)
    assert (leaf(np.ones(3)) + mapped).tolist() == Tensor(mapped + 1).tolist()


def test_complex_numbers_have_no_gradient():
    x = leaf([1.0, 2.0])
    assert (x.detach() * 1j).dtype == complex
    with pytest.raises(TypeError, match="mul: the result is complex128; expected real"):
        x * 1j
    with pytest.raises(TypeError, match="the gradient is complex128; expected real"):
        (x * 2).backward(np.array([1j, 0]))
    with pytest.raises(TypeError, match="the gradient is <U1; expected real"):
        x.sum().backward("1")


@pytest.mark.parametrize(
    "call",
    [
        lambda x: mg.masked_fill(x, x > 0, None),
        lambda x: mg.where(x > 0, x, "0"),
        lambda x: mg.sum(None),
        lambda x: mg.pad("abc", 1),
        lambda x: mg.expand(None, (2,)),
        lambda x: mg.stack(["a", "b"]),
        lambda x: mg.split(np.array([None, "b"]), 2),
        lambda x: mg.lift(lambda x: (np.array([None]), abs))(x),
    ],
)
def test_the_result_of_an_operation_holds_numbers(call):
    with pytest.raises(TypeError, match=": the result is .*; expected .*numbers"):
        call(leaf([1.0, 2.0]))


def test_scalars_out_of_tensors():
    assert float(Tensor([[2.5]])) == 2.5 and int(Tensor(3)) == 3
    assert bool(Tensor(0.0)) is False
    with pytest.raises(ValueError, match=r"found shape \(2,\); expected size one"):
        Tensor([1.0, 2.0]).item()
    assert [t.tolist() for t in leaf([[1.0], [2.0]])] == [[1.0], [2.0]]
    assert len(leaf([1.0, 2.0])) == 2


def test_repr():
    x = leaf([1.0, 2.0])
    assert repr(x) == "Tensor([1., 2.], requires_grad=True)"
    assert repr(x * 2) == "Tensor([2., 4.], from=mul)"
    assert repr(Tensor(np.float32(1))) == "Tensor(1., dtype=float32)"
