"""Files that are never half-written, and folders in which nothing is overwritten."""

import os
import pathlib
import tempfile


def write_text(path, text):
    """Write ``text`` to ``path`` whole or not at all."""
    path = pathlib.Path(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def make_folder(path):
    """Make the folder ``path`` and make sure that it can be written to.

    Raises ValueError, with the reason, when it cannot.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as problem:
        raise ValueError(
            f"Cannot write to {path}: {problem.strerror}. Choose another folder with "
            "--out."
        ) from None


def keep_earlier(folder, patterns):
    """Move what an earlier run left in ``folder`` into a new subfolder of it.

    Returns that subfolder, ``earlier-1`` or the next free number, or None when there
    was nothing to move.
    """
    found = sorted(p for pattern in patterns for p in folder.glob(pattern))
    if not found:
        return None
    number = 1
    while (folder / f"earlier-{number}").exists():
        number += 1
    aside = folder / f"earlier-{number}"
    aside.mkdir()
    for path in found:
        path.rename(aside / path.name)
    return aside
