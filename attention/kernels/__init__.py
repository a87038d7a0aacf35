"""The hot loops of attention, compiled by numba; each has a twin in NumPy.

    kernels.backend()                   which of the two runs: "numba" or "numpy"
    kernels.backend("numpy")            from now on the twins
    with kernels.backend("numpy"): ...  only inside the block
    kernels.threads(n)                  how many threads the compiled loops use

The environment variable ATTENTION_BACKEND chooses as well. The two give the same values
and gradients up to rounding. numba is imported when the first kernel runs, not before;
without it, or with NUMBA_DISABLE_JIT=1, the twins run and everything is only slower.

README.md lists the files, their twins, costs, and what was measured.
"""

from . import loops  # noqa: F401  (minigrad runs them from now on)
from .choice import backend, threads

__all__ = ["backend", "threads"]
