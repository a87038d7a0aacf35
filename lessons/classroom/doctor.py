"""``doctor``: what this machine has, and what may be missing."""

import importlib.metadata
import os
import platform
import sys
import tempfile

from .paths import mirror_folder, work_folder
from .terminal import paint, say, unbroken, width

THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def doctor():
    """Print what there is; return 0, or 1 if a necessary part is missing."""
    python = platform.python_version()
    good = _line("python", python, sys.version_info >= (3, 11), "3.11 is necessary")
    for name in ("numpy", "matplotlib", "numba"):
        try:
            _line(name, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            _line(name, "not installed", False, f"pip install {name}")
            good &= name != "numpy"  # the others are useful, not necessary
    if importlib.util.find_spec("numpy") is None:
        return 1
    eps = float(importlib.import_module("numpy").finfo(float).eps)
    good &= _line(
        "float64", f"eps {eps:.2e}", eps == 2.0**-52, "gradients need 2.2e-16"
    )
    threads = [f"{n}={os.environ[n]}" for n in THREADS if n in os.environ]
    _line("BLAS threads", ", ".join(threads) or f"not set, {os.cpu_count()} cores")
    good &= _folder("your folder", work_folder())
    _folder("second copy", mirror_folder())
    cache = importlib.import_module("attention.kernels.cache").cache_directory()
    _line("kernel cache", str(cache), cache is not None, "each run compiles anew")
    terminal = f"{width()} columns" if sys.stdout.isatty() else "none: plain text"
    _line("terminal", f"{terminal}, {sys.stdout.encoding}")
    return 0 if good else 1


def _folder(name, path):
    """Print whether files can be written to a folder."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return _line(name, str(path))
    except OSError as error:
        return _line(name, str(path), False, f"cannot be written: {error.strerror}")


def _line(name, value, good=True, advice=""):
    word = paint("ok", "green") if good else paint("--", "red")
    head = f"  {word}  {name:<13}"
    if 20 + len(value) <= width():
        print(head, value)
    else:  # a long path has its own line, undivided
        print(head.rstrip())
        say(unbroken(value), 6)
    if not good:
        say(advice, 20)
    return good
