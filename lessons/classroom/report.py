"""A check as the learner reads it, and the same as json.

38.5  Monotonic local attention              lessons/work/ex_38_5.py  3f2a91c
  ok    written, shape, values, laws
  FAIL  edges: window at the border
        …
  hint: python -m lessons hint 38.5
"""

import json

from .paths import hash_of, shown
from .runner import FAILED, PASSED, TIMEOUT, UNWRITTEN, telling
from .screen import paint, say, width

WORDS = {
    PASSED: "passed",
    FAILED: "failed",
    UNWRITTEN: "not written",
    TIMEOUT: "timeout",
}
PRINTED_LINES = 10


def heading(exercise, path):
    """The first line: the exercise, and which text of which file is being checked."""
    left, right = (
        f"{exercise.id}  {exercise.title}",
        f"{shown(path)}  {hash_of(path)[:7]}",
    )
    if len(left) + len(right) + 2 <= width():
        say(left + right.rjust(width() - len(left)))
    else:  # never folded: a path is to be copied
        print(left)
        print(f"      {right}", flush=True)


def body(exercise, report, verbose=False):
    """Everything after the first line, down to the next command."""
    outcomes = report.outcomes
    failed = [o["step"] for o in report.failures]
    waiting = [o["step"] for o in outcomes if o["result"] == "unwritten"]
    steps = list(dict.fromkeys(o["step"] for o in outcomes))
    hidden = [*failed, *waiting, *["written"] * bool(waiting)]
    done = [s for s in steps if s not in hidden]
    if verbose:
        for o in outcomes:
            if o["result"] == "ok":
                say(f"{paint('ok', 'green')}    {o['step']}: {o['title']}", 2)
    elif done:
        say(f"{paint('ok', 'green')}    {', '.join(done)}", 2)
    missing = list(
        dict.fromkeys(o["lines"][0] for o in outcomes if o["result"] == "unwritten")
    )
    if missing:
        names = [name.removeprefix(f"{exercise.id} ") for name in missing]
        say(f"{paint('to do', 'yellow')} not written yet: {', '.join(names)}", 2)
    said = set()
    for o in report.failures:
        say(f"{paint('FAIL', 'red')}  {o['step']}: {o['title']}", 2)
        sentence = o["tag"], *o["lines"][-1:]
        if not said or verbose or (telling(o) and sentence not in said):
            say("\n".join(o["lines"]), 8)
        said.add(sentence)
    if report.ending:
        say(f"{paint('END', 'red')}   {report.ending}", 2)
    _printed(report)
    _what_next(exercise, report)


def as_json(exercise, path, report):
    """One line of json: for an editor, or a script."""
    facts = {
        "exercise": exercise.id,
        "file": str(path),
        "hash": hash_of(path),
        "code": report.code,
        "result": WORDS.get(report.code, "failed"),
        "diagnosis": report.tag,
        "outcomes": report.outcomes,
        "printed": report.printed,
        "ending": report.ending,
    }
    print(json.dumps(facts, ensure_ascii=False), flush=True)


def _printed(report):
    """What the answer printed, in short."""
    if not report.printed.strip():
        return
    lines = report.printed.rstrip("\n").split("\n")
    say("printed:", 2)
    for line in lines[:PRINTED_LINES]:
        print("        " + line[: width() - 8])
    hidden = len("\n".join(lines[PRINTED_LINES:])) + report.more
    if hidden:
        say(f"… and {hidden} more characters, not shown", 8)


def _what_next(exercise, report):
    if report.code == PASSED:
        say(paint("passed", "green"), 2)
        return
    if report.code == FAILED and report.failures:
        if report.failures[0]["step"] != "written":
            say(paint(f"seed {report.seed}, {report.versions}", "dim"), 8)
            seed = f" --seed {report.seed}" if report.seed else ""
            say(f"again: python -m lessons check {exercise.id}{seed} --pdb", 2)
    elif report.code == FAILED and report.done:  # the check is broken, not the answer
        say("next:  python -m lessons doctor", 2)
        return
    say(f"hint:  python -m lessons hint {exercise.id}", 2)
