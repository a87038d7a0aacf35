"""Where the machine code of the kernels is kept between runs.

In the user's cache (~/.cache), a directory for each state of the kernels' source and
each combination of versions. numba's own bookkeeping looks at the file of a loop alone,
and would go on using a loop after a helper of it, in another file, has changed.
"""

import hashlib
import os
import pathlib
import platform
import shutil
import tempfile

import numpy as np

PROJECT = "minigrad-attention"
KEPT = 4  # directories, the most recently used ones: other versions, other checkouts


def cache_directory():
    """The directory for this source and these versions; None if there can be none.

    It is below NUMBA_CACHE_DIR where the user has set that, else below the user's
    cache, else below the folder for temporary files. What is damaged in it is removed,
    and so are the directories beside it that have not been used for longest.
    """
    for base in _places():
        path = base / _key()
        try:
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _ours_alone(base):
                continue
            path.mkdir(exist_ok=True)
            with tempfile.TemporaryFile(dir=path):
                pass
            os.utime(path)  # used now
            _prune(base)
            _discard_damaged(path)
        except OSError:
            continue
        return path
    return None


def seal(path):
    """Write down what the files at ``path`` contain, for ``_discard_damaged``."""
    for file in _files(path):
        seal = _seal_of(file)
        if not seal.exists() or seal.read_text() != _digest(file):
            temporary = seal.with_suffix(f".{os.getpid()}")
            temporary.write_text(_digest(file))
            temporary.replace(seal)


def _places():
    if os.environ.get("NUMBA_CACHE_DIR"):
        yield pathlib.Path(os.environ["NUMBA_CACHE_DIR"]) / PROJECT
    users = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if os.path.isabs(users):
        yield pathlib.Path(users) / PROJECT
    user = getattr(os, "getuid", lambda: "user")()
    yield pathlib.Path(tempfile.gettempdir()) / f"{PROJECT}-{user}"


def _key():
    """A name that changes with the source of the kernels and with every version."""
    from importlib.metadata import version

    state = hashlib.sha256()
    for part in (platform.python_version(), np.__version__, version("numba")):
        state.update(part.encode() + b"\n")
    for file in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        state.update(file.read_bytes())
    return state.hexdigest()[:20]


def _ours_alone(base):
    """Whether nobody else can write there: what is loaded from a cache is executed."""
    if not hasattr(os, "getuid"):
        return True
    about = base.stat()
    return about.st_uid == os.getuid() and not about.st_mode & 0o022


def _prune(base):
    used = sorted(base.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in used[KEPT:]:
        shutil.rmtree(path, ignore_errors=True)


def _discard_damaged(path):
    """Remove files that do not contain what was once written.

    numba unpickles an index and executes what it refers to, and takes on trust that no
    byte has changed since; what it does not find it compiles anew.
    """
    for file in _files(path):
        try:
            sound = _seal_of(file).read_text() == _digest(file)
        except OSError:
            sound = False
        if not sound:
            file.unlink(missing_ok=True)


def _files(path):
    return [file for file in path.rglob("*") if file.suffix in (".nbi", ".nbc")]


def _seal_of(file):
    return file.with_name(file.name + ".sha256")


def _digest(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()
