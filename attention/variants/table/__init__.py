"""The table of variants: one row each, with its definition, its layer and its cost.

    VARIANTS["coverage"].costs.scoring            multiplications of the scores
    SCORES["general"].layer(Dq, Dk, rng)          GeneralAttention(Dq, Dk, rng=rng)

The choices of configs and options, help texts, ``python -m attention ledger`` and
``variants``, and lists of tests are made from these rows. A new variant is a file of
its own, a definition in ``definitions.py``, a row here and a test (CONTRIBUTING.md).

    rows.py             what a row holds
    scores.py           the rows of the scores: lessons 03 to 05
    classical.py        coverage, windows, whole attentions and heads: 08 to 10
    cheap.py            tiles, sparse patterns and linear time: 12
    normalizers.py      weights of another kind: 15
    pointers.py         pointers, copying and alignment: 16
    caches.py           heads and small caches: 17
    memories.py         memories, and blocks chosen by content: 18
    sets.py             sets, graphs and pictures: 19

The rows are in one file for each part of the course, because the whole table is too
long to read.

The letters of shapes and formulas are

    L, S    queries and keys              E, Dk, Ev   widths of queries, keys, values
    H, Hk   heads of queries, of keys     A           hidden width of additive scores
    T       queries, and keys, of a tile  w           bytes of one number

and the options and ``letters`` of the row. A multiplication and the addition after it
count as one. Divisions are not counted; exponentials are exp and tanh. Tests compare
the operations with those that the definition computes, and the bytes with those that a
call holds. (Chapter 6 of the textbook counts one query, and leaves out the average of
the values, which is the same for all scores.)

``attention`` imports its parts when they are first used, so a command can list the
names of this table without importing NumPy. A row that needs NumPy or minigrad imports
it in a function.

Dao et al. 2022, section 3.1; Bahdanau et al. 2015; Luong et al. 2015; See et al. 2017;
Vaswani et al. 2017; Katharopoulos et al. 2020, section 3.2.
"""

from .caches import CACHES
from .cheap import CHEAP, PATTERNS
from .classical import CLASSICAL
from .memories import MEMORIES
from .normalizers import CHOICES, GATES, NORMALIZERS
from .pointers import POINTERS
from .rows import PARTS, About, Formulas, Normalizer, Score, Variant
from .scores import REVERSAL_SCORES, SCORES
from .sets import SETS

VARIANTS = {
    **SCORES,
    **CLASSICAL,
    **CHEAP,
    **NORMALIZERS,
    **CHOICES,
    **GATES,
    **POINTERS,
    **CACHES,
    **MEMORIES,
    **SETS,
}
