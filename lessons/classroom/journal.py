"""The journal: what a learner did, one event a line; lines are added and never changed.

    {"t": 1767225600.0, "ex": "38.5", "event": "check", "work": sha, "check": sha,
     "step": "edges", "ok": false, "diag": "off-by-one"}

A sha is the hash of a text. The journal and, in .history/, the texts are kept twice: in
the work folder and in a second folder far from it, the mirror, which survives
``git clean -fdx`` and is optional.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import time

from .catalogue import work_folder

NAME, HISTORY = "journal.jsonl", ".history"
FACTS = {  # of each event, which its readers use; "work" is the hash of a text
    "start": {"work"},
    "reset": {"work"},
    "read": {"work"},
    "run": {"work"},
    "snapshot": {"work", "why"},
    "undo": {"work", "depth"},
    "check": {"work", "check", "ok", "code", "step", "diag"},
    "hint": {"hint"},
    "prediction": {"prediction"},
    "peek": set(),
}


def append(id, event, **facts):
    """Add one event."""
    entry = {"t": round(time.time(), 3), "ex": id, "event": event, **facts}
    add_line(NAME, (json.dumps(entry, ensure_ascii=False) + "\n").encode())


def events(id=None):
    """Return the events, oldest first: those of one exercise or lesson, or all."""
    found = []
    for line in lines(NAME):
        # a line cut off by a power failure, or written by hand
        with contextlib.suppress(ValueError, RecursionError):
            found.append(json.loads(line))
    return [e for e in found if _is_event(e) and id in (None, e["ex"])]


def snapshot(exercise, why):
    """Store the answer as it is now; return its hash, "" if there is no file."""
    if not exercise.work.exists():
        return ""
    sha = store(exercise.work.read_bytes())
    if _undo_stack(exercise)[-1:] != [sha]:
        append(exercise.id, "snapshot", work=sha, why=why)
    return sha


def add_check(exercise, sha, report):
    """Add a check of the text ``sha``; one that was edited since has not passed."""
    first = report.failures[0] if report.failures else {"step": None, "part": None}
    todo = [part.split()[-1] for part in report.unwritten]
    append(
        exercise.id,
        "check",
        work=sha,
        check=hash_of(exercise.file),
        step=first["step"],
        ok=report.code == 0 and hash_of(exercise.work) == sha,
        diag=report.tag,
        part=first["part"] or next(iter(todo), None),
        code=report.code,
        seed=report.seed,
    )


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


def _is_event(entry):
    """Return whether an entry has all that the readers of its event use."""
    if not isinstance(entry, dict) or entry.get("event") not in FACTS:
        return False
    return FACTS[entry["event"]] | {"t", "ex"} <= entry.keys()


def _undo_stack(exercise):
    """Return the hashes that undo goes back through, oldest first."""
    stack = []
    for entry in events(exercise.id):
        if entry["event"] == "snapshot" and stack[-1:] != [entry["work"]]:
            stack.append(entry["work"])
        elif entry["event"] == "undo":
            del stack[entry["depth"] :]
    return stack


# files that are kept twice

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
