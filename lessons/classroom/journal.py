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
TEXT, LATEST = {"work": str}, 1e11  # the hash of a text; seconds, in the year 5138
FACTS = {  # of each event, which its readers use
    "start": TEXT,
    "reset": TEXT,
    "read": TEXT,
    "run": TEXT,
    "snapshot": TEXT | {"why": str},
    "undo": TEXT | {"depth": int},
    "check": TEXT
    | {"check": str, "ok": bool, "code": int}
    | dict.fromkeys(("step", "diag", "part"), str | None),
    "hint": {"hint": list},
    "prediction": {"prediction": str},
    "peek": {},
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
    match entry:
        case {"t": int() | float() as t, "ex": str(), "event": str() as event}:
            facts = FACTS.get(event)
            if facts is None or not 0 <= t < LATEST:
                return False
        case _:
            return False
    match entry.get("hint", ["", 0]):
        case [str(), int() as level] if level >= 0:
            return all(isinstance(entry.get(k), kind) for k, kind in facts.items())
    return False


def _undo_stack(exercise):
    """Return the hashes that undo goes back through, oldest first."""
    stack = []
    for entry in events(exercise.id):
        if entry["event"] == "snapshot" and stack[-1:] != [entry["work"]]:
            stack.append(entry["work"])
        elif entry["event"] == "undo":
            del stack[entry["depth"] :]
    return stack
