"""The verbs about your own file: start, hint, solution, reset, undo, history.

No text is ever lost: each is in the history before another takes its place.
"""

import difflib
import sys
import time

from . import hints, journal, stubs
from .catalogue import UsageError
from .paths import hash_of, shown
from .screen import paint, say, whole


def start(exercise):
    """Copy the stub to your folder; an answer that is there stays as it is."""
    if exercise.work.exists():
        raise UsageError(
            f"{whole(shown(exercise.work))} exists and stays as it is. "
            f"python -m lessons reset {exercise.id} gives a fresh stub, and keeps "
            "yours in the history."
        )
    _fresh(exercise, "start")
    say(f"{exercise.id}  {exercise.title}  {exercise.dots}  {exercise.minutes} min")
    print(f"fill in  {shown(exercise.work)}")
    say(f"then     python -m lessons check {exercise.id}")
    return 0


def hint(exercise):
    """The next hint: on the mistake that was measured last, then step by step."""
    found = hints.next_hint(exercise)
    if found is not None:
        text, what, again = found
        say(f"hint {what}{', once more' * again}:")
        say(text, 2)
    if found is None or again:
        none = "All hints" if found else "There are no hints"
        have = "have been shown" if found else f"for {exercise.id}"
        say(
            f"{none} {have}. python -m lessons solution {exercise.id} --peek shows an "
            "answer."
        )
    return 0


def solution(exercise, peek):
    """What separates your answer from the reference; it asks before you have passed."""
    state, _ = journal.status(exercise)
    if state != "passed" and not peek:
        say(
            f"{exercise.id} has not passed yet. "
            f"python -m lessons solution {exercise.id} --peek shows an answer all the "
            f"same; python -m lessons hint {exercise.id} shows less."
        )
        return 3
    journal.append(exercise.id, "peek", passed=state == "passed")
    lines = stubs.exercise_part(exercise.solution.read_text(encoding="utf-8"))
    reference = [
        line
        for line in lines.splitlines()
        if line.strip() not in (stubs.BEGIN, stubs.END)
    ]
    yours = exercise.work if exercise.work.exists() else exercise.stub
    text = yours.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    names = shown(yours), "the reference"
    changes = list(difflib.unified_diff(text, reference, *names, lineterm=""))
    for line in changes:
        colour = {"+": "green", "-": "red", "@": "dim"}.get(line[:1])
        print(paint(line, colour) if colour else line)
    if not changes:
        say("Yours is the reference, to the letter.")
    return 0


def reset(exercise):
    """A fresh stub; yours goes to the history first."""
    kept = journal.snapshot(exercise, "reset")
    _fresh(exercise, "reset")
    print(f"{shown(exercise.work)} is a fresh stub.")
    if kept not in ("", hash_of(exercise.work)):
        say(f"Yours is kept: python -m lessons undo {exercise.id} brings it back.")
    return 0


def undo(exercise, to=None):
    """Restore the text before the present one, or any one of the history."""
    sha = journal.restore(exercise, to) if to else journal.undo(exercise)
    if sha is None:
        what = f"There is no text {to} in the history" if to else "Nothing to undo"
        raise UsageError(
            f"{what} of {exercise.id}. python -m lessons history {exercise.id} lists "
            "what there is."
        )
    print(f"{shown(exercise.work)} is what it was: {sha[:7]}.")
    say(f"The other text is kept: python -m lessons history {exercise.id}")
    return 0


def history(exercise):
    """What has happened to an answer, oldest first."""
    log = journal.events(exercise.id)
    if not log:
        say(f"Nothing has happened to {exercise.id} yet.")
    now = hash_of(exercise.work)
    for entry in log:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.get("t", 0)))
        sha = entry.get("work", "")[:7] if isinstance(entry.get("work"), str) else ""
        here = "  (as it is now)" if now and entry.get("work") == now else ""
        say(f"{when}  {sha:<7}  {_what(exercise, entry)}{here}")
    if any(entry.get("work") for entry in log):
        say(f"python -m lessons undo {exercise.id} --to HASH brings a text back.")
    sys.stdout.flush()
    return 0


def _what(exercise, entry):
    """An event in a few words."""
    if entry["event"] == "check":
        if entry.get("ok"):
            return "check: passed"
        words = {3: "not written yet", 4: "out of time"}
        tag = f" ({entry['diag']})" if entry.get("diag") else ""
        where = entry.get("step") or "?"
        return "check: " + (words.get(entry.get("code")) or f"failed at {where}{tag}")
    if entry["event"] == "hint":
        return "hint " + hints.described(exercise, *entry.get("hint", ("", 0)))
    if entry["event"] == "snapshot":
        return f"kept, before {entry.get('why', '?')}"
    return {"undo": "undone, back to this", "peek": "looked at the solution"}.get(
        entry["event"], entry["event"]
    )


def _fresh(exercise, event):
    """Write the stub, and make it the beginning of what undo goes back to."""
    data = exercise.stub.read_bytes()
    journal.write(exercise.work, data)
    journal.append(exercise.id, event, work=journal.keep(data))
    journal.snapshot(exercise, event)
