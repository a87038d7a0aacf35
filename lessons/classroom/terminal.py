"""Printing to the learner's terminal: at most 80 columns, colour where it is wanted."""

import contextlib
import os
import pathlib
import re
import shutil
import sys
import textwrap
import threading
import time
from datetime import timedelta

COLOURS = {"green": "32", "red": "31", "yellow": "33", "dim": "2"}
HARD_SPACE = "\xa0"  # a line is never broken at this space
COMMAND = re.compile(
    r"python -m lessons(?: [a-z]+\b)?(?: (?:--?[a-z]+|§?(?:\d+|[A-Z][a-z]*)\.\d+|\d+|[A-Z]{2,}))*"
)


@contextlib.contextmanager
def prepared():
    """Let a terminal that cannot write ● print ?, and a closed stream print nothing."""
    streams = sys.stdout, sys.stderr
    redirects = contextlib.redirect_stdout, contextlib.redirect_stderr
    with contextlib.ExitStack() as stack:
        for stream, redirect in zip(streams, redirects):
            if stream is None:
                nowhere = open(os.devnull, "w", errors="replace")
                stack.enter_context(redirect(stack.enter_context(nowhere)))
            elif hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")
        yield


def paint(text, colour):
    """Return ``text`` in a colour, if the output is a terminal that wants colours."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if plain or not sys.stdout.isatty():
        return text
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m"


def width():
    """Return the number of columns of the terminal, between 40 and 80."""
    return max(40, min(80, shutil.get_terminal_size((80, 24)).columns))


def say(text="", indent=0, file=None):
    """Print ``text``, with lines folded to the width of the terminal.

    A command to copy is never divided, nor is a path that ``without_breaks`` returned.
    """
    file = file or sys.stdout
    for line in text.split("\n"):
        for part in _folded(line, width() - indent):
            print((" " * indent + part).rstrip(), file=file)
    file.flush()


@contextlib.contextmanager
def clock(expected=None, every=30):
    """Print to stderr how long the block has run, every half minute.

    expected   the seconds of an earlier run, which are printed first; or None
    """
    ended, start = threading.Event(), time.monotonic()
    if expected is not None:
        say(f"The recorded run took {_clock(expected)}.", file=sys.stderr)

    def tick():
        while not ended.wait(every):
            passed, after = time.monotonic() - start, ""
            if expected is not None and passed <= expected:
                after = f" of about {_clock(expected)}"
            elif expected is not None:
                after = ", longer than that run"
            say(f"{_clock(passed)}{after}", file=sys.stderr)

    ticking = threading.Thread(target=tick, daemon=True)
    ticking.start()
    try:
        yield
    finally:
        ended.set()
        ticking.join()


def _clock(seconds):
    return timedelta(seconds=round(seconds))


def without_breaks(text):
    """Return ``text``, such as a path with spaces, so that ``say`` never divides it."""
    return str(text).replace(" ", HARD_SPACE)


def plain(text, most=600):
    """Return what an answer wrote, shortened, with its control characters escaped."""
    if len(text) > most:
        text = f"{text[:most]}… and {len(text) - most} more characters"
    return "".join(
        c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text
    )


def fit(text, columns):
    """Return ``text`` cut or filled up to exactly this number of columns."""
    text = text if len(text) <= columns else text[: columns - 1] + "…"
    return text.ljust(columns)


def display_path(path):
    """Return ``path`` as the reader would type it, relative to the current folder."""
    path, here = pathlib.Path(path), pathlib.Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _folded(line, columns):
    indent = " " * (len(line) - len(line.lstrip()))
    line = COMMAND.sub(lambda command: without_breaks(command[0]), line)
    parts = textwrap.wrap(
        line,
        columns,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return [part.replace(HARD_SPACE, " ") for part in parts or [""]]
