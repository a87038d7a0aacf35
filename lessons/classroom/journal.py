"""What happened, line by line, and every text there ever was of an answer.

journal.jsonl   one event a line, only ever added to; a torn line is passed over
.history/<sha>  the texts, by their hash

    {"t": 1767225600.0, "ex": "38.5", "event": "check", "work": sha, "check": sha,
     "step": "edges", "ok": false, "diag": "off-by-one"}

What has passed is not written down but derived: the last check of the file as it is
now, under the check as it is now, passed. Both are mirrored to a second folder, which
outlives ``git clean -fdx``.
"""

import contextlib
import json
import os
import re
import time

from .paths import hash_of, mirror_folder, work_folder

NAME, HISTORY = "journal.jsonl", ".history"
NOTHING = type(None)
FORMS = {  # of the facts that are read again; what else an event says is its own
    "t": (int, float), "ex": str, "event": str, "work": (str, NOTHING), "check": str,
    "ok": bool, "step": (str, NOTHING), "diag": (str, NOTHING), "code": int,
    "why": str, "left": str, "depth": int, "hint": list,
}  # fmt: skip


def append(ex, event, **facts):
    """Add one event, with a single write; a torn line before it stays by itself."""
    entry = {"t": round(time.time(), 3), "ex": ex, "event": event, **facts}
    line = (json.dumps(entry, ensure_ascii=False) + "\n").encode()
    before = _journal()
    if (
        before and not (work_folder() / NAME).exists()
    ):  # swept away: begin with the copy
        write(work_folder() / NAME, before)
    _append(work_folder(), line)
    with contextlib.suppress(OSError):
        _append(mirror_folder(), line)
    return entry


def events(ex=None):
    """The events, oldest first; those of one exercise, or all."""
    found = []
    for line in _journal().split(b"\n"):
        with contextlib.suppress(ValueError, RecursionError):
            entry = json.loads(line)
            if _is_event(entry):
                found.append(entry)
    return [entry for entry in found if ex in (None, entry["ex"])]


def snapshot(exercise, why):
    """Keep the answer as it is now; return its hash, '' if there is none."""
    try:
        data = exercise.work.read_bytes()
    except FileNotFoundError:
        return ""
    sha = hash_of(data)
    keep(data)
    if _stack(exercise)[-1:] != [sha]:
        append(exercise.id, "snapshot", work=sha, why=why)
    return sha


def keep(data):
    """Store a text under its hash, in the work folder and in the mirror."""
    sha = hash_of(data)
    _store(work_folder() / HISTORY / sha, data)
    with contextlib.suppress(OSError):
        _store(mirror_folder() / HISTORY / sha, data)
    return sha


def text_of(sha):
    """A text that was kept, as bytes; None if both copies are gone."""
    for folder in (work_folder(), mirror_folder()):
        path = folder / HISTORY / sha
        if sha and hash_of(path) == sha:
            return path.read_bytes()
    return None


def write(path, data):
    """Put ``data`` at ``path``, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(data)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def undo(exercise):
    """Restore the text before the present one; return its hash, None if there is none.

    Undoing again goes further back. The present text is kept first. Where the file has
    been removed, the text before is the last one that there was.
    """
    removed = not snapshot(exercise, "undo")
    stack = _stack(exercise)
    while len(stack) > (not removed):
        leaving = "" if removed else stack.pop()
        removed = False
        data = text_of(stack[-1])
        if data is not None:
            write(exercise.work, data)
            append(exercise.id, "undo", work=stack[-1], left=leaving, depth=len(stack))
            return stack[-1]
    return None


def restore(exercise, sha):
    """Bring back any text of the history, by the beginning of its hash."""
    known = [e["work"] for e in events(exercise.id) if e.get("work")]
    found = {each for each in known if each.startswith(sha)}
    if len(found) != 1:
        return None
    snapshot(exercise, "restore")
    [whole] = found
    data = text_of(whole)
    if data is not None:
        write(exercise.work, data)
        append(exercise.id, "snapshot", work=whole, why="restored")
    return whole if data is not None else None


def status(exercise, log=None):
    """(state, event): "new", "started", "passed", "failed", "stale" or "changed".

    Of what had passed and does not count any more, "stale" was edited since, and of
    "changed" the check is another one. The event is the check that says so.
    """
    log = events(exercise.id) if log is None else log
    sha, check = hash_of(exercise.work), hash_of(exercise.check)
    checked = [e for e in log if e["event"] == "check"]
    if not sha:
        return "new", None
    for entry in reversed(checked):
        if entry.get("work") == sha and entry.get("check") == check:
            return ("passed" if entry.get("ok") else "failed"), entry
    passed = [e for e in checked if e.get("ok")]
    if passed:
        same_text = any(e.get("work") == sha for e in passed)
        return ("changed" if same_text else "stale"), passed[-1]
    return "started", None


def _is_event(entry):
    """Whether a line says what an event says: others were not written here."""
    if not isinstance(entry, dict) or not {"ex", "event"} <= entry.keys():
        return False
    if not all(isinstance(entry[k], FORMS[k]) for k in FORMS.keys() & entry.keys()):
        return False
    hint = entry.get("hint", ["", 0])
    return (
        0 <= entry.get("t", 0) < 1e11  # seconds that a calendar has
        and entry.get("depth", 0) >= 0
        and re.fullmatch("[0-9a-f]*", entry.get("work") or "") is not None
        and [type(part) for part in hint] == [str, int]
        and hint[1] >= 0
    )


def _stack(exercise):
    """The texts that undo goes back through, oldest first: snapshots less undos."""
    stack = []
    for entry in events(exercise.id):
        if entry["event"] == "snapshot" and entry.get("work"):
            if stack[-1:] != [entry["work"]]:
                stack.append(entry["work"])
        elif entry["event"] == "undo":
            del stack[entry.get("depth", len(stack)) :]
    return stack


def _journal():
    """The journal; the mirror's where the work folder has lost its own."""
    for folder in (work_folder(), mirror_folder()):
        with contextlib.suppress(OSError):
            return (folder / NAME).read_bytes()
    return b""


def _append(folder, line):
    folder.mkdir(parents=True, exist_ok=True)
    flags = os.O_APPEND | os.O_CREAT | os.O_RDWR
    file = os.open(folder / NAME, flags | getattr(os, "O_BINARY", 0), 0o644)
    try:
        size = os.fstat(file).st_size
        if size:
            os.lseek(file, size - 1, os.SEEK_SET)
            if os.read(file, 1) != b"\n":  # the last line is torn: leave it alone
                line = b"\n" + line
        os.write(file, line)
    finally:
        os.close(file)


def _store(path, data):
    if hash_of(path) != path.name:  # absent, or damaged
        write(path, data)
