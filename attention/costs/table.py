"""The ledger as tables: predicted beside counted and measured; for long contexts."""

from . import VARIANTS, ledger
from .trials import BLOCKS, HEADS, OPTIONS, SMALL, counted, measured, options_of

LONG = (1000, 4096, 32_768, 1_000_000)  # of exercise 6.4, and one more
FOR_LONG = ("dense", "tiled", "window", "bigbird", "linear")


def comparison(n=1024, E=64):
    """The table of all variants for n tokens of width E, as text.

    Multiplications are predicted for n tokens, and both predicted and counted for the
    few of SMALL; bytes are both predicted and measured for n tokens.
    """
    few = f"{SMALL['L']} queries x {SMALL['S']} keys"
    lines = [
        f"one head, {n} queries and keys of width {E}, float32, forward",
        "",
        f"{'':10s}{'':>8s}{'multipli-':>15s}{few:>19s}{'bytes beyond the inputs':>28s}",
        f"{'variant':10s}{'params':>8s}{'cations':>15s}"
        f"{'predicted':>11s}{'counted':>8s}{'predicted':>11s}{'measured':>10s}"
        f"{'ratio':>7s}",
    ]
    for variant in VARIANTS:
        told_few, found = counted(variant)
        cost = ledger(variant, L=n, E=E, **options_of(variant))
        row = f"{variant:10s}{cost.parameters:>8,}{cost.multiplications:>15,}"
        told, held = measured(variant, n, E)
        row += f"{told_few:>11,}{found:>8,}"
        row += f"{size(told):>11s}{size(held):>10s}{held / told:>7.2f}"
        lines.append(row)
    widths = ", ".join(f"{name} = {SMALL[name]}" for name in ("E", "Ev", "A"))
    lines += [
        "",
        f"{few}: with {widths}; multi-head with {HEADS} heads.",
        "",
        f"of {n} queries and keys, as ledger is told:",
    ]
    for variant, options in OPTIONS.items():
        told = ", ".join(f"{name}={value}" for name, value in options.items())
        lines += [f"  {variant:12s}{told}"]
    return "\n".join(lines)


def long_contexts(E=64, lengths=LONG):
    """The table of exercise 6.4: bytes and multiplications of one head, as text."""
    costs = {n: [_cost_at(variant, n, E) for variant in FOR_LONG] for n in lengths}
    head = _row(("one matrix", *FOR_LONG))
    lines = [f"bytes beyond the inputs, one head, width {E}, float32, on paper", ""]
    lines += [f"{'n':>9s}{head}"]
    for n, row in costs.items():
        cells = ["-" if c is None else size(c.extra_bytes) for c in row]
        lines += [f"{n:>9,}" + _row([size(row[0].score_bytes), *cells])]
    lines += ["", *_notes(lengths)]
    lines += ["", "multiplications of the same", "", f"{'n':>9s}{'':11s}{head[11:]}"]
    for n, row in costs.items():
        cells = ["-" if c is None else f"{c.multiplications:.2e}" for c in row]
        lines += [f"{n:>9,}" + _row(["", *cells])]
    lines += [""]
    heads = ledger("dense", L=32_768, H=32).score_bytes
    lines += [
        f"A matrix of 32 768 x 32 768 scores takes {size(heads // 32)}; one for each "
        f"of 32 heads,",
        f"{size(heads)}, for one example in one layer. The model's width has no part "
        "in it.",
    ]
    return "\n".join(lines)


def size(n):
    """4294967296 -> '4.295 GB', in powers of ten."""
    for unit, power in (("TB", 12), ("GB", 9), ("MB", 6), ("kB", 3)):
        if n >= 10**power:
            return f"{n / 10**power:.4g} {unit}"
    return f"{n} B"


def _notes(lengths):
    """What stands under the table of long contexts."""
    block = BLOCKS[0]
    broken = [f"{n:,}" for n in lengths if n % block]
    if broken:
        listed = ", ".join(broken)
        yield f"-: bigbird has blocks of {block} tokens, and {listed} is no multiple."
    blocks = -(-max(lengths) // block)
    yield "bigbird's BlockMask is made beforehand, and keeps a byte for each pair of"
    yield f"blocks beside all this: {size(blocks**2)} for n = {max(lengths):,}."


def _cost_at(variant, n, E):
    if variant == "bigbird" and n % BLOCKS[0]:
        return None  # the last block would be a part of one
    return ledger(variant, L=n, E=E, **options_of(variant))


def _row(cells):
    return "".join(f"{cell:>11s}" for cell in cells)
