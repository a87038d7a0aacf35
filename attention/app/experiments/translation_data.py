"""The data of a translator: sentences of a grammar, questions, or the lines of a file.

    a name of GRAMMARS, such as en-de     sentences of a grammar
    a name of QUESTIONS, such as copy     questions and their answers
    anything else                         a file of source<TAB>target

The first two are drawn, as many as the config wants, and their right alignment is
known. In a question each character is a token, and the vocabulary holds all characters
of the task, seen or not.
"""

import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from ...tasks import algorithmic, questions
from ...tasks.batching import split
from ...tasks.grammar import GRAMMARS, Pair, splits
from ...tasks.parallel_text import read_pairs
from ...tasks.vocabulary import Vocabulary
from ...tasks.words import tokenize
from ..configs import TASKS, task_of
from ..options import meant

FEWEST = 6  # pairs: a tenth of them is rounded to one


@dataclass
class Data:
    """``Pair``s of words in three parts, and two vocabularies.

    The vocabularies are those of the first part, or of a task of questions. The
    alignment of a pair is None where it is not known.
    """

    train: Sequence
    validation: Sequence
    test: Sequence
    source: Vocabulary
    target: Vocabulary
    report: str = ""  # of a file: the lines that were read and those left out
    questions: algorithmic.Task | None = None  # the task of the questions

    def ids(self, part):
        """Return [(source ids, target ids)] of the pairs of a part."""
        return ids_of(self, getattr(self, part))

    @property
    def ending(self):
        """The word that ends all training sentences, or None."""
        last = {pair.source[-1] for pair in self.train}
        return last.pop() if len(last) == 1 and self.questions is None else None

    @property
    def checksum(self):
        """A number that changes when any word of any part changes."""
        pairs = *self.train, *self.validation, *self.test
        words = [(pair.source, pair.target) for pair in pairs]
        return zlib.crc32(repr(words).encode())


def ids_of(vocabularies, pairs):
    """Return [(source ids, target ids)], by the vocabularies of a Data or a model."""
    source, target = vocabularies.source, vocabularies.target
    return [(source.encode(p.source), target.encode(p.target)) for p in pairs]


def load(config):
    """Return the ``Data`` of a config; raise OSError or ValueError without them."""
    sizes, report = (config.pairs, config.validation, config.test), ""
    task = task_of(config)
    if task is not None:
        parts = questions.splits(task, *sizes, seed=config.data_seed)
        symbols = Vocabulary(list(task.symbols.characters))
        return Data(*parts, symbols, symbols, questions=task)
    if config.task in GRAMMARS:
        parts = splits(GRAMMARS[config.task], *sizes, seed=config.data_seed)
    else:
        parts, report = _read(config)
    train = parts[0]
    source = Vocabulary.build([p.source for p in train], config.min_count)
    target = Vocabulary.build([p.target for p in train], config.min_count)
    return Data(*parts, source, target, report)


def name_of(config):
    """Return the printed name of the task: a file without its folder."""
    return config.task if config.task in TASKS else os.path.basename(config.task)


def _read(config):
    """Return (training, validation and test pairs of a file, a report)."""
    if not os.path.exists(config.task):
        raise ValueError(
            f"There is no task and no file {config.task}; expected "
            f"{', '.join(TASKS)}, or a file with source<TAB>target on each line."
            f"{meant(config.task, TASKS)}"
        )
    text = read_pairs(config.task)
    words = [tuple(tuple(tokenize(s, lower=True)) for s in pair) for pair in text.pairs]
    words = [pair for pair in words if all(pair)]
    if len(words) < FEWEST:
        raise ValueError(
            f"{config.task} holds {len(words)} pair{'s' * (len(words) != 1)}; expected "
            f"{FEWEST} or more: a tenth is for validation, and another for the test."
        )
    parts = split(words, config.data_seed)
    return [[Pair(s, t, None) for s, t in part] for part in parts], text.report()
