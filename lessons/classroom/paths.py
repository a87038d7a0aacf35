"""Where things are: the course, the learner's folder, and the mirror of its history."""

import hashlib
import os
import pathlib

LESSONS = pathlib.Path(__file__).resolve().parent.parent
ROOT = LESSONS.parent


def work_folder():
    """The learner's folder: ``LESSONS_WORK``, or lessons/work."""
    chosen = os.environ.get("LESSONS_WORK")
    return pathlib.Path(chosen).expanduser().absolute() if chosen else LESSONS / "work"


def mirror_folder():
    """A second place for snapshots, which outlives ``git clean -fdx``."""
    state = os.environ.get("XDG_STATE_HOME")
    state = pathlib.Path(state) if state else pathlib.Path.home() / ".local" / "state"
    # one mirror for each work folder: two courses on one machine do not mix
    key = hashlib.sha256(os.fsencode(work_folder())).hexdigest()[:12]
    return state / "minigrad-lessons" / key


def shown(path):
    """``path`` as the reader would type it: relative to the folder they are in."""
    path = pathlib.Path(path)
    try:
        here = pathlib.Path.cwd()
        # from / it would be tmp/…, which reads like an absolute path that is wrong
        return str(path if here == here.parent else path.relative_to(here))
    except (ValueError, OSError):
        return str(path)


def hash_of(data):
    """The sha256 of some bytes, or of the file at a path; of no file, ''."""
    if isinstance(data, pathlib.Path):
        try:
            data = data.read_bytes()
        except OSError:
            return ""
    return hashlib.sha256(data).hexdigest()
