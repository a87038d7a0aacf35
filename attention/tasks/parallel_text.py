"""Your own parallel text: sentences in one language, each with its translation.

Two forms are read, both UTF-8 text with one pair a line:

    one file    Go.<TAB>Va !<TAB>further columns are ignored
    two files   line n of the one is translated by line n of the other

The first is what Tatoeba exports and what the Anki packs of it hold
(manythings.org/anki: unpack the zip, there is one .txt in it). A byte order mark and
the line ends of Windows do no harm. A line that is no pair is left out, and reported by
its number.
"""

import pathlib
from dataclasses import dataclass
from typing import NamedTuple

from .words import detokenize, tokenize

__all__ = ["ParallelText", "Skipped", "detokenize", "read_pairs", "tokenize"]

MARK = b"\xef\xbb\xbf"  # a byte order mark, as UTF-8
UTF16 = (b"\xff\xfe", b"\xfe\xff")  # a byte order mark, as UTF-16, of either order
ZIP = b"PK\x03\x04"
SHOWN = 5  # lines that a message names


class Skipped(NamedTuple):
    """A line that was left out."""

    line: int  # from 1
    reason: str


@dataclass(frozen=True)
class ParallelText:
    """What was read, and what was not."""

    pairs: list  # of (source, target), two strings, stripped
    skipped: list  # of Skipped, in the order of the lines

    def __len__(self):
        return len(self.pairs)

    def __iter__(self):
        return iter(self.pairs)

    def report(self):
        """A sentence or two: how many pairs, how many lines were left out, which, why.

        The first few are named; ``skipped`` has them all.
        """
        read = f"{len(self.pairs)} pair{'s' * (len(self.pairs) != 1)} read."
        return f"{read} {_left_out(self.skipped)}" if self.skipped else read


def read_pairs(path, target_path=None):
    """Read parallel text: one file of pairs, or two files of aligned lines.

    path          lines of ``source<TAB>target``; with ``target_path``, of sources alone
    target_path   lines of targets, as many

    Returns a ParallelText. Raises OSError for what cannot be read, and ValueError for
    what is no UTF-8, for two files of unequal length, and where no line is a pair.
    """
    lines = _lines(path)
    if target_path is None:
        found = [_columns(line) for line in lines]
        where = str(path)
    else:
        targets = _lines(target_path)
        where = f"{path} with {target_path}"
        if len(lines) != len(targets):
            raise ValueError(
                f"{path} has {len(lines)} lines and {target_path} has {len(targets)}; "
                "expected as many, where each line translates the other's."
            )
        found = [
            _aligned(source, target, path, target_path)
            for source, target in zip(lines, targets)
        ]
    pairs = [each for each in found if isinstance(each, tuple)]
    skipped = [Skipped(i + 1, f) for i, f in enumerate(found) if isinstance(f, str)]
    if not pairs:
        why = _left_out(skipped) if skipped else "It is empty."
        form = "source<TAB>target on a line" if target_path is None else "aligned lines"
        raise ValueError(f"{where} holds no pair; expected {form}. {why}")
    return ParallelText(pairs, skipped)


def _columns(line):
    """(source, target), or the reason why the line is no pair."""
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


def _aligned(source, target, path, target_path):
    source, target = source.strip(), target.strip()
    if source and target:
        return source, target
    if not source and not target:
        return "it is empty in both files"
    return f"it is empty in {target_path if source else path}"


def _left_out(skipped):
    """ "2 lines were left out: 3 (it is empty), 7 (it has no tab)."."""
    if len(skipped) == 1:
        return f"Line {skipped[0].line} was left out: {skipped[0].reason}."
    named = ", ".join(f"{line} ({reason})" for line, reason in skipped[:SHOWN])
    more = f", and {len(skipped) - SHOWN} more" if len(skipped) > SHOWN else ""
    return f"{len(skipped)} lines were left out: {named}{more}."


def _lines(path):
    """The lines of a text file, without their ends."""
    data = _bytes(path)
    if data.startswith(ZIP):
        raise ValueError(f"{path} is a zip archive; unpack it, and read the .txt.")
    if data.startswith(UTF16):
        raise ValueError(f"{path} is UTF-16; save it as UTF-8.")
    before = len(MARK) if data.startswith(MARK) else 0
    try:
        text = data[before:].decode("utf-8")
    except UnicodeDecodeError as problem:
        at = before + problem.start
        line = data.count(b"\n", 0, at) + 1
        place = at - (data.rfind(b"\n", 0, at) + 1)
        raise ValueError(
            f"{path} is not UTF-8: byte 0x{data[at]:02x} at place {place} of line "
            f"{line}, offset {at} of the file. Save it as UTF-8."
        ) from None
    # not str.splitlines, which also splits at characters that stand inside sentences
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _bytes(path):
    """The file's content, or the operating system's error as a sentence."""
    try:
        return pathlib.Path(path).read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {path}.") from None
    except IsADirectoryError:
        raise IsADirectoryError(
            f"{path} is a folder; expected a file of parallel text."
        ) from None
    except OSError as problem:
        raise type(problem)(f"Cannot read {path}: {problem.strerror}.") from None
