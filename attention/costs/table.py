"""Print what each variant of attention costs: by formula, counted and measured."""

from ..variants.table import VARIANTS
from .formulas import cost_of
from .trials import SMALL, counted, measured

LENGTHS = (1000, 4096, 32_768, 1_000_000)  # of exercise 6.4, and one more
LONG = ("dense", "tiled", "window", "bigbird", "linear")
BLOCK = VARIANTS["bigbird"].options["blocks"][0]


def operations():
    """Return the table of operations for a few tokens, as text."""
    sizes = ", ".join(f"{name} = {size}" for name, size in SMALL.items())
    lines = [
        f"operations of one head (two of multi-head), {sizes}",
        "",
        f"{'':14s}{'multiplications':>24s}{'exp and tanh':>24s}",
        f"{'variant':14s}" + 2 * f"{'formula':>12s}{'counted':>12s}",
    ]
    for variant in VARIANTS:
        cost, ops = counted(variant)
        row = cost.multiplications, ops.multiplications
        row += cost.exponentials, ops.exponentials
        lines.append(f"{variant:14s}" + "".join(f"{n:>12,}" for n in row))
    return "\n".join(lines)


def comparison(n=1024, E=64, variants=VARIANTS):
    """Return the table of all variants for n tokens of width E, as text.

    variants   their names; an iterator may show how far it is
    """
    lines = [
        f"one head, {n} queries and keys of width {E}, float32, forward",
        "",
        f"{'':14s}{'':>8s}{'':>14s}{'':>12s}{'bytes beside the inputs':>27s}",
        f"{'variant':14s}{'params':>8s}{'multiplications':>16s}{'exp, tanh':>12s}"
        f"{'formula':>12s}{'measured':>12s}{'ratio':>6s}",
    ]
    for variant in variants:
        cost = cost_of(variant, L=n, E=E)
        held = measured(variant, n, E)
        formula = ratio = "-"
        if cost.extra_bytes is not None:
            formula, ratio = size(cost.extra_bytes), f"{held / cost.extra_bytes:.2f}"
        lines.append(
            f"{variant:14s}{cost.parameters:>8,}{cost.multiplications:>16,}"
            f"{cost.exponentials:>12,}{formula:>12s}{size(held):>12s}{ratio:>6s}"
        )
    lines += [
        "",
        "The formulas are those of the compiled kernels; NumPy was measured. It holds",
        "phi(q) and phi(k) of linear attention whole, where the kernel holds a chunk,",
        "and an array with the allowed pairs of a tile, where the kernel reads bits.",
        "",
        "options of the variants:",
    ]
    for variant, row in VARIANTS.items():
        text = ", ".join(f"{name}={value}" for name, value in row.options.items())
        lines += [f"  {variant:16s}{text}"] if text else []
    return "\n".join(lines)


def long_contexts(E=64, lengths=LENGTHS):
    """Return the tables of exercise 6.4, bytes and multiplications, as text."""
    costs = {n: [_long_cost(variant, n, E) for variant in LONG] for n in lengths}
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
        f"blocks: {size((-(-lengths[-1] // BLOCK)) ** 2)} for n = {lengths[-1]:,}.",
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
