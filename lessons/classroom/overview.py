"""``status`` and ``list``: where the learner is. Nothing slow is ever run."""

from . import journal, shelf
from .catalogue import exercises
from .paths import shown, work_folder
from .screen import fit, paint, say, whole, width

MARKS = {
    "new": ("", "dim"),
    "started": ("started", "yellow"),
    "failed": ("not yet", "red"),
    "stale": ("edited", "yellow"),
    "changed": ("recheck", "yellow"),
    "passed": ("passed", "green"),
}


def status():
    """Where you are, and the next step."""
    known, states = exercises(), _states()
    passed = sum(states[e.id] == "passed" for e in known)
    yours = whole(shown(work_folder()))
    say(f"{passed} of {len(known)} exercises passed.  Yours: {yours}")
    begun = [e for e in known if states[e.id] not in ("new", "passed")]
    if begun:
        say()
    for exercise in begun:
        _line(exercise, states[exercise.id])
    say()
    say("next:  " + _next_step(known, states))
    say("       python -m lessons list      everything there is;  -h, all verbs")
    return 0


def list_all():
    """All lessons and exercises: difficulty, minutes, what they need, your state."""
    known, states = exercises(), _states()
    lessons = [shelf.header(folder) for folder in shelf.folders()]
    if lessons:
        say("Lessons (python -m lessons read NN); <- those that it builds on")
    for lesson in lessons:
        _lesson(lesson)
    if lessons:
        say()
    say("Exercises (python -m lessons start ID); <- those that it builds on")
    for exercise in known:
        _line(exercise, states[exercise.id])
    return 0


def latest():
    """The exercise whose answer was edited last, or None."""
    begun = [e for e in exercises() if e.work.exists()]
    return max(begun, key=lambda e: e.work.stat().st_mtime_ns, default=None)


def _states():
    """{id: state} of all exercises, from one reading of the journal."""
    by_id = {}
    for entry in journal.events():
        by_id.setdefault(entry["ex"], []).append(entry)
    return {e.id: journal.status(e, by_id.get(e.id, []))[0] for e in exercises()}


def _lesson(header):
    """One lesson in one line, with minutes and needs under those of the exercises."""
    needs = "<- " + ", ".join(header.needs) if header.needs else ""
    minutes = f"{header.minutes} min" if header.minutes else ""
    title = fit(header.title, max(16, width() - 44))
    print(f"  {header.number:<5}  {title} {minutes:>12} {'':8} {needs}".rstrip())


def _line(exercise, state):
    """One exercise in one line of at most 80 columns."""
    word, colour = MARKS[state]
    needs = "<- " + ", ".join(exercise.needs) if exercise.needs else ""
    title = fit(exercise.title, max(16, width() - 44))
    cells = f"{exercise.id:<5}  {title} {exercise.dots} {exercise.minutes:>3} min "
    state = paint(f" {word:<7}", colour) if word else " " * 8
    print(("  " + cells + state + fit(f" {needs}", 13)).rstrip())


def _next_step(known, states):
    last = latest()
    if last and states[last.id] != "passed":
        return f"python -m lessons check {last.id}"
    for exercise in known:
        ready = all(states.get(n) == "passed" for n in exercise.needs)
        if states[exercise.id] == "new" and ready:
            return f"python -m lessons start {exercise.id}"
    left = [e for e in known if states[e.id] != "passed"]
    if left:
        verb = "start" if states[left[0].id] == "new" else "check"
        return f"python -m lessons {verb} {left[0].id}"
    return "nothing: every exercise has passed"
