"""What a translator learns from: a grammar's sentences, questions, or a file's lines.

    en-de, en-fr                                  sentences of a grammar
    copy, reversal, sort, addition, recall        questions and their answers
    anything else                                 a file of source<TAB>target

The first two are drawn, as many as are wanted, and the right alignment is known. Of a
question, each character is a token, and all that there are have an id, seen or not.
"""

import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...tasks import algorithmic, questions
from ...tasks.batching import split
from ...tasks.grammar import Pair, splits
from ...tasks.parallel_text import read_pairs
from ...tasks.vocabulary import Vocabulary
from ...tasks.words import tokenize

GRAMMARS = {"en-de": "english-german", "en-fr": "english-french"}
QUESTIONS = algorithmic.TASKS
TASKS = (*GRAMMARS, *QUESTIONS)
SHARE = 0.1  # of a file, to validate on, and as many to test on
FEWEST = next(n for n in range(1, 99) if round(SHARE * n))  # pairs: for one of each


@dataclass
class Data:
    """``Pair``s of words, in three parts, and the words that the first one has.

    The alignment of a pair is None where nobody knows it.
    """

    train: Sequence
    validation: Sequence
    test: Sequence
    source: Vocabulary
    target: Vocabulary
    report: str = ""  # of a file: what was read, and what was not
    questions: algorithmic.Task | None = None  # what the pairs are questions of

    def ids(self, part):
        """[(source ids, target ids)] of the pairs of a part."""
        return ids_of(self, getattr(self, part))

    @property
    def what(self):
        """What a pair is called."""
        return "sentence" if self.questions is None else "question"

    @property
    def unit(self):
        """What a token is called."""
        return "word" if self.questions is None else "symbol"

    @property
    def ending(self):
        """The word that all sentences of the training end with, or None."""
        last = {pair.source[-1] for pair in self.train}
        return last.pop() if len(last) == 1 and self.questions is None else None

    @property
    def checksum(self):
        """A number that is another one where any word of any part is."""
        pairs = *self.train, *self.validation, *self.test
        words = [(pair.source, pair.target) for pair in pairs]
        return zlib.crc32(repr(words).encode())


def ids_of(vocabularies, pairs):
    """[(source ids, target ids)], for what has ``source`` and ``target``."""
    source, target = vocabularies.source, vocabularies.target
    return [(source.encode(p.source), target.encode(p.target)) for p in pairs]


def load(config, tasks=TASKS):
    """The ``Data`` of a config.

    tasks   those that are named where it has a task that is neither one nor a file

    Raises OSError and ValueError, in a sentence, where they cannot be had.
    """
    report = ""
    if config.task in TASKS and config.target is not None:
        raise ValueError(
            f"The target is {config.target}, and the task {config.task} has its own; "
            "expected one only where the task is a file of sources."
        )
    sizes = config.pairs, config.validation, config.test
    task = task_of(config)
    if task is not None:
        parts = questions.splits(task, *sizes, seed=config.data_seed)
        symbols = Vocabulary(list(task.symbols.characters))
        return Data(*parts, symbols, symbols, questions=task)
    if config.task in GRAMMARS:
        parts = splits(GRAMMARS[config.task], *sizes, seed=config.data_seed)
    else:
        parts, report = _read(config, tasks)
    train = parts[0]
    source = Vocabulary.build([p.source for p in train], config.min_count)
    target = Vocabulary.build([p.target for p in train], config.min_count)
    return Data(*parts, source, target, report)


def task_of(config):
    """What the questions of a config are of, such as Copy(3, 8); None without them.

    Raises ValueError for lengths that do not fit it, and for any where it has none.
    """
    kind, lengths = QUESTIONS.get(config.task), config.lengths
    if lengths is not None and not isinstance(lengths, (list, tuple)):
        raise TypeError(
            f"Config: lengths is {lengths!r}; expected two, the least and the most "
            "letters, digits or pairs of a question."
        )
    if lengths is not None and (kind is None or len(lengths) != 2):
        found = ",".join(map(str, lengths))
        why = f"{config.task} has none" if kind is None else f"found {len(lengths)}"
        raise ValueError(
            f"The lengths are {found}, and {why}; expected two, the least and the most "
            f"letters, digits or pairs of a question, with {', '.join(QUESTIONS)}."
        )
    return kind and kind(*(lengths or ()))


def moved(config, task=None, target=None):
    """The same config, with its file, or its two, where they are now; None: as before.

    Raises ValueError where it has no file, or another task is named.
    """
    if task in (None, config.task) and target in (None, config.target):
        return config
    if config.task in TASKS or task in TASKS:
        found = ", ".join(str(name) for name in (task, target) if name is not None)
        raise ValueError(
            f"The task is {config.task}, and {found} another one; expected the place "
            "of a file, where the task is a file that was moved."
        )
    return replace(config, task=task or config.task, target=target or config.target)


def _read(config, tasks):
    """(training, validation and test pairs of a file, what is to be said of it)"""
    if not os.path.exists(config.task):
        raise ValueError(
            f"There is no task and no file {config.task}; expected "
            f"{', '.join(tasks)}, or a file with source<TAB>target on each line."
        )
    text = read_pairs(config.task, config.target)
    words = [
        tuple(tuple(tokenize(s, not config.keep_case)) for s in pair) for pair in text
    ]
    words = [pair for pair in words if all(pair)]
    if len(words) < FEWEST:
        raise ValueError(
            f"{config.task} holds {len(words)} pair{'s' * (len(words) != 1)}; expected "
            f"{FEWEST} or more: a tenth is to validate on, and another tenth to test "
            "on."
        )
    parts = split(words, config.data_seed, SHARE, SHARE)
    parts = [
        [Pair(s, t, None) for s, t in part]
        for part in (parts.train, parts.validation, parts.test)
    ]
    return parts, text.report()


def name_of(config):
    """The task as it is printed: a file without its folder."""
    return config.task if config.task in TASKS else os.path.basename(config.task)
