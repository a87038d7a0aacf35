"""Measure an answer: memory, work and Python steps that it takes, digits that it has.

Nothing here reads a clock. A slow machine, or a busy one, changes no result.
"""

import contextlib
import functools
import inspect
import linecache
import re
import sys
import tracemalloc

import numpy as np

from lessons.classroom.checking import hypotheses
from lessons.classroom.checking.runner import UNKNOWN
from lessons.classroom.steps import CheckFailed

COARSE = 1e-5  # a larger error is no rounding, and has another cause
DIGITS = 1e-12  # a formula has 15 digits, a difference quotient has about 10


@contextlib.contextmanager
def calls_of(my, *names):
    """Yield the list to which each call of these functions is added, by the learner.

    Each is (name, arguments). Only calls from the learner's own functions count.
    """
    calls, before = [], {name: my.made[name] for name in names}

    def watched(name):
        @functools.wraps(before[name])
        def f(*args, **options):
            calls.append((name, [*args, *options.values()]))
            return before[name](*args, **options)

        return f

    my.made.update({name: watched(name) for name in names})
    try:
        yield calls
    finally:
        my.made.update(before)


@contextlib.contextmanager
def without_loops():
    """Compare a failure in this block with no edit of the exercise in loops (twins.py).

    For what an answer costs: the loops are slow, and cost something else. And for a
    small example, in which different mistakes give the same numbers.
    """
    try:
        yield
    except CheckFailed as failure:
        failure.place = None
        raise


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


def has_all_digits(my, found, want, name):
    """Fail unless a gradient has the digits of a formula; differences have fewer."""
    my.shape(found, np.shape(want))
    found, want = np.asarray(found, float), np.asarray(want, float)
    off = np.abs(found - want).max() / np.abs(want).max()
    error = f"found an error of {off:.1g} of the largest entry"
    my.holds(off <= COARSE, "unknown", f"expected {name}", error, UNKNOWN)
    if off >= DIGITS:
        text = "".join(linecache.getlines(my.path))
        tag, sentence = hypotheses.of_nearly(found, want, text)
        line = line_with_epsilon(text)
        if tag == "nearly" and line:
            tag, sentence = "epsilon", f"{error}; {line}"
        is_named = tag in ("float32", "epsilon")
        my.holds(not is_named, tag, f"expected {name} with 12 digits", sentence)
    my.holds(
        off < DIGITS,
        "differences",
        f"expected {name} with 12 digits, as a formula gives them",
        f"{error}, as differences of the forward have",
    )


def exact_gradients(my, mine, right, inputs, rng):
    """Fail unless all gradients are right, with the digits of a formula.

    mine, right   the learner's operation, and that of the exercise in loops: arrays ->
                  (array, backward)
    """
    my.gradients(mine, inputs)
    y, backward = mine(*inputs)
    g = rng.normal(size=np.shape(y))
    names = inspect.signature(mine).parameters
    found, want = (
        f if isinstance(f, (tuple, list)) and len(f) == len(inputs) else (np.asarray(f),)
        for f in (backward(g), right(*inputs)[1](g))
    )
    for name, a, b in zip(names, found, want, strict=True):
        has_all_digits(my, a, b, f"d_{name}")


def line_with_epsilon(text):
    """Return the first line that adds a small number which is no step, or None.

    The step of a difference quotient stands elsewhere as well, where it is no summand.
    """
    for number, line in enumerate(text.splitlines(), 1):
        if added := re.search(r"\+ *(\d\S*?e-\d+)", line):
            again = re.findall(rf"(\+ *)?{re.escape(added[1])}\b", text)
            if all(again):
                return f"line {number}:  {line.strip()}"


def no_epsilon(my, added, divisor, call):
    """Fail if a small number was added to a divisor.

    added  what was added to it, as the entries of the result show
    """
    mean = np.mean(added)
    my.holds(
        call,
        not 1e-13 < mean < 1e-3 or np.ptp(added) > 0.1 * mean,
        f"{divisor})",
        f"{divisor} + {mean:.1g})",
        "epsilon",
    )


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
