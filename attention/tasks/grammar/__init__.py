"""Sentence pairs made by grammars, whose right alignments are known.

    english-german   verbs at the end, separable verbs, gender and case
    english-french   adjectives after the noun, ne ... pas, pronouns before the verb

    pairs = splits("english-german").train       500 of them
    pairs[0].source, pairs[0].target             tuples of words
    pairs[0].matrix()                            which of them belong together, (T, S)

``meaning`` says what a sentence can mean, ``draw`` draws a meaning, ``english``,
``german`` and ``french`` say it, and ``pairs`` links the words that mean the same.

All of it is in lower case, on purpose, German nouns and the first word as well: a word
is one entry of the vocabulary wherever it stands, and 500 pairs are few.
"""

from .dataset import (
    BUCKETS,
    MOST,
    TASKS,
    Splits,
    by_length,
    generate,
    splits,
    vocabularies,
)
from .pairs import Pair, crossing_share

__all__ = [
    "BUCKETS",
    "MOST",
    "TASKS",
    "Pair",
    "Splits",
    "by_length",
    "crossing_share",
    "generate",
    "splits",
    "vocabularies",
]
