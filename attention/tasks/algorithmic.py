"""Tasks whose answers a few lines of Python know, to see what a model can learn.

    Copy        "dog" -> "dog"            output t looks at input t
    Reversal    "dog" -> "god"            at input S - 1 - t
    Sort        "dog" -> "dgo"            it looks wherever the next letter stands
    Addition    "47+8" -> "55"            at a column of digits, and what is carried
    Recall      "a3b7c1b" -> "7"          it looks the key up: a soft dictionary

Each task is a question, drawn at random, and ``answer``, which is its definition. All
give batches of the form of ``batch.py``, from a stream that depends on the seed alone:

    task = Recall(max_pairs=6)
    batches = task.batches(seed=1, size=64)        batches[0], batches[1], …
    task.score(said, batches[0])                   {"accuracy": …, "exact_match": …}

Recall is what attention is made for (query, key, value), and what a fixed state of the
encoder can do for few pairs only. It is the associative recall of Graves et al. 2014,
section 4.3, in the short form of Ba et al. 2016, section 4.1.
"""

import re

import numpy as np

from ..checks import whole
from ..seq2seq.metrics import exact_match, token_accuracy
from .batch import Stream, assemble
from .symbols import Symbols

LETTERS = "abcdefghijklmnopqrstuvwxyz"
DIGITS = "0123456789"
LONGEST = 1000  # digits of a number that is added


class Task:
    """What the tasks have in common. Each has ``symbols`` and ``lengths``, the least
    and the most letters, digits or pairs of a question, and defines

    answer(text)         the answer to a question, both strings
    questions(rng, n)    n questions
    alignment(text)      where the answer stands in the question: (sure, possible), two
                         sets of (t, s), output t and input s, for alignment_error_rate
    """

    symbols: Symbols
    lengths: tuple

    @property
    def vocabulary(self):
        """How many ids there are, PAD, SOS and EOS among them."""
        return len(self.symbols)

    def encode(self, text):
        return self.symbols.encode(text)

    def decode(self, ids):
        return self.symbols.decode(ids)

    def batch(self, questions):
        """The batch of some questions and their answers."""
        sides = []
        for texts in (questions, [self.answer(text) for text in questions]):
            lengths = np.array([len(text) for text in texts], dtype=np.int64)
            wide = np.zeros((len(texts), lengths.max(initial=0)), dtype=np.int64)
            ids = self.encode("".join(texts))
            wide[np.arange(wide.shape[1]) < lengths[:, None]] = ids
            sides += [wide, lengths]
        return assemble(*sides)

    def random_batch(self, rng, size):
        return self.batch(self.questions(rng, size))

    def batches(self, seed, size):
        """An endless stream of batches; batch i depends on the seed and on i alone."""
        return Stream(seed, size, self.random_batch)

    def score(self, said, batch):
        """What share of the tokens, and of the answers, is right, the end included.

        said (B, T)   ids, as a decoder says them; what follows the end is not looked at
        """
        return {
            "accuracy": token_accuracy(said, batch.target_out),
            "exact_match": exact_match(said, batch.target_out),
        }


class Copy(Task):
    """Say what was said: the diagonal, and nothing else.

    max_length   at most 1000 letters
    """

    def __init__(self, min_length=3, max_length=8, letters=26):
        self.lengths = _range(self, "length", min_length, max_length)
        self.min_length, self.max_length = self.lengths
        _at_most(self, "max_length", max_length, 1000)  # what is drawn has such rows
        self.letters = _at_most(self, "letters", letters, 26)
        self.symbols = Symbols(LETTERS[:letters], "a to z" if letters == 26 else None)

    def questions(self, rng, n):
        lengths = rng.integers(self.min_length, self.max_length + 1, n)
        letters = rng.integers(0, self.letters, (n, self.max_length))
        return [
            "".join(LETTERS[i] for i in row[:length])
            for row, length in zip(letters.tolist(), lengths)
        ]

    def answer(self, text):
        return text

    def alignment(self, text):
        sure = {(t, t) for t in range(len(text))}
        return sure, sure


class Reversal(Copy):
    """Say it from its end: the other diagonal. ``reversal.py`` draws it faster."""

    def answer(self, text):
        return text[::-1]

    def alignment(self, text):
        sure = {(t, len(text) - 1 - t) for t in range(len(text))}
        return sure, sure


class Sort(Copy):
    """The letters of a string from a to z: each output depends on all of the input."""

    def answer(self, text):
        return "".join(sorted(text))

    def alignment(self, text):
        """Of a letter that stands twice, either place is possible, and none is sure."""
        possible = {
            (t, s)
            for t, c in enumerate(sorted(text))
            for s, found in enumerate(text)
            if c == found
        }
        return {(t, s) for t, s in possible if text.count(text[s]) == 1}, possible


class Addition(Task):
    """The sum of two numbers, written with digits, from the highest on.

    max_digits   at most 18; the digits of each number are uniform in [min, max], and a
                 number does not begin with 0, unless it is 0
    reverse      True: the sum is written from its last digit on, as it is computed by
                 hand, so that what is carried is known when it is needed
    """

    symbols = Symbols(DIGITS + "+")

    def __init__(self, min_digits=1, max_digits=3, reverse=False):
        self.lengths = _range(self, "digits", min_digits, max_digits)
        self.min_digits, self.max_digits = self.lengths
        _at_most(self, "max_digits", max_digits, 18)  # 10^18 is an int64
        self.reverse = bool(reverse)

    def questions(self, rng, n):
        digits = rng.integers(self.min_digits, self.max_digits + 1, (2, n))
        lowest = np.where(digits == 1, 0, 10 ** (digits - 1))
        a, b = rng.integers(lowest, 10**digits).tolist()
        return [f"{x}+{y}" for x, y in zip(a, b)]

    def answer(self, text):
        if not re.fullmatch("[0-9]+[+][0-9]+", text):
            raise ValueError(f"Addition: {text!r} is no question; expected '12+345'.")
        a, b = text.split("+")
        if max(len(a), len(b)) > LONGEST:  # Python adds them, but does not read them
            raise ValueError(
                f"Addition: the question has a number of {max(len(a), len(b))} digits; "
                f"expected {LONGEST} at most."
            )
        total = str(int(a) + int(b))
        return total[::-1] if self.reverse else total

    def alignment(self, text):
        """The digits of a column are possible; what is carried leaves none sure."""
        total = len(self.answer(text))
        a, b = map(len, text.split("+"))
        ends = ((0, a), (a + 1, a + 1 + b))
        possible = set()
        for t in range(total):
            column = t if self.reverse else total - 1 - t  # from the last digit
            for first, end in ends:
                if end - 1 - column >= first:
                    possible.add((t, end - 1 - column))
        return set(), possible


class Recall(Task):
    """Key and value, key and value, …, then a key again: what was its value?

    min_pairs, max_pairs   how many; the keys are different letters, the values digits
    queries                how many keys are asked for at the end, one value for each
    """

    symbols = Symbols(LETTERS + DIGITS)

    def __init__(self, min_pairs=2, max_pairs=6, queries=1):
        self.lengths = _range(self, "pairs", min_pairs, max_pairs)
        self.min_pairs, self.max_pairs = self.lengths
        _at_most(self, "max_pairs", max_pairs, len(LETTERS))
        self.queries = whole("Recall", "queries", queries, 1)

    def questions(self, rng, n):
        pairs = rng.integers(self.min_pairs, self.max_pairs + 1, n)
        keys = rng.permuted(np.tile(np.arange(len(LETTERS)), (n, 1)), axis=1)
        values = rng.integers(0, 10, (n, self.max_pairs))
        asked = rng.integers(0, pairs[:, None], (n, self.queries))
        rows = zip(pairs, keys.tolist(), values.tolist(), asked.tolist())
        return [
            "".join(LETTERS[key[i]] + DIGITS[value[i]] for i in range(m))
            + "".join(LETTERS[key[i]] for i in ask)
            for m, key, value, ask in rows
        ]

    def answer(self, text):
        places = self._places(text)
        return "".join(text[s] for s in places)

    def alignment(self, text):
        """The value's place is sure; that of its key, beside it, is possible."""
        sure = set(enumerate(self._places(text)))
        return sure, sure | {(t, s - 1) for t, s in sure}

    def _places(self, text):
        """Where the values stand that are asked for."""
        form = re.fullmatch("((?:[a-z][0-9])+)([a-z]+)", text)
        pairs, keys = form.groups() if form else ("", text or "?")
        book = {pairs[s - 1]: s for s in range(1, len(pairs), 2)}
        missing = [key for key in keys if key not in book]
        if missing or len(book) < len(pairs) // 2:
            raise ValueError(
                f"Recall: {text!r} is no question; expected 'a3b7b', different letters "
                "with a digit each, then one of the letters, or more."
            )
        return [book[key] for key in keys]


TASKS = {
    "copy": Copy,
    "reversal": Reversal,
    "sort": Sort,
    "addition": Addition,
    "recall": Recall,
}


def _range(task, what, least, most):
    name = type(task).__name__
    least = whole(name, f"min_{what}", least, 1)
    most = whole(name, f"max_{what}", most, 1)
    if least > most:
        raise ValueError(
            f"{name}: min_{what} is {least} and max_{what} is {most}; expected "
            f"min_{what} to be {most} or less."
        )
    return least, most


def _at_most(task, what, value, most):
    name = type(task).__name__
    if whole(name, what, value, 1) > most:
        raise ValueError(f"{name}: {what} is {value}; expected 1 to {most}.")
    return value
