"""How far the learner is: the verbs ``status``, ``next``, ``list`` and ``doctor``.

Whether an exercise has passed is not stored but derived from the journal: the last
check of the present text, by the present check, passed.
"""

import os
import platform
import sys
import tempfile

from .. import journal
from ..catalogue import (
    UsageError,
    exercises,
    exercises_of,
    header,
    in_book_order,
    lesson_folders,
    lessons_of,
    number,
    work_folder,
)
from ..journal import hash_of
from ..terminal import display_path, fit, paint, say, width, without_breaks

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
    sha, check = hash_of(exercise.work), hash_of(exercise.file)
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
    """Print how much is done, the open exercises, and the next steps."""
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
        _exercise_row(exercise, state, lessons_in_words(exercise)[:9])
    say()
    steps = next_steps() or [("nothing: all is done", "")]
    for head, (command, about) in zip(("next:", "or:"), steps):
        print(f"{head:<5}  {fit(f'{command:<28}  {about}', width() - 7).rstrip()}")
    say("       python -m lessons list      all lessons and exercises;  -h, all verbs")
    return 0


def list_all():
    """Print the book: each lesson, and below it its exercises, with your state."""
    states = {e.id: state for e, state in _states()[0]}
    lessons = dict(_states()[1])
    say("python -m lessons read NN, a lesson; python -m lessons start ID, an exercise;")
    say("<- what comes before")
    for folder, below in in_book_order():
        if folder:
            head = header(folder)
            minutes = f"{head.minutes:>3} min"
            state = lessons[folder]
            _row(head.number, head.title, head.dots, minutes, head.needs, state)
        elif below:
            say("in no lesson")
        for exercise in below:
            _exercise_row(exercise, states[exercise.id], indent=4)
    return 0


def lessons_in_words(exercise):
    """Return "lesson 06", "lesson 05, 07 and 14", or "" if no lesson lists it."""
    *others, last = ["", *map(number, lessons_of(exercise))]
    others = ", ".join(others[1:])
    return "lesson " + " and ".join(filter(None, [others, last])) if last else ""


def title(exercise):
    """Return the id and title of an exercise, and its lessons."""
    where = lessons_in_words(exercise)
    return f"{exercise.id}  {exercise.title}" + (f"  ({where})" if where else "")


def show_exercises(folder):
    """Print the lines of the exercises of a lesson, if it has some."""
    if found := exercises_of(folder):
        say(f"\nExercises of lesson {number(folder)} (python -m lessons start ID):")
    for exercise in found:
        _exercise_row(exercise, exercise_state(exercise, journal.events(exercise.id)))


def next_steps():
    """Return up to two next steps, the better first: [(command, what it is)].

    An open exercise comes first. Then come the exercises of the lessons that are begun,
    and then the next lesson, before its exercises.
    """
    known, lessons = _states()
    states = {exercise.id: state for exercise, state in known}
    begun = {folder for folder, state in lessons if state != "new"}
    started = {id for id, state in states.items() if state != "new"}
    # whoever starts an exercise of a lesson has read its page, perhaps elsewhere
    begun |= {f for f, found in in_book_order() if started & {e.id for e in found}}
    exercise, ready = _open_exercise(states), True
    if not exercise:
        exercise, ready = _fresh_exercise(states, begun)
    steps = []
    if exercise:
        verb = "start" if states[exercise.id] == "new" else "check"
        about = f"{exercise.title}, {exercise.minutes} min"
        steps = [(f"python -m lessons {verb} {exercise.id}", about)]
    if folder := _next_lesson(lessons, () if ready else begun):
        head = header(folder)
        about = f"{head.title}, {head.minutes} min"
        lesson = f"python -m lessons read {head.number}", about
        steps.insert(1 if ready else 0, lesson)
    return steps


def _open_exercise(states):
    """Return the exercise that was edited last, if it has not passed."""
    if {*states.values()} == {"new"} or states[(last := latest()).id] == "passed":
        return None
    return last


def _fresh_exercise(states, begun):
    """Return (the next exercise, whether its lesson is begun), in the book's order.

    Those of the lessons of the last one come first, then those of lessons that are
    begun; what an exercise needs has passed, if such an exercise is left.
    """
    is_first = {*states.values()} == {"new"}
    last = [] if is_first else lessons_of(latest())
    here = {e.id for folder in last for e in exercises_of(folder)}
    path = [
        (folder in begun or e.id in here, e)
        for folder, found in in_book_order()
        for e in found
        if states[e.id] != "passed"
    ]
    path.sort(key=lambda step: (step[1].id not in here, not step[0]))
    able = [s for s in path if all(states.get(n) == "passed" for n in s[1].needs)]
    for ready, exercise in able or path:
        return exercise, ready
    return None, False


def _next_lesson(lessons, begun):
    """Return the lesson after the one that was read last, or the first unread one.

    begun   lessons that count as read
    """
    unread = [f for f, state in lessons if state == "new" and f not in begun]
    folders = [number(folder) for folder, _ in lessons]
    done = [entry["ex"] for entry in journal.events() if entry["ex"] in folders]
    after = folders.index(done[-1]) if done else len(folders)
    later = [f for f in unread if folders.index(number(f)) > after]
    return (later or unread or [None])[0]


def doctor():
    """Print what there is; return 0, or 1 if a necessary part is missing."""
    from importlib import metadata  # late: it is slow

    python = platform.python_version()
    good = _line("python", python, sys.version_info >= (3, 11), "3.11 is necessary")
    for name in ("numpy", "matplotlib", "numba"):
        try:
            _line(name, metadata.version(name))
        except metadata.PackageNotFoundError:
            _line(name, "not installed", False, f"pip install {name}")
            good &= name != "numpy"  # the others are useful, not necessary
    _line("cores", str(os.cpu_count()))
    good &= _folder("your folder", work_folder(), "LESSONS_WORK")
    _folder("second copy", journal.mirror_folder(), "XDG_STATE_HOME")
    if good:
        from attention.kernels.cache import cache_directory

        cache = cache_directory()
        advice = "each run compiles anew; NUMBA_CACHE_DIR=FOLDER chooses another folder"
        _line("kernel cache", str(cache), cache is not None, advice)
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


def _exercise_row(e, state, about=None, indent=2):
    needs = e.needs if about is None else ()
    minutes = f"{e.minutes:>3} min"
    _row(e.id, e.title, e.dots, minutes, needs, state, about, indent)


def _row(id, title, dots, minutes, needs, state, about="", indent=2):
    """Print one line of at most 80 columns."""
    word, colour = MARKS[state]
    last = "<- " + ", ".join(needs) if needs else about or ""
    title = fit(title, max(16, width() - 42 - indent))
    cells = f"{id:<5}  {title} {dots:<4} {minutes:<7} "
    state = paint(f" {word:<7}", colour) if word else " " * 8
    print((" " * indent + cells + state + fit(f" {last}", 13)).rstrip())


def _folder(name, path, variable):
    """Print whether files can be written to a folder, which ``variable`` chooses."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return _line(name, str(path))
    except OSError as error:
        advice = f"{error.strerror}; {variable}=FOLDER chooses another folder"
        return _line(name, str(path), False, advice)


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
