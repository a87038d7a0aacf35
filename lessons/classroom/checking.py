"""The verbs that run an answer: check, and watch, which checks after every change."""

import os
import time

from . import journal, report, runner
from .catalogue import UsageError, exercises
from .overview import latest
from .paths import hash_of, shown
from .runner import FAILED, PASSED, TIMEOUT, UNWRITTEN
from .screen import say, whole

INTERVAL = 0.5  # seconds between two looks at the files
WORST_FIRST = (TIMEOUT, FAILED, UNWRITTEN, PASSED)


def check(exercise, *, seed=0, verbose=False, pdb=False, json=False):
    """Check your file; return the exit code."""
    if exercise is None:
        exercise = latest()
    if exercise is None:
        raise UsageError(
            "Nothing is started yet. python -m lessons list shows what is."
        )
    path = exercise.work
    if not path.exists():
        say(f"{exercise.id} is not started: python -m lessons start {exercise.id}")
        return UNWRITTEN
    if pdb:
        report.heading(exercise, path)
        return runner.debug(exercise, path, seed).code
    return _check(exercise, path, seed, verbose, json)[0]


def check_all(**options):
    """Check everything that is started; return the gravest exit code."""
    begun = [e for e in exercises() if e.work.exists()]
    if not begun:
        raise UsageError(
            "Nothing is started yet. python -m lessons list shows what is."
        )
    codes = {check(e, **options) for e in begun}
    return next(code for code in WORST_FIRST if code in codes)


def watch(exercise, *, seed=0, interval=INTERVAL, looks=None):
    """Check after every change, of the answer or of what it imports, until Ctrl-C.

    It looks at dates and sizes, ``looks`` times or for ever; a file that was written a
    moment ago is left to settle until the next look.
    """
    exercise = exercise or latest()
    if exercise is None:
        raise UsageError(
            "Nothing is started yet. python -m lessons list shows what is."
        )
    if not exercise.work.exists():
        say(f"{exercise.id} is not started: python -m lessons start {exercise.id}")
        return UNWRITTEN
    say(f"watching {whole(shown(exercise.work))}; Ctrl-C ends it")
    files, checked, before = [], None, None
    try:
        while looks is None or looks > 0:
            looks = None if looks is None else looks - 1
            now = _dates([exercise.work, *files])
            if now[0] is not None and now != checked and (now == before or not checked):
                say("checking …")
                files = _check(exercise, exercise.work, seed)[1].files
                # what was written while it ran is a change as well
                checked = (now[0], *_dates(files))
                now = checked
            before = now
            time.sleep(interval)
    except KeyboardInterrupt:
        say("stopped.")
    return 0


def _check(exercise, path, seed, verbose=False, json=False):
    """(exit code, report) of one check, which goes into the journal."""
    sha = journal.snapshot(exercise, "check")
    if not json:
        report.heading(exercise, path)
    found = runner.run(exercise, path, seed)
    if json:
        report.as_json(exercise, path, found)
    else:
        report.body(exercise, found, verbose)
    journal.append(
        exercise.id,
        "check",
        work=sha,
        check=hash_of(exercise.check),
        step=found.failures[0]["step"] if found.failures else None,
        # of a text that was edited meanwhile nothing is known
        ok=found.code == PASSED and hash_of(path) == sha,
        diag=found.tag,
        code=found.code,
        seed=seed,
    )
    return found.code, found


def _dates(paths):
    found = []
    for path in paths:
        try:
            facts = os.stat(path)
            found.append((facts.st_mtime_ns, facts.st_size))
        except OSError:
            found.append(None)
    return tuple(found)
