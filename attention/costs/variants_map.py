"""The map of the variants: what each changes, can, cannot and costs, as rows and text.

The rows are those of the tables of variants and of positions. The order of the cost in
n is not written there: it is computed from the formulas, by doubling n.
"""

import math
import textwrap

from ..variants.row import AVERAGE, PARTS, About
from ..variants.table import POSITIONS, VARIANTS
from .formulas import cost_of, value_of

N = 2**20  # tokens: many more than a window or a block
ORDERS = {0: "1", 1: "n", 1.5: "n sqrt(n)", 2: "n^2"}
TEMPLATE = "weights = normalize(mask(score(q, k)));  context = weights @ values"


def map_rows():
    """Return {name: (about, order)} of all variants and positions.

    The first is an ``About``, the second a text such as "n^2".
    """
    variants = {
        name: (About.of(row), order_of(name)) for name, row in VARIANTS.items()
    }
    positions = {
        f"position {name}": (
            About.of(row),
            growth(*(_position_cost(row, n) for n in (N, 2 * N))),
        )
        for name, row in POSITIONS.items()
    }
    return variants | positions


def order_of(variant):
    """Return the order of the multiplications in n = L = S, a text of ``ORDERS``."""
    return growth(*(cost_of(variant, L=n).multiplications for n in (N, 2 * N)))


def growth(small, large):
    """Return the order of a cost that is ``small`` for n and ``large`` for 2 n."""
    power = math.log2(large / small)
    nearest = min(ORDERS, key=lambda order: abs(order - power))
    if abs(nearest - power) > 0.1:
        raise ValueError(f"A cost grows with the power {power}; expected {ORDERS}.")
    return ORDERS[nearest]


def text():
    """Return the map as text of 80 columns, a paragraph for each row."""
    lines = [
        TEMPLATE,
        "",
        "n is the number of queries and of keys. What a row changes:",
    ]
    lines += [f"  {part:13s}{what}" for part, what in PARTS.items()]
    for name, (about, order) in map_rows().items():
        head = f"{name:26s}{about.part:14s}cost {order:12s}{about.year}"
        lines += ["", head.rstrip()]
        lesson = about.task
        if about.lesson is not None:
            lesson += f" (lesson {about.lesson:02d})"
        for head, cell in (
            ("changes", about.changes),
            ("can", about.can),
            ("cannot", about.cannot),
            ("shown by", lesson),
            ("source", f"{about.source}; attention/{about.file}"),
        ):
            first, rest = f"  {head:10s}", " " * 12
            lines += textwrap.wrap(
                cell, 80, initial_indent=first, subsequent_indent=rest,
                break_long_words=False, break_on_hyphens=False,
            )  # fmt: skip
    return "\n".join(lines)


def _position_cost(row, n, E=64):
    return value_of(f"{row.multiplications} + {AVERAGE}", dict(L=n, S=n, E=E, Ev=E))
