"""The journal: what a learner did, one event a line; lines are added and never changed.

    {"t": 1767225600.0, "ex": "38.5", "event": "check", "work": sha, "check": sha,
     "step": "edges", "ok": false, "diag": "off-by-one"}

A sha is the hash of a text that copies.py keeps.
"""

import contextlib
import json
import time

from .copies import add_line, lines, store, text_of, write

NAME = "journal.jsonl"
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
