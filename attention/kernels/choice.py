"""Which implementation runs, and on how many threads."""

import importlib.util
import os

BACKENDS = ("numba", "numpy")


class _Chosen:
    """What was chosen, or None where nobody has chosen yet."""

    backend = None
    by_name = False  # somebody asked for this backend, so a missing one is an error
    threads = None


def backend(name=None):
    """The name of the backend in use; given a name, switch to it.

    The switch lasts, unless it is the head of a block: ``with backend("numpy"): ...``.
    The default is ATTENTION_BACKEND, else "numba" where it is installed and not
    disabled (NUMBA_DISABLE_JIT), else "numpy". Raises ValueError for an unknown name,
    and ImportError for "numba" where there is none.
    """
    if name is not None:
        return _Switch(_known(name, "backend"))
    if _Chosen.backend is None:
        asked = os.environ.get("ATTENTION_BACKEND")
        if asked:
            _Chosen.backend = _known(asked, "ATTENTION_BACKEND")
            _Chosen.by_name = True
        else:
            _Chosen.backend = "numba" if _installed() and not _disabled() else "numpy"
    return _Chosen.backend


def without_numba(error):
    """numba turned out not to load: use NumPy, unless numba was asked for by name."""
    if _Chosen.by_name:
        raise ImportError(
            f'The backend "numba" was asked for and numba does not load: {error}'
        ) from error
    _Chosen.backend = "numpy"


def threads(n=None):
    """How many threads the compiled loops use; given a number, use that many.

    The default is OMP_NUM_THREADS, as for the BLAS, else the number of cores that this
    process may use. The number changes the time and never a bit of the results.
    Raises ValueError unless n is a whole number of 1 or more.
    """
    if n is not None:
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise ValueError(
                f"threads: expected a whole number of 1 or more, found {n!r}."
            )
        _Chosen.threads = n
    elif _Chosen.threads is None:
        asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
        _Chosen.threads = int(asked) if asked.isdecimal() and int(asked) else _cores()
    return _Chosen.threads


class _Switch:
    """A choice that has been made, and on leaving the block is taken back."""

    def __init__(self, name):
        self._before = backend(), _Chosen.by_name
        _Chosen.backend, _Chosen.by_name = name, True

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        _Chosen.backend, _Chosen.by_name = self._before


def _known(name, source):
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
