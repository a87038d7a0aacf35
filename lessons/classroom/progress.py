"""How far the learner is: the verbs ``status``, ``next``, ``list`` and ``doctor``.

Whether an exercise has passed is not stored but derived from the journal: the last
check of the present text, by the present check, passed.
"""

import importlib
import os
import platform
import sys
import tempfile

from . import journal
from .catalogue import (
    UsageError,
    exercises,
    header,
    lesson_folders,
    number,
    work_folder,
)
from .journal import hash_of
from .terminal import display_path, fit, paint, say, width, without_breaks

MARKS = {
    "new": ("", "dim"),
    "started": ("started", "yellow"),
    "failed": ("not yet", "red"),
    "stale": ("edited", "yellow"),
    "changed": ("recheck", "yellow"),
    "passed": ("passed", "green"),
    "read": ("read", "yellow"),
    "run": ("run", "green"),
    "other": ("changed", "yellow"),
}


def latest():
    """Return the exercise whose answer was edited last. Raises UsageError."""
    started = [e for e in exercises() if e.work.exists()]
    if not started:
        raise UsageError(
            "No exercise is started yet. python -m lessons list shows them all."
        )
    return max(started, key=lambda e: e.work.stat().st_mtime_ns)


def exercise_state(exercise, log):
    """Return "new", "started", "passed", "failed", "stale" or "changed".

    An exercise that had passed is "stale" if its text was edited since, and "changed"
    if the check is another one now.

    log   the events of the exercise
    """
    sha, check = hash_of(exercise.work), hash_of(exercise.check)
    if not sha:
        return "new"
    checks = [entry for entry in log if entry["event"] == "check"]
    for entry in reversed(checks):
        if entry["work"] == sha and entry["check"] == check:
            return "passed" if entry["ok"] else "failed"
    passed = [entry["work"] for entry in checks if entry["ok"]]
    if not passed:
        return "started"
    return "changed" if sha in passed else "stale"


def lesson_state(folder, log):
    """Return "new", "read", "run", or "other" if the lesson has changed since."""
    done = {(entry["event"], entry["work"]) for entry in log}
    sha = hash_of(folder / "lesson.py")
    for event in ("run", "read"):
        if (event, sha) in done:
            return event
    return "other" if done else "new"


def status():
    """Print how much is done, and the next step."""
    known, lessons = _states()
    passed = [e for e, state in known if state == "passed"]
    unread = [folder for folder, state in lessons if state == "new"]
    say(
        f"{len(passed)} of {len(known)} exercises passed, "
        f"{len(lessons) - len(unread)} of {len(lessons)} lessons read.  "
        f"Your folder: {without_breaks(display_path(work_folder()))}"
    )
    open_ones = [each for each in known if each[1] not in ("new", "passed")]
    if open_ones:
        say()
    for exercise, state in open_ones:
        _exercise_row(exercise, state)
    say()
    steps = [_next_exercise(known)]
    if unread:  # the lesson comes first, unless an exercise is open
        lesson = f"python -m lessons read {number(unread[0])}"
        steps.insert(len(open_ones) > 0, lesson)
    steps = [step for step in steps if step] or ["nothing: all is done"]
    for head, step in zip(("next:", "or:"), steps):
        say(f"{head:<5}  {step}")
    say("       python -m lessons list      all lessons and exercises;  -h, all verbs")
    return 0


def list_all():
    """Print all lessons and exercises: difficulty, minutes, needs, and your state."""
    known, lessons = _states()
    say("Lessons (python -m lessons read NN); <- the lessons that come before")
    for folder, state in lessons:
        head = header(folder)
        minutes = f"{head.minutes:>3} min" if head.minutes else ""
        _row(head.number, head.title, head.dots, minutes, head.needs, state)
    say()
    say("Exercises (python -m lessons start ID); <- the exercises that come before")
    for exercise, state in known:
        _exercise_row(exercise, state)
    return 0


def doctor():
    """Print what there is; return 0, or 1 if a necessary part is missing."""
    metadata = importlib.import_module("importlib.metadata")  # late: it is slow
    python = platform.python_version()
    good = _line("python", python, sys.version_info >= (3, 11), "3.11 is necessary")
    for name in ("numpy", "matplotlib", "numba"):
        try:
            _line(name, metadata.version(name))
        except metadata.PackageNotFoundError:
            _line(name, "not installed", False, f"pip install {name}")
            good &= name != "numpy"  # the others are useful, not necessary
    _line("cores", str(os.cpu_count()))
    good &= _folder("your folder", work_folder())
    _folder("second copy", journal.mirror_folder())
    if good:
        cache = importlib.import_module("attention.kernels.cache").cache_directory()
        _line("kernel cache", str(cache), cache is not None, "each run compiles anew")
    terminal = f"{width()} columns" if sys.stdout.isatty() else "none: plain text"
    _line("terminal", f"{terminal}, {sys.stdout.encoding}")
    return 0 if good else 1


def _states():
    """Return [(exercise, state)] and [(lesson's folder, state)]."""
    log = {}
    for entry in journal.events():
        log.setdefault(entry["ex"], []).append(entry)
    return (
        [(e, exercise_state(e, log.get(e.id, []))) for e in exercises()],
        [(f, lesson_state(f, log.get(number(f), []))) for f in lesson_folders()],
    )


def _exercise_row(e, state):
    _row(e.id, e.title, e.dots, f"{e.minutes:>3} min", e.needs, state)


def _row(id, title, dots, minutes, needs, state):
    """Print one line of at most 80 columns."""
    word, colour = MARKS[state]
    needs = "<- " + ", ".join(needs) if needs else ""
    title = fit(title, max(16, width() - 44))
    cells = f"{id:<5}  {title} {dots:<4} {minutes:<7} "
    state = paint(f" {word:<7}", colour) if word else " " * 8
    print(("  " + cells + state + fit(f" {needs}", 13)).rstrip())


def _next_exercise(known):
    """Return the command for the next exercise: the one edited last, or a new one.

    known   [(exercise, state)]
    """
    states = {exercise.id: state for exercise, state in known}
    if set(states.values()) != {"new"}:
        last = latest()
        if states[last.id] != "passed":
            return f"python -m lessons check {last.id}"
    left = [exercise for exercise, state in known if state != "passed"]
    for exercise in left:
        is_new = states[exercise.id] == "new"
        if is_new and all(states.get(n) == "passed" for n in exercise.needs):
            return f"python -m lessons start {exercise.id}"
    for exercise in left:
        verb = "start" if states[exercise.id] == "new" else "check"
        return f"python -m lessons {verb} {exercise.id}"
    return ""


def _folder(name, path):
    """Print whether files can be written to a folder."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return _line(name, str(path))
    except OSError as error:
        return _line(name, str(path), False, f"cannot be written: {error.strerror}")


def _line(name, value, good=True, advice=""):
    word = paint("ok", "green") if good else paint("--", "red")
    head = f"  {word}  {name:<13}"
    if 20 + len(value) <= width():
        print(head, value)
    else:  # a long path has its own line, undivided
        print(head.rstrip())
        say(without_breaks(value), 6)
    if not good:
        say(advice, 20)
    return good
