"""Files that are kept twice: in the work folder and in a second folder far from it.

The second one, the mirror, survives ``git clean -fdx``; it is optional. Texts are in
.history/, each under its sha256.
"""

import contextlib
import hashlib
import os
import pathlib

from .catalogue import work_folder

HISTORY = ".history"


def mirror_folder():
    """Return the folder of the second copy: each work folder has its own."""
    state = os.environ.get("XDG_STATE_HOME")
    state = pathlib.Path(state) if state else pathlib.Path.home() / ".local" / "state"
    key = hashlib.sha256(os.fsencode(work_folder())).hexdigest()[:12]
    return state / "minigrad-lessons" / key


def add_line(name, line):
    """Add a line, as bytes, to the file ``name`` in both folders, with a single write."""
    _add_line(work_folder() / name, line)
    with contextlib.suppress(OSError):  # the second copy is optional
        _add_line(mirror_folder() / name, line)


def lines(name):
    """Return the lines of a file as bytes, from the longer of its two copies."""
    texts = [b""]
    for folder in (work_folder(), mirror_folder()):
        with contextlib.suppress(OSError):
            texts.append((folder / name).read_bytes())
    return max(texts, key=len).splitlines()  # a removed work folder is shorter


def store(text):
    """Store a text, as bytes, under its hash; return the hash."""
    sha = hash_of(text)
    write(work_folder() / HISTORY / sha, text)
    with contextlib.suppress(OSError):
        write(mirror_folder() / HISTORY / sha, text)
    return sha


def text_of(sha):
    """Return a stored text as bytes; None if both copies are gone or damaged."""
    for folder in (work_folder(), mirror_folder()):
        path = folder / HISTORY / sha
        if hash_of(path) == sha:
            return path.read_bytes()
    return None


def hash_of(data):
    """Return the sha256 of bytes, or of the file at a path; "" if there is no file."""
    if isinstance(data, pathlib.Path):
        if not data.is_file():
            return ""
        data = data.read_bytes()
    return hashlib.sha256(data).hexdigest()


def write(path, text):
    """Write bytes to ``path``, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_bytes(text)
    os.replace(partial, path)


def _add_line(path, line):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+b", buffering=0) as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            line = line if file.read() == b"\n" else b"\n" + line  # it was cut off
        file.write(line)
