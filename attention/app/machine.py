"""Choose the threads and the backend of a command, and name the library versions."""

import ctypes
import os
import pathlib
import platform

import numpy as np

from .. import kernels

BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
SHORT_RUN = 100  # fewer steps are less work than compiling kernels or new processes


def set_blas_threads(n):
    """Limit the matrix products of NumPy to ``n`` threads, here and in new processes.

    The BLAS reads its environment variable when NumPy is imported, so here the variable
    is only for new processes. In this process, a function sets the number in OpenBLAS,
    which is in NumPy's own wheels. Commands that train use one thread: the others wait
    in a busy loop on the cores that the kernels need. With two threads on two busy
    cores, a step of the reversal experiment took 4 to 8 times as long as with one.
    """
    os.environ.update(dict.fromkeys(BLAS, str(n)))
    for path in (pathlib.Path(np.__file__).parents[1] / "numpy.libs").glob("*blas*"):
        library = ctypes.CDLL(str(path))
        for prefix in ("scipy_openblas", "openblas"):
            for suffix in ("64_", ""):
                function = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
                if function is not None:
                    function(n)


def backend_for(steps):
    """Return a context in which short runs use NumPy and long ones compiled kernels.

    The kernels take about 10 seconds to compile when they are first used. Unless
    ATTENTION_BACKEND is set, the choice depends on the number of steps alone, so a
    resumed run makes the same one.
    """
    if steps < SHORT_RUN and not os.environ.get("ATTENTION_BACKEND"):
        return kernels.backend("numpy")
    return kernels.backend(kernels.backend())  # by name: small calls are compiled too


def versions():
    """Return the versions that the numbers depend on, besides the config."""
    from importlib import metadata  # slow to import

    found = {"python": platform.python_version(), "machine": platform.machine()}
    for package in ("numpy", "numba"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return found
