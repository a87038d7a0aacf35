"""The verbs ``check`` and ``watch``, and the report that they print.

38.5  Monotonic local attention     lessons/work/06_38_5_windows.py  3f2a91c
  ok    written, shape, values, laws
  FAIL  edges: window at the border
        …
  hint: python -m lessons hint 38.5
"""

import json
import time

from ...course import run
from ...course.run import FAILED, PASSED, TIMEOUT, UNWRITTEN
from .. import journal
from ..catalogue import exercises
from ..journal import hash_of
from ..terminal import display_path, fit, paint, plain, say, width, without_breaks
from .progress import latest, next_steps

INTERVAL = 0.5  # seconds between two readings of the file
WORST_FIRST = (TIMEOUT, FAILED, UNWRITTEN, PASSED)
WORDS = {0: "passed", 1: "failed", 3: "not written", 4: "timeout"}
PRINTED_LINES = 30


def check(
    exercise, *, seed=0, verbose=False, pdb=False, as_json=False, save=None, edit=None
):
    """Check an answer, print the report, add it to the journal; return the exit code.

    save  a file for the arrays of the first failure of the report: the inputs of the
          call, what was found, and what is expected
    edit  a function that changes a line of the report, such as the numbers in it
    """
    if not _is_started(exercise):
        return UNWRITTEN
    if not as_json:
        print_heading(exercise)
    if pdb:
        return run.debug(exercise, exercise.work, seed).code
    sha = journal.snapshot(exercise, "before check")
    found = run.run(exercise, exercise.work, seed, save=save)
    if edit:
        found.ending = edit(found.ending)
        for outcome in found.outcomes:
            outcome["lines"] = list(map(edit, outcome["lines"]))
    journal.add_check(exercise, sha, found)
    if as_json:
        print_json(exercise, sha, found)
        return found.code
    for text, indent in lines(exercise, found, verbose, save):
        say(text, indent)
    return found.code


def check_all(**options):
    """Check every started answer; return the worst exit code."""
    latest()  # raises UsageError if there is none
    codes = {check(e, **options) for e in exercises() if e.work.exists()}
    return next(code for code in WORST_FIRST if code in codes)


def watch(exercise, *, seed=0):
    """Check after every change of the answer, until Ctrl-C."""
    if not _is_started(exercise):
        return UNWRITTEN
    say(f"watching {without_breaks(display_path(exercise.work))}; Ctrl-C ends it")
    checked = ""
    try:
        while True:
            now = hash_of(exercise.work)  # "" while an editor replaces the file
            if now not in ("", checked):
                say("checking …")
                check(exercise, seed=seed)
                checked = now
            time.sleep(INTERVAL)
    except KeyboardInterrupt:
        say("stopped.")
    return 0


def print_heading(exercise):
    """Print the first line: the exercise, the file, and the hash of its text."""
    left = f"{exercise.id}  {exercise.title}"
    right = f"{display_path(exercise.work)}  {hash_of(exercise.work)[:7]}"
    if len(left) + len(right) + 2 <= width():
        print(left + right.rjust(width() - len(left)), flush=True)
    else:  # a path is not folded, so that it can be copied
        print(f"{left}\n      {right}", flush=True)


def lines(exercise, report, verbose=False, save=None):
    """Yield (text, indent) after the heading, up to the next command."""
    passed = [o["step"] for o in report.outcomes if o["result"] == "ok"]
    if report.unwritten and "written" in passed:
        passed.remove("written")
    for line in passed if verbose or not passed else ["; ".join(passed)]:
        yield f"{paint('ok', 'green')}    {line}", 2
    if report.unwritten:
        own = f"{exercise.id} "  # a part of another exercise keeps its id
        names = ", ".join(part.removeprefix(own) for part in report.unwritten)
        yield f"{paint('to do', 'yellow')} not written yet: {names}", 2
    for o in report.failures:
        word = "FAULT" if o["tag"] == "check-fault" else "FAIL "
        is_new = o in report.causes
        after = "" if is_new else "  (may follow from the failure above)"
        yield f"{paint(word, 'red')} {o['step']}{after}", 2
        if is_new or verbose:
            yield "\n".join(o["lines"]), 8
    if report.ending:
        yield f"{paint('END', 'red')}   {report.ending}", 2
    yield from _prints(report)
    yield from _next(exercise, report)
    if save:
        yield from _saved(save, report)
    if report.code == PASSED:
        yield from _passed(exercise)


def print_json(exercise, sha, report):
    """Print one line of json, for an editor or a script."""
    facts = {
        "exercise": exercise.id,
        "file": str(exercise.work),
        "hash": sha,
        "code": report.code,
        "result": WORDS.get(report.code, "failed"),
        "diagnosis": report.tag,
        "outcomes": report.outcomes,
        "printed": report.printed,
        "ending": report.ending,
    }
    print(json.dumps(facts, ensure_ascii=False), flush=True)


def _is_started(exercise):
    if exercise.work.exists():
        return True
    say(f"{exercise.id} is not started: python -m lessons start {exercise.id}")
    return False


def _passed(exercise):
    """Yield why the answer works, the reference to compare with, and the next step."""
    if why := exercise.parts.why:
        yield "why:", 2
        yield why, 8
    if not exercise.is_withheld:
        yield f"see:   python -m lessons solution {exercise.id}  (yours, the reference)", 2
    if "import experiment" in exercise.parts.below:
        yield f"then:  python -m lessons experiment {exercise.id} trains it.", 2
    for command, about in next_steps()[:1]:
        yield fit(f"next:  {command}  {about}", width() - 2), 2


def _saved(save, report):
    path = without_breaks(display_path(save))
    if report.saved:
        found = [name for name in report.saved if name.startswith("found")]
        yield f"saved: {path} contains {', '.join(report.saved)}", 2
        yield f'       np.load("{path}")["{(found or report.saved)[0]}"], for example', 2
    else:
        yield f"not saved: {path} would contain nothing", 2


def _prints(report):
    """Yield the first lines that the answer printed."""
    if not report.printed.strip():
        return
    printed = report.printed.rstrip("\n").split("\n")
    yield "printed:", 2
    for line in printed[:PRINTED_LINES]:
        yield without_breaks(plain(line)[: width() - 8]), 8
    hidden = len("\n".join(printed[PRINTED_LINES:])) + report.more
    if hidden:
        yield f"… and {hidden} more characters", 8


def _next(exercise, report):
    """Yield the command that helps now."""
    if report.code == PASSED:
        yield paint("passed", "green"), 2
        return
    is_fault = report.tag == "check-fault" or (report.done and not report.failures)
    if report.code == FAILED and is_fault:  # of the check, not of the answer
        yield "next:  python -m lessons doctor", 2
        return
    if report.code == FAILED and report.failures:
        if not report.failures[0]["step"].startswith("written"):
            seed = f" --seed {report.seed}" if report.seed else ""
            yield f"again: python -m lessons check {exercise.id}{seed} --pdb", 2
    yield f"hint:  python -m lessons hint {exercise.id}", 2
