"""The result of a gradient check: whether it passed, a table and a message."""

from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

import numpy as np

from ..draw import html


class GradcheckError(AssertionError):
    """A gradient check failed (``assert_ok``), or could not be made."""


class VacuousCheckError(GradcheckError):
    """The check could not have failed: the true gradient is 0."""


class Entry(NamedTuple):
    """One slope, from the backward (analytic) and measured (numeric).

    ``index`` is None for a slope along a random direction, in which all entries move.
    """

    input: str
    index: tuple | None
    analytic: float
    numeric: float
    bar: float
    tolerance: float = np.nan

    @property
    def ratio(self):
        """The error divided by the tolerance: the entry is wrong if it exceeds 1."""
        error = abs(self.analytic - self.numeric)
        if not error:
            return 0.0
        return error / self.tolerance if self.tolerance else np.inf


class Finding(NamedTuple):
    """A mistake: ``tag`` names its kind, ``sentence`` states what was measured."""

    tag: str
    sentence: str


class Row(NamedTuple):
    """One line of the table: one input."""

    input: str
    shape: tuple
    checked: str
    largest: float  # largest |numeric|
    error: float  # largest |analytic - numeric|, relative to it
    verdict: str


@dataclass
class GradcheckResult:
    """The result of ``gradcheck``. Its truth value is ``ok``.

    op        the name of the operation, graph or module that was checked
    ok        whether every gradient is right
    worst     the ``Entry`` with the largest error relative to its tolerance; if some
              input is wrong, the worst entry (or the first kink) of the first wrong one
    message   a text about the failure; empty if ``ok``
    wrong     an array of booleans: which entries of ``worst.input`` are wrong; None
              unless some are and every entry was measured
    cause     the ``Finding`` that explains the failure: a known mistake (see
              ``minigrad.checking.hypotheses``), a situation, or a broken rule
    also      a ``Finding`` for each further rule or situation
    rows      one ``Row`` for each input; ``table()`` prints them
    """

    op: str
    rows: list = field(default_factory=list)
    worst: Entry | None = None
    message: str = ""
    wrong: np.ndarray | None = None
    cause: Finding | None = None
    also: list = field(default_factory=list)

    @property
    def ok(self):
        """Whether no mistake was found."""
        return self.cause is None

    @property
    def tag(self):
        """The kind of failure: the tag of ``cause``, or of a broken rule; or None."""
        is_unknown = self.cause and self.cause.tag == "unknown"
        finding = self.also[0] if is_unknown and self.also else self.cause
        return finding and finding.tag

    def __bool__(self):
        return self.ok

    def assert_ok(self):
        """Raise GradcheckError with the whole report unless everything is right."""
        if not self.ok:
            raise GradcheckError(str(self))

    def _cells(self):
        """Return the cells of the table, row by row, its head first."""
        lines = [("input", "shape", "checked", "largest", "error", "verdict")]
        for row in self.rows:
            name, shape = row.input, str(row.shape)
            lines.append(
                (
                    name if len(name) <= 20 else "…" + name[-19:],
                    shape if len(shape) <= 18 else shape[:17] + "…",
                    row.checked,
                    "" if np.isnan(row.largest) else f"{row.largest:.1e}",
                    "" if np.isnan(row.error) else f"{row.error:.0e}",
                    row.verdict,
                )
            )
        return lines

    def table(self):
        """Return one line for each input, at most 80 columns wide."""
        lines = self._cells()
        widths = [max(map(len, column)) for column in zip(*lines)]
        return "\n".join(
            "  ".join(cell.ljust(w) for cell, w in zip(line, widths)).rstrip()
            for line in lines
        )

    def _head(self):
        return f"gradcheck of {self.op}: {'ok' if self.ok else 'FAIL'}"

    def __str__(self):
        parts = self._head(), self.table(), self.message
        return "\n\n".join(part for part in parts if part)

    __repr__ = __str__

    def _repr_html_(self):
        table = html.table(self._cells(), self._head())
        return table + html.pre(escape(self.message)) * bool(self.message)


def label(name):
    """Return the name of an input or parameter in a sentence."""
    return f"input {name}" if name[0].isdigit() else name


def place(op, entry):
    """Return where an entry is: the operation, the input, the index."""
    where = f", entry {list(entry.index)}" if entry.index else ""
    if entry.index is None:
        where = ", along a random direction"
    return f"{op}, {label(entry.input)}{where}"


def describe(op, entry):
    """Return three lines about a wrong entry."""
    digits = 6
    if np.isfinite(entry.analytic) and entry.analytic != entry.numeric:
        gap = abs(entry.analytic - entry.numeric) / (abs(entry.numeric) or 1)
        digits = int(np.clip(2 - np.floor(np.log10(gap)), 6, 16))
    return (
        f"{place(op, entry)}\n"
        f"    yours    {entry.analytic:+.{digits}g}\n"
        f"    numeric  {entry.numeric:+.{digits}g} ± {entry.bar:.0e}"
    )


def picture(wrong, rows=8, columns=16):
    """Draw the wrong entries (#) among the right ones (.), if they form a pattern.

    A pattern is a set of rows crossed with a set of columns, a diagonal, or all but a
    diagonal; leading axes count as rows. In a larger array, each character
    stands for several entries. Returns None if there is no pattern.
    """
    grid = wrong.reshape(-1, wrong.shape[-1]) if wrong.size and wrong.ndim else wrong
    if grid.ndim < 2 or grid.all() or not grid.any():
        return None
    if grid.sum() == 1 < min(grid.shape):
        return None  # one entry is no pattern
    crossed = np.outer(grid.any(1), grid.any(0))
    diagonal = np.eye(*grid.shape, dtype=bool)
    if not any(np.array_equal(grid, p) for p in (crossed, diagonal, ~diagonal)):
        return None
    lines = [
        "".join(
            "#" if part.any() else "."
            for part in np.array_split(band, min(columns, grid.shape[1]), axis=1)
        )
        for band in np.array_split(grid, min(rows, len(grid)))
    ]
    return "\n".join("    " + line for line in lines)
