"""Compile Python loops to machine code when that saves time, once for each dtype.

    @kernel
    def scale(start: int, stop: int, x: reads(2), factor: float, y: writes(2)): ...

    loop = scale.on_threads(x.dtype, x.size)   for a call of x.size multiplications
    loop(len(x), x, 2.0, y)                    if loop is None, call the NumPy twin

A kernel is written once for float32 and float64. Its annotations are its signature, so
there is exactly one compiled version for each dtype: arrays are C-contiguous, and
floats have the dtype that is compiled for. Parameters that belong together are one
record: a NamedTuple with the same kind of annotations, whose arrays come from
``as_field``. README.md explains the compiler's flags.
"""

import contextlib
import functools
import sys
import threading
import time
import types
from typing import NamedTuple

import numpy as np

from .cache import base_directory, cache_directory, discard, is_cached
from .choice import fall_back_to_twins, is_compiled
from .memory import keep_freed_memory
from .pool import spread

EXACT_ORDER = {"contract", "nsz"}
ANY_ORDER = EXACT_ORDER | {"reassoc"}
REAL = {"f": "float32", "d": "float64"}  # NumPy's one-letter names of the dtypes

_compiling = threading.Lock()


class Array(NamedTuple):
    """The annotation of an array parameter; see ``reads`` and ``writes``."""

    axes: int
    kind: type
    written: bool
    layout: str


def reads(axes, kind=float, layout="C"):
    """Annotate an array that is only read, of floats, ints, bools or np.uint8.

    layout   "C" for C-contiguous, "A" for any strides (in a Helper)
    """
    return Array(axes, kind, False, layout)


def writes(axes, layout="C"):
    """Annotate an array of floats that is written."""
    return Array(axes, float, True, layout)


def as_field(array, dtype):
    """Return ``array`` as a record needs it: C-contiguous, writable, of this dtype."""
    if array.dtype == dtype and array.flags.carray:  # it is all of this already
        return array
    return np.require(array, dtype, ("C_CONTIGUOUS", "WRITEABLE"))


class Helper:
    """A function that kernels call. It may call helpers that its module has or imports.

    If its parameters are annotated as those of a kernel are, it is compiled once for
    each dtype. Otherwise it is compiled for each combination of argument types that it
    meets, as a part of the function that calls it (inlined).
    """

    def __init__(self, single, double=None, flags=EXACT_ORDER):
        self._functions = {"f": single, "d": double or single}  # by the keys of REAL
        self._flags = flags
        self._declared = {}

    def declared(self, numba, char):
        """Return what kernels call; ``compile`` compiles it. char is a key of REAL."""
        if char not in self._declared:
            self._declared[char] = self._declare(numba, char)
        return self._declared[char]

    def _declare(self, numba, char):
        function = self._functions[char]
        declare = numba.njit(
            nogil=True,
            fastmath=self._flags,
            error_model="numpy",
            forceinline=not function.__annotations__,
            no_cpython_wrapper=True,  # only kernels call it
            no_cfunc_wrapper=True,
        )
        return declare(_for_dtype(numba, function, char))

    def compile(self, numba, char):
        """Compile the function, and the helpers that it calls, for annotated types."""
        function, declared = self._functions[char], self.declared(numba, char)
        _compile_helpers(numba, function, char)
        if function.__annotations__ and not declared.signatures:
            declared.compile(_signature(numba.types, function, char))
            declared.disable_compile()  # for other types


class Generated(Helper):
    """A helper that make(numba, char) makes: a number, or instructions of LLVM."""

    def __init__(self, make):
        self._declare, self._declared = make, {}

    def compile(self, numba, char):
        """Do nothing: a kernel contains the number or the instructions."""


def any_order(function):
    """Declare a Helper whose sums may be taken in any order, so that they vectorise."""
    return Helper(function, flags=ANY_ORDER)


class Kernel:
    """A loop and its compiled versions, one for each dtype."""

    def __init__(self, function):
        self.function = function
        self._versions = {}

    def version(self, dtype, work=float("inf")):
        """Return the loop compiled for ``dtype``, or None when the twin should run.

        work   the multiplications of this call; by default enough to be compiled
        """
        char = dtype.char
        if char not in REAL or not dtype.isnative or not is_compiled(work):
            return None
        if char not in self._versions:
            try:
                import numba
            except Exception as error:  # a broken installation raises anything
                fall_back_to_twins(error)
                return None
            with _compiling:
                self._versions[char] = _compile(numba, self.function, char)
            keep_freed_memory()
        return self._versions[char]

    def on_threads(self, dtype, work):
        """Return a function (items, *arguments), or None when the twin should run.

        It calls the loop for all items, spread over threads if ``work``, the number of
        multiplications, is worth it.
        """
        loop = self.version(dtype, work)
        return None if loop is None else functools.partial(spread, loop, work)


def kernel(function):
    """Declare ``function`` a kernel. Nothing is compiled, and numba is not imported."""
    return Kernel(function)


def _compile(numba, function, char):
    for _ in range(2):
        path = cache_directory(char)
        try:
            return _build(numba, function, char, path)
        except Exception:  # a damaged file: delete the cache and make it again
            if path is None:
                raise
            discard(path)
    return _build(numba, function, char, None)  # the disk may be full


def _build(numba, function, char, path):
    """Compile ``function`` for one dtype, or load it from the cache at ``path``."""
    _use_wide_vectors(numba)
    compiler = numba.njit(
        _signature(numba.types, function, char),
        cache=path is not None,
        nogil=True,
        fastmath=ANY_ORDER,
        error_model="numpy",
        no_cfunc_wrapper=True,
    )
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(path or before)
    name = f"{function.__module__}.{function.__name__}"
    is_kept = path is not None and is_cached(name, path)
    if path is None:
        _explain_missing_cache()
    where = "once on this machine" if path is not None else "in each run"
    try:
        if is_kept or numba.config.DISABLE_JIT:  # there is nothing to compile
            return compiler(_for_dtype(numba, function, char))
        with _reported(f"{name.removeprefix('attention.kernels.')}, {where}"):
            _compile_helpers(numba, function, char)
            return compiler(_for_dtype(numba, function, char))
    finally:
        numba.config.CACHE_DIR = before


def _use_wide_vectors(numba):
    """Let loops use the 512 bits of AVX-512; by default, LLVM uses 256 of them.

    numba reads this setting once in each process, before it first compiles anything.
    """
    from numba.core.codegen import get_host_cpu_features

    if numba.config.CPU_FEATURES is None:  # NUMBA_CPU_FEATURES is not set
        features = get_host_cpu_features()
        if "+avx512f" in features:
            numba.config.CPU_FEATURES = f"{features},-prefer-256-bit"


@functools.cache
def _explain_missing_cache():
    """Print once that compiled loops are not kept, and what helps."""
    print(
        f"Compiled loops are not kept: {base_directory()} cannot be written.\n"
        "NUMBA_CACHE_DIR=FOLDER chooses another folder.", file=sys.stderr,
    )  # fmt: skip


@contextlib.contextmanager
def _reported(what):
    """Print a line about what is compiled in this block, with its seconds."""
    print(f"compiling {what}…", end=" ", file=sys.stderr, flush=True)
    start = time.perf_counter()
    try:
        yield
    finally:
        print(f"{time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)


def _helpers(function):
    """Return {name: Helper} of the helpers that ``function`` calls."""
    found = {
        name: function.__globals__.get(name) for name in function.__code__.co_names
    }
    return {name: item for name, item in found.items() if isinstance(item, Helper)}


def _compile_helpers(numba, function, char):
    """Compile the helpers of ``function``; the kernel contains them."""
    for helper in _helpers(function).values():
        helper.compile(numba, char)


def _for_dtype(numba, function, char):
    """Return ``function`` with the helpers that it calls, all for one dtype."""
    helpers = {
        name: helper.declared(numba, char)
        for name, helper in _helpers(function).items()
    }
    names, name = function.__globals__ | helpers, function.__name__
    return types.FunctionType(
        function.__code__, names, name, None, function.__closure__
    )


def _signature(types, function, char):
    """Translate the annotations of ``function`` to the types of numba."""
    real = getattr(types, REAL[char])
    scalars = {int: types.int64, float: real, bool: types.boolean}
    scalars[np.uint8] = types.uint8

    def numba_type(annotation, in_record=False):
        if isinstance(annotation, Array):
            axes, kind, written, layout = annotation
            # as_field makes every field writable, and numba does not convert fields
            readonly = not written and not in_record
            return types.Array(scalars[kind], axes, layout, readonly=readonly)
        if issubclass(annotation, tuple):  # a record
            fields = [numba_type(a, True) for a in annotation.__annotations__.values()]
            return types.BaseTuple.from_types(fields, annotation)
        return scalars[annotation]

    return tuple(map(numba_type, function.__annotations__.values()))
