"""Files that are never half-written, and folders in which nothing is overwritten."""

import tempfile

from minigrad.files import write_whole


def write_text(path, text):
    """Write ``text`` to ``path`` whole or not at all."""
    write_whole(path, lambda file: file.write(text.encode()))


def make_folder(path, option="--out"):
    """Make the folder ``path``, of ``option``, and make sure that it can be written to.

    Raises ValueError, with the reason, when it cannot.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as problem:
        raise ValueError(
            f"Cannot write to {path}: {problem.strerror}. Choose another folder with "
            f"{option}."
        ) from None


def keep_earlier(folder, patterns):
    """Move what an earlier run left in ``folder`` into a new subfolder of it.

    patterns   of the names that the command writes, and of no others: the folder may be
               one in which the user has files too

    Prints where they went. Returns that subfolder, ``earlier-1`` or the next free
    number, or None when there was nothing to move.
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
    print(f"the files of an earlier run were moved to {aside}")
    return aside
