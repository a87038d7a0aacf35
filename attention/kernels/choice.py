"""Choose what runs, compiled kernels or their NumPy twins, and on how many threads.

    backend("numba")     the compiled kernels, for float32 and float64
    backend("numpy")     always the twins
    nothing chosen       a kernel that is in the cache runs; a kernel that is not is
                         compiled when its twin has worked for about as long as
                         compiling takes

The twins give the same numbers up to rounding. So a program that promises equal bits,
such as a training that can be resumed, must not change from one to the other. At its
start it makes the default a choice: ``backend(backend())``.
"""

import importlib.util
import os
from typing import Any

BACKENDS = ("numba", "numpy")
COMPILE_NS = 3e9  # about the time to compile one kernel
TWIN_SLOWDOWN = 10  # about the time of a twin divided by that of its kernel
MOST_THREADS = 1000


class _Chosen:
    """The choices so far; None before the first one."""

    backend = None
    explicit = False  # chosen by name: kernels are compiled, even for a little work
    threads = None


_work_of_twins = {}  # {name of a kernel: nanoseconds that its twin has worked}


def backend(name: str | None = None) -> Any:
    """Return the name of the backend in use; with a name, switch to that backend.

    ``backend("numpy")`` lasts until the next switch, ``with backend("numpy"): ...``
    until the end of the block. The default is ATTENTION_BACKEND, else "numba" where it
    is installed and not disabled (NUMBA_DISABLE_JIT), else "numpy". Raises ValueError
    for an unknown name, and ImportError for "numba" where it is not installed.
    """
    if name is not None:
        return _Switch(_validated(name, "backend"))
    if _Chosen.backend is None:
        variable = os.environ.get("ATTENTION_BACKEND")
        if variable:
            _Chosen.backend = _validated(variable, "ATTENTION_BACKEND")
            _Chosen.explicit = True
        else:
            _Chosen.backend = "numba" if _installed() and not _disabled() else "numpy"
    return _Chosen.backend


def worth_compiling(kernel, nanoseconds):
    """Return whether to compile a kernel now, rather than run its twin once more.

    The work of the twin, this call included, is estimated and counted.

    nanoseconds   the time of this call if the kernel is compiled
    """
    if _Chosen.explicit:
        return True
    work = _work_of_twins.get(kernel, 0) + TWIN_SLOWDOWN * nanoseconds
    _work_of_twins[kernel] = work
    return work >= COMPILE_NS


def fall_back_to_twins(error):
    """Use the twins from now on, as numba does not load; raise if it was chosen."""
    if _Chosen.explicit:
        raise ImportError(
            f'The backend "numba" was chosen and numba does not load: {error}'
        ) from error
    _Chosen.backend = "numpy"


def threads(n=None):
    """Return how many threads the compiled kernels use; with a number, use that many.

    The default is the variable OMP_NUM_THREADS, else the number of cores that this
    process may use. The number changes the time and never a bit of the results.
    Raises ValueError unless n, or the variable, is a whole number of 1 or more.
    """
    if n is not None:
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise ValueError(
                f"threads: expected a whole number of 1 or more, found {n!r}."
            )
        _Chosen.threads = n
    elif _Chosen.threads is None:
        first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
        if first and not (first.isdecimal() and 1 <= int(first[:5]) <= MOST_THREADS):
            raise ValueError(
                f"OMP_NUM_THREADS is {first!r}; expected a whole number from 1 to "
                f"{MOST_THREADS}."
            )
        _Chosen.threads = int(first) if first else _cores()
    return _Chosen.threads


class _Switch:
    """A change of backend, at once; the end of a ``with`` block undoes it."""

    def __init__(self, name):
        self._before = backend(), _Chosen.explicit
        _Chosen.backend, _Chosen.explicit = name, True

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        _Chosen.backend, _Chosen.explicit = self._before


def _validated(name, source):
    if name not in BACKENDS:
        raise ValueError(
            f"{source}: there is no backend {name!r}; expected "
            f"{' or '.join(map(repr, BACKENDS))}."
        )
    if name == "numba" and not _installed():
        raise ImportError(
            f"{source}: numba is not installed; pip install numba, or use 'numpy'."
        )
    return name


def _installed():
    return importlib.util.find_spec("numba") is not None


def _disabled():
    return os.environ.get("NUMBA_DISABLE_JIT", "0").strip() not in ("", "0")


def _cores():
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
