"""``dev``, for authors: sync makes the stubs, audit tries the checks."""

import re

from . import journal, stubs
from .audit import audit, table
from .catalogue import exercises
from .paths import LESSONS, shown
from .screen import say

README = LESSONS / "README.md"
MARKS = "<!-- exercises -->\n", "<!-- /exercises -->"


def sync(chosen):
    """Write the stub of every exercise whose solution has changed."""
    faults = written = 0
    for exercise in chosen:
        try:
            text = exercise.solution.read_text(encoding="utf-8")
            stub = stubs.strip(text, exercise.id).encode()
        except (stubs.StubError, SyntaxError) as error:
            faults += 1
            say(f"{exercise.solution.name}: {error}")
            continue
        if not exercise.stub.exists() or exercise.stub.read_bytes() != stub:
            journal.write(exercise.stub, stub)
            written += 1
            print(f"wrote {shown(exercise.stub)}")
    text = README.read_text(encoding="utf-8")
    if text != with_table(text):
        journal.write(README, with_table(text).encode())
        print(f"wrote {shown(README)}")
    fresh = len(chosen) - written - faults
    say(f"{written} written, {fresh} as they were, {faults} with a fault")
    return 1 if faults else 0


def run_audit(chosen):
    """Print the table of all audits; return 0 when there is no fault."""
    found = [audit(exercise) for exercise in chosen]
    print(table(found))
    return 1 if any(each.faults for each in found) else 0


def with_table(readme):
    """The text of lessons/README.md with the table of exercises as it has to be."""
    pattern = re.escape(MARKS[0]) + ".*?" + re.escape(MARKS[1])
    fresh = MARKS[0] + exercise_table() + MARKS[1]
    return re.sub(pattern, lambda found: fresh, readme, flags=re.DOTALL)


def exercise_table():
    """A row of Markdown for each exercise; the title leads to the stub."""
    rows = ["| id | exercise | | minutes | needs | book |", "|---|---|---|---|---|---|"]
    for e in exercises():
        link = f"[{e.title}](exercises/{e.stem}.py)"
        needs = ", ".join(e.needs)
        cells = (e.id, link, e.dots, str(e.minutes), needs, e.book or "")
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"
