"""What one forward call of each variant of attention costs, from its row's formula.

    cost_of("additive", L=1, S=50, E=96).multiplications

The rows stand at the foot of the variants' pages; variants/row.py has the letters.
"""

import math
import re
from typing import NamedTuple

from minigrad.arguments import one_of, whole
from minigrad.draw.html import table

from ..variants.table import VARIANTS

ARRAY = re.compile(r"([\w.]+) \((.*?)\)")  # "W_a (E, Dk)": its name and its sizes


class Cost(NamedTuple):
    """What one forward call costs."""

    parameters: int
    multiplications: int
    score_bytes: int  # of an array with a float32 for each pair

    def _repr_html_(self):
        return table([("cost of a call", ""), *self._asdict().items()])


def cost_of(
    variant,
    *,
    L,
    S=None,
    B=1,
    H=1,
    E=64,
    Dk=None,
    Ev=None,
    A=None,
    Hk=None,
    **options,
):
    """Return the ``Cost`` of B examples of H heads with L queries and S keys.

    variant      a name of VARIANTS
    S, Dk, Ev    None: L, E and E         A   None: E         Hk   None: H
    options      of the variant, instead of those of its row, such as left=255

    A sparse pattern counts the multiplications of the pairs that it keeps. The kernel
    computes whole tiles, and "tiled" with the same window counts all of their pairs.
    The list of the tiles is made once for many calls, and is not counted.

    Raises TypeError and ValueError for arguments that do not fit.
    """
    row = VARIANTS[one_of("cost_of", "variant", variant, VARIANTS)]
    S, Dk, Ev, A, Hk = (
        default if size is None else size
        for size, default in ((S, L), (Dk, E), (Ev, E), (A, E), (Hk, H))
    )
    sizes = dict(L=L, S=S, B=B, H=H, E=E, Dk=Dk, Ev=Ev, A=A, Hk=Hk)
    sizes = {name: whole("cost_of", name, n, least=1) for name, n in sizes.items()}
    _check(row, options, **sizes)
    letters = row.letters(sizes["L"], sizes["S"], **options) | sizes
    B, H = sizes["B"], sizes["H"]
    heads = B if re.search(r"\bH\b", row.multiplications) else B * H
    return Cost(
        parameters=sum(map(math.prod, shapes_of(row.parameters, letters).values())),
        multiplications=heads * value_of(row.multiplications, letters),
        score_bytes=4 * B * H * sizes["L"] * sizes["S"],
    )


def value_of(formula, letters):
    """Return the value of a formula: "L*S" with L = 2 and S = 3 is 6."""
    return eval(formula, {}, letters)


def shapes_of(text, letters):
    """Return {name: shape}: "W_a (E, Dk)" with E = 2 and Dk = 3 is {"W_a": [2, 3]}."""
    arrays = ARRAY.findall(text)
    return {name: value_of(f"[{sizes}]", letters) for name, sizes in arrays}


def _check(row, options, E, Dk, H, Hk, **others):
    """Raise ValueError unless these arguments fit together."""
    possible = [*row.options, *row.numbers] or [None]
    for name in options:
        one_of("cost_of", f"an option of {row.name!r}", name, possible)
    if E != Dk and row.equal_widths:
        raise ValueError(
            f"cost_of: E is {E} and Dk is {Dk}; expected one width of queries and keys "
            f"for {row.name!r}."
        )
    if H % Hk:
        raise ValueError(f"cost_of: H is {H}; expected a multiple of Hk, {Hk}.")
