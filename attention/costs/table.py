"""What each variant of attention costs, by formula, counted and measured; as text.

``costs`` returns the numbers, and ``text`` formats them as tables.
"""

from html import escape

from minigrad.draw.html import pre

from ..variants.table import VARIANTS
from .formulas import cost_of
from .trials import SMALL, counted, measured

LENGTHS = (1000, 4096, 32_768, 1_000_000)  # of exercise 6.4, and one more
LONG = ("dense", "tiled", "window", "bigbird", "linear")
BLOCK = VARIANTS["bigbird"].options["block"]


class Text(str):
    """A table as text, which a notebook shows as its lines."""

    def _repr_html_(self):
        return pre(escape(self))


def costs(n=1024, E=64, variants=VARIANTS):
    """Return all numbers of the tables, for n tokens of width E, as a dict.

    variants   their names; an iterator may show how far it is
    """
    return {
        "operations_sizes": SMALL,
        "operations": operations(),
        "tokens": n,
        "width": E,
        "one_head": {variant: one_head(variant, n, E) for variant in variants},
        "long_contexts": [long_context(length, E) for length in LENGTHS],
    }


def text(costs):
    """Return the tables of ``costs`` as text."""
    parts = (
        operations_text(costs["operations"]),
        one_head_text(costs["one_head"], costs["tokens"], costs["width"]),
        long_contexts_text(costs["long_contexts"], costs["width"]),
    )
    return Text("\n\n".join(parts))


def operations():
    """Return the operations of each variant for the sizes SMALL."""
    found = {}
    for variant in VARIANTS:
        cost, ops = counted(variant)
        found[variant] = {
            "multiplications": cost.multiplications,
            "counted_multiplications": ops.multiplications,
            "counted_exponentials": ops.exponentials,
        }
    return found


def one_head(variant, n, E):
    """Return the costs of a variant, forward in float32; its bytes are measured."""
    cost, row = cost_of(variant, L=n, E=E), VARIANTS[variant]
    return {
        "parameters": cost.parameters,
        "multiplications": cost.multiplications,
        "bytes": measured(variant, n, E=E),
        "options": row.options | row.numbers,
    }


def long_context(n, E):
    """Return the multiplications of some variants for n tokens, by formula."""
    found = {"tokens": n, "matrix_bytes": cost_of("dense", L=n, E=E).score_bytes}
    for variant in LONG:
        found[variant] = None  # where bigbird's last block would not be whole
        if variant != "bigbird" or n % BLOCK == 0:
            found[variant] = cost_of(variant, L=n, E=E).multiplications
    return found


def operations_text(operations):
    """Return the table of operations for a few tokens, as text."""
    sizes = ", ".join(f"{name} = {size}" for name, size in SMALL.items())
    lines = [
        f"operations of one head (two of multi-head), {sizes}",
        "",
        f"{'':14s}{'multiplications':>24s}{'exp and tanh':>14s}",
        f"{'variant':14s}{'formula':>12s}{'counted':>12s}{'counted':>14s}",
    ]
    for variant, row in operations.items():
        by_formula, multiplications, exponentials = row.values()
        lines.append(
            f"{variant:14s}{by_formula:>12,}{multiplications:>12,}{exponentials:>14,}"
        )
    return Text("\n".join(lines))


def one_head_text(costs, n, E):
    """Return the table of all variants for n tokens of width E, as text."""
    lines = [
        f"one head, {n} queries and keys of width {E}, float32, forward",
        "",
        f"{'':14s}{'':>8s}{'':>16s}{'bytes beside':>14s}",
        f"{'variant':14s}{'params':>8s}{'multiplications':>16s}{'the inputs':>14s}",
    ]
    for variant, row in costs.items():
        lines.append(
            f"{variant:14s}{row['parameters']:>8,}{row['multiplications']:>16,}"
            f"{size(row['bytes']):>14s}"
        )
    lines += ["", "The bytes were measured in NumPy.", "", "options of the variants:"]
    for variant, row in costs.items():
        options = ", ".join(f"{name}={x}" for name, x in row["options"].items())
        lines += [f"  {variant:16s}{options}"] if options else []
    return Text("\n".join(lines))


def long_contexts_text(rows, E):
    """Return the table of exercise 6.4, a matrix and multiplications, as text."""
    head = "".join(f"{name:>11s}" for name in LONG)
    lines = [f"multiplications, one head, width {E}; bytes of a float32 matrix", ""]
    lines.append(f"{'n':>9s}{'one matrix':>11s}{head}")
    for row in rows:
        cells = (f"{row[x]:.2e}" if row[x] else "-" for x in LONG)
        cells = "".join(f"{cell:>11s}" for cell in (size(row["matrix_bytes"]), *cells))
        lines.append(f"{row['tokens']:>9,}{cells}")
    lines += [
        "",
        f"-: the length is not a multiple of bigbird's blocks, {BLOCK} tokens.",
        "Bigbird's BlockMask is made before the call. It takes a byte for each pair of",
        f"blocks: {size((-(-LENGTHS[-1] // BLOCK)) ** 2)} for n = {LENGTHS[-1]:,}.",
    ]
    heads = cost_of("dense", L=32_768, H=32).score_bytes
    lines += [
        "",
        f"A matrix of 32 768 x 32 768 scores takes {size(heads // 32)}; 32 heads take",
        f"{size(heads)}, for one example in one layer, whatever the model's width.",
    ]
    return Text("\n".join(lines))


def size(n):
    """Return bytes with a unit, in powers of ten: 4294967296 -> '4.295 GB'."""
    for unit, power in (("TB", 12), ("GB", 9), ("MB", 6), ("kB", 3)):
        if n >= 10**power:
            return f"{n / 10**power:.4g} {unit}"
    return f"{n} B"
