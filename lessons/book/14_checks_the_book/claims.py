"""When does a printed claim hold? A claim is a range, a measurement is an interval.

    @claim("6.2.5", "the third score is 0.512", printed("0.512"), "03")
    def third_score():
        return computed(scores()[2])

puts a row into the table of lesson 14. The function returns a ``Measured``: a number
and the interval in which it lies, from one computation, from draws or from seeds.
"""

import math
import re
from dataclasses import dataclass, replace

import numpy as np

from attention.app.experiments.verdict import (
    Measured,
    Range,
    Z,
    share,
    verdict,
)
from attention.app.experiments.verdict import over_seeds as seeds
from lessons.classroom.catalogue import BOOK

CLAIMS = []


@dataclass(frozen=True)
class Claim:
    where: str  # the section
    says: str
    claimed: Range
    lesson: str  # that measures it
    box: str  # words of the box "The book says" in that lesson; "" without a box
    found: Measured

    @property
    def verdict(self):
        return verdict(self.claimed, self.found)


def claim(where, says, claimed, lesson, box=""):
    """Register the function below as the measurement of a claim."""

    def register(measure):
        CLAIMS.append(Claim(where, says, claimed, lesson, box, measure()))
        return measure

    return register


def printed(text):
    """Return the range of a printed number: all numbers that round to it."""
    unit = 10.0 ** -len(text.partition(".")[2]) if "." in text else 0.0
    number, rounding = float(text), 1e-9 * max(unit, 1)
    half = unit / 2 + rounding
    return Range(number - half, number + half, 1.5 * unit)


YES = Range(1, 1)  # a claim in words: true is 1


def computed(value, words=""):
    """Return a number that has no spread."""
    return Measured(value, value, value, words=words)


def fact(true, words):
    """Return whether a claim in words is true, and what is the case."""
    return computed(float(true), words)


def drawn(values, words=""):
    """Return the mean of many random values, with its interval."""
    mean, half = np.mean(values), Z * np.std(values, ddof=1) / len(values) ** 0.5
    rests_on = f"{len(values):,} draws"
    return Measured(mean, mean - half, mean + half, "drawn", rests_on, words)


def measured_words(values, words=""):
    """Return the mean over the words that one trained model writes."""
    found = drawn(values, words)
    return replace(found, kind="trained", rests_on=f"{len(values)} words, 1 model")


def shares(values, trained=None):
    """Return the mean of shares, with Student's interval cut at 0 and at 1.

    trained   models in all, where those that did not learn their task are left out
    """
    found = seeds(values)
    rests_on = found.rests_on
    if trained and trained > len(values):
        rests_on = f"{len(values)} of {trained} seeds, the others did not learn"
    low, high = max(found.low, 0.0), min(found.high, 1.0)
    return replace(found, low=low, high=high, rests_on=rests_on)


def count(values, claimed):
    """Return how many seeds lie in a range, as a share with Wilson's interval."""
    inside = sum(claimed.low <= x <= claimed.high for x in values)
    words = "values " + ", ".join(text(x, 2) for x in values)
    return replace(share(inside, len(values)), words=words)


def timed(values, words=""):
    """Return the mean of several runs on one machine, from the least to the most."""
    n, mean = len(values), np.mean(values)
    rests_on = f"{n} run{'s' * (n > 1)}, one machine"
    ends = (min(values), max(values)) if n > 1 else (-math.inf, math.inf)
    return Measured(mean, *ends, "timed", rests_on, words)


# claims without a number: (section, what the text says, what is the case, lesson, box)
IN_WORDS = [
    ("6.1.2", "the curve of lengths is figure 1 of Cho and others", "it is figure 4 "
     "of their paper on the properties of such models", "02", ""),
    ("6.2.1", "the gradient is in the appendix of Bahdanau and others", "their "
     "appendix has the architecture, the training and translations; lesson 03 derives "
     "the gradient", "03", ""),
    ("6.3.3", "local attention predicts its centre", "local-p does; local-m, which the "
     "text leaves out, does not", "08", "as if it were all of local attention"),
    ("6.4.3", "quadratic cost is affordable below 2048 tokens", "\"affordable\" is "
     "not a number; the measured times make no jump there", "12",
     "the quadratic cost is affordable"),
    ("6.4.4", "the Transformer of Vaswani and others has 28.4 BLEU, after 3.5 days on "
     "8 processors", "that is what the paper says",
     "10", ""),
    ("6.5.3", "Bahdanau and others show French to English", "English to French", "09",
     "Bahdanau and others showed"),
    ("6.5.3", "Bahdanau's picture shows French to English", "English to French", "13",
     "Bahdanau's picture"),
    ("6.5.4", "four patterns are the most common", "a fifth, the column, is frequent "
     "in BERT (Clark and others)", "09", "four patterns are the most common"),
    ("38.2", "Luong and others found dot as good as additive, on WMT'15 (the data of a "
     "yearly contest in translation, here of 2015)", "in their "
     "section 5.3 dot works well for global attention, and concat, the form of "
     "Bahdanau's score, does not; they trained on the data of 2014", "13", ""),
    ("38.3", "Vaswani and others report that scaling makes training stable", "they "
     "suspect that large products give small gradients", "05", ""),
    ("38.6", "GPT-4, Claude 3 and Gemini use scaled dot products", "their makers have "
     "not published it", "07", ""),
    ("38.6", "additive attention has no product of matrices", "its two projections are "
     "products of matrices; the tanhs between them are not", "04", ""),
    ("38.6", "exact match, on the axis of a figure", "the figure counts letters", "07",
     "exact match"),
    ("38.7", "pure Transformers rarely use local attention (Mistral does)", "Mistral "
     "is a pure Transformer, with a window in every layer", "08", "rarely used"),
    ("38.8", "language models avoid repetition by more data", "nothing here measures "
     "it", "08", ""),
    ("38.9", "query, key and value were introduced in 1991; Bahdanau's was the first "
     "attention", "who was first is disputed; the softmax is later", "12", ""),
    ("scoring", "`key_size` and `query_size` set the widths", "the class never uses "
     "them", "06", "never uses them"),
    ("notes", "Luong's last layer is linear", "it has a tanh, and needs it", "04",
     "this is a linear layer"),
    ("notes", "Mistral's window has global tokens", "Longformer's has; Mistral's looks "
     "back only", "12", "(Longformer, Mistral)"),
]  # fmt: skip


def table_of_words():
    """Return a Markdown table of the claims that no number decides."""
    lines = ["| text | claim | what is the case | page |", "|" + "---|" * 4]
    for where, says, case, lesson, _ in IN_WORDS:
        lines.append(f"| {where} | {says} | {case} | {page(lesson)} |")
    return "\n".join(lines)


def table(kind, where=""):
    """Return a Markdown table of the claims of a kind whose section begins so."""
    several = kind != "computed"  # draws, seeds or runs
    head = "text", "claim", "we find", *["rests on"] * several, "verdict", "page"
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for c in sorted(CLAIMS, key=place):
        if c.found.kind == kind and c.where.removeprefix("ex. ").startswith(where):
            cells = c.where, c.says, finding(c.found), *[c.found.rests_on] * several
            cells += bold(c.verdict), page(c.lesson)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def place(c):
    """Return the order of a claim: sections by number, exercises last."""
    numbers = tuple(map(int, re.findall(r"\d+", c.where)))
    return not numbers, numbers[:1], c.where.startswith("ex."), numbers


def bold(word):
    return word if word == "holds" else f"**{word}**"


def page(lesson):
    [folder] = BOOK.glob(f"{lesson}_*")
    return f"[{lesson}](../{folder.name}/README.md)"


def finding(found):
    """Return a number and its interval in words."""
    exact = found.low == found.high
    number = text(found.value, 4 if exact else 3)
    if exact and found.words and found.value in (0, 1):
        number = ""  # a fact
    if np.isinf(found.high):
        number += ", no interval"
    elif found.low < found.high:
        number += f" [{text(found.low)}, {text(found.high)}]"
    if found.steps is not None:
        number += f" after {found.steps} steps"
    return ", ".join(part for part in (number, found.words) if part)


def text(x, digits=3):
    """Return a number with so many digits."""
    if x == int(x):
        return str(int(x))
    return f"{x:#.{digits}g}" if 1e-3 <= abs(x) < 100 else f"{x:.{digits}g}"
