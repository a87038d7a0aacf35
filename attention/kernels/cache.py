"""Keep the machine code of the kernels between runs, in the user's cache.

There is a directory for each state of the kernels' source and each combination of
versions: numba itself looks only at the file of a kernel, and would keep using a kernel
after a helper in another file has changed. numba refuses a kernel whose source has
another path or time of change, so these are part of the state. It is always safe to
delete the whole cache.
"""

import contextlib
import functools
import hashlib
import os
import pathlib
import platform
import shutil

import numpy as np

PROJECT = "minigrad-attention"
KEPT = 4  # directories, the most recently used ones; the present one is among them


def cache_directory(dtype=""):
    """Return the directory for this source, these versions and a dtype, or None.

    dtype   its letter, "f" or "d"; "": the directory that holds both

    It is below NUMBA_CACHE_DIR where that is set, else below XDG_CACHE_HOME or
    ~/.cache. The directories whose last use is longest ago are removed. None: the
    directory cannot be written, and every process compiles anew.
    """
    base = base_directory()
    path = base / _key()
    try:
        (path / dtype).mkdir(mode=0o700, parents=True, exist_ok=True)
        os.utime(path)  # used now
    except OSError:
        return None
    with contextlib.suppress(OSError):  # another process may remove the same ones
        for old in sorted(base.iterdir(), key=os.path.getmtime)[:-KEPT]:
            discard(old)
    return path / dtype if os.access(path / dtype, os.W_OK) else None


def base_directory():
    """Return the directory of all states."""
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    return pathlib.Path(base or "~/.cache").expanduser() / PROJECT


def is_cached(kernel, path):
    """Return whether the directory has the kernel "package.module.function"."""
    module, function = kernel.rsplit(".", 2)[1:]
    return any(path.rglob(f"{module}.{function}-*.nbi"))


def discard(path):
    """Delete a directory of compiled kernels."""
    shutil.rmtree(path, ignore_errors=True)


@functools.cache
def _key():
    """Return a name that changes with the kernels' source, versions and settings."""
    from importlib.metadata import version

    cpu = os.environ.get("NUMBA_CPU_NAME"), os.environ.get("NUMBA_CPU_FEATURES")
    state = [platform.python_version(), np.__version__, version("numba"), cpu]
    for file in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        found = file.stat()
        state.append((str(file), found.st_mtime_ns, found.st_size))
    return hashlib.sha256(repr(state).encode()).hexdigest()[:20]
