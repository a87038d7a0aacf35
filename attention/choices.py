"""Tables of the names that models and commands offer: positions and tasks.

    POSITIONS["alibi"].scheme(config, causal, rng)     the scheme of a Transformer
    QUESTIONS["copy"].task(3, 8)                       the task Copy(3, 8)

The choices of configs, options of commands, help texts and tests are the names of these
tables, so a new position or task is a new row. (The table of scores is in variants.)

``attention`` imports a class when it is first used, so a command can list the names
without importing NumPy.
"""

from typing import Callable, NamedTuple

import attention

CELLS = ("gru", "lstm")  # of recurrent models
ATTENTIONS = ("none", "bahdanau", "luong")


class Position(NamedTuple):
    """A row of the table of positions.

    scheme       (config, causal, rng) -> a scheme of transformer/schemes.py
    changes      what it changes: "nothing", "input", "scores", or "queries and keys",
                 whose pairs of entries are rotated
    parameters   config -> the number of parameters
    bounded      whether a sequence has at most config.max_length tokens
    trained_as   the position that a model is trained with; None: this one
    """

    scheme: Callable
    changes: str
    parameters: Callable = lambda config: 0
    bounded: bool = False
    trained_as: str | None = None


def _schemes():
    return attention.transformer.schemes


def _scaled_rope(*args):
    return _schemes().ScaledRoPE(*args)


POSITIONS = {
    "none": Position(lambda *args: _schemes().Scheme(*args), "nothing"),
    "sinusoidal": Position(lambda *args: _schemes().Sinusoidal(*args), "input"),
    "learned": Position(
        lambda *args: _schemes().Learned(*args),
        "input",
        lambda config: config.max_length * config.width,
        bounded=True,
    ),
    "t5": Position(
        lambda *args: _schemes().T5(*args),
        "scores",
        lambda config: config.num_buckets * config.heads,
    ),
    "shaw": Position(
        lambda *args: _schemes().Shaw(*args),
        "scores",
        lambda config: (2 * config.max_distance + 1) * config.width // config.heads,
    ),
    "transformer-xl": Position(
        lambda *args: _schemes().TransformerXL(*args),
        "scores",
        lambda config: config.width**2 + 2 * config.width,
    ),
    "disentangled": Position(
        lambda *args: _schemes().Disentangled(*args),
        "scores",
        lambda config: 2 * config.max_distance * config.width,
    ),
    "alibi": Position(lambda *args: _schemes().ALiBi(*args), "scores"),
    "rope": Position(lambda *args: _schemes().RoPE(*args), "queries and keys"),
    "rope+linear": Position(_scaled_rope, "queries and keys", trained_as="rope"),
    "rope+ntk": Position(_scaled_rope, "queries and keys", trained_as="rope"),
    "rope+yarn": Position(_scaled_rope, "queries and keys", trained_as="rope"),
}


def evaluations_of(position):
    """Return the positions that a model trained with ``position`` is evaluated with."""
    others = [name for name, row in POSITIONS.items() if row.trained_as == position]
    return [position, *others]


class Questions(NamedTuple):
    """A row of the table of tasks that a translator learns from questions.

    task      (least, most) -> the task, see tasks/algorithmic.py
    lengths   the usual least and most letters, digits or pairs of a question
    """

    task: Callable
    lengths: tuple


def _tasks():
    return attention.tasks.algorithmic


QUESTIONS = {
    "copy": Questions(lambda *lengths: _tasks().Copy(*lengths), (3, 8)),
    "reversal": Questions(lambda *lengths: _tasks().Reversal(*lengths), (3, 8)),
    "sort": Questions(lambda *lengths: _tasks().Sort(*lengths), (3, 8)),
    "addition": Questions(lambda *lengths: _tasks().Addition(*lengths), (1, 3)),
    "recall": Questions(lambda *lengths: _tasks().Recall(*lengths), (2, 6)),
}
GRAMMARS = {  # of sentences, see tasks/grammar
    "en-de": "english-german",
    "en-fr": "english-french",
}
TASKS = (*GRAMMARS, *QUESTIONS)
