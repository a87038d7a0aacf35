"""Files and folders of a run: written whole, used by one command at a time."""

import contextlib
import os

from minigrad.files import write_whole

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None


def write_text(path, text):
    """Write ``text`` to ``path`` whole or not at all."""
    write_whole(path, lambda file: file.write(text.encode()))


def keep_earlier(folder, patterns):
    """Move the files of an earlier run in ``folder`` to a new subfolder of it.

    patterns   of the names that the command writes; the user's own files stay

    Prints the subfolder, ``earlier-1`` or the next free number, and returns it; None
    when there was nothing to move.
    """
    found = sorted(path for pattern in patterns for path in folder.glob(pattern))
    if not found:
        return None
    number = 1
    while (folder / f"earlier-{number}").exists():
        number += 1
    subfolder = folder / f"earlier-{number}"
    subfolder.mkdir()
    for path in found:
        path.rename(subfolder / path.name)
    print(f"the files of an earlier run were moved to {subfolder}")
    return subfolder


def free_path(path):
    """Return ``path``, or if it exists the next free name: cat.png, cat-2.png, …"""
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_stem(f"{path.stem}-{number}")
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
                    f"Another command is writing to {folder}. Wait until it has ended, "
                    "or choose another folder with --out."
                ) from None
        yield
    finally:
        os.close(descriptor)
