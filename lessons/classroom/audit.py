"""The checks themselves, checked: what ``python -m lessons dev audit`` does.

Of every exercise: the stub is the stripped solution, byte for byte; the stub counts as
not written; the solution passes; every planted wrong answer fails, by the name that it
was planted for; every automatic one fails, or stands in EQUIVALENT with a reason; what
the exercise needs exists.
"""

import contextlib
import importlib
import signal
import threading
import time
from dataclasses import dataclass, field

from . import mutants, stubs
from .catalogue import exercises
from .loading import load, load_checks
from .runner import SECONDS, environment, time_limit
from .staircase import Outcome, climb, quiet, verdict

BUDGET = 1.5  # seconds for a right answer: a check has two, with its start


class Overtime(BaseException):
    """The time is over; not an Exception, which a check may turn into a sentence."""


@dataclass
class Audit:
    """What was found about one exercise; ``faults`` is empty when all is well."""

    id: str
    planted: int = 0
    killed: int = 0
    named: int = 0
    misnamed: int = 0  # another known mistake was named: it costs precision
    automatic: int = 0
    caught: int = 0
    equivalent: int = 0
    seconds: float = 0.0  # of a check of the solution
    faults: list = field(default_factory=list)


def audit(exercise):
    """Check the check of one exercise; return an ``Audit``."""
    found = Audit(exercise.id)
    say = found.faults.append
    text = exercise.solution.read_text(encoding="utf-8")
    try:
        stub, hints = stubs.strip(text, exercise.id), stubs.author_part(text)
        wrong = mutants.planted(text)
    except (stubs.StubError, SyntaxError, ValueError) as error:
        say(str(error))
        return found
    if not exercise.stub.exists() or exercise.stub.read_bytes() != stub.encode():
        say("the stub is not the stripped solution: python -m lessons dev sync")
    if not exercise.check.exists():
        say(f"there is no {exercise.check.name} in lessons/checks")
        return found
    known = {other.id for other in exercises()}
    for needed in exercise.needs:
        if needed not in known:
            say(f"needs {needed}, which does not exist")
    if not hints.get("HINTS", {}).get(""):
        say('HINTS[""] is empty: there is no first hint')
    code, _ = run(exercise, stub)
    if code != 3:
        say(f"the stub ends with {code}; expected 3, not written yet")
    begun = time.process_time()
    code, failed = run(exercise, text)
    found.seconds = time.process_time() - begun
    if code != 0:
        say(f"the solution ends with {code}: {_first(failed)}")
        return found
    if found.seconds > BUDGET and time_limit(exercise) == SECONDS:
        say(f"a check of the solution takes {found.seconds:.1f} s, {BUDGET} at most")
    for what, mutant, tag in wrong:
        found.planted += 1
        code, failed = run(exercise, mutant)
        if code != 1:
            say(f"planted, not noticed: {what}")
            continue
        found.killed += 1
        name = failed.tag if failed else "timeout"  # as a check calls it
        if name == tag:
            found.named += 1
        else:
            found.misnamed += name not in ("unknown", "raises", "shape", "timeout")
            say(f"planted as {tag}, named {name}: {what}; {_first(failed)}")
    equivalent = hints.get("EQUIVALENT", {})
    unused = set(equivalent)
    for what, mutant in mutants.automatic(text):
        found.automatic += 1
        code, _ = run(exercise, mutant)
        if code == 1:
            found.caught += 1
        elif what in equivalent:
            found.equivalent += 1
            unused.discard(what)
        else:
            say(f"automatic, not noticed, and not in EQUIVALENT: {what}")
    for what in sorted(unused):
        say(f"in EQUIVALENT, but noticed or never tried: {what}")
    return found


def _as_in_a_check(exercise):
    """NumPy's backend, unless the check wants numba: no compiling on a check's time."""
    kernels = importlib.import_module("attention.kernels")  # late: it is heavy
    if environment(exercise).get("ATTENTION_BACKEND") == "numpy":
        return kernels.backend("numpy")
    return contextlib.nullcontext()


def run(exercise, text):
    """(exit code, first failure) of an answer given as text, in this process.

    The failure is None where the answer does not end: that is failed as well.
    """
    try:
        # some wrong answers never end
        with quiet(), alarm(time_limit(exercise)), _as_in_a_check(exercise):
            try:
                mine = load(exercise, exercise.solution, stubs.exercise_part(text))
            except Exception as error:
                said = [f"{type(error).__name__}: {error}, when the file is loaded"]
                return 1, Outcome("written", "the file", "failed", "raises", said)
            outcomes = []
            for outcome in climb(load_checks(exercise), mine):
                outcomes.append(outcome)
                if outcome.result == "failed":  # the first one names the mistake
                    break
    except Overtime:
        return 1, None
    failed = next((o for o in outcomes if o.result == "failed"), None)
    return verdict(outcomes), failed


@contextlib.contextmanager
def alarm(seconds):
    """Raise Overtime inside the block after so many seconds, where that works."""
    main = threading.current_thread() is threading.main_thread()
    if not (main and hasattr(signal, "setitimer")):
        yield
        return

    def stop(*_):
        raise Overtime

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def table(audits):
    """A line for each exercise, and the sums: a confusion matrix in short."""
    head = "exercise  planted  killed  named  automatic  caught  equivalent  seconds"
    lines = [head]
    for a in audits:
        cells = (a.planted, a.killed, a.named, a.automatic, a.caught, a.equivalent)
        widths = (7, 6, 5, 9, 6, 10)
        row = "  ".join(f"{c:>{w}}" for c, w in zip(cells, widths))
        lines.append(f"{a.id:<8}  {row}  {a.seconds:7.2f}" + "  FAULT" * bool(a.faults))
    named, planted = (sum(getattr(a, n) for a in audits) for n in ("named", "planted"))
    fired = named + sum(a.misnamed for a in audits)
    if planted:
        precision = named / fired if fired else 0.0
        lines.append(
            f"precision {precision:.3f} ({named} of {fired} names right), "
            f"recall {named / planted:.3f} ({named} of {planted} planted)"
        )
    for a in audits:
        lines += [f"  {a.id}: {fault}" for fault in a.faults]
    return "\n".join(lines)


def _first(failed):
    if failed is None:
        return "no end within the time limit"
    return f"{failed.step}, {failed.title}: {' | '.join(failed.lines)}"
