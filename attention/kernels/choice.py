"""Choose what runs, compiled kernels or their NumPy twins, and on how many threads.

    backend("numba")     the compiled kernels, for float32 and float64
    backend("numpy")     always the twins
    nothing chosen       a call of WORTH_COMPILING multiplications or more is compiled

The twins give the same numbers up to rounding. What runs depends on the call alone: on
its sizes, and never on the calls before. A program whose calls are many and small, such
as a training, chooses "numba" at its start: ``backend(backend())``.
"""

import importlib.util
import os
from typing import Any

BACKENDS = ("numba", "numpy")
WORTH_COMPILING = 10**9  # multiplications: some tenths of a second for a twin
EXP = 20  # multiplications that take as long as an exponential, or as a few divisions
MOST_THREADS = 1000


class _Chosen:
    """The choices so far; None before the first one."""

    backend = None
    explicit = False  # chosen by name: kernels are compiled, even for a little work
    threads = None


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


def is_compiled(work):
    """Return whether a call of ``work`` multiplications is compiled."""
    return backend() == "numba" and (_Chosen.explicit or work >= WORTH_COMPILING)


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
