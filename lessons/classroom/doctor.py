"""``doctor``: what this machine has, and what may be in the way."""

import importlib
import importlib.metadata
import os
import platform
import sys
import tempfile

from .paths import mirror_folder, work_folder
from .screen import paint, say, whole, width

THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def doctor():
    """Print what there is; return 0, or 1 if something that is needed is missing."""
    good = True
    python = sys.version_info >= (3, 11)
    good &= _line(
        "python", platform.python_version(), python, "3.11 or later is needed"
    )
    for name, needed in (("numpy", True), ("matplotlib", False), ("numba", False)):
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            what = "it is needed" if needed else "some lessons will be without it"
            good &= _line(name, "not installed", not needed, what)
        else:
            good &= _line(name, version)
    try:
        numpy = importlib.import_module("numpy")
    except ImportError as error:
        return 1 - _line("numpy", str(error), False, "it cannot be loaded")
    eps = float(numpy.finfo(float).eps)
    good &= _line(
        "float64", f"eps {eps:.2e}", eps == 2.0**-52, "gradients need 2.2e-16"
    )
    chosen = [f"{n}={os.environ[n]}" for n in THREADS if n in os.environ]
    _line(
        "BLAS threads", ", ".join(chosen) or f"its own choice, {os.cpu_count()} cores"
    )
    good &= _folder("your folder", work_folder())
    _folder("its mirror", mirror_folder())
    cache = importlib.import_module("attention.kernels.cache").cache_directory()
    _line("kernel cache", str(cache), cache is not None, "compiled anew in each run")
    kind = f"{width()} columns" if sys.stdout.isatty() else "none: plain text"
    plain = ", NO_COLOR" if os.environ.get("NO_COLOR") else ""
    _line("terminal", f"{kind}, {sys.stdout.encoding}{plain}")
    return 0 if good else 1


def _folder(name, path):
    """Whether files can be written there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return _line(name, str(path))
    except OSError as error:
        return _line(name, str(path), False, f"cannot be written: {error.strerror}")


def _line(name, value, good=True, otherwise=""):
    word = paint("ok", "green") if good else paint("--", "red")
    head = f"  {word}  {name:<13}"
    if 20 + len(value) <= width():
        print(head, value)
    else:  # a path is not divided: it has a line to itself
        print(head.rstrip())
        say(whole(value), 6)
    if not good and otherwise:
        say(otherwise, 20)
    return good
