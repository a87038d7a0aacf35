"""A pair of sentences with the links between words that translate each other.

    source      the  cat  does  not  sleep  .            S tokens
    target      le   chat  ne   dort  pas  .             T tokens
    alignment   (0, 0)  (1, 1)  (2, 3)  (3, 2)  (3, 4)  (4, 3)  (5, 5)     (t, s)

The links are neither written by hand nor estimated. A sentence consists of words with
their meanings, ``Word(text, meanings)``. Each language expresses the same meanings in
its own order, and two words are linked if and only if they share a meaning. So a word
keeps its links when it moves, and a meaning that needs two words, as ne ... pas, is
linked to both.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class Word(NamedTuple):
    """One token of a sentence, and its meanings."""

    text: str
    meanings: tuple


def word(text, *meanings):
    """Return a word with these meanings, which may be any hashable objects."""
    return Word(text, meanings)


def time_words(clause, text):
    """Return the words of a clause's time; each word of ``text`` is one meaning."""
    return [word(each, (clause, "time", i)) for i, each in enumerate(text.split())]


@dataclass(frozen=True)
class Pair:
    """A sentence, its translation, and the links between their words."""

    source: tuple  # S strings
    target: tuple  # T strings
    alignment: frozenset  # of (t, s): target[t] translates source[s]
    possible: frozenset | None = None  # further links that are no error

    @classmethod
    def of(cls, source, target):
        """Return the pair of two lists of words, linked where they share a meaning."""
        places = {}
        for s, each in enumerate(source):
            for meaning in each.meanings:
                places.setdefault(meaning, []).append(s)
        links = frozenset(
            (t, s)
            for t, each in enumerate(target)
            for meaning in each.meanings
            for s in places.get(meaning, ())
        )
        return cls(tuple(w.text for w in source), tuple(w.text for w in target), links)

    def matrix(self):
        """Return the alignment in the layout of attention weights: bool (T, S)."""
        linked = np.zeros((len(self.target), len(self.source)), dtype=bool)
        for t, s in self.alignment:
            linked[t, s] = True
        return linked

    def __str__(self):
        links = " ".join(f"{t}-{s}" for t, s in sorted(self.alignment))
        return f"{' '.join(self.source)}\n{' '.join(self.target)}\n{links}"
