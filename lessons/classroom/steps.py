"""A check is a sequence of steps; each step holds small functions with a title.

    @values("against a loop")
    def against_a_loop(my, rng):
        e = rng.normal(size=(3, 5))
        my.equal(my.softmax_t(e, 0.5), by_loop(e, 0.5))

The steps run in the order of ``STEPS``. All functions of a step run; if one fails, no
later step runs, because what follows from a wrong shape says nothing new; only the
random numbers of "values" and "gradients" may still name a wrong fixed example. One
that needs a part which is not written yet is skipped. ``my`` holds the learner's
functions (``lessons.classroom.checking.harness``), ``rng`` draws from the check's seed.
"""

import textwrap
from dataclasses import asdict, dataclass, field

from .terminal import plain

STEPS = ("written", "shape", "numbers", "values", "laws", "gradients", "edges")
WIDTH = 71  # of a line in a report, which is indented by eight


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


class CheckFailed(AssertionError):
    """A check failed; its text is what the learner reads.

    tag    the name of the mistake (see ``lessons.classroom.checking.diagnose``)
    lines  the report, folded; ``unfolded`` is it as well, for another failure
    """

    place = None  # the number of the comparison that failed, and its results
    arrays = None  # found and expected; ``back``: they are gradients
    back, question = False, ""  # the question: a hint on the mistake, if it has a name

    def __init__(self, tag, *lines):
        self.tag, self.lines = tag, [part for line in lines for part in folded(line)]
        self.unfolded = "\n".join(map(str, lines)).split("\n")
        super().__init__("\n".join(self.lines))


@dataclass
class Outcome:
    """The result of one function of a check.

    result  "ok", "failed", or "unwritten"
    tag     of a failure: the name of the measured mistake, or "unknown"
    lines   of a failure: the report; of an unwritten part: its name
    part    of a failure: the learner's function that the report is about, or None
    question  a hint on the mistake that was named
    uses    the other functions of the answer that ``part`` calls, also through others
    """

    step: str
    title: str
    result: str
    tag: str | None = None
    lines: list = field(default_factory=list)
    part: str | None = None
    uses: list = field(default_factory=list)
    question: str = ""

    as_dict = asdict


def named(text, function):
    """Return ``function``, named ``text`` in reports: named("4 - t", lambda t: …)."""
    function.__name__ = text
    return function


def folded(text):
    """Yield the lines of a report, folded."""
    for line in plain(str(text)).split("\n"):
        indent = " " * (len(line) - len(line.lstrip()))
        yield from textwrap.wrap(
            line, WIDTH, subsequent_indent=indent, break_on_hyphens=False
        ) or [""]
