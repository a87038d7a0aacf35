"""What one forward call of each variant of attention costs, from its row's formulas.

    cost_of("additive", L=1, S=50, E=96).multiplications

The rows, their formulas and the meaning of the letters are in variants/table.
"""

import math
import re
from typing import NamedTuple

import numpy as np

from minigrad.arguments import one_of, whole

from ..variants.table import SCORES, VARIANTS

ARRAY = re.compile(r"([\w.]+) \((.*?)\)")  # "W_a (E, Dk)": its name and its sizes
TILE = 64  # queries, and keys, of a kernel's tile
# {variant: its ways to use the parameters, the usual one first}
PROJECTED = {name: tuple(row.ways) for name, row in SCORES.items() if row.ways}
FORMULAS = {name: row.costs for name, row in VARIANTS.items()} | {
    f"{name}, {way}": SCORES[name].costs._replace(**SCORES[name].ways[way])
    for name, ways in PROJECTED.items()
    for way in ways[1:]
}


class Cost(NamedTuple):
    """What one forward call costs."""

    parameters: int
    projecting: int
    scoring: int
    averaging: int
    exponentials: int
    score_bytes: int  # of an array with a number for each pair; 0 if there is none
    # of all that is held beside inputs and parameters, with the output; None: the row
    # has no formula
    extra_bytes: int | None

    @property
    def multiplications(self):
        """The sum of projecting, scoring and averaging."""
        return self.projecting + self.scoring + self.averaging


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
    projected=None,
    fused=True,
    tile=TILE,
    dtype="float32",
    **options,
):
    """Return the ``Cost`` of B examples of H heads with L queries and S keys.

    variant      a name of VARIANTS
    S, Dk, Ev    None: L, E and E         A   None: E         Hk   None: H
    projected    how often the parameters are used, for the scores of PROJECTED: with
                 "general", "keys" means the row "general, keys" of FORMULAS. None: the
                 first name in PROJECTED
    fused        whether "additive" and "concat" compute each tanh where it is used, or
                 hold the array (B, H, L, S, A)
    options      of the variant, instead of those of its row, such as window=(255, 0)

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
    sizes = dict(L=L, S=S, B=B, H=H, E=E, Dk=Dk, Ev=Ev, A=A, Hk=Hk, tile=tile)
    sizes = {name: whole("cost_of", name, n, least=1) for name, n in sizes.items()}
    _check(variant, projected, options, **sizes)
    options = row.options | options
    letters = {**sizes, **options, "T": tile, "w": np.dtype(dtype).itemsize}
    if row.letters is not None:
        letters |= row.letters(sizes["L"], sizes["S"], sizes["tile"], **options)

    formulas = FORMULAS[variant]
    if projected and projected != PROJECTED[variant][0]:
        formulas = FORMULAS[f"{variant}, {projected}"]
    if not fused and formulas.unfused:
        formulas = formulas._replace(held=formulas.unfused)

    def value(formula):
        return value_of(formula, letters)

    N = sizes["B"] if formulas.all_heads else sizes["B"] * sizes["H"]
    held = None
    if formulas.held:
        held = N * value(formulas.held) + value(formulas.buffers)
    return Cost(
        parameters=sum(map(math.prod, shapes_of(row.parameters, letters).values())),
        projecting=N * value(formulas.projecting),
        scoring=N * value(formulas.scoring),
        averaging=N * value(formulas.averaging),
        exponentials=N * value(formulas.exponentials),
        score_bytes=N * letters["w"] * value(formulas.scores),
        extra_bytes=held,
    )


def value_of(formula, letters):
    """Return the value of a formula: "L*S" with L = 2 and S = 3 is 6."""
    return eval(formula, {}, letters)


def shapes_of(text, letters):
    """Return {name: shape}: "W_a (E, Dk)" with E = 2 and Dk = 3 is {"W_a": [2, 3]}."""
    arrays = ARRAY.findall(text)
    return {name: value_of(f"[{sizes}]", letters) for name, sizes in arrays}


def _check(variant, projected, options, E, Dk, H, Hk, **others):
    """Raise ValueError unless these arguments fit together."""
    possible = VARIANTS[variant].options or [None]
    for name in options:
        one_of("cost_of", f"an option of {variant!r}", name, possible)
    if projected is not None:
        one_of("cost_of", "projected", projected, PROJECTED.get(variant, (None,)))
    if E != Dk and VARIANTS[variant].equal_widths:
        raise ValueError(
            f"cost_of: E is {E} and Dk is {Dk}; expected one width of queries and keys "
            f"for {variant!r}."
        )
    if H % Hk:
        raise ValueError(f"cost_of: H is {H}; expected a multiple of Hk, {Hk}.")
