"""No memory is kept longer than a gradient needs it, and none without recording."""

import asyncio
import gc
import threading
import weakref

import numpy as np
import pytest

import minigrad as mg
from minigrad import lift, no_grad
from minigrad.graph import reachable
from minigrad.overwriting import saved_arrays
from minigrad.recording import is_recording

from ..memory import peak_bytes
from .engine_cases import draw, leaf


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
    kept = [weakref.ref(a) for node in reachable(y._node) for a in saved_arrays(node)]
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
    # a handful of arrays, not n of them
    assert peak_bytes(loss.backward) < 8 * size * 8


def test_a_graph_copies_neither_leaves_nor_plain_arrays():
    x, a = leaf(np.ones(100_000)), np.ones(100_000)

    def call():
        x.data
        return x.reshape(10, -1) + a.reshape(10, -1)

    assert peak_bytes(call) < 1.1 * a.nbytes


def test_saved_arrays_finds_what_a_closure_holds():
    x, y = leaf(draw(3)), leaf(draw(3))
    kept = saved_arrays((x * y)._node)
    assert {id(a) for a in kept} == {id(x._data), id(y._data)}
    out = mg.exp(x)
    assert [a is out._data for a in saved_arrays(out._node)] == [True]

    @lift
    def nested(x):
        held = {"list": [x * 2, (x * 3,)]}

        def inner(g):
            return g * held["list"][0] * held["list"][1][0]

        return x * 1, lambda g: inner(g)

    arrays = saved_arrays(nested(leaf([1.0]))._node)
    assert sorted(a.sum() for a in arrays) == [2.0, 3.0]


# no_grad


def test_no_grad_records_nothing_and_changes_no_value():
    x = leaf(draw(3, 5))
    with no_grad():
        quiet = mg.softmax(x @ x.T + 1.0)
    assert quiet._node is None and not quiet.requires_grad
    assert np.array_equal(quiet.data, mg.softmax(x @ x.T + 1.0).data)


def test_no_grad_nests_and_survives_exceptions():
    quiet = no_grad()
    with quiet, quiet:
        with no_grad():
            assert not is_recording()
        assert not is_recording()
    assert is_recording()
    with pytest.raises(KeyError):
        with no_grad():
            raise KeyError
    assert is_recording()


@pytest.mark.parametrize("decorate", [no_grad, no_grad()])
def test_no_grad_as_a_decorator(decorate):
    @decorate
    def predict(x, depth=0):
        """Twice x."""
        return predict(x, depth + 1) if depth < 3 else x * 2

    assert predict.__name__ == "predict" and predict.__doc__ == "Twice x."
    assert not predict(leaf([1.0])).requires_grad
    assert is_recording()
    with pytest.raises(TypeError, match="a function or nothing; found 3"):
        no_grad(3)


def test_threads_and_tasks_pause_recording_for_themselves():
    seen, entered, done = [], threading.Event(), threading.Event()

    def other_thread():
        with no_grad():
            entered.set()
            done.wait(10)
            seen.append(is_recording())

    thread = threading.Thread(target=other_thread)
    thread.start()
    assert entered.wait(10) and is_recording()
    done.set()
    thread.join()
    assert seen == [False] and is_recording()

    async def evaluate():
        with no_grad():
            await asyncio.sleep(0)
            return is_recording()

    async def train():
        await asyncio.sleep(0)
        return is_recording()

    async def both():
        return await asyncio.gather(evaluate(), train(), evaluate())

    assert asyncio.run(both()) == [False, True, False]


def quiet_numbers():
    with no_grad():
        yield from range(3)


def test_generators_with_a_block_inside():
    """The block is over when the generator is closed, in any order."""
    first, second = quiet_numbers(), quiet_numbers()
    next(first), next(second)
    first.close()
    assert not is_recording()  # the second block is open
    second.close()
    assert is_recording()
    for _ in quiet_numbers():
        break
    assert is_recording()


async def coroutine():
    pass


async def async_generator():
    yield


@pytest.mark.parametrize("decorate", [no_grad, no_grad()])
@pytest.mark.parametrize("lazy", [quiet_numbers, coroutine, async_generator])
def test_functions_that_run_after_their_call_are_refused(decorate, lazy):
    with pytest.raises(TypeError, match=f"no_grad: {lazy.__name__} is a generator or"):
        decorate(lazy)


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
