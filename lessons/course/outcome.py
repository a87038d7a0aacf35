"""What a check finds: an ``Outcome`` for each of its functions, and why one failed."""

import textwrap
from dataclasses import asdict, dataclass, field

from ..classroom.terminal import plain

WIDTH = 71  # of a line in a report, which is indented by eight


class CheckFailed(AssertionError):
    """A check failed; its text is what the learner reads.

    tag    the name of the mistake (its sentence, or a word of ``bank``)
    lines  the report, folded; ``unfolded`` is it as well, for another failure
    """

    arrays, back = None, False  # found and expected; whether they are gradients

    def __init__(self, tag, *lines):
        self.tag, self.lines = tag, [part for line in lines for part in folded(line)]
        self.unfolded = "\n".join(map(str, lines)).split("\n")
        super().__init__("\n".join(self.lines))


@dataclass
class Outcome:
    """The result of one function of a check.

    step    its title; "written: …" of what comes before them
    result  "ok", "failed", or "unwritten"
    tag     of a failure: the name of the measured mistake, or "unknown"
    lines   of a failure: the report; of an unwritten part: its name
    part    of a failure: the learner's function that the report is about, or None
    uses    the other functions of the answer that ``part`` calls, also through others
    """

    step: str
    result: str
    tag: str | None = None
    lines: list = field(default_factory=list)
    part: str | None = None
    uses: list = field(default_factory=list)

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
