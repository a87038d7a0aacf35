"""From a Python loop to machine code: late, once for float32 and once for float64.

    @kernel
    def scale(start: int, stop: int, x: reads(2), factor: float, y: writes(2)): ...

    loop = scale.version(x.dtype)      None when NumPy's twin is to run
    loop(0, len(x), x, 2.0, y)

A kernel is written once for both dtypes. Its annotations are its signature: arrays are
C-contiguous, and floats have the dtype that is compiled for. An array that is only read
is declared read-only, which admits writable ones too, so no call ever compiles again. A
NamedTuple with such annotations holds several parameters (its arrays: ``as_field``).

The flags: error_model="numpy" lets a loop with a division vectorise (a Python division
would stop at every zero). Of fast-math, "reassoc" (sums in any order), "contract"
(fused multiply-add) and "nsz" are all it takes to vectorise; "nnan" and "ninf" are left
out, because NaN and infinity mean something here, and "arcp", because a division by way
of the reciprocal is rounded twice. nogil lets threads run side by side.
"""

import sys
import threading
import types
from typing import NamedTuple

import numpy as np

from .cache import cache_directory, seal
from .choice import backend, without_numba

EXACT_ORDER = {"contract", "nsz"}
ANY_ORDER = EXACT_ORDER | {"reassoc"}
REAL = {"f": "float32", "d": "float64"}  # NumPy's one-letter names of the dtypes

SECONDS = "5 to 15"  # the kernels of one program, in one dtype, on two cores

_announced = False
_one_at_a_time = threading.Lock()


class Array(NamedTuple):
    """A parameter of a kernel: a C-contiguous array of so many axes."""

    axes: int
    kind: type
    written: bool


def reads(axes, kind=float):
    """An array that a kernel only reads; of floats, or of ints or bools."""
    return Array(axes, kind, False)


def writes(axes):
    """An array of floats that a kernel writes to."""
    return Array(axes, float, True)


def as_field(array, dtype):
    """``array`` as it has to be in a NamedTuple, of which numba converts nothing."""
    return np.require(array, dtype, ("C_CONTIGUOUS", "WRITEABLE"))


class Helper:
    """A function that kernels call: written once for both precisions, or in two forms.

    It may call other helpers, by their names in its module.
    """

    def __init__(self, single, double=None):
        self._functions = {"f": single, "d": double or single}
        self._compiled = {}

    def compiled(self, numba, char):
        """What a kernel in the dtype ``char`` finds under the helper's name."""
        if char not in self._compiled:
            self._compiled[char] = self._compile(numba, char)
        return self._compiled[char]

    def _compile(self, numba, char):
        compiler = numba.njit(fastmath=EXACT_ORDER, error_model="numpy", nogil=True)
        return compiler(_for_dtype(numba, self._functions[char], char))


class Kernel:
    """A loop, and its compiled versions by dtype."""

    def __init__(self, function):
        self.function = function
        self._versions = {}

    def version(self, dtype):
        """The loop compiled for ``dtype``; None when NumPy's twin is to run instead."""
        if backend() != "numba" or dtype.char not in REAL or not dtype.isnative:
            return None
        found = self._versions.get(dtype.char)
        if found is None:
            try:
                import numba
            except Exception as error:  # whatever keeps it from loading
                without_numba(error)
                return None
            found = self._versions[dtype.char] = _compile(
                numba, self.function, dtype.char
            )
        return found


def kernel(function):
    """Declare ``function`` a kernel. Nothing is compiled, and numba is not imported."""
    return Kernel(function)


def _compile(numba, function, char):
    with _one_at_a_time:
        path = cache_directory()
        if path is not None:
            try:
                loop = _build(numba, function, char, path)
                seal(path)
                return loop
            except Exception:  # a full disk, a cache swept away: only slower
                pass
        return _build(numba, function, char, None)


def _build(numba, function, char, path):
    """Compile ``function`` for one dtype, or load it from the cache at ``path``."""
    from numba.core import event

    class Announcer(event.Listener):
        def on_start(self, event):
            _announce()

        def on_end(self, event):
            pass

    compiler = numba.njit(
        _signature(numba.types, function, char),
        cache=path is not None,
        nogil=True,
        fastmath=ANY_ORDER,
        error_model="numpy",
    )
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(path or before)
    try:
        with event.install_listener("numba:compile", Announcer()):
            return compiler(_for_dtype(numba, function, char))
    finally:
        numba.config.CACHE_DIR = before


def _announce():
    """Say, once, that somebody has to wait: numba is really starting to compile."""
    global _announced
    if not _announced:
        _announced = True
        print(
            f"compiling kernels (first time, about {SECONDS} s)…",
            file=sys.stderr,
            flush=True,
        )


def _for_dtype(numba, function, char):
    """``function``, but the helpers that it names are compiled for one dtype."""
    namespace = dict(function.__globals__)
    for name in function.__code__.co_names:
        if isinstance(namespace.get(name), Helper):
            namespace[name] = namespace[name].compiled(numba, char)
    return types.FunctionType(function.__code__, namespace, function.__name__)


def _signature(types, function, char):
    real = getattr(types, REAL[char])
    scalars = {int: types.int64, float: real, bool: types.boolean}

    def declared(parameter, field=False):
        if isinstance(parameter, Array):
            axes, kind, written = parameter
            readonly = not written and not field
            return types.Array(scalars[kind], axes, "C", readonly=readonly)
        if issubclass(parameter, tuple):  # a NamedTuple
            fields = [declared(p, True) for p in parameter.__annotations__.values()]
            return types.NamedTuple(fields, parameter)
        return scalars[parameter]

    return types.void(*map(declared, function.__annotations__.values()))
