"""The verbs about exercises: start, check, watch, hint, solution, reset, undo, history.

A text is never lost: it is stored before another one replaces it.
"""

import difflib
import os
import time

from . import hints, journal, report, runner, stubs
from .catalogue import UsageError, exercises
from .paths import hash_of, shown
from .runner import FAILED, PASSED, TIMEOUT, UNWRITTEN
from .terminal import paint, say, unbroken

INTERVAL = 0.5  # seconds between two looks at the files
WORST_FIRST = (TIMEOUT, FAILED, UNWRITTEN, PASSED)


def latest():
    """Return the exercise whose answer was edited last. Raises UsageError."""
    started = [e for e in exercises() if e.work.exists()]
    if not started:
        raise UsageError(
            "No exercise is started yet. python -m lessons list shows them all."
        )
    return max(started, key=lambda e: e.work.stat().st_mtime_ns)


def start(exercise):
    """Copy the stub to the learner's folder, unless there is an answer."""
    if exercise.work.exists():
        raise UsageError(
            f"{unbroken(shown(exercise.work))} exists and stays as it is. "
            f"python -m lessons reset {exercise.id} gives a fresh stub and keeps yours "
            "in the history."
        )
    _write_stub(exercise, "start")
    say(f"{exercise.id}  {exercise.title}  {exercise.dots}  {exercise.minutes} min")
    print(f"fill in  {shown(exercise.work)}")
    say(f"then     python -m lessons check {exercise.id}")
    return 0


def check(exercise, *, seed=0, verbose=False, pdb=False, json=False):
    """Check an answer; return the exit code."""
    if not _is_started(exercise):
        return UNWRITTEN
    if pdb:
        report.heading(exercise, exercise.work)
        return runner.debug(exercise, exercise.work, seed).code
    return _check(exercise, seed, verbose, json).code


def check_all(**options):
    """Check every started answer; return the worst exit code."""
    latest()
    codes = {check(e, **options) for e in exercises() if e.work.exists()}
    return next(code for code in WORST_FIRST if code in codes)


def watch(exercise, *, seed=0):
    """Check after every change of the answer or of what it imports, until Ctrl-C.

    A change counts once a file's date and size are the same in two looks.
    """
    if not _is_started(exercise):
        return UNWRITTEN
    say(f"watching {unbroken(shown(exercise.work))}; Ctrl-C ends it")
    files, checked, before = [], None, None
    try:
        while True:
            now = _dates([exercise.work, *files])
            if now[0] and now != checked and (now == before or not checked):
                say("checking …")
                files = _check(exercise, seed).files
                # a change that was made during the check counts as well
                now = checked = (now[0], *_dates(files))
            before = now
            time.sleep(INTERVAL)
    except KeyboardInterrupt:
        say("stopped.")
    return 0


def hint(exercise):
    """Print the next hint: first on the mistake that was found, then in general."""
    found = hints.next_hint(exercise)
    if found is None:
        say(f"There are no hints for {exercise.id}.")
        return 0
    text, what, again = found
    say(f"hint {what}{', once more' * again}:")
    say(text, 2)
    if again:
        say(
            "These were all hints. "
            f"python -m lessons solution {exercise.id} --peek shows an answer."
        )
    return 0


def solution(exercise, peek=False):
    """Print the differences between an answer and the reference.

    Before the exercise has passed, this needs ``peek``.
    """
    passed = journal.exercise_state(exercise) == "passed"
    if not (passed or peek):
        say(
            f"{exercise.id} has not passed yet. "
            f"python -m lessons hint {exercise.id} gives a hint; "
            f"python -m lessons solution {exercise.id} --peek shows an answer."
        )
        return 3
    journal.append(exercise.id, "peek", passed=passed)
    text = stubs.exercise_part(exercise.solution.read_text(encoding="utf-8"))
    markers = stubs.BEGIN, stubs.END
    reference = [line for line in text.splitlines() if line.strip() not in markers]
    yours = exercise.work if exercise.work.exists() else exercise.stub
    text = yours.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    names = shown(yours), "the reference"
    changes = list(difflib.unified_diff(text, reference, *names, lineterm=""))
    for line in changes:
        colour = {"+": "green", "-": "red", "@": "dim"}.get(line[:1])
        print(paint(line, colour) if colour else line)
    if not changes:
        say("Your answer and the reference are the same text.")
    return 0


def reset(exercise):
    """Write a fresh stub; the present text is stored first."""
    kept = journal.snapshot(exercise, "before reset")
    _write_stub(exercise, "reset")
    print(f"{shown(exercise.work)} is a fresh stub.")
    if kept not in ("", hash_of(exercise.work)):
        say(f"python -m lessons undo {exercise.id} brings your text back.")
    return 0


def undo(exercise, to=None):
    """Restore the text before the present one, or any text of the history."""
    sha = journal.restore(exercise, to) if to else journal.undo(exercise)
    if sha is None:
        what = f"There is no text {to} in the history" if to else "Nothing to undo"
        raise UsageError(
            f"{what} of {exercise.id}. python -m lessons history {exercise.id} lists "
            "what there is."
        )
    print(f"{shown(exercise.work)} is text {sha[:7]} again.")
    say(f"The other text is kept: python -m lessons history {exercise.id}")
    return 0


def history(exercise):
    """Print what was done with an exercise, oldest first."""
    log, now = journal.events(exercise.id), hash_of(exercise.work)
    for entry in log:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry["t"]))
        sha = entry.get("work") or ""
        present = "  <- now" if sha and sha == now else ""
        say(f"{when}  {sha[:7]:<7}  {_event_in_words(exercise, entry)}{present}")
    if not log:
        say(f"{exercise.id} has no history yet.")
    elif any(entry.get("work") for entry in log):
        say(f"python -m lessons undo {exercise.id} --to HASH restores a text.")
    return 0


def _is_started(exercise):
    if exercise.work.exists():
        return True
    say(f"{exercise.id} is not started: python -m lessons start {exercise.id}")
    return False


def _check(exercise, seed, verbose=False, json=False):
    """Check an answer, print the report, add it to the journal, and return it."""
    sha = journal.snapshot(exercise, "before check")
    if not json:
        report.heading(exercise, exercise.work)
    found = runner.run(exercise, exercise.work, seed)
    if json:
        report.as_json(exercise, exercise.work, found)
    else:
        report.body(exercise, found, verbose)
    journal.append(
        exercise.id,
        "check",
        work=sha,
        check=hash_of(exercise.check),
        step=found.failures[0]["step"] if found.failures else None,
        # a text that was edited during the check has not passed
        ok=found.code == PASSED and hash_of(exercise.work) == sha,
        diag=found.tag,
        code=found.code,
        seed=seed,
    )
    return found


def _dates(paths):
    """Return (date, size) of each file, None for one that is missing."""
    found = []
    for path in paths:
        try:
            facts = os.stat(path)
            found.append((facts.st_mtime_ns, facts.st_size))
        except OSError:
            found.append(None)
    return tuple(found)


def _event_in_words(exercise, entry):
    event = entry["event"]
    if event == "check" and not entry["ok"]:
        words = {3: "check: not written yet", 4: "check: out of time"}
        tag = f" ({entry['diag']})" if entry["diag"] else ""
        return words.get(entry["code"], f"check: failed at {entry['step']}{tag}")
    if event == "hint":
        return "hint " + hints.described(exercise, *entry["hint"])
    if event == "snapshot":
        return f"stored, {entry['why']}"
    words = {"check": "check: passed", "undo": "undone", "peek": "saw the solution"}
    return words.get(event, event)


def _write_stub(exercise, event):
    """Write the stub, and store it as the first text that undo goes back to."""
    text = exercise.stub.read_bytes()
    journal.write(exercise.work, text)
    journal.append(exercise.id, event, work=journal.store(text))
    journal.snapshot(exercise, "a fresh stub")
