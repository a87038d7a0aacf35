"""The report of a check, as the learner reads it, and as json.

38.5  Monotonic local attention              lessons/work/ex_38_5.py  3f2a91c
  ok    written, shape, values, laws
  FAIL  edges: window at the border
        …
  hint: python -m lessons hint 38.5
"""

import json

from .paths import hash_of, shown
from .runner import FAILED, PASSED, TIMEOUT, UNWRITTEN, informative
from .terminal import paint, say, width

WORDS = {
    PASSED: "passed",
    FAILED: "failed",
    UNWRITTEN: "not written",
    TIMEOUT: "timeout",
}
PRINTED_LINES = 10


def heading(exercise, path):
    """Print the first line: the exercise, the file, and the hash of its text."""
    left = f"{exercise.id}  {exercise.title}"
    right = f"{shown(path)}  {hash_of(path)[:7]}"
    if len(left) + len(right) + 2 <= width():
        print(left + right.rjust(width() - len(left)), flush=True)
    else:  # a path is not folded, so that it can be copied
        print(f"{left}\n      {right}", flush=True)


def body(exercise, report, verbose=False):
    """Print the lines after the heading, up to the next command."""
    outcomes = report.outcomes
    unwritten = [o for o in outcomes if o["result"] == "unwritten"]
    hidden = {o["step"] for o in outcomes if o["result"] != "ok"}
    hidden |= {"written"} if unwritten else set()
    passed = [o for o in outcomes if o["result"] == "ok"]
    steps = dict.fromkeys(o["step"] for o in passed if o["step"] not in hidden)
    lines = [", ".join(steps)] if steps else []
    if verbose:
        lines = [f"{o['step']}: {o['title']}" for o in passed]
    for line in lines:
        say(f"{paint('ok', 'green')}    {line}", 2)
    if unwritten:
        names = dict.fromkeys(o["lines"][0].split(" ")[-1] for o in unwritten)
        say(f"{paint('to do', 'yellow')} not written yet: {', '.join(names)}", 2)
    printed = set()
    for o in report.failures:
        say(f"{paint('FAIL', 'red')}  {o['step']}: {o['title']}", 2)
        sentence = o["tag"], *o["lines"][-1:]
        if not printed or verbose or (informative(o) and sentence not in printed):
            say("\n".join(o["lines"]), 8)
        printed.add(sentence)
    if report.ending:
        say(f"{paint('END', 'red')}   {report.ending}", 2)
    _show_prints(report)
    _next_command(exercise, report)


def as_json(exercise, path, report):
    """Print one line of json, for an editor or a script."""
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


def _show_prints(report):
    """Print the first lines that the answer printed."""
    if not report.printed.strip():
        return
    lines = report.printed.rstrip("\n").split("\n")
    say("printed:", 2)
    for line in lines[:PRINTED_LINES]:
        print("        " + line[: width() - 8])
    hidden = len("\n".join(lines[PRINTED_LINES:])) + report.more
    if hidden:
        say(f"… and {hidden} more characters", 8)


def _next_command(exercise, report):
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
