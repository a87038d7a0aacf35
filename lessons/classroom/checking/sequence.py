"""Run the steps of a check in their order, and say what each function found."""

import inspect
import pathlib
import pdb
import re
import traceback
import types
import zlib

import numpy as np

from lessons import NotWritten

from ..catalogue import LESSONS
from ..steps import STEPS, CheckFailed, Outcome, folded
from ..terminal import plain
from . import mutants, twins

UNPACKED = re.compile(
    r"^ValueError: (not enough|too many) values to unpack "
    r"\(expected (\d+)(?:, got (\d+))?"
)
RETRIED = "values", "gradients"  # after a failure of "numbers" without a name
NO_NAME = "unknown", "nearly", "raises", "shape", "dtype", "type", "none", "check-fault"


def check_functions(checks):
    """Return the marked functions of a check's module, in the order of the steps."""
    functions = [f for f in vars(checks).values() if inspect.isfunction(f)]
    marked = [f for f in functions if hasattr(f, "step")]
    return sorted(marked, key=lambda f: STEPS.index(f.step))


def run_steps(checks, my, seed=0, debug=False, named=True):
    """Run the steps in order; yield an ``Outcome`` for each function.

    debug   open the debugger at the first failure
    named   compare a failure with the edits of the exercise in loops
    """
    my._let_own(getattr(checks, "OWN_STATE", {}))
    yield (outcome := my.written())
    if outcome.result == "failed":
        return
    failed_step, failed_part, has_name, passed = None, None, False, []
    for function in check_functions(checks):
        if failed_step not in (None, function.step):
            # a fixed example may hide which mistake it is; random numbers show it
            if has_name or debug or failed_step != "numbers":
                return
            if function.step not in RETRIED:
                continue
            outcome = run_function(function, my, seed, passed=passed, named=named)
            same_part = function.step == "values" or outcome.part == failed_part
            if outcome.result == "failed" and outcome.tag not in NO_NAME and same_part:
                has_name = True
                yield outcome
            continue
        outcome = run_function(function, my, seed, debug, passed, named)
        yield outcome
        if outcome.result == "ok" and function.step != "written":
            passed.append(function)
        if outcome.result == "failed":
            failed_step, failed_part = function.step, outcome.part
            has_name = has_name or outcome.tag not in ("unknown", "nearly")
            if debug:
                return


def run_function(function, my, seed=0, debug=False, passed=(), named=True):
    """Run one function of a check; return its ``Outcome``.

    passed   the functions of the check that the answer has passed
    """
    place = function.step, function.title

    def rng_of(function):  # seeded by name: the order of the functions does not matter
        return np.random.default_rng((seed, zlib.crc32(function.__name__.encode())))

    my._comparisons = 0
    try:
        with np.errstate(all="ignore"):
            function(my, rng_of(function))
    except NotWritten as error:
        return Outcome(*place, "unwritten", lines=[plain(str(error))])
    except CheckFailed as error:
        failure = _named(error, function, my, rng_of, passed) if named else error
        cause = error.__cause__ or error
    except Exception as error:
        failure, cause = _unexpected(error, my), error
    else:
        return Outcome(*place, "ok")
    if debug:
        print("\n".join(failure.lines))
        _open_debugger(cause, failure, function, my)
    part = my._part(failure.lines)
    uses = sorted(my._uses().get(part, ()))
    return Outcome(*place, "failed", failure.tag, failure.lines, part, uses)


def _named(failure, function, my, rng_of, passed):
    """Return a failure with the name of the mistake in the exercise in loops, if any."""
    if failure.place is None or "SPOILED" not in function.__globals__:
        return failure
    place = failure, function, my, rng_of, passed
    found = twins.name_of(*place)
    if not found and failure.tag == "unknown":
        found = mutants.name_of(*place)
    if found:
        lines = [t for t in failure.unfolded if not t.endswith(f"[{failure.tag}]")]
        sentence = f"yours equals {found[1]}  [{found[0]}]"
        return CheckFailed(found[0], *lines, sentence)
    return failure


def exit_code(outcomes):
    """Return 0 if all passed, 1 if one failed, 3 if a part is not written yet."""
    results = {outcome.result for outcome in outcomes}
    return 1 if "failed" in results else 3 if "unwritten" in results else 0


def _unexpected(error, my):
    """Return the failure for an exception of any other class.

    If the machinery of the course raised it, the answer is not at fault. Otherwise the
    check cannot use a result of the answer: it expects a pair, for example.
    """
    said = f"{type(error).__name__}: {error}".removesuffix(": ")
    frames = traceback.extract_tb(error.__traceback__)[1:]
    checks = LESSONS / "checks", pathlib.Path(frames[0].filename)
    machinery = LESSONS / "classroom", LESSONS / "pages"
    for frame in reversed(frames):  # the innermost of the course
        path = pathlib.Path(frame.filename)
        # my.f, where the answer has no f, is no fault of the machinery
        if any(map(path.is_relative_to, machinery)) and frame.name != "__getattr__":
            return CheckFailed(
                "check-fault",
                "the check itself failed; your answer may be right",
                said,
                f"{path.name}, line {frame.lineno}:  {frame.line}",
            )
        if any(map(path.is_relative_to, checks)) or frame.filename == my._path:
            break
    found = UNPACKED.search(said)
    if found and "= my." in frame.line:  # y, backward = my.f(x)
        count = found[3] or "more"
        result = my._last.result
        if isinstance(result, np.ndarray):
            count = f"1, an array of shape {result.shape}"
        lines = f"expected {found[2]} results", f"found {count}"
        return CheckFailed("results", *my.last_call(), *lines)
    where = f"at this line of the check:  {frame.line}"
    if frame.filename == my._path:
        where = f"line {frame.lineno}:  {frame.line}"
    return CheckFailed("raises", *my.last_call(), said, where)


def _open_debugger(error, failure, function, my):
    """Open pdb in the learner's frame that raised.

    If none did, the function with the wrong result is called once more, and pdb stops
    at its first line; if nothing was called, pdb opens in the check.
    """
    steps = []
    tb = error.__traceback__
    while tb:
        steps.append(tb)
        tb = tb.tb_next
    files = [step.tb_frame.f_code.co_filename for step in steps]
    again = my._calls.to_repeat("\n".join(failure.lines))
    if my._path not in files and again:
        learners, args, options = again.again
        print("\n".join(folded(f"once more, from its first line: {again.text}")))
        pdb.runcall(learners, *args, **options)
        return
    for file in (my._path, inspect.getsourcefile(function)):
        if file in files:
            last = len(files) - files[::-1].index(file)
            break
    for step in reversed(steps[:last]):  # the traceback up to that frame
        tb = types.TracebackType(tb, step.tb_frame, step.tb_lasti, step.tb_lineno)
    pdb.post_mortem(tb)
