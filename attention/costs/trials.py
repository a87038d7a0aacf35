"""Each variant tried out: its multiplications counted, and its memory measured.

    counted("window")          (predicted, counted) multiplications, for a few tokens
    measured("window", 1024)   (predicted, measured) bytes beside the inputs

Counting takes the loops of attention/tally, a microsecond a product. Measuring takes
the functions of this package, under tracemalloc, which sees what NumPy and the kernels
allocate. A BlockMask is made before the call; the plan that comes of it, which is kept
with it, is added to what the call holds.
"""

import tracemalloc

import numpy as np

from minigrad import Tensor, no_grad

from .. import kernels, masks
from ..attend import attend
from ..exact.sdpa import dense_attention, tiled_attention
from ..kernels.tile_plan import of_ranges, plan
from ..masks.block_mask import BlockMask
from ..scores import additive, concat, dot, general, scaled_dot
from ..variants.coverage import CoverageAttention
from ..variants.gaussian import gaussian
from ..variants.local import LocalAttention
from .arguments import LOCAL
from .counted import count
from .formulas import ledger

WINDOW, BLOCKS = (255, 0), (64, 3, 3, 2)
OPTIONS = {  # what ``ledger`` is told beside the sizes, and the functions likewise
    "window": dict(window=WINDOW),
    "dilated": dict(window=(256, 256), dilation=2),
    "longformer": dict(window=(128, 128), global_tokens=(0,)),
    "bigbird": dict(blocks=BLOCKS),
    "local-m": dict(D=10),
    "local-p": dict(D=10),
}
SMALL = dict(L=6, S=8, E=4, Ev=3, A=5)  # what is counted, a microsecond a product
SMALL_OPTIONS = {
    "window": dict(window=(2, 1)),
    "dilated": dict(window=(4, 4), dilation=2),
    "longformer": dict(window=(1, 1), global_tokens=(0,)),
    "bigbird": dict(blocks=(2, 1, 1, 1)),
    "local-m": dict(D=2),
    "local-p": dict(D=2),
    "tiled": dict(tile=4),
}
HEADS = 2  # of multi-head
BLOCKED = ("dilated", "longformer", "bigbird")  # a query's keys are not one range
SCORES = {
    "dot": dot,
    "scaled": scaled_dot,
    "general": general,
    "additive": additive,
    "concat": concat,
    "gaussian": gaussian,
}


def counted(variant, seed=0):
    """(predicted, counted) multiplications of a variant, for a few queries and keys."""
    sizes, options, loop = dict(SMALL), {}, variant
    L, S = sizes["L"], sizes["S"]
    q, k, v, parameters = inputs(variant, seed=seed, heads=HEADS, **SMALL)
    own = SMALL_OPTIONS.get(variant, {})
    mask = mask_of(variant, own, seed)
    if mask is not None:
        options["allowed"] = mask.dense(1, 1, L, S)[0, 0]
        loop = "masked"
    elif variant == "multi-head":
        sizes["H"] = options["heads"] = HEADS
    elif variant == "tiled":
        options["tiles"] = tiles_of(L, S, own["tile"])
    elif variant in LOCAL:
        options |= own
    _, found = count(loop, q, k, v, parameters, **options)
    return ledger(variant, **sizes, **own).multiplications, found


def measured(variant, n, E=64):
    """(predicted, measured) bytes beyond the inputs, forward; n queries and keys."""
    sizes = dict(L=n, S=n, E=E, Ev=E, A=E)
    q, k, v, parameters = inputs(variant, dtype=np.float32, **sizes)
    q, k, v, *parameters = map(Tensor, (q, k, v, *parameters))
    block_mask = block_mask_of(variant, n)
    call = call_of(variant, n, q, k, v, parameters, block_mask)
    options = options_of(variant) | dict(threads=kernels.threads())
    predicted = ledger(variant, L=n, E=E, **options).extra_bytes
    with no_grad():
        call()  # kernels are loaded, threads started, and plans made now
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            result = call()  # noqa: F841  the output counts
            held = tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()
    if block_mask is not None:
        _, *arrays = plan(block_mask, 1, 1, n, n)  # the one that the call was given
        held += sum(x.nbytes for x in arrays)
    return predicted, held


def call_of(variant, n, q, k, v, parameters, block_mask=None):
    """The package's function of a variant, with its arguments.

    block_mask   what ``block_mask_of`` gives for the variant; None: it is made here
    """
    if variant == "linear":
        from ..variants.linear import linear_attention

        return lambda: linear_attention(q, k, v)
    if variant == "dense":
        return lambda: dense_attention(q, k, v)
    if variant == "tiled":
        return lambda: tiled_attention(q, k, v)
    if variant == "window":
        return lambda: tiled_attention(q, k, v, window_size=WINDOW)
    if variant in BLOCKED:
        block_mask = block_mask or block_mask_of(variant, n)
        return lambda: tiled_attention(q, k, v, block_mask=block_mask)
    if variant == "multi-head":
        return _multi_head(q, k, v, parameters)
    if variant in LAYERS:
        layer = LAYERS[variant](variant, q.shape[-1], parameters)
        return lambda: layer(q, k, v)
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
        "coverage": [(A, E), (A, E), (A,), (A,)],
        "local-p": [(E, E), (E,)],
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
    return OPTIONS.get(variant, {})


def mask_of(variant, options, seed=0):
    """The mask of a pattern, from what ``ledger`` is told; None for other variants."""
    if variant == "window":
        return masks.sliding_window(*options["window"])
    if variant == "dilated":
        return masks.dilated(options["window"][0], options["dilation"])
    if variant == "longformer":
        marked = masks.global_tokens(options["global_tokens"])
        return masks.sliding_window(*options["window"]) | marked
    if variant == "bigbird":
        return masks.bigbird(*options["blocks"], seed=seed)
    return None


def block_mask_of(variant, n):
    """The tiles of a pattern that is no range of keys; None for other variants."""
    if variant not in BLOCKED:
        return None
    return BlockMask.from_mask(mask_of(variant, options_of(variant)), n, n)


def _multi_head(q, k, v, parameters, heads=1):
    """Its weights are asked for: that has the whole matrix, as the ledger counts."""
    from ..exact.multihead import MultiHeadAttention

    layer = MultiHeadAttention(q.shape[-1], heads, bias=False)
    names = [f"{W}.weight" for W in ("W_q", "W_k", "W_v", "W_o")]
    layer.load_state_dict(dict(zip(names, parameters)))
    q, k, v = (x[None] for x in (q, k, v))  # with the axis B: inputs, and no copies
    return lambda: layer(q, k, v, need_weights=True)[0][0]


def _coverage(variant, E, parameters):
    layer = CoverageAttention(E, E, len(parameters[0]))
    layer.load_state_dict(dict(zip(("W_q", "W_k", "w_v", "w_c"), parameters)))
    return layer


def _local(variant, E, parameters):
    layer = LocalAttention(E, E, OPTIONS[variant]["D"], variant[-1], "dot")
    layer.load_state_dict(dict(zip(("W_p", "v_p"), parameters)))
    return layer


LAYERS = {"coverage": _coverage, "local-m": _local, "local-p": _local}
