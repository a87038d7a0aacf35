"""Files and folders of a run: written whole, used by one command at a time."""

import contextlib
import os
import re

from minigrad.files import write_whole

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None

# of every command that trains: a folder with one of them holds a run
RUN_FILES = "results.json", "state", "best.npz", "last.npz", "metrics.jsonl"


def write_text(path, text):
    """Write ``text`` to ``path`` whole or not at all."""
    write_whole(path, lambda file: file.write(text.encode()))


def new_folder(folder, figures):
    """Make and return the folder of a new run: ``folder``, or the next free name.

    figures   patterns of the names of the pictures that the command draws

    If ``folder`` holds a run, or one of the pictures, the new run gets a folder of its
    own: runs/reversal-2, runs/reversal-3, … Its name is then printed.
    """
    if any(any(folder.glob(pattern)) for pattern in (*RUN_FILES, *figures)):
        earlier, folder = folder, free_path(folder)
        print(f"{earlier} holds an earlier run;\nthis run writes to {folder}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ValueError(
            f"--out is {folder}, which is a file or lies below a file; expected the "
            "name of a folder."
        ) from None
    return folder


def last_folder(folder, state):
    """Return the folder of the last run of ``folder``, ``folder``-2, …

    state   the file or folder in it that each save replaces: the last one saved counts
    """
    name = re.compile(re.escape(folder.name) + r"(-\d+)?")
    states = folder.parent.glob(f"*/{state}")
    saved = [path for path in states if name.fullmatch(path.parent.name)]
    last = max(saved, key=lambda path: path.stat().st_mtime_ns, default=folder / state)
    return last.parent


def free_path(path):
    """Return ``path``, or if it exists the next free name: cat.png, cat-2.png, …"""
    ending = "" if path.is_dir() else path.suffix
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name.removesuffix(ending)}-{number}{ending}")
    return free


@contextlib.contextmanager
def locked(folder):
    """Keep other commands from writing to ``folder``; raise ValueError if one does.

    The system releases the lock when the process ends, however it ends.
    """
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(
                    f"Another command is writing to {folder}. Wait until it has ended."
                ) from None
        yield
    finally:
        os.close(descriptor)
