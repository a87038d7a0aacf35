"""The folders of the course and of the learner, and the hash of a file."""

import hashlib
import os
import pathlib

LESSONS = pathlib.Path(__file__).resolve().parent.parent
ROOT = LESSONS.parent


def work_folder():
    """Return the learner's folder: ``LESSONS_WORK``, or lessons/work."""
    chosen = os.environ.get("LESSONS_WORK")
    return pathlib.Path(chosen).expanduser().absolute() if chosen else LESSONS / "work"


def mirror_folder():
    """Return the folder of the second copy, which survives ``git clean -fdx``."""
    state = os.environ.get("XDG_STATE_HOME")
    state = pathlib.Path(state) if state else pathlib.Path.home() / ".local" / "state"
    # each work folder has its own mirror: two courses on one machine do not mix
    key = hashlib.sha256(os.fsencode(work_folder())).hexdigest()[:12]
    return state / "minigrad-lessons" / key


def shown(path):
    """Return ``path`` as the reader would type it, relative to the current folder."""
    path, here = pathlib.Path(path), pathlib.Path.cwd()
    # seen from /, "tmp/a" would read like a path that is wrong
    if here == here.parent or not path.is_relative_to(here):
        return str(path)
    return str(path.relative_to(here))


def hash_of(data):
    """Return the sha256 of bytes, or of the file at a path; "" if there is no file."""
    if isinstance(data, pathlib.Path):
        if not data.is_file():
            return ""
        data = data.read_bytes()
    return hashlib.sha256(data).hexdigest()
