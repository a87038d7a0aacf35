"""What the texts claim: a range for each claim, a measurement of it, and the verdict.

    # %% [claims]
    claim("6.2.5", "the score of word 3 is 0.512", "0.512", e[2])

Such a cell of a lesson is not shown. Weaving writes its verdicts into the box "The book
says" above it and keeps its claims in claims.json, of which lesson 14 makes tables.
"""

import json
import math
from collections import Counter
from dataclasses import replace

import numpy as np

from lessons.instrument.verdict import Measured, Range, Z, share, verdict

from ..classroom.catalogue import BOOK

FILE = "claims.json"
CLAIMS = []  # of the lesson that runs
VERDICTS = "holds", "near", "no", "undecided", "unfinished"
YES = Range(1, 1)  # a claim in words: true is 1


def claim(text, says, claimed, found, words="", page=""):
    """Keep what a section of a text says, whether it holds, and what we find.

    claimed   the digits that it prints, or a ``Range``, such as ``above(0)`` or YES
    found     a number, or whether a claim in words is true, or a ``Measured``
    words     what is the case
    page      the folder of the lesson that explains it, if that is not this one
    """
    claimed = printed(claimed) if isinstance(claimed, str) else claimed
    if not isinstance(found, Measured):
        found = Measured(found, found, found)
    found = replace(found, words=words or found.words)
    row = {"text": text, "says": says, "found": finding(found), "kind": found.kind}
    row |= {"rests on": found.rests_on, "verdict": verdict(claimed, found)}
    CLAIMS.append(row | {"page": page and f"{page}/README.md"})


def printed(text):
    """Return the range of a printed number: all numbers that round to it."""
    unit = 10.0 ** -len(text.partition(".")[2]) if "." in text else 0.0
    number, rounding = float(text), 1e-9 * max(unit, 1)
    half = unit / 2 + rounding
    return Range(number - half, number + half, 1.5 * unit)


def over_draws(values, kind="drawn", of="draws"):
    """Return the mean of many random values, with its interval."""
    mean, half = np.mean(values), Z * np.std(values, ddof=1) / len(values) ** 0.5
    return Measured(mean, mean - half, mean + half, kind, f"{len(values):,} {of}")


def of_seeds(values, claimed):
    """Return how many seeds lie in a range, as a share with Wilson's interval."""
    inside = sum(claimed.low <= x <= claimed.high for x in values)
    words = "values " + ", ".join(digits(x, 2) for x in values)
    return replace(share(inside, len(values)), words=words)


def clipped(found):
    """Return the mean of shares with its interval cut at 0 and at 1."""
    return replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))


def timed(values):
    """Return the mean of several runs on one machine, from the least to the most."""
    n, mean = len(values), np.mean(values)
    ends = (min(values), max(values)) if n > 1 else (-math.inf, math.inf)
    return Measured(mean, *ends, "timed", f"{n} run{'s' * (n > 1)}, one machine")


def finding(found):
    """Return a number and its interval in words."""
    exact = found.low == found.high
    number = digits(found.value, 4 if exact else 3)
    if exact and found.words and found.value in (0, 1):
        number = ""  # a claim in words
    if np.isinf(found.high):
        number += ", no interval"
    elif found.low < found.high:
        number += f" [{digits(found.low)}, {digits(found.high)}]"
    if found.steps is not None:
        number += f" after {found.steps} steps"
    return ", ".join(part for part in (number, found.words) if part)


def digits(x, n=3):
    """Return a number with so many digits."""
    if x == int(x):
        return str(int(x))
    return f"{x:#.{n}g}" if 1e-3 <= abs(x) < 100 else f"{x:.{n}g}"


def verdicts(rows):
    """Return the last line of a box: how many of its claims have which verdict."""
    count = Counter(row["verdict"] for row in rows)
    words = [f"{count[word]} {word}" for word in VERDICTS if word in count]
    words = ", ".join(words if len(rows) > 1 else count)
    return f"Verdict ([lesson 14](../14_checks_the_book/README.md)): {words}."


def read(book=BOOK):
    """Return {number of a lesson: its claims}, as they were woven."""
    path = book / FILE
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write(number, rows, book=BOOK):
    """Keep the claims of a lesson."""
    kept = read(book)
    if rows or number in kept:
        kept = dict(sorted((kept | {number: rows}).items()))
        text = json.dumps(kept, indent=0, ensure_ascii=False)
        (book / FILE).write_text(text + "\n", encoding="utf-8")
