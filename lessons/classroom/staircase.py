"""A check is a staircase: small functions, in steps, each with a title.

    @values("against a loop")
    def against_a_loop(my, rng):
        e = rng.normal(size=(3, 5))
        my.equal(my.softmax_t(e, 0.5), by_loop(e, 0.5))

The steps are taken in the order of ``STEPS``. Every function of a step is called, and
if one fails no later step is taken: what follows from a wrong shape says nothing. A
function that needs a part which is not written yet is left for later.

``my`` is what the learner wrote (``lessons.classroom.mine``), ``rng`` a generator from
the check's seed. Step "written" is taken by the staircase itself.
"""

import contextlib
import inspect
import os
import pdb
import traceback
import zlib
from dataclasses import asdict, dataclass, field

import numpy as np

from lessons import NotWritten

from .failure import CheckFailed

STEPS = ("written", "shape", "numbers", "values", "laws", "gradients", "edges")


def _step(name):
    def step(title):
        def mark(function):
            function.step, function.title = name, title
            return function

        return mark

    step.__name__ = name
    step.__doc__ = f"Mark a function (my, rng) of the step {name!r}, with its title."
    return step


shape, numbers, values, laws, gradients, edges = map(_step, STEPS[1:])


@dataclass
class Outcome:
    """What became of one function of a check.

    result  "ok", "failed", or "unwritten"
    tag     of a failure: which mistake was measured ("unknown": none that is known)
    lines   of a failure: the report; of what is unwritten: its name
    """

    step: str
    title: str
    result: str
    tag: str | None = None
    lines: list = field(default_factory=list)

    as_dict = asdict


def stairs(checks):
    """The functions of a module of checks, in the order of the steps."""
    functions = [f for f in vars(checks).values() if inspect.isfunction(f)]
    marked = [f for f in functions if hasattr(f, "step")]
    return sorted(marked, key=lambda f: STEPS.index(f.step))


def climb(checks, mine, seed=0, debug=False):
    """Take the steps one after the other; yield an ``Outcome`` for each function.

    With ``debug``, the debugger opens where the first of them fails.
    """
    yield (outcome := mine.written())
    if outcome.result == "failed":
        return
    stopped = None
    for function in stairs(checks):
        if stopped not in (None, function.step):
            return
        outcome = take(function, mine, seed, debug)
        yield outcome
        if outcome.result == "failed":
            stopped = function.step
            if debug:
                return


def take(function, mine, seed=0, debug=False):
    """Call one function of a check, and say how it ended."""
    where = function.step, function.title
    # each function draws its own numbers: the order of the file does not matter
    rng = np.random.default_rng((seed, zlib.crc32(function.__name__.encode())))
    try:
        with np.errstate(all="ignore"):
            function(mine, rng)
    except NotWritten as error:
        return Outcome(*where, "unwritten", lines=[str(error)])
    except CheckFailed as failure:
        if debug:
            print("\n".join(failure.lines))
            look(failure.__cause__ or failure, function, mine)
        return Outcome(*where, "failed", failure.tag, failure.lines)
    except Exception as error:  # such as a pair that was expected, and is none
        if debug:
            print(f"{type(error).__name__}: {error}")
            look(error, function, mine)
        frame = traceback.extract_tb(error.__traceback__)[-1]
        lines = [
            *mine.last_call(),
            f"{type(error).__name__}: {error}",
            f"where the check says:  {frame.line}",
        ]
        return Outcome(*where, "failed", "raises", CheckFailed("", *lines).lines)
    return Outcome(*where, "ok")


def look(error, function, mine):
    """The debugger, in the learner's frame that raised, or in that of the check."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    files = mine._path, inspect.getsourcefile(function)
    depth = {f: k for k, frame in enumerate(frames)
             for f in files if frame.f_code.co_filename == f}  # fmt: skip
    start = depth.get(files[0], depth.get(files[1], len(frames) - 1))
    if start < len(frames) - 1:
        print("The debugger is in the check; down: what was compared; q: the end.")
    debugger = _Debugger()
    debugger.start = start
    debugger.reset()
    debugger.interaction(None, error.__traceback__)


class _Debugger(pdb.Pdb):
    """pdb that begins in frame ``start`` of a traceback, not in the innermost one."""

    def setup(self, frame, tb):
        super().setup(frame, tb)
        self.curindex = self.start
        self.curframe = self.stack[self.start][0]
        self.curframe_locals = self.curframe.f_locals


def verdict(outcomes):
    """The exit code of a whole check: 0 passed, 1 failed, 3 not written yet."""
    results = {outcome.result for outcome in outcomes}
    return 1 if "failed" in results else 3 if "unwritten" in results else 0


@contextlib.contextmanager
def quiet():
    """Nothing that is printed, in Python, reaches the terminal."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            yield
