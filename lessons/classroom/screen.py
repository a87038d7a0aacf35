"""Words on a terminal, or on none: 80 columns at most, colour only where it is seen.

A command to be typed, and a path, are never divided: they are to be copied.
"""

import codecs
import os
import re
import shutil
import sys
import textwrap

COLOURS = {"green": "32", "red": "31", "yellow": "33", "dim": "2", "bold": "1"}
PLAIN = {"●": "*", "○": ".", "…": "~", "·": "-", "§": "$", "±": "~", "–": "-"}
STUCK = "\xa0"  # a space at which no line ends
COMMAND = re.compile(
    r"python -m lessons(?: [a-z]+\b)?(?: (?:--?[a-z]+|(?:\d+|E)\.\d+|\d+|[A-Z]{2,}))*"
)


def prepare():
    """A terminal that cannot write ● gets another sign, and not an exception."""
    codecs.register_error("lessons", _instead)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="lessons")


def _instead(error):
    """What is written for letters that an encoding does not have: an error handler."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    return "".join(PLAIN.get(c, "?") for c in letters), error.end


def paint(text, colour):
    """``text`` in a colour, on a terminal that wants one."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if plain or not sys.stdout.isatty():
        return text
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m"


def width():
    """The columns of the terminal, 80 at most."""
    return max(40, min(80, shutil.get_terminal_size((80, 24)).columns))


def say(text="", indent=0, file=None):
    """Print ``text``, its lines folded at the width of the terminal."""
    file = file or sys.stdout
    room = width() - indent
    for line in text.split("\n"):
        for part in _folded(line, room):
            print((" " * indent + part).rstrip(), file=file)
    file.flush()


def whole(words):
    """``words``, such as a path with spaces, as one that ``say`` leaves undivided."""
    return str(words).replace(" ", STUCK)


def _folded(line, room):
    deeper = " " * (len(line) - len(line.lstrip()))
    line = COMMAND.sub(lambda command: whole(command[0]), line)
    options = {"break_on_hyphens": False, "break_long_words": False}
    for part in textwrap.wrap(line, room, subsequent_indent=deeper, **options) or [""]:
        if os.sep in part:  # a path, however long
            yield part.replace(STUCK, " ")
            continue
        for k in range(0, max(len(part), 1), room):
            yield part[k : k + room].replace(STUCK, " ")


def fit(text, columns):
    """``text`` in exactly so many columns."""
    text = text if len(text) <= columns else text[: columns - 1] + "…"
    return text.ljust(columns)
