"""A pair of sentences, and which word translates which.

    source      the  cat  does  not  sleep  .            S tokens
    target      le   chat  ne   dort  pas  .             T tokens
    alignment   (0, 0)  (1, 1)  (2, 3)  (3, 2)  (3, 4)  (4, 3)  (5, 5)     (t, s)

No one has drawn these links by hand, and nothing has estimated them. A sentence is
made of words that carry what they mean, ``Word(text, meanings)``; it is said once in
each language, from the same meanings, in whatever order that language wants; and two
words are linked if, and only if, they share a meaning. What is moved keeps its links,
and one meaning in two places, as ne ... pas, has a link to both.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class Word(NamedTuple):
    """One token of a sentence in the making, and the meanings that it carries."""

    text: str
    meanings: tuple


def word(text, *meanings):
    """A word that carries each of ``meanings``, which may be any hashable things."""
    return Word(text, meanings)


@dataclass(frozen=True)
class Pair:
    """A sentence, its translation, and the links between their words."""

    source: tuple  # S strings
    target: tuple  # T strings
    alignment: frozenset  # of (t, s): target[t] translates source[s]
    possible: frozenset | None = None  # links that are no error either; None: no others

    @classmethod
    def of(cls, source, target):
        """The pair of two lists of words, linked where they share a meaning."""
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
        """The alignment as weights are laid out: bool (T, S), True = linked.

        An attention map (T, S) can be held against it: which share of each row of
        weights falls on links, or whether the largest of each row does.
        """
        linked = np.zeros((len(self.target), len(self.source)), dtype=bool)
        for t, s in self.alignment:
            linked[t, s] = True
        return linked

    def __str__(self):
        links = " ".join(f"{t}-{s}" for t, s in sorted(self.alignment))
        return f"{' '.join(self.source)}\n{' '.join(self.target)}\n{links}"


def crossing_share(pairs):
    """The share of all pairs of links that cross: 0 where no word order differs.

        (t, s) and (t', s') cross      where  (t - t') (s - s') < 0

    Counted over all sentences together; of those that share a word, none can cross.
    A reversal has 1, a random order 1/2.
    """
    crossing = total = 0
    for pair in pairs:
        if not pair.alignment:
            continue
        t, s = np.array(sorted(pair.alignment)).T  # (links,)
        product = (t[:, None] - t) * (s[:, None] - s)  # each two of them, twice
        crossing += int((product < 0).sum())
        total += len(t) * (len(t) - 1)
    return crossing / total if total else 0.0
