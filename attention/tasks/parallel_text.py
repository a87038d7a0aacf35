"""Your own parallel text: sentences in one language, each with its translation.

Two forms are read, both UTF-8 text with one pair a line:

    one file    Go.<TAB>Va !<TAB>further columns are ignored
    two files   line n of the first is translated by line n of the second

The Anki packs made from Tatoeba have the first form (manythings.org/anki: the zip file
contains one .txt). Tatoeba's own exports have columns of numbers too: remove these. A
byte order mark and Windows line ends are accepted. A line without a pair is left out,
and its number is reported.
"""

import pathlib
from dataclasses import dataclass
from typing import NamedTuple

SHOWN = 5  # skipped lines that a report names


class Skipped(NamedTuple):
    """A line that was left out."""

    line: int  # from 1
    reason: str


@dataclass(frozen=True)
class ParallelText:
    """The pairs of a text, and the lines that are not a pair."""

    pairs: list  # of (source, target), two strings, stripped
    skipped: list  # of Skipped, in the order of the lines

    def __len__(self):
        return len(self.pairs)

    def __iter__(self):
        return iter(self.pairs)

    def report(self):
        """Return a sentence: how many pairs were read, which lines were left out."""
        read = f"{len(self.pairs)} pair{'s' * (len(self.pairs) != 1)} read."
        return f"{read} {_left_out(self.skipped)}" if self.skipped else read


def read_pairs(path, target_path=None):
    """Read parallel text: one file of pairs, or two files of aligned lines.

    path          lines of ``source<TAB>target``; with ``target_path``, of sources alone
    target_path   lines of targets, as many

    Returns a ParallelText. Raises OSError if a file cannot be read, and ValueError if
    it is not UTF-8, if two files differ in length, and if no line is a pair.
    """
    lines = _lines(path)
    if target_path is None:
        found = [_columns(line) for line in lines]
    else:
        targets = _lines(target_path)
        if len(lines) != len(targets):
            raise ValueError(
                f"{path} has {len(lines)} lines and {target_path} has {len(targets)}; "
                "expected as many, where each line translates the other's."
            )
        found = [_aligned(*pair) for pair in zip(lines, targets)]
    pairs = [each for each in found if isinstance(each, tuple)]
    skipped = [Skipped(i + 1, f) for i, f in enumerate(found) if isinstance(f, str)]
    if not pairs:
        why = _left_out(skipped) if skipped else "It is empty."
        form = "source<TAB>target on a line" if target_path is None else "aligned lines"
        raise ValueError(f"{path} holds no pair; expected {form}. {why}")
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


def _aligned(source, target):
    source, target = source.strip(), target.strip()
    if source and target:
        return source, target
    return f"the {'target' if source else 'source'} is empty"


def _left_out(skipped):
    """Return "2 lines were left out: 3 (it is empty), 7 (it has no tab)."."""
    if len(skipped) == 1:
        return f"Line {skipped[0].line} was left out: {skipped[0].reason}."
    named = ", ".join(f"{line} ({reason})" for line, reason in skipped[:SHOWN])
    more = f", and {len(skipped) - SHOWN} more" if len(skipped) > SHOWN else ""
    return f"{len(skipped)} lines were left out: {named}{more}."


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
