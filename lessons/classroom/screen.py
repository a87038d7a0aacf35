"""Words on a terminal, or on none: 80 columns at most, colour only where it is seen."""

import os
import shutil
import sys
import textwrap

COLOURS = {"green": "32", "red": "31", "yellow": "33", "dim": "2", "bold": "1"}


def prepare():
    """A terminal that cannot write ● gets a question mark, and not an exception."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def paint(text, colour):
    """``text`` in a colour, on a terminal that wants one."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if plain or not sys.stdout.isatty():
        return text
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m"


def width():
    """The columns of the terminal, 80 at most."""
    return max(40, min(80, shutil.get_terminal_size((80, 24)).columns))


def say(text="", indent=0):
    """Print ``text``, its lines folded at the width of the terminal."""
    room = width() - indent
    for line in text.split("\n"):
        deeper = " " * (len(line) - len(line.lstrip()))
        folded = textwrap.wrap(
            line, room, subsequent_indent=deeper, break_on_hyphens=False
        ) or [""]
        for part in folded:
            print((" " * indent + part).rstrip())
    sys.stdout.flush()


def fit(text, columns):
    """``text`` in exactly so many columns."""
    text = text if len(text) <= columns else text[: columns - 1] + "…"
    return text.ljust(columns)
