"""Your own parallel text: sentences in one language, each with its translation.

A file of UTF-8 text has one pair a line:

    Go.<TAB>Va !<TAB>further columns are ignored

The Anki packs made from Tatoeba have this form (manythings.org/anki: the zip file
contains one .txt). Tatoeba's own exports have columns of numbers too: remove these. Of
two files of aligned lines, ``paste text.en text.fr`` makes one. A byte order mark and
Windows line ends are accepted. A line without a pair is left out, and its number is
reported.
"""

import pathlib
from typing import NamedTuple

SHOWN = 5  # skipped lines that a report names


class ParallelText(NamedTuple):
    """The pairs of a text, and the lines that are not a pair."""

    pairs: list  # of (source, target), two strings, stripped
    skipped: dict  # {number of a line, from 1: why it was left out}

    def report(self):
        """Return a sentence: how many pairs were read, which lines were left out."""
        read = f"{len(self.pairs)} pair{'s' * (len(self.pairs) != 1)} read."
        return f"{read} {_left_out(self.skipped)}" if self.skipped else read


def read_pairs(path):
    """Return the ParallelText in a file of lines ``source<TAB>target``.

    Raises OSError if the file cannot be read, and ValueError if it is not UTF-8 or has
    no pair.
    """
    pairs, skipped = [], {}
    for number, line in enumerate(_lines(path), 1):
        found = _columns(line)
        if isinstance(found, tuple):
            pairs.append(found)
        else:
            skipped[number] = found
    if not pairs:
        why = _left_out(skipped) if skipped else "It is empty."
        raise ValueError(
            f"{path} holds no pair; expected source<TAB>target on a line. {why}"
        )
    return ParallelText(pairs, skipped)


def _columns(line):
    """Return (source, target), or the reason why the line is not a pair."""
    if not line.strip():
        return "it is empty"
    if "\t" not in line:
        return "it has no tab"
    source, target = (column.strip() for column in line.split("\t")[:2])
    if not source:
        return "nothing stands before the tab"
    if not target:
        return "nothing stands after the tab"
    return source, target


def _left_out(skipped):
    """Return "2 lines were left out: 3 (it is empty), 7 (it has no tab)."."""
    lines = list(skipped.items())
    if len(lines) == 1:
        ((line, reason),) = lines
        return f"Line {line} was left out: {reason}."
    named = ", ".join(f"{line} ({reason})" for line, reason in lines[:SHOWN])
    more = f", and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
    return f"{len(lines)} lines were left out: {named}{more}."


def _lines(path):
    """Return the lines of a text file, without their ends."""
    path = pathlib.Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; expected a file of text.")
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")  # without a byte order mark
    except UnicodeDecodeError as problem:
        data = problem.object  # without the byte order mark
        line = data.count(b"\n", 0, problem.start) + 1
        raise ValueError(
            f"{path} is not UTF-8 text: line {line} holds the byte "
            f"0x{data[problem.start]:02x}. Unpack it if it is a zip archive, or save "
            "it as UTF-8."
        ) from None
    # not str.splitlines, which also splits at characters inside sentences
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines
