"""Measure an answer: memory, work and Python steps that it takes.

Nothing here reads a clock. A slow machine, or a busy one, changes no result.
"""

import contextlib
import inspect
import sys
import tracemalloc

import numpy as np

from .outcome import CheckFailed


@contextlib.contextmanager
def calls_of(my, *names):
    """Yield the list to which each call of these functions of the answer is added.

    Each is (name, arguments), wherever the function is called from.
    """
    calls, before = [], sys.getprofile()
    made = {name: inspect.unwrap(my.made[name]) for name in names}
    codes = {id(getattr(f, "__code__", None)): name for name, f in made.items()}

    def note(frame, event, arg):
        code = frame.f_code
        if event == "call" and id(code) in codes:
            parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            arguments = [frame.f_locals[name] for name in parameters]
            calls.append((codes[id(code)], arguments))

    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def peak_numbers(f, *args):
    """Return the most memory that f(*args) took, in numbers of 8 bytes."""
    tracemalloc.start()
    try:
        f(*args)
        return tracemalloc.get_traced_memory()[1] / 8
    finally:
        tracemalloc.stop()


def python_steps(f, *args):
    """Return how many lines Python runs in f(*args), and functions that it calls."""
    counted = 0

    def step(frame, event, arg):
        nonlocal counted
        counted += event in ("line", "call", "c_call")
        return step

    before = sys.gettrace(), sys.getprofile()
    sys.settrace(step)
    sys.setprofile(
        lambda frame, event, arg: event == "c_call" and step(frame, event, 0)
    )
    try:
        f(*args)
    finally:
        sys.setprofile(before[1])
        sys.settrace(before[0])
    return counted


class Counted(np.ndarray):
    """An array that counts the numbers that NumPy reads and writes on its behalf."""

    numbers = 0

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = [_plain(x) for x in inputs]
        if "out" in options:
            options["out"] = tuple(map(_plain, options["out"]))
        result = getattr(ufunc, method)(*plain, **options)
        Counted.numbers += sum(np.size(x) for x in (*inputs, result))
        return result.view(Counted) if isinstance(result, np.ndarray) else result

    def __array_function__(self, function, types, args, options):
        result = super().__array_function__(function, types, args, options)
        arrays = [*args, *options.values(), result]
        Counted.numbers += sum(x.size for x in arrays if isinstance(x, np.ndarray))
        return result


def _plain(x):
    return x.view(np.ndarray) if isinstance(x, Counted) else x


def work(f, *arrays):
    """Return the numbers that NumPy reads and writes in f(*arrays), and its steps."""
    Counted.numbers = 0
    steps = python_steps(f, *(x.view(Counted) for x in arrays))
    return max(Counted.numbers, 1), steps


class Endless(BaseException):
    """An answer ran more lines than it may; no Exception, which it might catch."""


@contextlib.contextmanager
def ends(my, tag, *sentences, lines=1_000_000):
    """Fail if the answer runs more of its lines than this inside the block."""

    def count(frame, event, arg):
        nonlocal lines
        if frame.f_code.co_filename != my.path:
            return None
        lines -= 1
        if lines < 0:
            raise Endless
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        yield
    except Endless:
        raise CheckFailed(tag, *my.last_call(), *sentences) from None
    finally:
        sys.settrace(before)
