"""Which lessons were read and run: events of the journal, of the script's hash.

    {"t": 1767225600.0, "ex": "05", "event": "run", "work": sha}

As with exercises, a state is derived: of the lesson as it is now, the farthest that was
done. What was read or run before the script became another one is "other".
"""

import contextlib

from . import journal
from .paths import hash_of
from .shelf import number

VERBS = ("read", "run")  # each is more than the one before it


def note(folder, verb):
    """Put down that a lesson was read or run. A journal that cannot be: no matter."""
    with contextlib.suppress(OSError):
        journal.append(number(folder), verb, work=hash_of(folder / "lesson.py"))


def state(folder, log):
    """ "new", "read", "run" or "other", from the events of one lesson."""
    sha, done = hash_of(folder / "lesson.py"), {}
    for entry in log:
        if entry["event"] in VERBS:
            done.setdefault(entry.get("work"), set()).add(entry["event"])
    now = [verb for verb in VERBS if verb in done.get(sha, ())]
    return now[-1] if now else "other" if done else "new"
