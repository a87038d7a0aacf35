"""``@shapes``: a function accepts and returns what the line in its docstring says."""

import inspect
import subprocess
import sys

import numpy as np
import pytest

from minigrad import Tensor, lift
from minigrad.shape_line import shape_line
from minigrad.shapes import check_results, shapes


@pytest.fixture(autouse=True)
def results_are_checked():
    before = check_results(True)
    yield
    check_results(before)


def floats(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


def ints(*shape):
    return np.zeros(shape, int)


def bools(*shape):
    return np.ones(shape, bool)


def accepting(line, parameters, returns="None"):
    """A function of these parameters with that shape line; it returns ``returns``."""
    scope = {}
    line = line if "->" in line else f"{line}  ->  what it returns"
    exec(
        f"def f({parameters}):\n    '''{line}'''\n    return {returns}",
        globals(),
        scope,
    )
    return shapes(scope["f"])


@shapes
def general(queries, keys, W_a):
    """e_ij = q_i^T W_a k_j    (Luong et al. 2015, section 3.1, "general")

    queries (..., L, Dq), keys (..., S, Dk), W_a (Dq, Dk)  ->  scores (..., L, S)

    The function is decorated (f -> g), and this is not its line.
    """
    return queries @ W_a @ keys.swapaxes(-1, -2)


class Layer:
    width = 4

    @shapes
    def forward(self, x, state=None):
        """Run:  x (B, self.width), state? (B, 2 self.width)  ->  y (B, self.width)"""
        return x

    @shapes
    def step(self, x):
        """x (B, self.width)  ->  y (B, self.width)"""
        return x


class Deeper(Layer):
    width = 5


def test_arrays_lists_and_tensors_give_a_tensor():
    arrays = floats(2, 7, 4), floats(2, 9, 5), floats(4, 5)
    expected = arrays[0] @ arrays[2] @ arrays[1].swapaxes(-1, -2)
    for convert in (lambda x: x, Tensor, np.ndarray.tolist):
        scores = general(*map(convert, arrays))
        assert isinstance(scores, Tensor)
        np.testing.assert_array_equal(scores.data, expected)


def test_a_tensor_keeps_its_graph_and_an_array_is_not_copied():
    queries, keys = Tensor(floats(7, 4), requires_grad=True), floats(9, 5)
    received = accepting("q (L, D), k (S, E)", "q, k", "(q, k)")(queries, keys)
    assert received[0] is queries and np.shares_memory(received[1].data, keys)


REFUSED = [  # line, parameters, call, error, message after "f: "
    ("keys (..., S, D)", "keys", (floats(4),), ValueError,
     "keys have shape (4,); expected (..., S, D). To pass one vector x, write "
     "x[None, :]."),
    ("x (..., L, D), y (..., S, E)", "x, y", (floats(2, 7, 4), floats(3, 9, 5)),
     ValueError, "y has shape (3, 9, 5); expected (..., S, E), with x (2, 7, 4) as "
     "(..., L, D). Leading axes must broadcast with (2,)."),
    ("x (L, D), y (S, E), W (D, E)", "x, y, W", (floats(7, 4), floats(9, 5),
     floats(3, 4)), ValueError, "W has shape (3, 4); expected (D, E) = (4, 5), with x "
     "(7, 4) as (L, D) and y (9, 5) as (S, E)."),
    ("x (H | 1, D), y (H, D)", "x, y", (floats(2, 4), floats(3, 4)), ValueError,
     "y has shape (3, 4); expected (H, D) = (2, 4), with x (2, 4) as (H | 1, D)."),
    ("v (L + S - 1,), b (L, S)", "v, b", (floats(9), floats(4, 5)), ValueError,
     "v has shape (9,); expected (L + S - 1,) = (8,), with b (4, 5) as (L, S)."),
    ("W (3H, H)", "W", (floats(5, 2),), ValueError,
     "W has shape (5, 2); expected (3H, H) = (6, 2)."),
    ("x (B, D) or (D,)", "x", (floats(),), ValueError,
     "x has shape (); expected (B, D) or (D,)."),
    ("x (B, D)", "x", (ints(2, 3),), TypeError,
     "x is int64; expected floating-point numbers. Write 1.0 for 1, or use "
     ".astype(np.float32)."),
    ("ids (B,) int", "ids", (floats(2),), TypeError,
     "ids are float32; expected integers. Convert the array with .astype(int)."),
    ("ids (B,) int", "ids, mask=None", (bools(2),), TypeError,
     "ids are bool; expected integers. A mask is passed as mask=."),
    ("m (B,) bool", "m", (ints(2),), TypeError,
     "m is int64; expected booleans. Compare the array with 0."),
    ("x (B, D), y (B, D)", "x, y", (floats(2, 3), floats(2, 3, dtype=float)), TypeError,
     "x is float32 and y float64; expected one dtype. Use .astype."),
    ("x (B, D)", "x", ("text",), TypeError,
     "x is of type str; expected an array or a Tensor."),
    ("x (B, D)", "x", ([[1.0], [1.0, 2.0]],), ValueError,
     "x is a list of rows that differ in length; expected rows of one length."),
    ("x (B, D)", "x", ([Tensor([1.0])],), TypeError,
     "x is a list of Tensors; expected one Tensor. Use minigrad.stack."),
]  # fmt: skip


@pytest.mark.parametrize("line, parameters, call, error, message", REFUSED)
def test_refused(line, parameters, call, error, message):
    f = accepting(line, parameters)
    for _ in range(2):  # a call that failed is not remembered
        with pytest.raises(error) as raised:
            f(*call)
        assert str(raised.value) == f"f: {message}"


def test_a_method_has_the_name_of_the_class_and_the_sizes_of_the_layer():
    Layer().forward(floats(2, 4), state=floats(2, 8))
    Deeper().forward(floats(2, 5))
    expected = r"expected \(B, width\) = \(B, {}\)\."
    with pytest.raises(
        ValueError, match="^Layer: x has shape .* " + expected.format(4)
    ):
        Layer().forward(floats(2, 5))
    with pytest.raises(ValueError, match="^Deeper.step: x .* " + expected.format(5)):
        Deeper().step(floats(2, 4))


def test_arguments_by_name_and_wrong_calls_of_python():
    shape = general(floats(7, 4), W_a=floats(4, 5), keys=floats(9, 5)).shape
    assert shape == (7, 9)
    for wrong in (lambda: general(floats(7, 4)), lambda: general(*[floats(3, 3)] * 4)):
        with pytest.raises(TypeError):
            wrong()
    assert general(queries=[[1.0]], keys=[[1.0]], W_a=[[1.0]]).item() == 1
    f = accepting("x (B, D), y? (D,)", "x, *, y=None", "(x, y)")
    assert isinstance(f(floats(2, 3), y=floats(3))[1], Tensor)
    with pytest.raises(ValueError, match="f: y has shape"):
        f(floats(2, 3), y=floats(4))


def test_numbers_and_lists_take_the_dtype_of_the_others():
    f = accepting("x (D,), y (D,), scale ()", "x, y, scale", "(y, scale)")
    y, scale = f(floats(2), [1.0, 2.0], 0.5)
    assert y.dtype == scale.dtype == np.float32
    y, scale = f(floats(2, dtype=float), [1.0, 2.0], 0.5)
    assert y.dtype == scale.dtype == np.float64


def test_other_kinds_arrive_as_arrays():
    f = accepting("ids (B,) int, m (B,) bool", "ids, m", "(ids, m)")
    ids, mask = f(Tensor([1, 2]), [True, False])
    assert type(ids) is np.ndarray and ids.dtype.kind == "i"
    assert type(mask) is np.ndarray and mask.dtype == bool


RETURNED = [  # right side, what fits it, what does not; x is (2, 3) of float32
    ("(B, D)", "x", "x.swapaxes(0, 1)"),
    ("y (B, E), z (E,)", "(x, x[0])", "(x, x[0, :2])"),
    ("y (B, D); or y (B, D), z (B,)", "(x, x[:, 0])", "(x, x[0])"),
    ("y (B, D) or None", "None", "x[0]"),
    ("y (B, D) or (D,)", "x[0]", "x[:, 0]"),
    ("y (B, D), h (B,), c (B,)", "(x, (x[:, 0], x[:, 1]))", "(x, x[:, 0])"),
    ("i (B,) int", "np.zeros(2, int)", "x[:, 0]"),
    ("y (B, D)", "x", "x.astype(np.float64)"),
    ("state, y (B, D)", "({}, x)", "({}, x[0])"),
    ("()", "x.sum()", "x"),
]


def test_leading_axes_of_a_result_are_those_of_the_arguments():
    line = "x (..., D), y (..., D)  ->  z (..., D)"
    x, y = floats(2, 1, 3), floats(5, 3)
    accepting(line, "x, y", "x + y")(x, y)
    with pytest.raises(AssertionError, match=r"returned z \(2, 1, 3\)"):
        accepting(line, "x, y", "x")(x, y)


@pytest.mark.parametrize("right, fits, differs", RETURNED)
def test_results_are_checked_in_tests_alone(right, fits, differs):
    accepting(f"x (B, D)  ->  {right}", "x", fits)(floats(2, 3))
    wrong = accepting(f"x (B, D)  ->  {right}", "x", differs)
    with pytest.raises(AssertionError, match="^f returned "):
        wrong(floats(2, 3))
    check_results(False)
    wrong(floats(2, 3))


def test_a_wrapped_line_ends_where_no_comma_ends_it():
    f = accepting(
        "Do it.\n\n    x (B, D),\n    y (D,)\n        ->  z (B, D),\n    w (D,)\n"
        "    x   what it is", "x, y", "(x, y)"
    )  # fmt: skip
    assert shape_line(f) == ("x (B, D), y (D,)", "z (B, D), w (D,)")
    f(floats(2, 3), floats(3))


def test_a_right_side_in_prose_is_not_checked():
    assert accepting("x (B,)  ->  a table of sines", "x").contract().results is None
    assert general.contract().results is not None


REFUSED_LINES = [
    ("x (B, D), z (D,)  ->  y", "'z', which is not a parameter"),
    ("The result, without a line.", "found no shape line"),
    ("x (B, f(D))  ->  y", "not a size|not a shape"),
    ("x (B, D) whole  ->  y", "not a shape"),
    ("x (..., D, ...)  ->  y", "dots twice"),
    ("x (B,), h (B,)  ->  y", r"write h\?"),
]


@pytest.mark.parametrize("line, message", REFUSED_LINES)
def test_a_wrong_line_is_refused_when_it_is_parsed(line, message):
    def f(x, h=None):
        pass

    f.__doc__ = line
    for parse in (shapes(f).contract, lambda: shapes(f)([1.0])):
        with pytest.raises(ValueError, match=f"f: .*({message})"):
            parse()


def test_an_operation_keeps_its_attributes_and_its_signature():
    def double(x):
        """x (..., D)  ->  y (..., D)"""
        return 2 * x, lambda g: 2 * g

    op = lift(double)
    checked = shapes(op)
    assert checked.raw is double and checked.unchecked is op
    assert checked.__doc__ == double.__doc__
    assert str(inspect.signature(checked)) == "(x)"
    x = Tensor(floats(2, 3), requires_grad=True)
    checked(x).sum().backward()
    np.testing.assert_array_equal(x.grad, 2 * floats(2, 3))


def test_without_docstrings_nothing_is_checked():
    code = (
        "from minigrad import Tensor, linear\n"
        "from minigrad.shapes import shapes\n"
        "@shapes\n"
        "def f(x, ids, n=1):\n"
        "    '''x (3,), ids (B,) int'''\n"
        "    return x, ids\n"
        "print(f(1, ids=2), linear(Tensor([[2.0]]), Tensor([[3.0]])).item())\n"
    )
    done = subprocess.run(
        [sys.executable, "-OO", "-c", code], capture_output=True, text=True
    )
    assert done.stdout == "(1, 2) 6.0\n", done.stderr
