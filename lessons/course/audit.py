"""Audit an exercise: is each written mistake noticed, and called by its name?

The reference answer is compared with no second one. It is right because ``gradcheck``
finds its gradients right (``gradients_of``), and because a test compares it with the
library's functions (tests/lessons/test_references.py).
"""

import contextlib
import pathlib
import time
import warnings
from dataclasses import dataclass, field

import numpy as np

import minigrad as mg
from attention import kernels
from minigrad.checking.verdict import VacuousCheckError

from ..classroom.catalogue import UsageError, exercises, find
from . import check
from .run import SECONDS, time_limit

BUDGET = 1.5  # seconds of processor time for a right answer
LONG = 20  # characters from which a line of an answer would give it away


@dataclass
class Audit:
    """The counts of one exercise; ``faults`` is empty if all is well."""

    id: str
    written: int = 0  # mistakes in its file
    noticed: int = 0
    named: int = 0
    seconds: float = 0.0  # of a check of the answer
    faults: list = field(default_factory=list)


def audit(args):
    """Print the table of the audits; return 0 if there is no fault."""
    chosen = [find(id) for id in args.id] or exercises()
    for exercise in chosen:
        if exercise.is_withheld:
            text = "is sealed in this course, and an author needs its text."
            raise UsageError(f"{exercise.file.name} {text}")
    found = [audit_exercise(exercise) for exercise in chosen]
    for each, exercise in zip(found, chosen):  # no test depends on the time
        if each.seconds > BUDGET and time_limit(exercise) == SECONDS:
            text = f"a check of the answer takes {each.seconds:.1f} s"
            each.faults.append(f"{text}, {BUDGET} at most")
    print(table(found))
    return 1 if any(each.faults for each in found) else 0


def table(audits):
    """Return the audits as text: a line for each exercise, then the faults."""
    lines = ["exercise  mistakes  noticed  named  seconds"]
    for a in audits:
        row = f"{a.id:<8}  {a.written:>8}  {a.noticed:>7}  {a.named:>5}  {a.seconds:7.2f}"
        lines.append(row + "  FAULT" * bool(a.faults))
    return "\n".join(lines + [f"  {a.id}: {f}" for a in audits for f in a.faults])


def audit_exercise(exercise):
    """Return the ``Audit`` of one exercise."""
    with kernels.backend("numpy"), silent():  # compiling would take its time
        return _audited(exercise)


def _audited(exercise):
    found, source = Audit(exercise.id), exercise.parts
    fault = found.faults.append
    with contextlib.suppress(Exception):  # what cannot be loaded fails below
        taken = {*dir(check.My), *vars(check.load(source, source.path, source.answer))}
        for name in taken & {*source.functions}:
            fault(f"my.{name} is no function of the answer: give {name} another name")
    for needed in {*exercise.needs} - {other.id for other in exercises()}:
        fault(f"needs {needed}, which does not exist")
    if not source.hints.get(""):
        fault("HINTS has no line that begins with 1: there is no first hint")
    if not source.why:
        fault("WHY is empty: nothing explains a pass")
    for line in leaks(source):
        fault(f"{line!r} can be read in the stub")
    start = time.process_time()
    failed, _ = judge(source, source.answer)
    found.seconds = time.process_time() - start
    if failed:
        fault(f"the answer itself fails: {' | '.join(failed[0].lines)}")
        return found
    if not judge(source, source.stub)[1]:
        fault("the stub does not count as not written")
    for edit in source.right:
        if failed := judge(source, edit.text)[0]:
            fault(f"a right form fails, line {edit.line + 1}: {failed[0].lines}")
    calls = calls_of(source)
    for edit in source.slips:
        found.written += 1
        users = source.affected(edit.line)
        skip = [step for step, made in calls.items() if made and not users & made.keys()]
        failed = judge(source, edit.text, edit.sentence, skip)[0]
        names = [outcome.tag for outcome in failed]
        found.noticed += bool(failed)
        found.named += edit.sentence in names
        if not failed:
            fault(f"not noticed, line {edit.line + 1}: {edit.sentence}")
        elif edit.sentence not in names:
            fault(f"line {edit.line + 1}: {edit.sentence}: is named {names[0]}")
    for sentence in gradients_of(source, calls):
        fault(sentence)
    return found


@contextlib.contextmanager
def silent():
    """Print nothing of an answer, and no warning of NumPy."""
    quiet = warnings.catch_warnings(action="ignore")
    with contextlib.redirect_stdout(None), quiet:
        yield


def judge(source, text, name=None, skip=()):
    """Return (failed outcomes, unwritten ones) of an answer, given as text.

    name   of a mistake: what follows a failure that has it is not checked
    skip   functions of the check that do not run
    """
    path = pathlib.Path(source.path).with_name("answer.py")  # beside the others
    try:
        with silent():
            my = check.load(source, path, text)
            my.searches = name is None
            outcomes = []
            for outcome in check.outcomes(my, skip=skip):
                outcomes.append(outcome)
                if name and outcome.tag == name:
                    break
    except Exception as error:
        outcomes = [check.not_loaded(error, path)]
    kinds = "failed", "unwritten"
    return tuple([o for o in outcomes if o.result == kind] for kind in kinds)


def calls_of(source):
    """Return {function of the check: {function of the answer: its calls}}."""
    found, my = {}, check.load(source, source.path, source.answer)
    with np.errstate(all="ignore"):
        for step in check.steps(my):
            my.log.clear()
            step(my, check.rng_of(step, 0))
            made = found[step.__name__] = {}
            for call in my.log:
                made.setdefault(call.name, []).append(call)
    return found


def leaks(source):
    """Return the lines that a learner writes and that can be read in the stub."""
    kept, stub = {*source.stub.splitlines()}, source.stub
    lines = [line for line in source.answer.splitlines() if line not in kept]
    return [t for t in map(str.strip, lines) if len(t) >= LONG and t in stub]


def gradients_of(source, calls):
    """Yield a sentence for each wrong gradient of the reference, by differences."""
    names = check.run(source.answer, source.path)
    for name in source.functions:
        tried = [c for made in calls.values() for c in made.get(name, ()) if c.gs]
        for call in tried[:: max(len(tried) // 3, 1)]:
            if sentence := wrong_gradient(source, names, call):
                yield f"{name}: {sentence}"
                break


def wrong_gradient(source, names, call):
    """Return what gradcheck says of a wrong backward of the reference, or None."""
    parameters = [a.arg for a in source.functions[call.name].args.args]
    floats = [k for k, a in enumerate(call.args)
              if isinstance(a, np.ndarray) and a.dtype.kind == "f"]  # fmt: skip
    labels = [label for label, _ in source.gradients(call.name)]
    results = call.result if isinstance(call.result, tuple) else (call.result,)
    by_name = [k for k in floats if {f"d{parameters[k]}", f"d_{parameters[k]}"} & {*labels}]
    inputs = by_name if len(by_name) == len(results) else floats[: len(results)]
    if len(inputs) != len(results):
        return f"{len(results)} gradients, of which arguments? Name them d_x in the docstring"

    def op(*arrays):
        args = list(call.args)
        for k, x in zip(inputs, arrays):
            args[k] = x
        *y, backward = names[call.name](*args, **call.options)
        return (y[0] if len(y) == 1 else tuple(y)), backward

    arrays = [np.array(call.args[k]) for k in inputs]
    if sum(a.size for a in arrays) > 400 or not all(np.isfinite(a).all() for a in arrays):
        return None
    with np.errstate(all="ignore"):
        try:
            result = mg.gradcheck(mg.lift(op), arrays, names=[parameters[k] for k in inputs])
        except VacuousCheckError:  # the gradient is 0, as for a softmax of one score
            return None
        except Exception as error:
            return str(error).partition("\n")[0]
    return None if result.ok or "rough" in result.tag else result.message
