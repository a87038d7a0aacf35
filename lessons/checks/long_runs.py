"""Long runs of a learner's own code: progress, what is finished, and their records."""

import json
import pathlib
import time

from lessons.classroom import journal
from lessons.classroom.catalogue import find, work_folder
from lessons.classroom.records import RECORDS, code_hash
from lessons.classroom.steps import CheckFailed


def each_of(my, plan, run, seed):
    """Return [run(*one) for one in plan], and print the progress and the time left.

    Finished runs are kept in a file: after Ctrl-C, the next call goes on from there, if
    the code and the seed are the same.
    """
    exercise, path = find(my._id), pathlib.Path(my._path)
    key = [code_hash(exercise, path), seed]
    file = work_folder() / "records" / f"{exercise.stem}.unfinished.json"
    found = _kept(file, key)
    if found:
        print(f"{len(found)} of {len(plan)} runs are finished already", flush=True)
    begun, before = time.monotonic(), len(found)
    for one in plan[before:]:
        found.append(run(*one))
        journal.write(file, json.dumps([key, found]).encode())
        passed = time.monotonic() - begun
        left = passed / (len(found) - before) * (len(plan) - len(found))
        name = ", ".join(map(str, one))
        print(
            f"{len(found)} of {len(plan)}: {name}; {passed:.0f} s, about {left:.0f} s "
            "left",
            flush=True,
        )
    file.unlink(missing_ok=True)
    return found


def own_record(my, minutes):
    """Return the learner's record of the long run. Raises CheckFailed without one."""
    exercise, path = find(my._id), pathlib.Path(my._path)
    folder = RECORDS if path == exercise.solution else path.parent / "records"
    file = folder / f"{exercise.stem}.json"
    if not file.exists():
        raise CheckFailed(
            "no-long-run",
            "expected the record of your own training; it has not run yet",
            f"next: python -m lessons experiment {exercise.id}, {minutes} minutes or so",
        )
    record = json.loads(file.read_text(encoding="utf-8"))
    if record["code"] != code_hash(exercise, path):
        print("Your code has changed since it was trained.")
    return record["result"]


def _kept(file, key):
    try:
        saved, found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return found if saved == key else []
