"""Let another package replace a function of minigrad by a compiled loop.

    @replaceable
    def layer_norm(x, weight=None, bias=None, eps=1e-5): ...

The function is the definition. A compiled loop takes the same arguments and returns the
same; it returns NotImplemented for a call that it does not compute, and then the
function runs. minigrad has no such loops and imports no package that has. A package
that has some puts them into ``LOOPS`` in a module, and names the module in its metadata
(setup.cfg):

    [options.entry_points]
    minigrad.loops =
        attention = attention.kernels.loops

This module is imported when there was so much work that it pays. ``layer_norm.taught``
is the function alone.
"""

import functools
import threading

LOOPS = {}  # {name of a function: its compiled loop}
ENOUGH = 10**7  # numbers: 10 to 100 ms of work, and so about the time of the search

_numbers = 0  # in all calls so far; None after the search
_counting = threading.Lock()


def replaceable(function):
    """Let a compiled loop in ``LOOPS`` compute what ``function`` computes."""
    name = function.__qualname__

    @functools.wraps(function)
    def faster(x, *args, **options):
        if _numbers is not None:
            _count(x)
        if name in LOOPS:
            result = LOOPS[name](x, *args, **options)
            if result is not NotImplemented:
                return result
        return function(x, *args, **options)

    faster.taught = function
    return faster


def _count(x):
    """Count the numbers of x; after ENOUGH of them, import the packages with loops."""
    global _numbers
    size = getattr(x, "size", 1)
    with _counting:
        if _numbers is None:  # another thread has begun the search
            return
        _numbers += size
        enough = _numbers >= ENOUGH
        _numbers = None if enough else _numbers
    if enough:
        from importlib.metadata import entry_points  # slow to import

        for found in entry_points(group="minigrad.loops"):
            found.load()
