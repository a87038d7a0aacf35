"""Earlier answers that an answer uses: are they right?"""

import functools
import linecache
import pathlib
import re

from lessons.stubs import NotWritten

from ..classroom.catalogue import LESSONS, find
from . import check
from .outcome import CheckFailed
from .read import text_of


def answers_pass(my, *ids):
    """Fail unless the earlier answers pass whose functions this answer uses."""
    if pathlib.Path(my.path).parent == LESSONS / "exercises":
        return  # it uses the reference answers
    text = "".join(linecache.getlines(my.path))
    for id in ids:
        exercise = find(id)
        path = exercise.answer_in(pathlib.Path(my.path).parent)
        used = re.findall(rf'earlier\(__file__, "{re.escape(id)}", "(\w+)"', text)
        parts = [f"{id} {name}" for name in used]
        if not parts:
            continue  # the learner has written it anew
        if not path.exists():
            raise NotWritten(parts[0])
        changed = max(each.stat().st_mtime_ns for each in path.parent.glob("*.py"))
        for outcome in _outcomes(exercise, path, changed):
            if outcome.result == "unwritten" and outcome.lines[0] in parts:
                raise NotWritten(outcome.lines[0])
            if outcome.result == "failed":
                raise CheckFailed(
                    "earlier",
                    f"this answer uses your answer to {id}, which does not pass:",
                    outcome.step,
                    *outcome.lines[-1:],
                    f"next: python -m lessons check {id}",
                )


def passed_answer(my, id):
    """Return (text, path) of another exercise's answer; None if it does not pass."""
    exercise = find(id)
    if pathlib.Path(my.path) == find(my.id).file:
        return exercise.answer_text, str(exercise.file)
    path = exercise.answer_in(pathlib.Path(my.path).parent)
    try:
        found = _outcomes(exercise, path, path.stat().st_mtime_ns)
    except Exception:  # there is no file, or it is no program yet
        return None
    passed = all(outcome.result == "ok" for outcome in found)
    return (text_of(path), str(path)) if passed else None


@functools.cache
def _outcomes(exercise, path, changed):
    """Return the outcomes of an earlier answer, checked again if a file has changed.

    changed  the time of the newest file beside it: it may use other answers itself
    """
    return list(check.outcomes(check.load(exercise.parts, path)))
