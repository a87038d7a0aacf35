"""What the row of a variant holds: definition, layer, cost, and what the map says.

A row stands at the foot of the page that computes it, in a list named ``ROWS``:

    ROWS = [
        Variant(
            "coverage", definitions.coverage, CoverageAttention, "E, Dk, A",
            parameters="W_q (A, E), W_k (A, Dk), w_v (A), w_c (A)",
            multiplications="A*(L*E + S*Dk) + L*S*A + (L - 1)*S*A + L*S*Ev",
            about=...,
        ),
    ]

table.py collects the rows. The letters of shapes and formulas are

    L, S    queries and keys              E, Dk, Ev   widths of queries, keys, values
    H, Hk   heads of queries, of keys     A           hidden width of additive scores

and those of the row: its options, numbers and ``more``. A multiplication and the
addition after it count as one; divisions and exponentials are not counted. Tests
compare the formula with what the definition computes: if they differ, the message has
the formula that was counted. (Chapter 6 of the textbook counts one query, and leaves
out the average of the values, which is the same for all scores.)

Dao et al. 2022, section 3.1; Bahdanau et al. 2015; Luong et al. 2015; See et al. 2017;
Vaswani et al. 2017; Katharopoulos et al. 2020, section 3.2.
"""

import re
from dataclasses import dataclass, field
from typing import Callable, NamedTuple

from .. import definitions

AVERAGE = "L*S*Ev"  # the multiplications by the values
SCALED = "L*E + L*S*E"  # of scaled dot products: the queries are scaled
PARTS = {
    "score": "how well a key suits a query, with what is added to it",
    "mask": "which keys a query may attend to",
    "normaliser": "how the scores of a query become weights",
    "average": "how the values become the context",
    "source": "where queries, keys and values come from",
    "computation": "nothing but the way to compute it",
    "template": "all of it: another way from queries, keys and values to a context",
}
ABOUT = re.compile(
    r"(\w+): (.+)\n *can (.+)\n *cannot (.+)\n *"
    r"(?:lesson (\d+): ([^;]+)|not shown yet); ([^;]+)",
    re.DOTALL,
)


class About(NamedTuple):
    """What the map of the variants says about a row: ``python -m attention variants``.

        weights = normalize(mask(score(q, k)))        context = weights @ values

    A row has it as a text of four paragraphs, with these words before the cells:

        PART: CHANGES
        can CAN
        cannot CANNOT
        lesson LESSON: TASK; SOURCE

    A row that no lesson shows has "not shown yet; SOURCE". The source is "Own" if it is
    not published. The map adds the file, which is the row's page, and the order of the
    cost in n, computed from the row's formula.
    """

    part: str  # of the template, that the row changes: one of ``PARTS``
    changes: str  # how, with its formula
    can: str
    cannot: str
    lesson: int | None  # that has the task, or the first that explains the row
    task: str  # on which the difference shows
    source: str  # authors and year of the publication, as the file cites them; or "Own"
    file: str  # below attention/

    @classmethod
    def of(cls, row):
        """Return the cells of a row, a ``Variant`` or a ``Position``."""
        cells = ABOUT.fullmatch(row.about)
        if cells is None:
            raise ValueError(
                f"the row {row.name!r} has no ``about`` of the form of About."
            )
        cells = [re.sub(r"\s+", " ", cell or "") for cell in cells.groups()]
        lesson, task = int(cells[4]) if cells[4] else None, cells[5] or "not shown yet"
        return cls(*cells[:4], lesson, task, cells[6], row.file)

    @property
    def year(self):
        """The year of the source; empty if there is none."""
        return self.source[-4:] if self.source[-4:].isdigit() else ""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A row of the table.

    The definition and the function are called with the inputs, the parameters and the
    options. A layer is called with the inputs alone. If there are several outputs, the
    first one is compared.
    """

    name: str = field(kw_only=False)
    definition: Callable = field(kw_only=False)  # of definitions.py, for arrays
    # of the package: a function of Tensors, or a layer's class
    compute: Callable | None = field(default=None, kw_only=False)
    # of the layer's class, such as "E, Dk, A"; None: ``compute`` is a function
    arguments: str | None = field(default=None, kw_only=False)
    inputs: str = "q (L, E), k (S, Dk), v (S, Ev)"
    parameters: str = ""  # their names, in the order of the layer, and their shapes
    multiplications: str = f"{SCALED} + {AVERAGE}"  # with H: of all heads together
    options: dict = field(default_factory=dict)  # of calls that are measured
    numbers: dict = field(default_factory=dict)  # letters of shapes, of these calls
    small: dict = field(default_factory=dict)  # the same, of calls of few tokens
    more: Callable | None = None  # (L, S, **options) -> {letter: number} of formulas
    about: str = ""  # what the map says, in the form of ``About``; every row has it
    file: str = ""  # the page, below attention/; table.py writes it

    @property
    def function(self):
        """The function of the package; None if it is a layer."""
        return self.compute if self.arguments is None else None

    @property
    def layer(self):
        """The function (Dq, Dk, rng, **options) -> a layer; None if there is none."""
        return None if self.arguments is None else self._layer

    def _layer(self, Dq, Dk, rng, **options):
        letters = dict(E=Dq, Dk=Dk, A=Dq, H=1) | self.numbers | self.options | options
        arguments = eval(f"[{self.arguments}]", {}, letters)
        return self.compute(*arguments, rng=rng)

    def attention(self, *arrays, **options):
        """Return the output by the definition, for (*inputs, *parameters)."""
        own = {x: n for x, n in options.items() if x not in self.numbers}
        return self.definition(*arrays, **own)

    def letters(self, L, S, **options):
        """Return the letters of the row for these sizes and options."""
        letters = self.numbers | self.options | options
        if self.more is not None:
            letters |= self.more(L, S, **self.options | options)
        return letters

    @property
    def equal_widths(self):
        """Whether queries and keys must have the same width."""
        return "Dk" not in self.parameters


@dataclass(frozen=True, kw_only=True)
class Score(Variant):
    """The row of a score. Its definition computes (q, k, *parameters) -> scores.

    The layer states whether ``attention_gru`` computes it (``Attention.fused_score``).
    """

    def attention(self, q, k, v, *parameters):
        return definitions.attend(self.definition(q, k, *parameters), v)


@dataclass(frozen=True, kw_only=True)
class Pattern(Variant):
    """The row of a sparse pattern: scaled dot products of a mask's pairs, in tiles.

    Its definition is the mask, a function of the options.
    """

    multiplications: str = "L*E + P*E + P*Ev"
    pairs: Callable | None = None  # (L, S, **options) -> P, the pairs that it keeps

    def attention(self, q, k, v, **options):
        allowed = self.definition(**options).dense(1, 1, len(q), len(k))[0, 0]
        return definitions.sparse(q, k, v, allowed)

    def letters(self, L, S, **options):
        options = self.options | options
        return options | {"P": self.pairs(L, S, **options)}


@dataclass(frozen=True, kw_only=True)
class Normalizer(Variant):
    """The row of a normaliser. Its definition and its function compute

        (scores, allowed, *parameters, **options) -> weights

    of arrays and of Tensors; the scores are scaled dot products.
    """

    # H -> a normaliser that is a module with parameters for H heads
    heads: Callable | None = None

    def bound(self, *parameters, **options):
        """Return the normaliser (scores, allowed) -> weights, for ``attend``."""
        return lambda s, allowed: self.compute(s, allowed, *parameters, **options)

    def of_heads(self, H):
        """Return the normaliser of a layer of H heads, a module or a function.

        Parameters without a module are 0.
        """
        if self.heads is not None:
            return self.heads(H)
        return self.bound(*[0.0] * bool(self.parameters), **self.options)

    def attention(self, q, k, v, *parameters, **options):
        def normalize(s, allowed):
            return self.definition(s, allowed, *parameters, **options)

        return definitions.attend(definitions.scaled_dot(q, k), v, normalize=normalize)
