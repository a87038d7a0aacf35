"""``status`` and ``list``: where the learner is. Nothing slow is ever run."""

import re

from . import journal
from .catalogue import exercises
from .paths import LESSONS, shown, work_folder
from .screen import fit, paint, say, width

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
    say(f"{passed} of {len(known)} exercises passed.  Yours: {shown(work_folder())}")
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
    lessons = sorted((LESSONS / "book").glob("[0-9][0-9]_*/lesson.py"))
    if lessons:
        say("Lessons (python -m lessons read NN)")
    for path in lessons:
        say(f"{path.parent.name[:2]}     {_title(path)}", 2)
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


def _title(path):
    """The first heading of a lesson."""
    found = re.search(r"^#\s+#\s+(.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    title = found[1].strip() if found else path.parent.name[3:].replace("_", " ")
    return re.sub(r"^\d+\.\s*", "", title)  # the number stands before it
