"""The verbs for authors: ``dev sync`` writes the stubs, ``dev audit`` tests the checks.

The audit of an exercise finds a fault unless: the stub is the stripped solution, byte
for byte, and counts as not written; the solution passes; every planted wrong answer
fails with the name of its mistake; every automatic one fails, or stands in EQUIVALENT
with a reason; and what the exercise needs exists.
"""

import ast
import contextlib
import itertools
import os
import re
import signal
import time
from dataclasses import dataclass, field

from .. import copies, stubs
from ..catalogue import UsageError, exercises, find
from ..checking import twins
from ..checking.harness import cannot_load, load, load_checks
from ..checking.runner import SECONDS, environment, time_limit
from ..checking.sequence import exit_code, run_steps
from ..learner import hints
from ..steps import Outcome
from ..terminal import display_path, say
from . import tables

BUDGET = 1.5  # seconds of processor time for a right answer


class OutOfTime(BaseException):
    """The time is over; not an Exception, which a check may turn into a sentence."""


def sync(args):
    """Write the stubs of exercises and the tables of pages, if they changed."""
    chosen = _with_solutions(args.id)
    faults, files = 0, {}
    for exercise in chosen:
        try:
            if exercise.file:
                continue
            text = exercise.solution.read_text(encoding="utf-8")
            files[exercise.stub] = stubs.strip(text, exercise.id)
        except (stubs.StubError, SyntaxError) as error:
            faults += 1
            say(f"{exercise.solution.name}: {error}")
    files |= tables.pages()
    written = 0
    for path, text in files.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            copies.write(path, text.encode())
            written += 1
            print(f"wrote {display_path(path)}")
    say(f"{written} written, {len(files) - written} unchanged, {faults} with a fault")
    return 1 if faults else 0


def _with_solutions(ids):
    """Return the exercises of these ids, or all. Raises UsageError without solutions."""
    chosen = [find(id) for id in ids] or exercises()
    for exercise in chosen:
        if exercise.is_withheld:
            raise UsageError(
                f"There is no {display_path(exercise.solution)}: solutions are withheld "
                "in this course, and an author needs them."
            )
    return chosen


def audit(args):
    """Print the table of the audits; return 0 if there is no fault."""
    chosen = _with_solutions(args.id)
    found = [audit_exercise(exercise) for exercise in chosen]
    for each, exercise in zip(found, chosen):  # no test depends on the time
        if each.seconds > BUDGET and time_limit(exercise) == SECONDS:
            text = f"a check of the solution takes {each.seconds:.1f} s"
            each.faults.append(f"{text}, {BUDGET} at most")
    print(table(found))
    return 1 if any(each.faults for each in found) else 0


@dataclass
class Audit:
    """The counts of one exercise's audit; ``faults`` is empty if all is well."""

    id: str
    planted: int = 0
    killed: int = 0
    named: int = 0
    misnamed: int = 0  # another known mistake was named
    automatic: int = 0
    caught: int = 0
    equivalent: int = 0
    seconds: float = 0.0  # of a check of the solution
    faults: list = field(default_factory=list)


def audit_exercise(exercise, automatic=True, every=1):
    """Audit the check of one exercise.

    automatic  whether to try the automatic wrong answers
    every      try only every n-th of the planted ones
    """
    found = Audit(exercise.id)
    fault = found.faults.append
    if exercise.file:
        from ...course import audit as course

        course.audit(exercise, found, every)
        return found
    if not exercise.check.exists():
        fault(f"there is no check {display_path(exercise.check)}")
        return found
    text = exercise.solution.read_text(encoding="utf-8")
    try:
        stub, author = stubs.strip(text, exercise.id), stubs.author_part(text)
        wrong = [*planted_mutants(text), *spoiled_twins(exercise)]
        own = hints.own_hints(exercise)
    except (stubs.StubError, SyntaxError, ValueError) as error:
        fault(str(error))
        return found
    if not exercise.stub.exists() or exercise.stub.read_bytes() != stub.encode():
        fault("the stub is not the stripped solution: python -m lessons dev sync")
    for needed in {*exercise.needs} - {other.id for other in exercises()}:
        fault(f"needs {needed}, which does not exist")
    if not own.get(""):
        fault('HINTS[""] of the check is empty: there is no first hint')
    if not author.get("WHY"):
        fault("WHY of the solution is empty: nothing explains a pass")
    if not wrong:
        fault("no mistake is planted, in MUTANTS or in SPOILED")
    if not hasattr(load_checks(exercise), "own_work"):
        fault("the check does not import own_work")
    code, _ = run(exercise, stub)
    if code != 3:
        fault(f"the stub ends with {code}; expected 3, not written yet")
    start = time.process_time()
    code, failed = run(exercise, text)
    found.seconds = time.process_time() - start
    if code != 0:
        fault(f"the solution ends with {code}: {_first_line(failed)}")
        return found
    twin = twins.text_of(vars(load_checks(exercise)))
    if twin and (failed := run(exercise, stubs.exercise_part(text) + twin)[1]):
        fault(f"the exercise in loops fails: {_first_line(failed)}")
    for what, mutant, tag in wrong[::every]:
        _audit_planted(found, exercise, what, mutant, tag)
    if automatic:
        _audit_automatic(found, exercise, text, author.get("EQUIVALENT", {}))
    return found


def _audit_planted(found, exercise, what, mutant, tag):
    """Check one planted wrong answer: it must fail with the name ``tag``."""
    found.planted += 1
    code, failed = run(exercise, mutant)
    if code != 1:
        found.faults.append(f"planted, not noticed: {what}")
        return
    found.killed += 1
    name = failed.tag if failed else "timeout"
    if name == tag:
        found.named += 1
    else:
        found.misnamed += name not in ("unknown", "raises", "shape", "timeout")
        line = _first_line(failed)
        found.faults.append(f"planted as {tag}, named {name}: {what}; {line}")


def _audit_automatic(found, exercise, text, equivalent):
    """Check every automatic wrong answer: it must fail, or be in ``equivalent``."""
    unused = set(equivalent)
    for what, mutant in automatic_mutants(text):
        found.automatic += 1
        code, _ = run(exercise, mutant, named=False)
        if code == 1:
            found.caught += 1
        elif what in equivalent:
            found.equivalent += 1
            unused.discard(what)
        else:
            found.faults.append(
                f"automatic, not noticed, and not in EQUIVALENT: {what}"
            )
    for what in sorted(unused):
        found.faults.append(f"in EQUIVALENT, but noticed or never tried: {what}")


def run(exercise, text, named=True):
    """Check an answer given as text; return (exit code, failure).

    The failure is the first, or the first with a name if that of the first is unknown;
    None if the answer did not end within the time limit.

    named   whether to look for the name of the mistake
    """
    outcomes, first = [], None
    try:
        with _silent(), alarm(time_limit(exercise)), _backend_of_a_check(exercise):
            try:
                my = load(exercise, exercise.solution, stubs.exercise_part(text))
            except Exception as error:
                failure = cannot_load(error, exercise.solution)
                result = "failed", failure.tag, failure.lines
                return 1, Outcome("written", "the file", *result)
            for outcome in run_steps(load_checks(exercise), my, named=named):
                outcomes.append(outcome)
                if outcome.result == "failed":
                    first = first or outcome
                    may_follow = first.part in outcome.uses
                    if not named or (outcome.tag != "unknown" and not may_follow):
                        return 1, outcome
    except OutOfTime:
        return 1, first
    if first:
        return 1, first
    return exit_code(outcomes), None


@contextlib.contextmanager
def alarm(seconds):
    """Raise OutOfTime inside the block after this processor time, if the system can.

    Other programs on the machine do not count.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_):
        raise OutOfTime

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def table(audits):
    """Return the audits as text: a line for each exercise, then totals and faults."""
    lines = ["exercise  planted  killed  named  automatic  caught  equivalent  seconds"]
    for a in audits:
        fault = "  FAULT" if a.faults else ""
        lines.append(
            f"{a.id:<8}  {a.planted:>7}  {a.killed:>6}  {a.named:>5}  {a.automatic:>9}"
            f"  {a.caught:>6}  {a.equivalent:>10}  {a.seconds:7.2f}{fault}"
        )
    named, planted = (sum(getattr(a, n) for a in audits) for n in ("named", "planted"))
    answered = named + sum(a.misnamed for a in audits)
    if planted:
        lines.append(
            f"precision {named / (answered or 1):.3f} ({named} of {answered} names "
            f"right), recall {named / planted:.3f} ({named} of {planted} planted)"
        )
    lines += [f"  {a.id}: {fault}" for a in audits for fault in a.faults]
    return "\n".join(lines)


def planted_mutants(text):
    """Return [(what, text, tag)] from MUTANTS; each pattern occurs exactly once."""
    answer, found = stubs.exercise_part(text), []
    for old, new, tag in stubs.author_part(text).get("MUTANTS", []):
        times = answer.count(old)
        if times != 1:
            raise stubs.StubError(
                f"the pattern {old!r} occurs {times} times; expected 1"
            )
        found.append((f"{old} -> {new}", answer.replace(old, new), tag))
    return found


def spoiled_twins(exercise):
    """Return [(what, text, tag)] from SPOILED of a check with the exercise in loops.

    What the loops lack is the solution's.
    """
    checks = load_checks(exercise)
    text = twins.text_of(vars(checks))
    solution = stubs.exercise_part(exercise.solution.read_text(encoding="utf-8"))
    return [
        (sentence, solution + twins.spoiled(text, old, new), name)
        for name, sentence, _, old, new in getattr(checks, "SPOILED", ())
    ]


def automatic_mutants(text):
    """Return [(what, text)]; what is "before -> after" of one node of a region."""
    answer, regions, found = stubs.exercise_part(text), stubs.find_regions(text), []
    lines = answer.encode().splitlines(keepends=True)
    starts = [0, *itertools.accumulate(map(len, lines))]
    for node in ast.walk(ast.parse(answer)):
        line = getattr(node, "lineno", 0) - 1
        if not any(first < line < last for first, last in regions):
            continue
        begin = starts[line] + node.col_offset  # in bytes, as Python counts columns
        end = starts[node.end_lineno - 1] + node.end_col_offset
        for changed in map(ast.unparse, _changes(node)):
            new = changed if isinstance(node, ast.stmt) else f"({changed})"
            mutant = b"".join(lines)[:begin] + new.encode() + b"".join(lines)[end:]
            found.append((f"{ast.unparse(node)} -> {changed}", mutant.decode()))
    return found


SWAPPED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.LtE: ast.Lt, ast.Lt: ast.LtE,
    ast.GtE: ast.Gt, ast.Gt: ast.GtE,
}  # fmt: skip


def _changes(node):
    """Yield what ``node`` may be changed into."""
    if isinstance(node, ast.Attribute) and node.attr == "T":
        yield node.value
    elif isinstance(node, ast.AugAssign):
        yield ast.Assign([node.target], node.value, lineno=node.lineno)
    elif isinstance(node, ast.BinOp):
        if type(node.op) in SWAPPED:
            yield ast.BinOp(node.left, SWAPPED[type(node.op)](), node.right)
        elif isinstance(node.op, ast.Div) and "sqrt" in ast.unparse(node.right):
            yield node.left
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        if not isinstance(node.operand, ast.Constant):
            yield node.operand
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        ops = [SWAPPED[type(node.ops[0])](), *node.ops[1:]]
        yield ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.Call):
        yield from _calls(node)


def _calls(node):
    """Yield a call without keepdims, and along axis 0 instead of -1."""
    others = [k for k in node.keywords if k.arg != "keepdims"]
    if len(others) < len(node.keywords):
        yield ast.Call(node.func, node.args, others)
    last = "-1"
    for k, keyword in enumerate(node.keywords):
        if keyword.arg == "axis" and ast.unparse(keyword.value) == last:
            axis = ast.keyword("axis", ast.Constant(0))
            keywords = [*node.keywords[:k], axis, *node.keywords[k + 1 :]]
            yield ast.Call(node.func, node.args, keywords)
    reduces = getattr(node.func, "attr", "") in ("sum", "max", "min", "mean", "argmax")
    if reduces and node.args and ast.unparse(node.args[0]) == last:
        yield ast.Call(node.func, [ast.Constant(0), *node.args[1:]], node.keywords)


@contextlib.contextmanager
def _silent():
    """Discard what is printed in Python."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            yield


def _backend_of_a_check(exercise):
    """Use NumPy, unless the check needs numba: compiling would take its time."""
    from attention import kernels

    if environment(exercise).get("ATTENTION_BACKEND") == "numpy":
        return kernels.backend("numpy")
    return contextlib.nullcontext()


def _first_line(failed):
    if failed is None:
        return "no end within the time limit"
    return f"{failed.step}, {failed.title}: {' | '.join(failed.lines)}"
