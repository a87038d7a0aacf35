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

from .variants.table.rows import SCALED, Formulas

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
    definition   of attention/definitions.py: what is added, or rotated, or the scores
    costs        of one head of a layer, beside what is computed once for all layers
    about        what the map of the variants says
    """

    scheme: Callable
    changes: str
    definition: Callable
    about: str
    costs: Formulas = SCALED
    parameters: Callable = lambda config: 0
    bounded: bool = False
    trained_as: str | None = None


def _schemes():
    return attention.transformer.schemes


def _scaled_rope(*args):
    return _schemes().ScaledRoPE(*args)


# a product for each cosine and sine of a pair, of queries and of keys, and the angles
ROTATED = SCALED._replace(scoring="L*E + L*S*E + 3*(L + S)*E")
POSITIONS = {
    "none": Position(
        lambda *args: _schemes().Scheme(*args),
        "nothing",
        lambda *args: attention.definitions.scaled_dot(*args),
        about="""source: nothing: words without positions
        can learn some order in a causal model, where each query has another number of
        keys
        cannot distinguish orders of the words without a causal mask
        lesson 11: two sentences of the same words; Haviv et al. 2022;
        transformer/schemes.py""",
    ),
    "sinusoidal": Position(
        lambda *args: _schemes().Sinusoidal(*args),
        "input",
        lambda *args: attention.definitions.sinusoidal(*args),
        about="""source: sines and cosines of the place are added to the embeddings
        can give a vector to every place, without parameters
        cannot keep positions out of the values; score by the distance alone
        lesson 11: reading beyond the trained length; Vaswani et al. 2017;
        positions/sinusoidal.py""",
    ),
    "learned": Position(
        lambda *args: _schemes().Learned(*args),
        "input",
        lambda *args: attention.definitions.learned(*args),
        about="""source: a learned row for each place is added to the embeddings
        can learn what is special about single places, such as the first
        cannot read a text that is longer than its table
        lesson 11: reading beyond the trained length; Gehring et al. 2017;
        positions/learned.py""",
        parameters=lambda config: config.max_length * config.width,
        bounded=True,
    ),
    "t5": Position(
        lambda *args: _schemes().T5(*args),
        "scores",
        lambda *args: attention.definitions.t5(*args),
        about="""score: + b[bucket(j - i)], a learned number for each range of distances
        can learn how much each range of distances matters, for each head
        cannot distinguish two distances of the same bucket
        lesson 11: reading beyond the trained length; Raffel et al. 2020;
        positions/t5.py""",
        parameters=lambda config: config.num_buckets * config.heads,
        costs=SCALED._replace(scoring="L*S*E"),
    ),
    "shaw": Position(
        lambda *args: _schemes().Shaw(*args),
        "scores",
        lambda *args: attention.definitions.shaw(*args),
        about="""score: + q_i . a[j - i], a learned vector for each near distance
        can let the query decide which near distances it prefers
        cannot distinguish distances beyond the last vector
        lesson 11: reading beyond the trained length; Shaw et al. 2018;
        positions/shaw.py""",
        parameters=lambda config: (
            (2 * config.max_distance + 1) * config.width // config.heads
        ),
        costs=SCALED._replace(scoring="L*S*E"),
    ),
    "transformer-xl": Position(
        lambda *args: _schemes().TransformerXL(*args),
        "scores",
        lambda *args: attention.definitions.transformer_xl(*args),
        about="""score: (q_i + u) . k_j + (q_i + w) . R[i - j], R from sines of the
        distance
        can let the query decide which distances it prefers, also those beyond training
        cannot be one product of queries and keys: it takes two
        lesson 11: reading beyond the trained length; Dai et al. 2019;
        positions/transformer_xl.py""",
        parameters=lambda config: config.width**2 + 2 * config.width,
        costs=SCALED._replace(scoring="2*L*S*E"),
    ),
    "disentangled": Position(
        lambda *args: _schemes().Disentangled(*args),
        "scores",
        lambda *args: attention.definitions.disentangled(*args),
        about="""score: + q_i . K_r[i - j] + k_j . Q_r[j - i], with tables of near
        distances
        can let query and key each decide which distances they prefer
        cannot distinguish distances beyond the tables
        lesson 11: reading beyond the trained length; He et al. 2021;
        positions/disentangled.py""",
        parameters=lambda config: 2 * config.max_distance * config.width,
        costs=SCALED._replace(scoring="3*L*S*E"),
    ),
    "alibi": Position(
        lambda *args: _schemes().ALiBi(*args),
        "scores",
        lambda *args: attention.definitions.alibi(*args),
        about="""score: - m |i - j|, a fixed slope for each head
        can read texts of any length, with a preference for near words
        cannot treat near and far alike: beyond training its scores fall further
        lesson 11: reading beyond the trained length; Press et al. 2022;
        positions/alibi.py""",
        costs=SCALED._replace(scoring="L*E + L*S*E + L*S"),
    ),
    "kerple": Position(
        lambda *args: _schemes().Kerple(*args),
        "scores",
        lambda *args: attention.definitions.kerple(*args),
        about="""score: - r ln(1 + a |i - j|), r and a learned for each head
        can learn how fast near keys are preferred; read texts of any length
        cannot prefer a distance to a nearer one
        lesson 11: reading beyond the trained length; Chi et al. 2022;
        positions/kerple.py""",
        parameters=lambda config: 2 * config.heads,
        costs=SCALED._replace(scoring="L*E + L*S*E + 2*L*S"),
    ),
    "fire": Position(
        lambda *args: _schemes().Fire(*args),
        "scores",
        lambda *args: attention.definitions.fire(*args),
        about="""score: + a network of ln(1 + c |i - j|) / ln(1 + c max(T, i))
        can learn any function of the distance in relation to the length of the text
        cannot be computed from j - i alone: it depends on i as well
        lesson 11: reading beyond the trained length; Li et al. 2024;
        positions/fire.py""",
        parameters=lambda config: (
            2 + (2 + config.heads) * attention.positions.fire.WIDTH
        ),
        costs=SCALED._replace(scoring="L*E + L*S*E + L + L*S*(1 + 2*32)"),
    ),
    "cope": Position(
        lambda *args: _schemes().Cope(*args),
        "scores",
        lambda *args: attention.definitions.cope(*args),
        about="""score: + q_i . e[p], p the sum of learned gates of the tokens between j
        and i
        can prefer the third sentence before, of any length, if gates find its end
        cannot be computed in tiles: p needs all keys between j and i
        lesson 11: reading beyond the trained length; Golovneva et al. 2024;
        positions/contextual.py""",
        parameters=lambda config: config.max_distance * config.width // config.heads,
        costs=SCALED._replace(scoring="L*E + L*S*E + L*64*E + L*S"),
    ),
    "rope": Position(
        lambda *args: _schemes().RoPE(*args),
        "queries and keys",
        lambda *args: attention.definitions.rope(*args),
        about="""score: queries and keys are rotated by angles that grow with the place
        can score by the distance alone, without parameters; cache rotated keys
        cannot be relied on at distances that training never had
        lesson 11: reading beyond the trained length; Su et al. 2021;
        positions/rope.py""",
        costs=ROTATED,
    ),
    "rope+linear": Position(
        _scaled_rope,
        "queries and keys",
        lambda *args: attention.definitions.rope(*args),
        about="""score: all angles of rope are divided by the factor by which the text
        is longer
        can read longer texts with angles that training had
        cannot distinguish near places as well as before
        lesson 11: reading beyond the trained length; Chen et al. 2023;
        positions/scaling.py""",
        costs=ROTATED,
        trained_as="rope",
    ),
    "rope+ntk": Position(
        _scaled_rope,
        "queries and keys",
        lambda *args: attention.definitions.rope(*args),
        about="""score: a larger base: slow angles of rope are divided, fast ones kept
        can distinguish near places in longer texts as before
        cannot divide the middle angles by the whole factor
        lesson 11: reading beyond the trained length; bloc97 2023;
        positions/scaling.py""",
        costs=ROTATED,
        trained_as="rope",
    ),
    "rope+yarn": Position(
        _scaled_rope,
        "queries and keys",
        lambda *args: attention.definitions.rope(*args),
        about="""score: angles by wavelength: kept, mixed or divided; a factor on the
        scores
        can distinguish near places as before, and keep far distances in the range of
        training
        cannot be computed without the length of the training texts
        lesson 11: reading beyond the trained length; Peng et al. 2023;
        positions/scaling.py""",
        costs=ROTATED,
        trained_as="rope",
    ),
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
