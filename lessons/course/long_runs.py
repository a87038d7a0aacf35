"""Long runs of a learner's own code: comparisons of models, and their records."""

import contextlib
import functools
import json
import math
import pathlib
import shutil
import types
from dataclasses import replace

from lessons.stubs import NotWritten
from lessons.instrument.fair import Study
from lessons.instrument.verdict import over_seeds, verdict, written

from ..classroom.catalogue import find, work_folder
from ..classroom.records import answer_hash, read_record
from ..classroom.studies import compare
from . import check
from .outcome import CheckFailed


def examine(my, but=None):
    """Run the check of an answer, before it trains for minutes. Raises CheckFailed.

    but   the name of the function of the check that needs the record of the long run
    """
    with contextlib.redirect_stdout(None):
        found = list(check.outcomes(my, skip=[but]))
    for outcome in found:
        if outcome.result == "unwritten":
            id = outcome.lines[0].split()[0]
            first = f"Solve {id} first: python -m lessons check {id}"
            raise NotWritten(f"{outcome.lines[0]}. {first}")
        if outcome.result == "failed":
            tag = f"[{outcome.tag}]"
            text = f"The check fails here ({tag}), so nothing was trained."
            lines = [text, *outcome.lines]
            if outcome.tag != "earlier":  # whose lines name another exercise
                lines.append(f"next: python -m lessons check {my.id}")
            raise CheckFailed(outcome.tag, *lines)


class OwnModels(Study):
    """A comparison of models that are trained with the functions of an answer.

    my      the answer
    shift   is added to all seeds
    """

    def __init__(self, my, shift=0):
        self.answer = my.text, my.path
        self.choosing = [shift + seed for seed in self.choosing]
        self.seeds = [shift + seed for seed in self.seeds]

    @property
    def my(self):
        """The functions of the answer, loaded anew in each process that trains."""
        return functions(*self.answer)


@functools.cache
def functions(text, path):
    """Return the functions of an answer. Their calls are not recorded."""
    return types.SimpleNamespace(**check.run(text, path))


def compared(my, comparison, quick=False):
    """Train the models of a comparison with a learner's code; return the record.

    Finished runs and parts of runs are kept: after Ctrl-C, the same command continues
    them, if the code is the same.

    quick   one run for each arm, with the rates of the course's record
    """
    exercise, command = find(my.id), command_of(my, quick)
    name = f"{exercise.stem}-{answer_hash(exercise, my.text)}"
    folder = work_folder() / "records" / "states" / name
    kept = (read_record(exercise) or {}).get("result", {}) if quick else None
    found = compare(comparison, folder, command, kept)
    shutil.rmtree(folder, ignore_errors=True)
    return found


def command_of(my, quick=False):
    """Return the command that runs the experiment of an answer."""
    command = f"python -m lessons experiment {my.id}" + " --quick" * quick
    own = pathlib.Path(my.path) != find(my.id).file
    return command + " --impl solution" * (not own)


def judged(claim, claimed, found, digits=2):
    """Return a claim with its verdict, and below it the number with its interval."""
    if math.isinf(found.high - found.low):
        found_once = f"{found.value:+.{digits}f}, {found.rests_on}"
        return f"{claim}: one seed says nothing of the spread\n    {found_once}"
    return f"{claim}: {verdict(claimed, found)}\n    {written(found, digits)}"


def over_sentences(values, steps=None):
    """Return the mean over sentences, ``Measured``: of one model, after some steps."""
    rests_on = f"{len(values)} sentences of one model"
    return replace(over_seeds(values, steps=steps), rests_on=rests_on)


def own_record(my):
    """Return the learner's record of the long run of the code as it is now.

    Raises CheckFailed without one. An answer in the folder of the course is an author's,
    and has the record of the course.
    """
    exercise, path = find(my.id), pathlib.Path(my.path)
    of_course = read_record(exercise)
    if path.parent == exercise.file.parent:
        return of_course["result"]
    file = path.parent / "records" / f"{exercise.stem}.json"
    minutes = round(of_course["seconds"] / 60)
    again = f"next: python -m lessons experiment {exercise.id}, {minutes} minutes or so"
    record = _read(file)
    if not isinstance(record, dict) or "result" not in record:
        raise CheckFailed(
            "no-long-run",
            "expected the record of your own training; there is none yet",
            again,
        )
    if "tokens" in record:
        is_same = record["tokens"] == answer_hash(exercise, my.text)
    else:  # a record of an earlier version of the course
        is_same = path.stat().st_mtime <= file.stat().st_mtime
    if not is_same:
        raise CheckFailed(
            "old-record",
            "expected the record of your code as it is now",
            "found the record of other code: yours has changed since it was trained",
            again,
        )
    return record["result"]


def _read(file):
    """Return what a file of json contains; None if it is missing or damaged."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
