"""No memory is kept longer than a gradient needs it, and none without recording."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import minigrad as mg
from minigrad import no_grad
from minigrad.graph import kept_arrays, reachable, recording

from .engine_cases import draw, leaf

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


def test_no_grad_as_a_decorator_with_brackets_and_without():
    for decorate in (no_grad, no_grad()):

        @decorate
        def double(x):
            """Twice x."""
            return x * 2

        assert not double(leaf([1.0])).requires_grad
        assert double.__doc__ == "Twice x."
    with pytest.raises(TypeError, match="no_grad takes a function or nothing, not 3."):
        no_grad(3)


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
