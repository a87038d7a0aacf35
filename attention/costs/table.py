"""Print what each variant of attention costs: by formula, counted and measured."""

from ..variants.table import VARIANTS
from .formulas import cost_of
from .trials import SMALL, counted, measured

LENGTHS = (1000, 4096, 32_768, 1_000_000)  # of exercise 6.4, and one more
LONG = ("dense", "tiled", "window", "bigbird", "linear")
BLOCK = VARIANTS["bigbird"].options["block"]


def operations():
    """Return the table of operations for a few tokens, as text."""
    sizes = ", ".join(f"{name} = {size}" for name, size in SMALL.items())
    lines = [
        f"operations of one head (two of multi-head), {sizes}",
        "",
        f"{'':14s}{'multiplications':>24s}{'exp and tanh':>14s}",
        f"{'variant':14s}{'formula':>12s}{'counted':>12s}{'counted':>14s}",
    ]
    for variant in VARIANTS:
        cost, ops = counted(variant)
        lines.append(
            f"{variant:14s}{cost.multiplications:>12,}{ops.multiplications:>12,}"
            f"{ops.exponentials:>14,}"
        )
    return "\n".join(lines)


def comparison(n=1024, E=64, variants=VARIANTS):
    """Return the table of all variants for n tokens of width E, as text.

    variants   their names; an iterator may show how far it is
    """
    lines = [
        f"one head, {n} queries and keys of width {E}, float32, forward",
        "",
        f"{'':14s}{'':>8s}{'':>16s}{'bytes beside':>14s}",
        f"{'variant':14s}{'params':>8s}{'multiplications':>16s}{'the inputs':>14s}",
    ]
    for variant in variants:
        cost = cost_of(variant, L=n, E=E)
        lines.append(
            f"{variant:14s}{cost.parameters:>8,}{cost.multiplications:>16,}"
            f"{size(measured(variant, n, E)):>14s}"
        )
    lines += ["", "The bytes were measured in NumPy.", "", "options of the variants:"]
    for variant, row in VARIANTS.items():
        options = (row.options | row.numbers).items()
        text = ", ".join(f"{name}={value}" for name, value in options)
        lines += [f"  {variant:16s}{text}"] if text else []
    return "\n".join(lines)


def long_contexts(E=64):
    """Return the tables of exercise 6.4, bytes and multiplications, as text."""
    costs = {n: [_long_cost(variant, n, E) for variant in LONG] for n in LENGTHS}
    head = "".join(f"{name:>11s}" for name in LONG)
    lines = [f"bytes beside the inputs, one head, width {E}, float32, by formula", ""]
    lines.append(f"{'n':>9s}{'one matrix':>11s}{head}")
    for n, row in costs.items():
        cells = [row[0].score_bytes, *(c and c.extra_bytes for c in row)]
        cells = "".join(f"{'-' if c is None else size(c):>11s}" for c in cells)
        lines.append(f"{n:>9,}{cells}")
    lines += [
        "",
        f"-: the length is not a multiple of bigbird's blocks, {BLOCK} tokens.",
        "Bigbird's BlockMask is made before the call. It takes a byte for each pair of",
        f"blocks: {size((-(-LENGTHS[-1] // BLOCK)) ** 2)} for n = {LENGTHS[-1]:,}.",
        "",
        "multiplications",
        "",
        f"{'n':>9s}{'':11s}{head}",
    ]
    for n, row in costs.items():
        cells = ("-" if c is None else f"{c.multiplications:.2e}" for c in row)
        lines.append(f"{n:>9,}{'':11s}" + "".join(f"{c:>11s}" for c in cells))
    heads = cost_of("dense", L=32_768, H=32).score_bytes
    lines += [
        "",
        f"A matrix of 32 768 x 32 768 scores takes {size(heads // 32)}; 32 heads take",
        f"{size(heads)}, for one example in one layer, whatever the model's width.",
    ]
    return "\n".join(lines)


def size(n):
    """Return bytes with a unit, in powers of ten: 4294967296 -> '4.295 GB'."""
    for unit, power in (("TB", 12), ("GB", 9), ("MB", 6), ("kB", 3)):
        if n >= 10**power:
            return f"{n / 10**power:.4g} {unit}"
    return f"{n} B"


def _long_cost(variant, n, E):
    """Return the Cost, or None where bigbird's last block would not be whole."""
    if variant == "bigbird" and n % BLOCK:
        return None
    return cost_of(variant, L=n, E=E)
