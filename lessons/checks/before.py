"""Earlier answers that an answer uses: are they right?"""

import linecache
import pathlib

from lessons import NotWritten
from lessons.classroom import harness
from lessons.classroom.catalogue import find
from lessons.classroom.steps import CheckFailed, run_steps


def answers_pass(my, *ids):
    """Fail unless the earlier answers pass whose functions this answer uses."""
    text = "".join(linecache.getlines(my._path))
    for id in ids:
        exercise = find(id)
        path = pathlib.Path(my._path).with_name(f"{exercise.stem}.py")
        if f'earlier(__file__, "{id}"' not in text:
            continue  # the learner has written it anew
        if not path.exists():
            raise NotWritten(f"{id} {exercise.title}")
        theirs = harness.load(exercise, path)
        for outcome in run_steps(harness.load_checks(exercise), theirs):
            if outcome.result == "unwritten":
                raise NotWritten(outcome.lines[0])
            if outcome.result == "failed":
                raise CheckFailed(
                    "earlier",
                    f"this answer uses your answer to {id}, which does not pass:",
                    f"{outcome.step}: {outcome.title}",
                    *outcome.lines[-1:],
                    f"next: python -m lessons check {id}",
                )
