"""The journal: what a learner did, and every text that an answer ever had.

journal.jsonl   one event a line; lines are added and never changed
.history/<sha>  the texts, named by their sha256

    {"t": 1767225600.0, "ex": "38.5", "event": "check", "work": sha, "check": sha,
     "step": "edges", "ok": false, "diag": "off-by-one"}

Everything is written twice, to the work folder and to a mirror that survives
``git clean -fdx``.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import time

from .catalogue import work_folder

NAME, HISTORY = "journal.jsonl", ".history"


def append(id, event, **facts):
    """Add one event to the journal, with a single write."""
    entry = {"t": round(time.time(), 3), "ex": id, "event": event, **facts}
    line = (json.dumps(entry, ensure_ascii=False) + "\n").encode()
    _append(work_folder(), line)
    with contextlib.suppress(OSError):  # the second copy is optional
        _append(mirror_folder(), line)


def events(id=None):
    """Return the events, oldest first: those of one exercise or lesson, or all."""
    texts = [b""]
    for folder in (work_folder(), mirror_folder()):
        with contextlib.suppress(OSError):
            texts.append((folder / NAME).read_bytes())
    found = []
    for line in max(texts, key=len).splitlines():  # a removed work folder is shorter
        with contextlib.suppress(ValueError):  # a line cut off by a power failure
            found.append(json.loads(line))
    return [entry for entry in found if id in (None, entry["ex"])]


def snapshot(exercise, why):
    """Store the answer as it is now; return its hash, "" if there is no file."""
    if not exercise.work.exists():
        return ""
    sha = store(exercise.work.read_bytes())
    if _undo_stack(exercise)[-1:] != [sha]:
        append(exercise.id, "snapshot", work=sha, why=why)
    return sha


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


def undo(exercise):
    """Restore the text before the present one; return its hash, None if there is none.

    The present text is stored first; another undo goes further back. If the file was
    removed, the last text is restored.
    """
    removed = not snapshot(exercise, "before undo")
    stack = _undo_stack(exercise)
    if not removed:
        stack = stack[:-1]
    while stack:
        if (text := text_of(stack[-1])) is not None:
            write(exercise.work, text)
            append(exercise.id, "undo", work=stack[-1], depth=len(stack))
            return stack[-1]
        stack.pop()
    return None


def restore(exercise, start):
    """Restore any earlier text by the start of its hash; return the hash or None."""
    known = {entry.get("work") or "" for entry in events(exercise.id)}
    found = [sha for sha in known if sha and sha.startswith(start)]
    text = text_of(found[0]) if len(found) == 1 else None
    if text is None:
        return None
    snapshot(exercise, "before undo")
    write(exercise.work, text)
    append(exercise.id, "snapshot", work=found[0], why="restored")
    return found[0]


def mirror_folder():
    """Return the folder of the second copy: each work folder has its own."""
    state = os.environ.get("XDG_STATE_HOME")
    state = pathlib.Path(state) if state else pathlib.Path.home() / ".local" / "state"
    key = hashlib.sha256(os.fsencode(work_folder())).hexdigest()[:12]
    return state / "minigrad-lessons" / key


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


def _append(folder, line):
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / NAME, "ab", buffering=0) as file:
        file.write(line)


def _undo_stack(exercise):
    """Return the hashes that undo goes back through, oldest first."""
    stack = []
    for entry in events(exercise.id):
        if entry["event"] == "snapshot" and stack[-1:] != [entry["work"]]:
            stack.append(entry["work"])
        elif entry["event"] == "undo":
            del stack[entry["depth"] :]
    return stack
