"""Tasks whose answers a few lines of Python compute, to see what a model can learn.

    Copy        "dog" -> "dog"            output t needs input t
    Reversal    "dog" -> "god"            input S - 1 - t
    Sort        "dog" -> "dgo"            the input where the next letter stands
    Addition    "47+8" -> "55"            a column of digits, and the carry
    Recall      "a3b7c1b" -> "7"          the value of a key: a soft dictionary

A task draws random questions and computes their answers. ``questions.py`` makes data
sets of them.

Recall needs what attention computes: a query selects the value of the equal key. The
last state of an encoder has a fixed width and can hold only a few pairs. This is the
associative recall of Graves et al. 2014, section 4.3, in the short form of Ba et al.
2016, section 4.1.
"""

import re

import numpy as np

from minigrad.arguments import whole

from .vocabulary import Symbols

LETTERS = "abcdefghijklmnopqrstuvwxyz"
DIGITS = "0123456789"


class Task:
    """The base class of all tasks.

    A task has ``symbols`` and ``lengths`` (the fewest and the most letters, digits or
    pairs of a question), and defines

    answer(text)         the answer to a question, both strings
    questions(rng, n)    n random questions
    alignment(text)      where the answer stands in the question: (sure, possible), two
                         sets of (t, s), output t and input s, for alignment_error_rate
    """

    symbols: Symbols
    lengths: tuple


class Copy(Task):
    """Repeat a string: the alignment is the diagonal."""

    def __init__(self, min_length=3, max_length=8, letters=26):
        # questions of 1000 letters fit into memory
        self.lengths = _range(self, "length", min_length, max_length, 1000)
        self.letters = whole(type(self).__name__, "letters", letters, 1, 26)
        self.symbols = Symbols(LETTERS[:letters], "a to z" if letters == 26 else None)

    def questions(self, rng, n):
        """Return n random strings."""
        least, most = self.lengths
        lengths = rng.integers(least, most + 1, n)
        letters = rng.integers(0, self.letters, (n, most))
        return [
            "".join(LETTERS[i] for i in row[:length])
            for row, length in zip(letters.tolist(), lengths)
        ]

    def answer(self, text):
        """Return the same string."""
        return text

    def alignment(self, text):
        """Link output t to input t."""
        sure = {(t, t) for t in range(len(text))}
        return sure, sure


class Reversal(Copy):
    """Reverse a string: the other diagonal. ``reversal.py`` draws it faster."""

    def answer(self, text):
        """Return the string from its last letter to its first."""
        return text[::-1]

    def alignment(self, text):
        """Link output t to input S - 1 - t."""
        sure = {(t, len(text) - 1 - t) for t in range(len(text))}
        return sure, sure


class Sort(Copy):
    """Sort letters from "a" to "z": each output depends on the whole input."""

    def answer(self, text):
        """Return the letters from "a" to "z"."""
        return "".join(sorted(text))

    def alignment(self, text):
        """Return all positions of each letter; a repeated letter has no sure link."""
        possible = {
            (t, s)
            for t, c in enumerate(sorted(text))
            for s, found in enumerate(text)
            if c == found
        }
        return {(t, s) for t, s in possible if text.count(text[s]) == 1}, possible


class Addition(Task):
    """Add two numbers; the sum is written from its first digit.

    max_digits   at most 18; the digits of each number are uniform in [min, max], and a
                 number does not begin with 0, unless it is 0
    """

    symbols = Symbols(DIGITS + "+")

    def __init__(self, min_digits=1, max_digits=3):
        self.lengths = _range(self, "digits", min_digits, max_digits, 18)  # an int64

    def questions(self, rng, n):
        """Return n random pairs of numbers, such as "47+8"."""
        least, most = self.lengths
        digits = rng.integers(least, most + 1, (2, n))
        lowest = np.where(digits == 1, 0, 10 ** (digits - 1))
        a, b = rng.integers(lowest, 10**digits).tolist()
        return [f"{x}+{y}" for x, y in zip(a, b)]

    def answer(self, text):
        """Return the sum."""
        if not re.fullmatch("[0-9]+[+][0-9]+", text):
            raise ValueError(f"Addition: {text!r} is no question; expected '12+345'.")
        a, b = text.split("+")
        return str(int(a) + int(b))

    def alignment(self, text):
        """Link each digit of the sum to the digits of its column, as possible.

        No link is sure, because a digit may also depend on a carry.
        """
        total = len(self.answer(text))
        a, b = map(len, text.split("+"))
        ends = ((0, a), (a + 1, a + 1 + b))
        possible = set()
        for t in range(total):
            column = total - 1 - t  # from the last digit
            for first, end in ends:
                if end - 1 - column >= first:
                    possible.add((t, end - 1 - column))
        return set(), possible


class Recall(Task):
    """Look up a value: key and value, key and value, …, then a key again.

    min_pairs, max_pairs   number of pairs; keys are different letters, values digits
    """

    symbols = Symbols(LETTERS + DIGITS)

    def __init__(self, min_pairs=2, max_pairs=6):
        self.lengths = _range(self, "pairs", min_pairs, max_pairs, len(LETTERS))

    def questions(self, rng, n):
        """Return n random strings of pairs, each followed by one of its keys."""
        least, most = self.lengths
        pairs = rng.integers(least, most + 1, n)
        keys = rng.permuted(np.tile(np.arange(len(LETTERS)), (n, 1)), axis=1)
        values = rng.integers(0, 10, (n, most))
        queries = rng.integers(0, pairs)
        rows = zip(pairs, keys.tolist(), values.tolist(), queries)
        return [
            "".join(LETTERS[key[i]] + DIGITS[value[i]] for i in range(m))
            + LETTERS[key[query]]
            for m, key, value, query in rows
        ]

    def answer(self, text):
        """Return the value of the key at the end."""
        return text[self._value_position(text)]

    def alignment(self, text):
        """Link the output to the value (sure) and to the key before it (possible)."""
        s = self._value_position(text)
        return {(0, s)}, {(0, s), (0, s - 1)}

    def _value_position(self, text):
        """Return the position of the value of the key at the end."""
        pairs, query = text[:-1], text[-1:]
        keys = pairs[::2]
        is_question = re.fullmatch("([a-z][0-9])+", pairs) and query in keys
        if not is_question or len(set(keys)) < len(keys):
            raise ValueError(
                f"Recall: {text!r} is no question; expected 'a3b7b', different letters "
                "with a digit each, then one of the letters."
            )
        return 2 * keys.index(query) + 1


def _range(task, what, least, most, limit):
    """Return (least, most), the checked lengths of a task."""
    name = type(task).__name__
    most = whole(name, f"max_{what}", most, 1, limit)
    return whole(name, f"min_{what}", least, 1, most), most


QUESTIONS = {  # {name: a task that a translator learns, with its usual lengths}
    task.__name__.lower(): task for task in (Copy, Reversal, Sort, Addition, Recall)
}
