"""``status`` and ``list``: where the learner is. Nothing slow is ever run."""

from . import journal, shelf, visits
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
    "read": ("read", "yellow"),
    "run": ("run", "green"),
    "other": ("changed", "yellow"),
}


def status():
    """Where you are, and the next step."""
    known, states, lessons = exercises(), _states(), _lessons()
    passed = sum(states[e.id] == "passed" for e in known)
    seen = sum(state != "new" for _, state in lessons)
    yours = whole(shown(work_folder()))
    said = f"{passed} of {len(known)} exercises passed, "
    say(f"{said}{seen} of {len(lessons)} lessons read.  Yours: {yours}")
    begun = [e for e in known if states[e.id] not in ("new", "passed")]
    if begun:
        say()
    for exercise in begun:
        _line(exercise, states[exercise.id])
    say()
    steps = [_next_step(known, states), _next_lesson(lessons)]
    if not begun:  # the lesson comes first, where no answer is half done
        steps.reverse()
    steps = [step for step in steps if step] or ["nothing is left to do"]
    for head, step in zip(("next:", "or:"), steps):
        say(f"{head:<5}  {step}")
    say("       python -m lessons list      everything there is;  -h, all verbs")
    return 0


def list_all():
    """All lessons and exercises: difficulty, minutes, what they need, your state."""
    known, states, lessons = exercises(), _states(), _lessons()
    if lessons:
        say("Lessons (python -m lessons read NN); <- those that it builds on")
    for folder, state in lessons:
        head = shelf.header(folder)
        minutes = f"{head.minutes:>3} min" if head.minutes else ""
        _row(head.number, head.title, head.dots, minutes, head.needs, state)
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


def _lessons():
    """[(folder, state)] of all lessons."""
    log = journal.events()
    return [
        (f, visits.state(f, [e for e in log if e["ex"] == shelf.number(f)]))
        for f in shelf.folders()
    ]


def _line(exercise, state):
    minutes = f"{exercise.minutes:>3} min"
    _row(exercise.id, exercise.title, exercise.dots, minutes, exercise.needs, state)


def _row(id, title, dots, minutes, needs, state):
    """One lesson or exercise in one line of at most 80 columns."""
    word, colour = MARKS[state]
    needs = "<- " + ", ".join(needs) if needs else ""
    title = fit(title, max(16, width() - 44))
    cells = f"{id:<5}  {title} {dots:<4} {minutes:<7} "
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
    return ""


def _next_lesson(lessons):
    """The first lesson that was not read yet: the book is in order."""
    unread = [folder for folder, state in lessons if state == "new"]
    return f"python -m lessons read {shelf.number(unread[0])}" if unread else ""
