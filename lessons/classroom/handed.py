"""What a check hands over: copies, so that whatever an answer does to them is seen.

    theirs = sealed(graph)      lists and dicts anew, arrays that cannot be written to
    before = sealed(theirs)     what was handed over, to be compared afterwards
    changed(before, theirs)     whether the answer has put in, taken out, exchanged

What is neither array nor container is the same object in all of them: a Tensor whose
gradient is asked for later, a generator, a function.
"""

import copy

import numpy as np

CONTAINERS = list, dict, tuple
PLAIN = str, int, float, complex, np.generic  # equal is the same


def sealed(value):
    """A copy whose arrays cannot be written to; of lists and dicts, all the way down.

    A dict or list of another class stays one, with its attributes.
    """
    if isinstance(value, np.ndarray):
        if not value.flags.writeable and value.base is None:
            return value  # sealed before
        anew = value.copy()
        anew.flags.writeable = False
        return anew
    if type(value) is tuple:
        return tuple(map(sealed, value))
    if isinstance(value, list):
        anew = copy.copy(value)
        anew[:] = map(sealed, value)
        return anew
    if isinstance(value, dict):
        anew = copy.copy(value)
        for key, each in value.items():
            anew[key] = sealed(each)
        return anew
    return value


def changed(before, now):
    """Whether ``now`` holds other things than ``before``, a ``sealed`` copy of it."""
    if before is now:
        return False
    if type(before) is not type(now):
        return True
    if isinstance(before, dict):
        return before.keys() != now.keys() or any(
            changed(each, now[key]) for key, each in before.items()
        )
    if isinstance(before, CONTAINERS):
        return len(before) != len(now) or any(map(changed, before, now))
    return not (isinstance(before, PLAIN) and (before == now or before != before))


def first_changed(names, before, now):
    """The name of the first of some arguments that was changed, or None."""
    for k, (a, b) in enumerate(zip(before, now)):
        if isinstance(a, CONTAINERS) and changed(a, b):
            return names[k] if k < len(names) else f"argument {k + 1}"
    return None
