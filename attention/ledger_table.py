"""The ledger as tables: predicted beside counted and measured; for long contexts."""

import tracemalloc

import numpy as np

from minigrad import Tensor, no_grad

from . import kernels, masks
from .attend import attend
from .block_mask import BlockMask
from .kernels.plan import of_ranges
from .ledger import VARIANTS, ledger
from .scores import additive, concat, dot, general, scaled_dot
from .sdpa import dense_attention, tiled_attention
from .tally import count

LONG = (1000, 4096, 32_768, 1_000_000)  # of exercise 6.4, and one more
FOR_LONG = ("dense", "tiled", "window", "bigbird", "linear")
WINDOW, BLOCKS = (255, 0), (64, 3, 3, 2)
SMALL = dict(L=6, S=8, E=4, Ev=3, A=5)  # what is counted, a microsecond a product
SMALL_WINDOW, SMALL_BLOCKS, SMALL_TILE = (2, 1), (2, 1, 1, 1), 4
HEADS = 2  # of multi-head
SCORES = {
    "dot": dot,
    "scaled": scaled_dot,
    "general": general,
    "additive": additive,
    "concat": concat,
}


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
    ]
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


def counted(variant, seed=0):
    """(predicted, counted) multiplications of a variant, for a few queries and keys."""
    sizes, options, loop = dict(SMALL), {}, variant
    L, S = sizes["L"], sizes["S"]
    q, k, v, parameters = inputs(variant, seed=seed, heads=HEADS, **SMALL)
    if variant == "multi-head":
        sizes["H"] = options["heads"] = HEADS
    elif variant == "tiled":
        sizes["tile"] = SMALL_TILE
        options["tiles"] = tiles_of(L, S, SMALL_TILE)
    elif variant in ("window", "bigbird"):
        mask = masks.sliding_window(*SMALL_WINDOW)
        if variant == "bigbird":
            mask = masks.bigbird(*SMALL_BLOCKS, seed=seed)
        sizes |= dict(window=SMALL_WINDOW, blocks=SMALL_BLOCKS)
        options["allowed"] = mask.dense(1, 1, L, S)[0, 0]
        loop = "masked"
    _, found = count(loop, q, k, v, parameters, **options)
    return ledger(variant, **sizes).multiplications, found


def measured(variant, n, E=64):
    """(predicted, measured) bytes beyond the inputs, forward; n queries and keys."""
    sizes = dict(L=n, S=n, E=E, Ev=E, A=E)
    q, k, v, parameters = inputs(variant, dtype=np.float32, **sizes)
    q, k, v, *parameters = map(Tensor, (q, k, v, *parameters))
    call = call_of(variant, n, q, k, v, parameters)
    options = options_of(variant) | dict(threads=kernels.threads())
    predicted = ledger(variant, L=n, E=E, **options).extra_bytes
    with no_grad():
        call()  # kernels are loaded and threads started now
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            result = call()  # noqa: F841  the output counts
            return predicted, tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()


def call_of(variant, n, q, k, v, parameters):
    """The package's function of a variant, with its arguments."""
    if variant == "linear":
        from .linear import linear_attention

        return lambda: linear_attention(q, k, v)
    if variant == "dense":
        return lambda: dense_attention(q, k, v)
    if variant == "tiled":
        return lambda: tiled_attention(q, k, v)
    if variant == "window":
        return lambda: tiled_attention(q, k, v, window_size=WINDOW)
    if variant == "bigbird":
        block_mask = BlockMask.from_mask(masks.bigbird(*BLOCKS, seed=0), n, n)
        return lambda: tiled_attention(q, k, v, block_mask=block_mask)
    if variant == "multi-head":
        return _multi_head(q, k, v, parameters)
    score = SCORES[variant]
    return lambda: attend(q, k, v, lambda a, b: score(a, b, *parameters))


def inputs(variant, *, L, S, E, Ev, A, heads=1, dtype=float, seed=0):
    """q, k, v and the parameters of a variant, drawn at random."""
    rng = np.random.default_rng(seed)

    def draw(*shape):
        return rng.standard_normal(shape).astype(dtype)

    shapes = {
        "general": [(E, E)],
        "additive": [(A, E), (A, E), (A,)],
        "concat": [(A, 2 * E), (A,)],
    }.get(variant, [])
    if variant == "multi-head":
        D = heads * E
        shapes = [(D, D), (D, D), (heads * Ev, D), (D, heads * Ev)]
        return draw(L, D), draw(S, D), draw(S, D), [draw(*s) for s in shapes]
    return draw(L, E), draw(S, E), draw(S, Ev), [draw(*s) for s in shapes]


def tiles_of(L, S, tile, lo=0, hi=None):
    """What ``tally.tiled`` asks for, from the plan that the kernels are given.

    lo, hi   (L,), or a number: query i attends to the keys lo[i] <= key < hi[i]
    """
    lo, hi = (np.broadcast_to(x, (1, L)) for x in (lo, S if hi is None else hi))
    plan = of_ranges(lo, hi, (1,), L, S, tile)
    listed = []
    for block, (first, last) in enumerate(zip(plan.first[0], plan.last[0])):
        keys = [
            range(b * tile, min(b * tile + tile, S)) for b in plan.blocks[first:last]
        ]
        listed.append((range(block * tile, min(block * tile + tile, L)), keys))
    return listed


def options_of(variant):
    """What ``ledger`` is told beside the sizes."""
    return {"window": dict(window=WINDOW), "bigbird": dict(blocks=BLOCKS)}.get(
        variant, {}
    )


def size(n):
    """4294967296 -> '4.295 GB', in powers of ten."""
    for unit, power in (("TB", 12), ("GB", 9), ("MB", 6), ("kB", 3)):
        if n >= 10**power:
            return f"{n / 10**power:.4g} {unit}"
    return f"{n} B"


def _multi_head(q, k, v, parameters, heads=1):
    """Its weights are asked for: that has the whole matrix, as the ledger counts."""
    from .multihead import MultiHeadAttention

    layer = MultiHeadAttention(q.shape[-1], heads, bias=False)
    names = [f"{W}.weight" for W in ("W_q", "W_k", "W_v", "W_o")]
    layer.load_state_dict(dict(zip(names, parameters)))
    q, k, v = (x[None] for x in (q, k, v))  # with the axis B: inputs, and no copies
    return lambda: layer(q, k, v, need_weights=True)[0][0]


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
