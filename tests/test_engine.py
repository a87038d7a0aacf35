"""The engine: what is recorded, how gradients flow back, what may not be touched."""

import gc
import itertools
import re
import sys
import tracemalloc
import weakref

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor, differentiable, lift, no_grad, unbroadcast
from minigrad.graph import flow, kept_arrays, reachable, recording
from minigrad.registry import OPS


def leaf(data, dtype=np.float64):
    return Tensor(np.asarray(data, dtype), requires_grad=True)


def draw(*shape, seed=0):
    return np.random.default_rng((seed, *shape)).normal(size=shape)


def grads(loss, *leaves):
    loss.backward()
    return [x.grad for x in leaves]


# Deep and wide graphs


def test_a_chain_of_100_000_operations():
    x = leaf([1.0, 2.0])
    for delete in ("after backward", "without backward"):
        y = x
        for _ in range(100_000):
            y = y + 1.0
        assert y.tolist() == [100_001.0, 100_002.0]
        if delete == "after backward":
            y.sum().backward()
            assert x.grad.tolist() == [1.0, 1.0]
        kept = weakref.ref(y._data)
        del y
        gc.collect()
        assert kept() is None
    assert sys.getrecursionlimit() <= 3000  # it is not the recursion limit that helped


def test_stacked_diamonds_visit_every_node_once():
    """2^40 paths, 81 nodes."""
    calls = []

    @lift
    def half(x):
        def backward(g):
            calls.append(1)
            return g * 0.5

        return x * 0.5, backward

    x = leaf(3.0)
    y = x
    for _ in range(40):
        y = half(y) + half(y)
    y.backward()
    assert len(calls) == 80
    assert x.grad == pytest.approx(1.0)


def test_visit_sees_each_node_when_its_gradient_is_complete():
    x = leaf([1.0, 2.0])
    y = x * 3.0
    z = (y * y + y).sum()
    seen = []
    flow(z._node, np.ones(()), visit=lambda node, g: seen.append((node.op, g.copy())))
    assert [op for op, _ in seen] == ["sum", "add", "mul", "mul"]
    assert seen[-1][1].tolist() == (2 * y.data + 1).tolist()


def random_graph(rng, size):
    """[(operation, indices of its inputs)]; the first three are leaves of size one."""
    nodes = []
    for n in range(3, size):
        kind = rng.choice(["add", "mul", "tanh", "mul_const"])
        # recent nodes and old ones: long chains with many joins
        pick = [
            int(i) if rng.random() < 0.5 else int(max(0, n - 1 - rng.integers(4)))
            for i in rng.integers(0, n, 2)
        ]
        nodes.append((str(kind), pick))
    return nodes


def run_forward_mode(nodes, values, seed):
    """Values and derivatives towards leaf ``seed``, carried along, without a graph."""
    v, d = list(values), [float(i == seed) for i in range(3)]
    for kind, (i, j) in nodes:
        if kind == "add":
            v.append(v[i] + v[j])
            d.append(d[i] + d[j])
        elif kind == "mul":
            v.append(v[i] * v[j] * 0.5)
            d.append((d[i] * v[j] + v[i] * d[j]) * 0.5)
        elif kind == "tanh":
            v.append(np.tanh(v[i]))
            d.append((1 - v[-1] ** 2) * d[i])
        else:
            v.append(0.7 * v[i])
            d.append(0.7 * d[i])
    return v[-1] + 0.1 * v[len(v) // 2], d[-1] + 0.1 * d[len(d) // 2]


def run_minigrad(nodes, leaves):
    v = list(leaves)
    for kind, (i, j) in nodes:
        if kind == "add":
            v.append(v[i] + v[j])
        elif kind == "mul":
            v.append(v[i] * v[j] * 0.5)
        elif kind == "tanh":
            v.append(mg.tanh(v[i]))
        else:
            v.append(0.7 * v[i])
    return v[-1] + 0.1 * v[len(v) // 2]


@pytest.mark.parametrize("seed", range(30))
def test_random_graph_equals_forward_mode(seed):
    rng = np.random.default_rng(seed)
    nodes, values = random_graph(rng, int(rng.integers(5, 60))), rng.normal(size=3)
    leaves = [leaf(v) for v in values]
    out = run_minigrad(nodes, leaves)
    out.backward()
    for i, x in enumerate(leaves):
        value, derivative = run_forward_mode(nodes, values, i)
        assert out.item() == pytest.approx(value, rel=1e-12)
        found = 0.0 if x.grad is None else x.grad
        # sums of up to some thousand paths, in another order
        assert found == pytest.approx(derivative, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_random_linear_graph_equals_the_sum_over_paths(seed):
    rng = np.random.default_rng(seed)
    tensors = [leaf(1.0), leaf(1.0)]
    edges = {}
    for _ in range(14):
        a, b = (tensors[i] for i in rng.integers(0, len(tensors), 2))
        u, w = rng.normal(size=2)
        tensors.append(u * a + w * b)
        edges[id(tensors[-1])] = ((a, u), (b, w))

    def along_paths(root, target):  # exponential, and plain
        if root is target:
            return 1.0
        return sum(w * along_paths(p, target) for p, w in edges.get(id(root), ()))

    tensors[-1].backward()
    for x in tensors[:2]:
        found = 0.0 if x.grad is None else x.grad
        assert found == pytest.approx(along_paths(tensors[-1], x), rel=1e-10, abs=1e-12)


def test_thousands_of_uses_of_one_leaf_accumulate():
    x, y = leaf(draw(7)), leaf(draw(7))
    total = x * 0.0
    for i in range(3000):
        total = total + (x * float(i) if i % 3 else x * y)
    total.sum().backward()
    assert x.grad == pytest.approx(sum(i for i in range(3000) if i % 3) + 1000 * y.data)
    assert y.grad == pytest.approx(1000 * x.data)


# Accumulation, freeing, and what backward refuses


def test_leaves_accumulate_over_backwards():
    x = leaf([1.0, 2.0])
    (x * x).sum().backward()
    first = x.grad
    (3 * x).sum().backward()
    assert x.grad.tolist() == [5.0, 7.0]
    assert x.grad is first  # added to in place
    x.zero_grad()
    assert x.grad is None


def test_retain_graph():
    x = leaf([1.0, 2.0])
    y = (x * x + x).sum()
    for n in (1, 2, 3):
        y.backward(retain_graph=True)
        assert x.grad.tolist() == [3.0 * n, 5.0 * n]
    y.backward()
    with pytest.raises(RuntimeError) as error:
        y.backward()
    assert str(error.value) == (
        "backward() reached sum, which an earlier backward() has freed. Pass "
        "retain_graph=True to the first backward(), or compute the value anew."
    )


def test_a_freed_part_of_a_graph_is_named():
    x = leaf([1.0, 2.0])
    shared = mg.exp(x)
    shared.sum().backward()
    with pytest.raises(
        RuntimeError, match=r"backward\(\) reached exp, which an earlier"
    ):
        (shared * 2).sum().backward()


def test_backward_of_more_than_one_number():
    y = leaf(draw(3, 5)) * 2
    with pytest.raises(
        RuntimeError, match=r"starts from one number; .* shape \(3, 5\)"
    ):
        y.backward()
    with pytest.raises(
        ValueError, match=r"of shape \(5,\) for a tensor of shape \(3, 5\)"
    ):
        y.backward(np.ones(5))


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_number_of_any_shape_needs_no_gradient(shape):
    x = leaf(np.full(shape, 3.0))
    (x * x).backward()
    assert x.grad.shape == shape and x.grad.item() == 6.0


def test_backward_with_a_gradient():
    x, g = leaf(draw(3, 5)), draw(3, 5, seed=1)
    for given in (g, Tensor(g), g.tolist(), g.astype(np.float32)):
        x.zero_grad()
        (x * 2).backward(given)
        assert np.array_equal(x.grad, 2 * np.asarray(given if given is not g else g))
    kept = g.copy()
    (x + 0.0).backward(g)
    x.grad[...] = 0  # nobody else's memory
    assert np.array_equal(g, kept)


def test_backward_without_a_graph():
    for y in (Tensor([1.0]) * 2, leaf([1.0]).detach(), no_grad()(mg.exp)(leaf([1.0]))):
        with pytest.raises(
            RuntimeError, match=r"shape \(1,\) without a graph: neither"
        ):
            y.backward()


def test_backward_of_a_leaf_is_its_gradient():
    x, g = leaf([1.0, 2.0]), np.array([3.0, 4.0])
    x.backward(g)
    x.backward(g)
    assert x.grad.tolist() == [6.0, 8.0] and g.tolist() == [3.0, 4.0]


def test_gradients_go_to_leaves_alone():
    x, c = leaf([1.0, 2.0]), Tensor([3.0, 4.0])
    y = x * c
    y.sum().backward()
    assert (y.grad, c.grad) == (None, None)
    assert x.grad.tolist() == [3.0, 4.0]


def test_no_two_gradients_share_memory():
    x, y, z = leaf(draw(3, 5)), leaf(draw(3, 5)), leaf(draw(15))
    out = x + y + z.reshape(3, 5)
    out.backward(np.ones((3, 5)))
    for a, b in itertools.combinations((x, y, z), 2):
        assert not np.may_share_memory(a.grad, b.grad)
    assert all(t.grad.flags.writeable for t in (x, y, z))
    x, y = leaf(draw(3, 5)), leaf(draw(3, 5))
    (x.T + y.T).backward(np.ones((5, 3)))  # two views of one gradient
    assert not np.may_share_memory(x.grad, y.grad)


# Freeing memory


def test_backward_frees_what_the_graph_saved():
    x = leaf(draw(7))
    y = mg.exp(x)
    kept = weakref.ref(y._data)
    z = (y * y).sum()
    del y
    assert kept() is not None  # mul keeps it
    z.backward()
    assert kept() is None
    assert z._node.parents == () and z._node.backward is None


def test_a_graph_without_backward_dies_with_its_result():
    x = leaf(draw(7))
    y = mg.tanh(mg.exp(x))
    kept = [weakref.ref(a) for node in reachable(y._node) for a in kept_arrays(node)]
    assert [ref() is not None for ref in kept] == [True, True]
    gc.disable()
    try:
        del y
        assert [ref() for ref in kept] == [None, None]  # no cycle to be collected
    finally:
        gc.enable()


def test_memory_falls_while_backward_runs():
    """A chain of n saved arrays: the gradients do not come on top of all of them."""
    n, size = 50, 100_000
    x = leaf(np.ones(size))
    y = x
    for _ in range(n):
        y = mg.tanh(y)
    loss = y.sum()
    del y
    tracemalloc.start()
    loss.backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * size * 8  # a handful of arrays, not n of them


def test_no_grad_keeps_nothing():
    x = leaf(draw(7))
    with no_grad():
        y = mg.exp(x)
    assert y._node is None and not y.requires_grad


# no_grad


def test_no_grad_nests_and_survives_exceptions():
    x = leaf([1.0])
    with no_grad():
        with no_grad():
            assert not (x * 2).requires_grad
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad
    quiet = no_grad()
    with quiet, quiet:
        assert not recording.on
    assert recording.on
    with pytest.raises(KeyError):
        with no_grad():
            raise KeyError
    assert recording.on


def test_no_grad_as_a_decorator():
    @no_grad()
    def predict(x, depth=0):
        """Say it."""
        if depth < 3:
            return predict(x, depth + 1)
        if depth > 5:
            raise ValueError
        return x * 2

    assert predict.__name__ == "predict" and predict.__doc__ == "Say it."
    assert not predict(leaf([1.0])).requires_grad
    assert recording.on
    with pytest.raises(ValueError):
        predict(leaf([1.0]), 6)
    assert recording.on


def test_values_are_the_same_without_recording():
    x = leaf(draw(3, 5))
    with no_grad():
        quiet = mg.softmax(x @ x.T + 1.0)
    assert np.array_equal(quiet.data, mg.softmax(x @ x.T + 1.0).data)


def test_detach():
    x = leaf([1.0, 2.0])
    y = x * x
    d = y.detach()
    assert not d.requires_grad and np.array_equal(d.data, y.data)
    (y + d * 10).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    again = d.requires_grad_()
    (again * 3).sum().backward()
    assert again.grad.tolist() == [3.0, 3.0]


# dtypes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x + 1,
        lambda x: 2.5 * x,
        lambda x: x / 3,
        lambda x: 1 / (x + 9.0),
        lambda x: x - np.float64(1.5),
        lambda x: np.float64(1.5) * x,
        lambda x: np.float64(1.5) - x,
        lambda x: np.int64(2) * x,
        lambda x: x * True,
        lambda x: x**2,
        lambda x: 2.0 ** x,
        lambda x: mg.maximum(x, 0),
        lambda x: mg.where(x > 0, x, 0.0),
        lambda x: mg.softmax(x @ x.T).mean(),
    ],
)  # fmt: skip
def test_dtype_is_kept(fn, dtype):
    x = leaf(draw(3, 5), dtype)
    y = fn(x)
    assert y.dtype == dtype
    y.backward(np.ones(y.shape))
    assert x.grad.dtype == dtype


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
    with pytest.raises(TypeError, match="A tensor holds numbers; this is None."):
        Tensor(None)


# Broadcasting


SHAPES = [
    ((), ()), ((), (3, 5)), ((1,), (3, 5)), ((5,), (3, 5)), ((1, 5), (3, 5)),
    ((3, 1), (3, 5)), ((1, 1), (3, 5)), ((3, 5), (3, 5)), ((1,), ()[:0] + (1,)),
    ((3, 1), (7, 3, 5)), ((7, 1, 5), (7, 3, 5)), ((1, 3, 1), (7, 3, 5)),
    ((1, 1, 1, 1), (2, 7, 3, 5)), ((0,), (3, 0)), ((1,), (3, 0)), ((3, 1), (3, 0)),
    ((1, 5), (0, 5)),
]  # fmt: skip


@pytest.mark.parametrize("shape, wide", SHAPES)
def test_unbroadcast_is_the_adjoint_of_broadcasting(shape, wide):
    """<broadcast(x), g> = <x, unbroadcast(g)>, entry by entry of x."""
    g = draw(*wide)
    expected = np.zeros(shape)
    source = np.broadcast_to(np.arange(np.prod(shape, dtype=int)).reshape(shape), wide)
    for index in np.ndindex(*wide):
        expected.reshape(-1)[source[index]] += g[index]
    found = unbroadcast(g, shape)
    assert found.shape == shape
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("shape, wide", [((3,), (5,)), ((3, 5), (5,)), ((2,), (3, 1))])
def test_unbroadcast_refuses_what_does_not_fit(shape, wide):
    says = f"A gradient of shape {wide} cannot belong to a tensor of shape {shape}"
    with pytest.raises(ValueError, match=re.escape(says)):
        unbroadcast(np.ones(wide), shape)


@pytest.mark.parametrize("shape, wide", SHAPES)
def test_broadcast_operands_get_gradients_of_their_shapes(shape, wide):
    x, y = leaf(draw(*shape)), leaf(draw(*wide, seed=1))
    g = draw(*wide, seed=2)
    (x * y).backward(g)
    assert x.grad == pytest.approx(unbroadcast(g * y.data, shape))
    assert y.grad == pytest.approx(g * x.data)


# Operations with several outputs, lists of tensors, optional inputs


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


def test_list_of_tensors():
    @lift
    def weighted(parts, k):
        return sum(i * p for i, p in enumerate(parts, 1)) * k, lambda g: (
            g * k,
            2 * g * k,
        )

    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    out = weighted([x, y * 1.0], 5)
    assert out.tolist() == [35.0, 50.0]
    out.sum().backward()
    assert x.grad.tolist() == [5.0, 5.0] and y.grad.tolist() == [10.0, 10.0]
    x.zero_grad()
    (mg.concat([x, np.zeros(2), x], axis=0) * np.arange(6.0)).sum().backward()
    assert x.grad.tolist() == [4.0, 6.0]


def test_needs_says_who_wants_a_gradient():
    told = []

    @lift
    def product(x, y, n):
        def backward(g, needs):
            told.append(needs)
            return g * y, g * x, None

        return x * y, backward

    x, c = leaf([1.0]), Tensor([2.0])
    product(x, c, 3).backward()
    product(c, x * 1.0, 3).backward()
    product(x, 2.0, 3).backward()
    assert told == [(True, False, False), (False, True, False), (True, False, False)]


def test_none_passes_through():
    @lift
    def shifted(x, bias):
        y = x if bias is None else x + bias
        return y * 1, lambda g: (g, None if bias is None else g)

    x, b = leaf([1.0]), leaf([2.0])
    (shifted(x, None) + shifted(x, b)).sum().backward()
    assert (x.grad.item(), b.grad.item()) == (2.0, 1.0)


def test_options_are_not_differentiated_and_raw_is_the_function():
    @lift
    def power(x, *, n=2):
        """x^n"""
        return x**n, lambda g: g * n * x ** (n - 1)

    x = leaf([3.0])
    power(x, n=3).backward()
    assert x.grad.item() == 27.0
    y, backward = power.raw(np.array([3.0]))
    assert y.item() == 9.0 and backward(np.ones(1)).item() == 6.0
    assert power.__name__ == "power" and power.__doc__ == "x^n"


# What a backward may not return


@pytest.mark.parametrize(
    "returned, kind, says",
    [
        (lambda g: (g[:1], g), ValueError,
         "The backward of bad returned a gradient of shape (1,) for an input of shape "
         "(2,), which does not broadcast to it."),
        (lambda g: (1.0, g), TypeError,
         "The backward of bad returned a float for a gradient; it returns an array, or "
         "a tuple of arrays and None."),
        (lambda g: (g,), ValueError,
         "The backward of bad returned 1 gradients for 2 inputs; None stands for no "
         "gradient."),
        (lambda g: (g, g, g), ValueError,
         "The backward of bad returned 3 gradients for 2 inputs; None stands for no "
         "gradient."),
    ],
)  # fmt: skip
def test_wrong_gradients_are_refused_by_name(returned, kind, says):
    @lift
    def bad(x, y):
        return x * y, returned

    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    with pytest.raises(kind) as error:
        bad(x, y).sum().backward()
    assert str(error.value) == says


def test_an_error_in_a_backward_says_where():
    @lift
    def bad(x):
        return x * 1, lambda g: 1 / 0

    with pytest.raises(ZeroDivisionError) as error:
        bad(leaf([1.0, 2.0])).sum().backward()
    assert error.value.__notes__ == ["(in the backward of bad, output shape (2,))"]


def test_a_list_of_gradients_will_do_and_trailing_none_may_be_left_out():
    @lift
    def product(x, y, name):
        return x * y, lambda g: [g * y, g * x]

    x, y = leaf([2.0]), leaf([3.0])
    product(x, y, "name").backward()
    assert (x.grad.item(), y.grad.item()) == (3.0, 2.0)


# Errors of the forward


@pytest.mark.parametrize(
    "call, kind, says",
    [
        (lambda x: x + np.ones(4), ValueError,
         r"add: .*\(3,5\) \(4,\).* \(inputs: float64 \(3, 5\), float64 \(4,\)\)"),
        (lambda x: x.sum(axis=2), ValueError,
         r"sum: axis 2 .*inputs: float64 \(3, 5\)"),
        (lambda x: x + "a", TypeError, r"add: .*inputs: float64 \(3, 5\), str\)"),
        (lambda x: x * None, TypeError, r"mul: .*inputs: float64 \(3, 5\), NoneType\)"),
        (lambda x: x.reshape(4, 4), ValueError, r"reshape: .*size 15 .*\(4,4\)"),
        (lambda x: x[7], IndexError, r"getitem: .*index 7"),
    ],
)  # fmt: skip
def test_bad_shapes_are_one_sentence_with_name_and_shapes(call, kind, says):
    for x in (leaf(draw(3, 5)), Tensor(draw(3, 5))):
        with pytest.raises(kind, match=says) as error:
            call(x)
        assert "\n" not in str(error.value)
        with no_grad(), pytest.raises(kind, match=says):
            call(x)


def test_a_sentence_of_the_operation_itself_is_left_as_it_is():
    @lift
    def picky(x):
        raise ValueError("picky: wants more.")

    with pytest.raises(ValueError, match=r"^picky: wants more\.$"):
        picky(leaf([1.0]))


# Overwriting values that a graph still needs


def overwrite_data(x):
    x.data[0] = 9.0


def overwrite_array(x):
    array = x.numpy()
    array *= 3


def overwrite_view(x):
    x.data.reshape(-1)[:1] = 9.0


def overwrite_detached(x):
    x.detach()[0] = 9.0


def subtract_from_data(x):
    x.data -= 1.0


def write_under_no_grad(x):
    with no_grad():
        x[0] = 9.0


WRITES = [
    overwrite_data,
    overwrite_array,
    overwrite_view,
    overwrite_detached,
    subtract_from_data,
    write_under_no_grad,
]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("handed_out_before", [True, False])
def test_overwriting_a_leaf_that_is_needed(write, handed_out_before):
    x = leaf([1.0, 2.0])
    if handed_out_before:
        x.data
    y = (x * x).sum()
    array = x._data
    write(x)
    assert not np.array_equal(array, [1.0, 2.0])
    with pytest.raises(RuntimeError) as error:
        y.backward()
    assert str(error.value) == (
        "The backward of mul needs a tensor of shape (2,) that was overwritten in "
        "place after mul used it. Change a copy instead, or call backward() before the "
        "change."
    )
    assert x.grad is None


@pytest.mark.parametrize("write", WRITES)
def test_overwriting_a_constant_that_is_needed(write):
    x, c = leaf([1.0, 2.0]), Tensor([3.0, 4.0])
    y = (x * c).sum()
    write(c)
    with pytest.raises(RuntimeError, match="The backward of mul needs a tensor"):
        y.backward()


def test_overwriting_through_a_recorded_view():
    x = leaf([[1.0, 2.0]])
    flat = x.reshape(2)
    y = (flat * flat).sum()
    x.data[0, 0] = 9.0
    with pytest.raises(RuntimeError, match="The backward of mul needs a tensor"):
        y.backward()


def test_what_has_no_graph_shares_no_memory():
    """Nobody could tell that a write to one is a write to the other."""
    c, x = Tensor([[3.0, 4.0]]), leaf([[1.0, 2.0]])
    with no_grad():
        views = [x.reshape(2), x.T, x[0], mg.reshape(x._data, (2,)), *mg.split(x, 2, 1)]
    for view in [c.reshape(2), c.T, c[0], *views]:
        assert not np.may_share_memory(view._data, c._data)
        assert not np.may_share_memory(view._data, x._data)
    flat = c.reshape(2)
    y = (x[0] * flat).sum()
    c[0, 0] = 9.0
    y.backward()
    assert x.grad.tolist() == [[3.0, 4.0]]


def test_plain_arrays_are_copied():
    x, a = leaf([1.0, 2.0]), np.array([3.0, 4.0])
    y = (x * a).sum()
    a[0] = 9.0
    y.backward()
    assert x.grad.tolist() == [3.0, 4.0]


def test_data_is_copied_in():
    a = np.array([1.0, 2.0])
    x = Tensor(a, requires_grad=True)
    a[0] = 9.0
    x.data = a
    a[0] = 5.0
    assert x.tolist() == [9.0, 2.0]


def test_replacing_data_is_no_overwriting():
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    x.data = np.array([7.0, 7.0])
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("write", WRITES)
def test_harmless_writes_are_allowed(write):
    x = leaf([1.0, 2.0])
    y = (-x + x).sum()  # neither keeps x
    write(x)
    y.backward()
    assert x.grad.tolist() == [0.0, 0.0]

    x.zero_grad()
    write(x)  # before it is used
    value = x._data.copy()
    y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == (2 * value).tolist()

    write(x)  # after the backward
    with pytest.raises(RuntimeError, match="has freed"):
        y.backward()


@pytest.mark.parametrize("write", WRITES)
def test_only_the_uses_before_a_write_are_refused(write):
    x = leaf([1.0, 2.0])
    before = x + 3.0  # keeps nothing of x
    write(x)
    value = x._data.copy()
    y = (before + x * x).sum()
    y.backward()
    assert x.grad.tolist() == (1 + 2 * value).tolist()

    z = mg.exp(x) * 2.0  # keeps its output, not x
    write(x)
    z.sum().backward()


def test_the_training_idiom():
    x = leaf([1.0, 2.0])
    array = x.data
    for _ in range(5):
        loss = (x * x).sum()
        loss.backward()
        x.data -= 0.1 * x.grad
        x.zero_grad()
    assert x.data is array  # in place
    assert x.tolist() == pytest.approx([0.8**5, 2 * 0.8**5])


def test_results_are_read_only():
    x = leaf([1.0, 2.0])
    y = x * 2
    for array in (y.data, y.numpy(), y.detach().data):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3.0
    with pytest.raises(
        RuntimeError, match="the result of mul; only a leaf's data can be"
    ):
        y.data = np.zeros(2)
    with pytest.raises(
        RuntimeError, match="Writing into the result of mul would change"
    ):
        y[0] = 3.0
    with pytest.raises(RuntimeError, match="Writing into a leaf would change a value"):
        x[0] = 3.0
    with pytest.raises(RuntimeError, match="gradients are switched on leaves"):
        y.requires_grad_()
    y += 1  # a new tensor under the same name
    assert y._node.op == "add"


def test_new_data_of_another_shape_or_dtype_drop_the_gradient():
    x = leaf([1.0, 2.0])
    (x * x).sum().backward()
    x.data = np.array([3.0, 4.0])
    assert x.grad.tolist() == [2.0, 4.0]
    x.data = np.array([3.0, 4.0], np.float32)
    assert x.grad is None and x.dtype == np.float32


def test_a_leaf_that_was_looked_at_costs_one_checksum_a_walk():
    """1000 uses of a large parameter: the walk back looks at its memory once."""
    looks = []

    class Watched(Tensor):
        __slots__ = ()

        def last_change(self):
            looks.append(1)
            return super().last_change()

    x = Watched(np.ones(10), requires_grad=True)
    y = x * 0.0
    for _ in range(100):
        y = y + x
    looks.clear()
    y.sum().backward()
    assert len(looks) == 1


def test_kept_arrays_finds_what_a_closure_holds():
    x, y = leaf(draw(3)), leaf(draw(3))
    kept = kept_arrays((x * y)._node)
    assert {id(a) for a in kept} == {id(x._data), id(y._data)}
    out = mg.exp(x)
    assert [a is out._data for a in kept_arrays(out._node)] == [True]

    @lift
    def nested(x):
        held = {"list": [x * 2, (x * 3,)]}

        def inner(g):
            return g * held["list"][0] * held["list"][1][0]

        return x * 1, lambda g: inner(g)

    assert sorted(a.sum() for a in kept_arrays(nested(leaf([1.0]))._node)) == [2.0, 3.0]


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


def test_scalars_out_of_tensors():
    assert float(Tensor([[2.5]])) == 2.5 and int(Tensor(3)) == 3
    assert bool(Tensor(0.0)) is False
    with pytest.raises(ValueError, match=r"item\(\) wants one value; .* shape \(2,\)"):
        Tensor([1.0, 2.0]).item()
    assert [t.tolist() for t in leaf([[1.0], [2.0]])] == [[1.0], [2.0]]
    assert len(leaf([1.0, 2.0])) == 2


def test_repr():
    x = leaf([1.0, 2.0])
    assert repr(x) == "Tensor([1., 2.], requires_grad=True)"
    assert repr(x * 2) == "Tensor([2., 4.], from=mul)"
    assert repr(Tensor(np.float32(1))) == "Tensor(1., dtype=float32)"


# The registry


def test_registered_operations_are_called_by_operators():
    assert OPS["add"] is mg.add
    assert (leaf([1.0]) + 1)._node.op == "add"


def test_a_second_operation_of_a_name_is_refused():
    first = OPS["tanh"]
    with pytest.raises(ValueError) as error:

        @differentiable
        def tanh(x):
            return x, lambda g: g

    assert str(error.value) == (
        f"An operation named 'tanh' exists already, in {first.__module__}; rename one "
        "of the two."
    )
    assert OPS["tanh"] is first
    differentiable(first.raw)  # the same one again, as when a module is reloaded
    OPS["tanh"] = first


def test_lift_does_not_register():
    before = dict(OPS)

    @lift
    def nobody_knows_me(x):
        return x * 1, lambda g: g

    assert OPS == before
