"""Answers to every exercise, right and wrong, and what its check says of each.

    python -m tests.lessons.judge               a table of all exercises
    python -m tests.lessons.judge E.9 -v        with each answer that is judged otherwise
    python -m tests.lessons.judge --add FILE    add rows {"id", "source", "right", "kind"}

``answers.json`` has, for each exercise, a few texts ("bases") and its answers. An answer
is a base with edits [old, new], each of which occurs once, or a text of its own; with a
``form``, its results have another form (other_forms.py). ``name``
is what the check said of a wrong answer when the answer was added: the tag and the
sentence, or null if it said what is wrong and named no mistake. ``today`` marks the
answers that were judged wrongly then: "passed", though wrong, or "refused", though right.
"""

import argparse
import difflib
import functools
import json
import os
import pathlib
import re
import sys
import tempfile
import time
from dataclasses import dataclass

FILE = pathlib.Path(__file__).with_name("answers.json")
NO_NAME = {  # the report says what is expected and found, and names no mistake
    "unknown", "nearly", "raises", "shape", "dtype", "type", "none", "results", "missing",
    "signature", "check-fault", "links", "written", "syntax", "law", "value",
}  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """One answer, as a learner may hand it in."""

    id: str  # of the exercise
    number: int
    right: bool
    origin: str
    text: str
    name: str | None = None
    today: str | None = None


@dataclass(frozen=True)
class Verdict:
    """What the check says of an answer."""

    answer: Answer
    passed: bool
    name: str | None


# the answers


@functools.cache
def stored():
    """Return the contents of the file: {id: {"bases": {name: text}, "answers": […]}}."""
    contents = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    for exercise in contents.values():
        bases = exercise["bases"]
        exercise["bases"] = {name: "\n".join(lines) + "\n" for name, lines in bases.items()}
    return contents


def ids():
    return list(stored())


def answers(id=None):
    """Yield the answers to one exercise, or to all, with their complete texts."""
    for each in [id] if id else ids():
        for number, row in enumerate(stored()[each]["answers"]):
            text = text_of(row, stored()[each]["bases"])
            facts = (row.get(key) for key in ("name", "today"))
            yield Answer(each, number, row["right"], row["origin"], text, *facts)


def text_of(row, bases):
    """Return the complete text of a row: its own, or a base with edits."""
    text = row["text"] if "text" in row else bases[row["base"]]
    for old, new in row.get("edits", ()):
        if text.count(old) != 1:
            raise ValueError(f"{old!r} occurs {text.count(old)} times; expected 1: {row}")
        text = text.replace(old, new)
    return text + other_form(row["form"]) if "form" in row else text


def other_form(name):
    """Return what turns the results of an answer into another form (other_forms.py)."""
    path = pathlib.Path(__file__).with_name("other_forms.py")
    return "\n\n" + path.read_text(encoding="utf-8").replace("MODE'", f"{name}'")


# the check


def outcome_of(id, text, named=True):
    """Check an answer in this process; return (passed, name of the mistake or None).

    The one place that knows how an answer is checked.
    """
    from lessons.classroom import catalogue
    from lessons.course import audit

    failed, unwritten = audit.judge(source_of(id, catalogue.find(id).file), text)
    names = [o.tag for o in failed if o.tag not in NO_NAME]
    return not failed and not unwritten, names[0] if names else None


@functools.cache
def source_of(id, file):
    from lessons.course.read import Source

    return Source(file.read_text(encoding="utf-8"), id, file)


def sentence(failed):
    """Return what a report says of the mistake, without the call, in one line."""
    report, tag = " ".join(" ".join(failed.lines).split()), re.escape(failed.tag)
    if found := re.search(rf"(?:.*\s|^)(yours\b.*?)\s*\[{tag}\]$", report):
        return found[1]
    lines = [line.strip() for line in failed.lines]
    said = [line for line in lines if line.startswith(("expected", "found", "yours"))]
    text = " ".join(said or lines[1:] or lines)
    return text.removesuffix(f"[{failed.tag}]").strip()


@functools.cache
def judged(id):
    """Return the verdict on each answer to an exercise."""
    return [verdict(answer) for answer in answers(id)]


def verdict(answer, named=True):
    """Return the verdict on one answer; without ``named``, faster and without a name."""
    return Verdict(answer, *outcome_of(answer.id, answer.text, named))


def recorded(id):
    """Return how many wrong answers to an exercise had a name when they were added."""
    return sum(a.name is not None for a in answers(id))


def counts(verdicts):
    """Return [right, of these refused, wrong, of these noticed, named]."""
    right = [v for v in verdicts if v.answer.right]
    wrong = [v for v in verdicts if not v.answer.right]
    noticed = [v for v in wrong if not v.passed]
    refused, has_name = [v for v in right if not v.passed], [v for v in noticed if v.name]
    return [len(group) for group in (right, refused, wrong, noticed, has_name)]


# more answers


def add(rows):
    """Add rows {"id", "source", "right", "kind"} whose texts are new; return how many."""
    contents, added = stored(), 0
    for row in rows:
        exercise = contents.setdefault(row["id"], {"bases": {}, "answers": []})
        text = plain(row["source"])
        if text in {text_of(known, exercise["bases"]) for known in exercise["answers"]}:
            continue
        passed, name = outcome_of(row["id"], text)
        facts = {"right": row["right"], "origin": row["kind"]}
        facts |= as_edits(text, exercise["bases"])
        if not row["right"]:
            facts["name"] = name
        if passed != row["right"]:
            facts["today"] = "passed" if passed else "refused"
        exercise["answers"].append(facts)
        added += 1
    save(contents)
    return added


def plain(text):
    """Return an answer without the marks of a solution, which no learner writes."""
    lines = text.rstrip("\n").split("\n")
    marks = "# BEGIN SOLUTION", "# END SOLUTION"
    return "\n".join(line for line in lines if line.strip() not in marks) + "\n"


def as_edits(text, bases):
    """Return a text as the base that it is nearest to and edits, or as a text."""
    found = []
    for name, base in bases.items():
        edits = edits_between(base, text)
        found.append((sum(map(len, sum(edits, []))), name, edits))
    size, name, edits = min(found, default=(len(text), None, []))
    if size > 0.6 * len(text):
        return {"text": text}
    return {"base": name} | ({"edits": edits} if edits else {})


def edits_between(base, text):
    """Return edits of whole lines, each with as many lines around as make it unique."""
    before, after = (x.splitlines(keepends=True) for x in (base, text))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    spans = [span[1:] for span in matcher.get_opcodes() if span[0] != "equal"]
    edits = []
    while spans:
        i, j, k, m = spans.pop()
        while "".join(before).count("".join(before[i:j])) != 1 or i == j:
            if i:  # one more line above, which also may belong to the span before
                i, k = i - 1, k - 1
                if spans and spans[-1][1] > i:
                    i, _, k, _ = spans.pop()
            elif j < len(before):
                j, m = j + 1, m + 1
            else:
                break
        edits.append(["".join(before[i:j]), "".join(after[k:m])])
        before[i:j] = after[k:m]
    return edits


def save(contents):
    """Write the file: a line for each line of a base, and for each answer."""

    def dumped(value):
        return json.dumps(value, ensure_ascii=False)

    def block(brackets, lines, indent):
        inner = ",\n".join(" " * (indent + 1) + line for line in lines)
        return f"{brackets[0]}\n{inner}\n{' ' * indent}{brackets[1]}"

    parts = []
    for id, exercise in contents.items():
        bases = [
            f"{dumped(name)}: "
            + block("[]", map(dumped, text.removesuffix("\n").split("\n")), 3)
            for name, text in exercise["bases"].items()
        ]
        rows = block("[]", map(dumped, exercise["answers"]), 2)
        both = [f'"bases": {block("{}", bases, 2)}', f'"answers": {rows}']
        parts.append(f"{dumped(id)}: {block('{}', both, 1)}")
    FILE.write_text(block("{}", parts, 0) + "\n", encoding="utf-8")
    stored.cache_clear()


# the program


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m tests.lessons.judge")
    parser.add_argument("id", nargs="*")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--add", metavar="FILE")
    args = parser.parse_args(argv)
    if args.add:
        with open(args.add, encoding="utf-8") as file:
            print(add([json.loads(line) for line in file if line.strip()]), "added")
        return
    print("exercise  right  refused  wrong  noticed  named  before  seconds")
    line = "{:<8}  {:>5}  {:>7}  {:>5}  {:>7}  {:>5}  {:>6}  {:7.1f}"
    total = [0] * 7
    for id in args.id or ids():
        start = time.process_time()
        verdicts = judged(id)
        seconds = time.process_time() - start
        row = [*counts(verdicts), recorded(id), seconds]
        total = [a + b for a, b in zip(total, row)]
        print(line.format(id, *row), flush=True)
        for each in verdicts if args.verbose else ():
            show(each)
    print(line.format("all", *total))


def show(verdict):
    """Print a verdict that is wrong, or has no name or another than before."""
    answer = verdict.answer
    if answer.right and verdict.passed:
        return
    about = f"  {answer.id} [{answer.number}] {answer.origin}"
    if answer.right or verdict.passed:
        print(f"{about}: {'passed, though wrong' if verdict.passed else 'refused'}")
    elif verdict.name is None or without_numbers(verdict) != without_numbers(answer):
        print(f"{about}: {verdict.name or 'no name'}; before: {answer.name or 'no name'}")


def without_numbers(found):
    """Return a name without its numbers: measured seconds and memory vary."""
    return re.sub(r"\d[\d.,]*", "0", found.name or "")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:  # no answer writes into a learner's
        os.environ |= {"LESSONS_WORK": folder, "XDG_STATE_HOME": folder}
        sys.exit(main())
