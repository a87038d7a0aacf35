"""The verbs ``status``, ``list`` and ``doctor``: your progress and your machine."""

import importlib
import os
import platform
import sys
import tempfile

from . import journal, lesson_index
from .catalogue import exercises
from .paths import mirror_folder, shown, work_folder
from .terminal import fit, paint, say, unbroken, width
from .verbs import latest

THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
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


def status():
    """Print how much is done, and the next step."""
    known, lessons = _exercises(), _lessons()
    passed = [e for e, state in known if state == "passed"]
    unread = [folder for folder, state in lessons if state == "new"]
    say(
        f"{len(passed)} of {len(known)} exercises passed, "
        f"{len(lessons) - len(unread)} of {len(lessons)} lessons read.  "
        f"Your folder: {unbroken(shown(work_folder()))}"
    )
    open_ones = [each for each in known if each[1] not in ("new", "passed")]
    if open_ones:
        say()
    for exercise, state in open_ones:
        _exercise_row(exercise, state)
    say()
    steps = [_next_exercise(known)]
    if unread:  # the lesson comes first, unless an exercise is open
        lesson = f"python -m lessons read {lesson_index.number(unread[0])}"
        steps.insert(len(open_ones) > 0, lesson)
    steps = [step for step in steps if step] or ["nothing: all is done"]
    for head, step in zip(("next:", "or:"), steps):
        say(f"{head:<5}  {step}")
    say("       python -m lessons list      all lessons and exercises;  -h, all verbs")
    return 0


def list_all():
    """Print all lessons and exercises: difficulty, minutes, needs, and your state."""
    say("Lessons (python -m lessons read NN); <- the lessons that come before")
    for folder, state in _lessons():
        head = lesson_index.header(folder)
        minutes = f"{head.minutes:>3} min" if head.minutes else ""
        _row(head.number, head.title, head.dots, minutes, head.needs, state)
    say()
    say("Exercises (python -m lessons start ID); <- the exercises that come before")
    for exercise, state in _exercises():
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
    try:
        eps = float(importlib.import_module("numpy").finfo(float).eps)
    except ImportError:
        return 1
    good &= _line(
        "float64", f"eps {eps:.2e}", eps == 2.0**-52, "gradients need 2.2e-16"
    )
    threads = [f"{n}={os.environ[n]}" for n in THREADS if n in os.environ]
    _line("BLAS threads", ", ".join(threads) or f"not set, {os.cpu_count()} cores")
    good &= _folder("your folder", work_folder())
    _folder("second copy", mirror_folder())
    cache = importlib.import_module("attention.kernels.cache").cache_directory()
    _line("kernel cache", str(cache), cache is not None, "each run compiles anew")
    terminal = f"{width()} columns" if sys.stdout.isatty() else "none: plain text"
    _line("terminal", f"{terminal}, {sys.stdout.encoding}")
    return 0 if good else 1


def _exercises():
    """Return [(exercise, state)], from one reading of the journal."""
    log = journal.events()
    return [
        (e, journal.exercise_state(e, [x for x in log if x["ex"] == e.id]))
        for e in exercises()
    ]


def _lessons():
    """Return [(folder, state)]."""
    log = journal.events()
    return [
        (f, journal.lesson_state(f, [x for x in log if x["ex"] == number]))
        for f in lesson_index.lesson_folders()
        for number in [lesson_index.number(f)]
    ]


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
    for exercise, state in known:
        if state == "new" and all(states.get(n) == "passed" for n in exercise.needs):
            return f"python -m lessons start {exercise.id}"
    for exercise, state in known:
        if state != "passed":
            verb = "start" if state == "new" else "check"
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
        say(unbroken(value), 6)
    if not good:
        say(advice, 20)
    return good
