"""The complexity ledger: what each variant of attention costs, told before it is run.

    ledger("dense", L=32_768).score_bytes        4_294_967_296, one matrix, one head
    ledger("additive", L=1, S=50, E=96).multiplications

for B examples of H heads, L queries and S keys, whose widths are E (queries), Dk (keys)
and Ev (values); A is the hidden width of the additive score. All multiplications are
exact: attention/tally counts the same ones one by one.

costs.py        ``ledger``, and the bytes that each variant holds
arguments.py    the variants, and what is asked of each argument
projections.py  parameters, and the multiplications by them
pairs.py        how many pairs of query and key a pattern keeps
tiles.py        how many tiles of pairs the kernels go through, and what lists them
trials.py       the same variants run: multiplications counted, memory measured

attention/costs/table.py prints predicted beside counted and measured.

A multiplication here goes with an addition: two floating-point operations. exp, tanh
and divisions are not counted. Chapter 38 prints the costs of one query and leaves the
average of the values out, which is the same for all its scores.
"""

from .arguments import LEARNED, ONCE, PROJECTED, SCORES, VARIANTS
from .formulas import HELD, Cost, ledger
from .pair_counts import pairs_within

__all__ = [
    "ledger",
    "Cost",
    "pairs_within",
    "VARIANTS",
    "SCORES",
    "LEARNED",
    "PROJECTED",
    "ONCE",
    "HELD",
]
