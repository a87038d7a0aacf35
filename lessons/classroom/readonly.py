"""Read-only copies of arguments, so that an answer that writes into them is noticed.

    given = readonly(graph)      copies of lists and dicts, arrays that refuse writes
    before = readonly(given)     kept to be compared afterwards
    changed(before, given)       True if the answer added, removed or exchanged a part

A value that is neither an array nor a container stays the same object: a Tensor whose
gradient is read later, a generator, a function.
"""

import ast
import copy
import linecache
import traceback

import numpy as np

CONTAINERS = list, dict, tuple
PLAIN = str, int, float, complex, np.generic  # compared by value, not by identity


def readonly(value):
    """Return a copy whose arrays refuse writes; containers are copied all the way down.

    A subclass of dict or list keeps its class and its attributes.
    """
    if isinstance(value, np.ndarray):
        if not value.flags.writeable and value.base is None:
            return value  # a copy already: the same object, so that `changed` knows it
        value = value.copy()
        value.flags.writeable = False
    elif type(value) is tuple:
        value = tuple(map(readonly, value))
    elif isinstance(value, list):
        items, value = value, copy.copy(value)
        value[:] = map(readonly, items)
    elif isinstance(value, dict):
        items, value = value, copy.copy(value)
        for key in items:
            value[key] = readonly(items[key])
    return value


def changed(before, now):
    """Return whether ``now`` differs from ``before``, a ``readonly`` copy of it."""
    if before is now:
        return False
    if type(before) is not type(now):
        return True
    if isinstance(before, dict):
        return before.keys() != now.keys() or any(
            changed(before[key], now[key]) for key in before
        )
    if isinstance(before, CONTAINERS):
        return len(before) != len(now) or any(map(changed, before, now))
    return not (isinstance(before, PLAIN) and (before == now or before != before))


def first_changed(names, before, now):
    """Return the name of the first argument that was changed, or None."""
    for k, (a, b) in enumerate(zip(before, now)):
        if isinstance(a, CONTAINERS) and changed(a, b):
            return names[k] if k < len(names) else f"argument {k + 1}"
    return None


def wrote_into_argument(error, path):
    """Return whether the array that refused a write is an argument of the answer.

    error  NumPy's ValueError
    path   the learner's file, whose last line in the traceback is examined

    Most often it is. But ``np.broadcast_to`` and ``.diagonal`` return read-only views
    of the learner's own arrays. None if the line does not show which array it was.
    """
    walked = list(traceback.walk_tb(error.__traceback__))
    own = [step for step in walked if step[0].f_code.co_filename == path]
    frame, line = (own or walked)[-1]
    names = {**frame.f_globals, **frame.f_locals}
    for target in _written_expressions(frame.f_code.co_filename, line):
        array = names.get(_first_name(target))
        if isinstance(array, np.ndarray):
            while isinstance(array.base, np.ndarray):
                array = array.base  # the array whose memory a view shows
            return not array.flags.writeable
    return None


def _written_expressions(path, line):
    """Yield the expressions that a line of a file may write into, likeliest first."""
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):
        return
    nodes = [
        node
        for node in ast.walk(tree)
        if getattr(node, "lineno", line + 1) <= line <= node.end_lineno
    ]
    for node in nodes:
        if isinstance(node, ast.Assign):
            yield from (t for t in node.targets if isinstance(t, ast.Subscript))
        elif isinstance(node, ast.AugAssign):
            yield node.target
    for node in reversed(nodes):  # the innermost call first
        if isinstance(node, ast.Call):  # f(…, out=x), x.sort(), np.add.at(x, …)
            yield from (k.value for k in node.keywords if k.arg == "out")
            yield from (node.func, *node.args[:1])


def _first_name(node):
    """Return the name that x, x[0], x.T[0] and x.diagonal()[:] begin with."""
    while node is not None and not isinstance(node, ast.Name):
        node = getattr(node, "value", None) or getattr(node, "func", None)
    return node and node.id
