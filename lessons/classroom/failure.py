"""What a check has against an answer: measured facts, and the name of the mistake."""

import textwrap

WIDTH = 71  # of a line in a report, which is indented by eight


class CheckFailed(AssertionError):
    """A check that failed; ``str`` of it is the block that the learner reads.

    tag    the name of the mistake (see ``lessons.classroom.diagnose``)
    lines  the report
    """

    def __init__(self, tag, *lines):
        self.tag, self.lines = tag, [part for line in lines for part in _fold(line)]
        super().__init__("\n".join(self.lines))


def _fold(text):
    for line in str(text).split("\n"):
        indent = len(line) - len(line.lstrip())
        yield from textwrap.wrap(
            line,
            WIDTH,
            subsequent_indent=" " * indent,
            break_on_hyphens=False,  # softmax-nocentre is one name
        ) or [""]
