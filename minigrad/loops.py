"""Replace a function by a compiled loop of another package, if one is installed.

    @replaceable
    def layer_norm(x, weight=None, bias=None, eps=1e-5): ...

The function is the definition. A compiled loop takes the same arguments and returns the
same; it returns NotImplemented for a call that it does not compute, and then the
function runs. minigrad has no such loops, and its code names no package that has. A
package with loops puts them into ``LOOPS`` in a module, and names the module in its
metadata (setup.cfg):

    [options.entry_points]
    minigrad.loops =
        attention = attention.kernels.loops

A call of ENOUGH numbers or more imports the modules. ``layer_norm.taught`` is the
function alone.
"""

import functools

LOOPS = {}  # {name of a function: its compiled loop}
ENOUGH = 10**5  # numbers: for fewer, no loop would be faster than the search


def replaceable(function):
    """Let a compiled loop in ``LOOPS`` compute what ``function`` computes."""
    name = function.__qualname__

    @functools.wraps(function)
    def faster(x, *args, **options):
        if getattr(x, "size", 0) >= ENOUGH:
            _import_packages()
        if name in LOOPS:
            result = LOOPS[name](x, *args, **options)
            if result is not NotImplemented:
                return result
        return function(x, *args, **options)

    faster.taught = function
    return faster


@functools.cache
def _import_packages():
    """Import the packages that have loops; the second call does nothing."""
    from importlib.metadata import entry_points  # slow to import

    for found in entry_points(group="minigrad.loops"):
        found.load()
