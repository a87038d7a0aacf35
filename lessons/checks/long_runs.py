"""Long runs of a learner's own code: progress, what is finished, and their records."""

import json
import pathlib
import time
from dataclasses import replace

from attention.app.experiments.verdict import over_seeds, verdict, written
from lessons import NotWritten
from lessons.classroom import copies
from lessons.classroom.catalogue import find, work_folder
from lessons.classroom.checking.harness import load_checks
from lessons.classroom.checking.sequence import check_functions, run_function
from lessons.classroom.records import RECORDS, code_hash, read_record
from lessons.classroom.steps import CheckFailed


def examine(my, seed, but):
    """Run the check of an answer, before it trains for minutes. Raises CheckFailed.

    but   the name of the function of the check that needs the record of the long run
    """
    checks = load_checks(find(my._id))
    for function in check_functions(checks):
        if function.__name__ != but:
            outcome = run_function(function, my, seed)
            if outcome.result == "unwritten":
                raise NotWritten(*outcome.lines)
            if outcome.result == "failed":
                tag = f"[{outcome.tag}]"
                text = f"The check fails here ({tag}), so nothing was trained."
                again = f"next: python -m lessons check {my._id}"
                raise CheckFailed(outcome.tag, text, *outcome.lines, again)


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
        copies.write(file, json.dumps([key, found]).encode())
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


def judged(claim, claimed, found, digits=2):
    """Return a claim with its verdict, and below it the number with its interval."""
    return f"{claim}: {verdict(claimed, found)}\n    {written(found, digits)}"


def over_sentences(values, steps=None):
    """Return the mean over sentences, ``Measured``: of one model, after some steps."""
    rests_on = f"{len(values)} sentences of one model"
    return replace(over_seeds(values, steps=steps), rests_on=rests_on)


def own_record(my):
    """Return the learner's record of the long run of the code as it is now.

    Raises CheckFailed without one.
    """
    exercise, path = find(my._id), pathlib.Path(my._path)
    folder = RECORDS if path == exercise.solution else path.parent / "records"
    file = folder / f"{exercise.stem}.json"
    minutes = round(read_record(exercise)["seconds"] / 60)
    again = f"next: python -m lessons experiment {exercise.id}, {minutes} minutes or so"
    record = _read(file)
    if not isinstance(record, dict) or not {"code", "result"} <= record.keys():
        raise CheckFailed(
            "no-long-run",
            "expected the record of your own training; there is none yet",
            again,
        )
    if record["code"] != code_hash(exercise, path):
        raise CheckFailed(
            "old-record",
            "expected the record of your code as it is now",
            "found the record of other code: yours has changed since it was trained",
            again,
        )
    return record["result"]


def _kept(file, key):
    match _read(file):
        case [saved, list(found)] if saved == key:
            return found
    return []


def _read(file):
    """Return what a file of json contains; None if it is missing or damaged."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
