"""Call a learner's function: with read-only copies, and a sentence if it raises.

Each call has a record, so that a report can show where a result came from. Arguments
are copies whose arrays refuse writes; lists and dicts are compared after the call. A
value that is neither an array nor a container stays the same object: a Tensor whose
gradient is read later, a generator, a function.
"""

import contextlib
import copy
import functools
import inspect
import operator
import re
import traceback

import numpy as np

from lessons.stubs import NotWritten
from minigrad import Tensor

from .outcome import CheckFailed

CONTAINERS = list, dict, tuple
PLAIN = str, int, float, complex, np.generic  # compared by value, not by identity
REDUCES = re.compile(r"\b(sum|mean|max|min|std|var|norm)\(")

_dtype_name = functools.cache(str)  # NumPy builds it anew each time, slowly


class Calls:
    """The calls of one answer.

    path     the learner's file
    log      the calls as text: each when it begins, and again when it ends
    running  those that have not returned yet
    own      {name of a function: parameters whose arrays it may change in place}
    """

    def __init__(self, path, own=()):
        self.path, self.log, self.running, self.own = str(path), [], [], dict(own)

    def wrap(self, name, function, of=""):
        """Return ``function`` wrapped; ``of`` is the call that returned it, as text."""
        names = parameters(function) or []

        def wrapper(*args, **options):
            __tracebackhide__ = True
            text = call_text(name, names, args, options)
            text += f" of {of}" if of else ""
            more = [f"number {k + 1}" for k in range(len(names), len(args))]
            labels = [*names[: len(args)], *more, *options]
            own = self.own.get(name, ())
            args = [_given(a, label in own) for label, a in zip(labels, args)]
            options = {key: _given(a, key in own) for key, a in options.items()}
            before = [readonly(a) for a in (*args, *options.values())]
            self.log.append(text)
            self.running.append(text)
            try:
                result = self._call(text, function, *args, **options)
            finally:
                self.running.pop()
                self.log.append(text)
            for label, a, b in zip(labels, before, [*args, *options.values()]):
                if isinstance(a, CONTAINERS) and is_changed(a, b):
                    sentence = f"changes its argument {label}"
                    raise CheckFailed("mutates-input", text, sentence)
            if isinstance(result, list) and len(result) == 2 and callable(result[1]):
                result = tuple(result)  # [array, backward] is a pair as well
            if isinstance(result, tuple):  # (array, backward): wrap the backward too
                result = tuple(
                    self.wrap(_inner_name(f), f, text) if callable(f) else f
                    for f in result
                )
            return result

        wrapper.__name__ = name
        wrapper.__wrapped__ = function  # its signature
        return wrapper

    def _call(self, text, function, *args, **options):
        """Call ``function``; turn an exception into a ``CheckFailed``."""
        __tracebackhide__ = True
        try:
            return function(*args, **options)
        except (NotWritten, CheckFailed):
            raise
        except (Exception, SystemExit) as error:
            where = [*getattr(error, "__notes__", []), *own_line(error, self.path)]
            said = f"{type(error).__name__}: {error}".removesuffix(": ")
            tag = "recursion" if isinstance(error, RecursionError) else "raises"
            if isinstance(error, MemoryError):
                tag, said = "memory", f"MemoryError: {error}".removesuffix(": ")
            if isinstance(error, ValueError) and "read-only" in str(error):
                tag = "mutates-input"
                said = "writes into an array that it was given, or into a read-only view"
            if lost := _lost_axis(said):
                tag = "no-keepdims" if _is_reduced(where) else tag
                where = [*where, lost]
            raise CheckFailed(tag, text, said, *where) from error


def array_of(value):
    """Return a number, an array, or a list of rows of one length as an array, or None."""
    try:
        array = np.asarray(as_numbers(value))
    except (ValueError, TypeError):  # rows of different lengths
        return None
    return array if array.dtype.kind in "biuf" else None


def as_numbers(value):
    """Return the array of a tensor; other values as they are."""
    return value.numpy() if isinstance(value, Tensor) else value


def _lost_axis(said):
    """Return a sentence if NumPy cannot broadcast because an axis is missing, or None.

    The shapes (3, 5) and (3,) are those of an array and of its sums over axis 1.
    """
    if "could not be broadcast together with shapes" not in said:
        return None
    found = re.findall(r"\(([\d,]+)\)", said)[:2]
    short, long = sorted(
        (tuple(int(n) for n in text.split(",") if n) for text in found), key=len
    )
    for axis in range(1, len(long)):
        if short == long[:axis] + long[axis + 1 :]:
            kept = (*long[:axis], 1, *long[axis + 1 :])
            return f"{short} is {long} without axis {axis}; {kept} would broadcast"


def own_line(error, path):
    """Return [the last line of the learner's file in the traceback of ``error``]."""
    return [
        f"line {frame.lineno}:  {frame.line}"
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path)
    ][-1:]


def _is_reduced(where):
    """Return whether a line has a sum, mean or maximum without keepdims."""
    return any(REDUCES.search(line) and "keepdims" not in line for line in where)


def _given(value, is_own):
    """Return the copy of an argument that a function receives."""
    return value.copy() if is_own and isinstance(value, np.ndarray) else readonly(value)


def readonly(value, copies=None):
    """Return a copy whose arrays refuse writes; containers are copied all the way down.

    A subclass of dict or list keeps its class and its attributes.

    copies  {}: other objects are copied as well, as they are now, those of an optimizer
            with the parameters that it moves
    """
    if isinstance(value, np.ndarray):
        if not value.flags.writeable and value.base is None:
            return value  # a copy already: the same object, for `is_changed`
        value = value.copy()
        value.flags.writeable = False
    elif type(value) is tuple:
        value = tuple(readonly(each, copies) for each in value)
    elif isinstance(value, list):
        items, value = value, copy.copy(value)
        # a curve may have thousands of numbers
        if not all(issubclass(kind, PLAIN) for kind in {*map(type, items)}):
            value[:] = [readonly(each, copies) for each in items]
    elif isinstance(value, dict):
        items, value = value, copy.copy(value)
        for key, item in items.items():
            value[key] = item if isinstance(item, PLAIN) else readonly(item, copies)
    elif copies is not None and not isinstance(value, PLAIN):
        with contextlib.suppress(Exception):  # a tensor with a graph stays
            value = copy.deepcopy(value, copies)
    return value


def is_changed(before, now):
    """Return whether ``now`` differs from ``before``, a ``readonly`` copy of it."""
    if before is now:
        return False
    if type(before) is not type(now):
        return True
    if isinstance(before, dict):
        return before.keys() != now.keys() or any(
            is_changed(before[key], now[key]) for key in before
        )
    if isinstance(before, CONTAINERS):
        if len(before) != len(now):
            return True
        same = all(map(operator.is_, before, now))
        return not same and any(map(is_changed, before, now))
    return not (isinstance(before, PLAIN) and (before == now or before != before))


def parameters(function):
    """Return the names of a function's positional parameters; None if unknown."""
    if inspect.isfunction(function) and not hasattr(function, "__wrapped__"):
        code = function.__code__  # gradient checks wrap thousands of backwards
        return list(code.co_varnames[: code.co_argcount])
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )
    return [p.name for p in found if p.kind in kinds]


def call_text(name, names, args, options=None):
    """Return the text of a call: local_mask(S=5, T=5, D=1, center=4 - t)"""
    parts = [
        f"{names[k]}={brief(a)}" if k < len(names) else brief(a)
        for k, a in enumerate(args)
    ]
    parts += [f"{key}={brief(a)}" for key, a in (options or {}).items()]
    return f"{name}({', '.join(parts)})"


def brief(value):
    """Return a value in a few characters: small arrays in full, others by shape.

    An object that prints as its address alone is named by its class.
    """
    if isinstance(value, np.ndarray):
        if value.size > 6 or value.ndim > 1:
            return f"{_dtype_name(value.dtype)} {value.shape}"
        style = ".4g" if value.dtype.kind == "f" else ""
        return f"[{', '.join(f'{v:{style}}' for v in value.reshape(-1).tolist())}]"
    if isinstance(value, Tensor):
        return f"Tensor {value.shape}"
    if isinstance(value, np.random.Generator):
        return "rng"  # its repr holds an address
    if type(value).__repr__ is object.__repr__:
        return type(value).__name__
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    text = f"{value:.6g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= 40 else text[:37] + "…"


def _inner_name(function):
    """Return the name for a function that a call has returned."""
    name = getattr(function, "__name__", "")
    return name if name.isidentifier() else "backward"
