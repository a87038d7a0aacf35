"""What a row of the table of variants holds: definition, layer, costs, and the map."""

import re
from dataclasses import dataclass, field
from typing import Callable, NamedTuple

import attention

MATRICES = "w*(2*L*S + L*Ev)"  # scores, weights and the output
ROWS = "w*(L*Ev + 3*L)"  # the output; a query's largest score, its sum, and the log


class Formulas(NamedTuple):
    """The costs of one head of one example, as Python expressions of the letters.

    They are strings, so that a table can print them. The defaults are the operations of
    dot products of all pairs.

    ``held`` is the largest sum of arrays that exist at the same time. For example, dot
    attention ends with the scores, the weights and the output: w (2 L S + L Ev). With
    "scaled", the scores are made from a copy of the queries, w (L S + L E), and the
    larger of the two sums counts.
    """

    projecting: str = "0"  # multiplications by parameters
    scoring: str = "L*S*E"  # multiplications that the scores take
    averaging: str = "L*S*Ev"  # multiplications by the values
    exponentials: str = "L*S"  # exp and tanh
    scores: str = "L*S"  # numbers in the matrix of scores
    held: str = ""  # bytes beside inputs and parameters; empty: only measured
    buffers: str = "0"  # bytes of one tile or chunk, which all heads use in turn
    unfused: str = ""  # ``held`` if each tanh is stored; empty: there is no tanh
    all_heads: bool = False  # whether these are the costs of all heads together


DOT = Formulas(held=MATRICES)
SQUARE = Formulas(averaging="S*S*E", exponentials="S*S", scores="S*S")  # S tokens
CHOSEN = Formulas(averaging="P*Ev", exponentials="P", scores="0")  # P pairs, no matrix
# the queries are scaled, and not the scores
SCALED = Formulas(scoring="L*E + L*S*E", held="w*max(L*S + L*E, 2*L*S + L*Ev)")


def normalized(matrices, booleans=0, **others):
    """Return the costs of scaled dot products with a normaliser.

    matrices   how many arrays (L, S) exist at the same time, the scores included
    booleans   how many arrays (L, S) of booleans exist beside them
    """
    held = f"max(w*{matrices}*L*S + {booleans}*L*S, w*(2*L*S + L*Ev))"
    return SCALED._replace(held=held, **others)


class About(NamedTuple):
    """What the map of the variants says about a row: ``python -m attention variants``.

        weights = normalize(mask(score(q, k)))        context = weights @ values

    A row has it as a text of four paragraphs, with these words before the cells:

        PART: CHANGES
        can CAN
        cannot CANNOT
        lesson LESSON: TASK; SOURCE; FILE

    The map also shows the order of the cost in n, computed from the row's formulas.
    """

    part: str  # of the template, that the row changes: one of ``PARTS``
    changes: str  # how, with its formula
    can: str
    cannot: str
    lesson: int  # that has the task, or the first that explains the row
    task: str  # on which the difference shows
    source: str  # authors and year of the publication, as the file cites them
    file: str  # that computes it, below attention/

    @classmethod
    def of(cls, name, text):
        """Return the cells of the text of the row with this name."""
        cells = re.fullmatch(
            r"(\w+): (.+)\n *can (.+)\n *cannot (.+)\n *lesson (\d+): "
            r"([^;]+); ([^;]+);\s+(\S+)",
            text,
            re.DOTALL,
        )
        if cells is None:
            raise ValueError(f"the row {name!r} has no ``about`` of the form of About.")
        about = cls(*(re.sub(r"\s+", " ", cell) for cell in cells.groups()))
        return about._replace(lesson=int(about.lesson))

    @property
    def year(self):
        """The year of the source."""
        return int(self.source[-4:])


PARTS = {
    "score": "how well a key suits a query, with what is added to it",
    "mask": "which keys a query may attend to",
    "normaliser": "how the scores of a query become weights",
    "average": "how the values become the context",
    "source": "where queries, keys and values come from",
    "computation": "nothing but the way to compute it",
    "template": "all of it: another way from queries, keys and values to a context",
}


@dataclass(frozen=True)
class Variant:
    """A row of the table.

    The definition and the function are called with the inputs, the parameters and the
    options. A layer is called with the inputs alone. If there are several outputs, the
    first one is compared.
    """

    definition: Callable  # of attention/definitions.py, for arrays
    function: Callable | None = None  # of the package, for Tensors; None: the layer is
    layer: Callable | None = None  # (Dq, Dk, rng, **options) -> a layer
    costs: Formulas = Formulas()
    inputs: str = "q (L, E), k (S, Dk), v (S, Ev)"
    parameters: str = ""  # their names, in the order of the layer, and their shapes
    options: dict = field(default_factory=dict)  # of calls that are measured
    small: dict = field(default_factory=dict)  # of calls of few tokens, for counting
    letters: Callable | None = None  # (L, S, T, **options) -> {letter: number}
    # (L, S, **options) -> what the function takes in the place of the options, or what
    # the layer takes with its inputs; made once for many calls
    keywords: Callable | None = None
    about: str = ""  # what the map says, in the form of ``About``; every row has it

    @property
    def equal_widths(self):
        """Whether queries and keys must have the same width."""
        return "Dk" not in self.parameters


@dataclass(frozen=True)
class Score(Variant):
    """The row of a score. Its definition computes (q, k, *parameters) -> scores.

    The layer states whether ``attention_gru`` computes it (``Attention.fused_score``).
    """

    # how often the parameters are used: {way: the formulas that differ}, the usual way
    # first. "keys" means that W_a k_j is computed, and not W_a^T q_i
    ways: dict = field(default_factory=dict)
    reversal: bool = False  # whether ``python -m attention reversal`` compares it


@dataclass(frozen=True)
class Normalizer(Variant):
    """The row of a normaliser. Its definition and its function compute

        (scores, allowed, *parameters, **options) -> weights

    of arrays and of Tensors. ``costs`` are those of scaled dot products with these
    weights.
    """

    costs: Formulas = SCALED
    # (q, k, v, *parameters, **options) -> o, computed in tiles; None: tiles need the
    # softmax
    tiles: Callable | None = None
    # H -> a normaliser that is a module with parameters for H heads
    heads: Callable | None = None

    def bound(self, *parameters, **options):
        """Return the normaliser (scores, allowed) -> weights, for ``attend``."""
        return lambda s, allowed: self.function(s, allowed, *parameters, **options)

    def of_heads(self, H):
        """Return the normaliser of a layer of H heads, a module or a function.

        Parameters without a module are 0.
        """
        if self.heads is not None:
            return self.heads(H)
        return self.bound(*[0.0] * bool(self.parameters), **self.options)

    def attend(self, q, k, v, *parameters, **options):
        """Return the context of scaled dot products with these weights."""
        normalize = self.bound(*parameters, **options)
        return attention.attend(q, k, v, normalize=normalize)[0]
