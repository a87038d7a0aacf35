"""Run each variant once: count its operations, or measure the memory that it holds.

    counted("window")          predicted and counted operations, for a few tokens
    measured("window", 1024)   predicted and measured bytes, beside the inputs

Counting runs the definitions of attention/definitions.py. Measuring runs the functions
of this package in NumPy, so that nothing has to be compiled, under tracemalloc. The
BlockMask of a pattern (which blocks of scores are computed) is made before the call;
the list of blocks that is kept with it is counted.
"""

import tracemalloc

import numpy as np

from minigrad import Tensor, no_grad

from .. import kernels
from ..template import attend
from ..exact.multihead import MultiHeadAttention
from ..exact.sdpa import dense_attention, tiled_attention
from ..kernels.tile_plan import tile_plan
from ..masks.block_mask import BlockMask
from ..scores import additive, concat, dot, general, scaled_dot
from ..variants.coverage import CoverageAttention
from ..variants.gaussian import gaussian
from ..variants.linear import linear_attention
from ..variants.local import LocalAttention
from ..variants.table import PATTERNS
from .counted import count
from .formulas import cost_of

OPTIONS = {  # of measured calls
    **{name: pattern.options for name, pattern in PATTERNS.items()},
    "local-m": dict(D=10),
    "local-p": dict(D=10),
}
SMALL = dict(L=6, S=8, E=4, Ev=3, A=5)  # of counted calls
SMALL_OPTIONS = {
    **{name: pattern.small for name, pattern in PATTERNS.items()},
    "local-m": dict(D=2),
    "local-p": dict(D=2),
    "tiled": dict(tile=4),
    "multi-head": dict(H=2),
}
LISTED = tuple(name for name, pattern in PATTERNS.items() if pattern.listed)
PARAMETERS = {
    "coverage": ("W_q", "W_k", "w_v", "w_c"),
    "local-p": ("W_p", "v_p"),
    "multi-head": ("W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"),
}


def counted(variant):
    """Return the Cost that is predicted for the sizes SMALL, and the OpCounter."""
    options = SMALL_OPTIONS.get(variant, {})
    cost = cost_of(variant, **SMALL, **options)
    mask = mask_of(variant, options)
    definition = variant if mask is None else "masked"
    if mask is not None:
        options = dict(allowed=mask.dense(1, 1, SMALL["L"], SMALL["S"])[0, 0])
    heads = options.get("H", 1)
    if heads > 1:
        options = dict(heads=heads)
    q, k, v, parameters = inputs(variant, **SMALL, heads=heads)
    middle = in_the_middle(variant, parameters, SMALL["S"])
    _, ops = count(definition, q, k, v, parameters, **options, **middle)
    return cost, ops


def in_the_middle(variant, parameters, S):
    """Return options so that local windows pass no end: W keys each, as in the formula.

    For local-p, v_p is set to 0, so that all centres are S / 2, for an even S.
    """
    if variant == "local-p":
        parameters[1][:] = 0
    return {"centre": lambda t: (S - 1) // 2} if variant == "local-m" else {}


def measured(variant, n, E=64, backend="numpy"):
    """Return predicted and measured bytes beside the inputs, for n queries and keys."""
    q, k, v, parameters = inputs(variant, L=n, S=n, E=E, Ev=E, A=E, dtype=np.float32)
    q, k, v, *parameters = map(Tensor, (q, k, v, *parameters))
    block_mask = block_mask_of(variant, n)
    call = call_of(variant, q, k, v, parameters, block_mask)
    with kernels.backend(backend):
        held = peak_bytes(call)
    if block_mask is not None:
        _, *arrays = tile_plan(block_mask, 1, 1, n, n)
        held += sum(x.nbytes for x in arrays)
    return cost_of(variant, L=n, E=E, **OPTIONS.get(variant, {})).extra_bytes, held


def peak_bytes(call):
    """Return the bytes that a call allocates at its widest point, without a graph."""
    with no_grad():
        call()  # allocates what later calls keep, such as the list of tiles
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            output = call()  # noqa: F841  it is held, too
            return tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()


def call_of(variant, q, k, v, parameters=(), block_mask=None):
    """Return a call of the package's function of a variant, with the OPTIONS."""
    if variant in LISTED:
        block_mask = block_mask or block_mask_of(variant, len(q))
    if variant in PARAMETERS or variant == "local-m":
        layer = _layer(variant, q.shape[-1], parameters)
        if variant == "multi-head":  # with the axis B, and with its whole weights
            q, k, v = q[None], k[None], v[None]
            return lambda: layer(q, k, v, need_weights=True)[0][0]
        return lambda: layer(q, k, v)
    score = {
        "dot": dot, "scaled": scaled_dot, "general": general, "additive": additive,
        "concat": concat, "gaussian": gaussian,
    }.get(variant)  # fmt: skip
    if score is not None:
        return lambda: attend(q, k, v, lambda a, b: score(a, b, *parameters))
    return {
        "dense": lambda: dense_attention(q, k, v),
        "linear": lambda: linear_attention(q, k, v),
        "tiled": lambda: tiled_attention(q, k, v),
        "window": lambda: tiled_attention(
            q, k, v, window_size=OPTIONS["window"]["window"]
        ),
    }.get(variant, lambda: tiled_attention(q, k, v, block_mask=block_mask))


def inputs(variant, *, L, S, E, Ev, A, heads=1, dtype=float, seed=0):
    """Return q, k, v and the parameters of one head, or of all heads of multi-head."""
    rng = np.random.default_rng(seed)
    D, rows = heads * E, (E, E, Ev)
    shapes = {
        "general": [(E, E)],
        "additive": [(A, E), (A, E), (A,)],
        "concat": [(A, 2 * E), (A,)],
        "coverage": [(A, E), (A, E), (A,), (A,)],
        "local-p": [(E, E), (E,)],
    }.get(variant, [])
    if variant == "multi-head":
        rows = D, D, D
        shapes = [(D, D), (D, D), (heads * Ev, D), (D, heads * Ev)]
    q, k, v, *parameters = (
        rng.standard_normal(shape).astype(dtype)
        for shape in (*zip((L, S, S), rows), *shapes)
    )
    return q, k, v, parameters


def mask_of(variant, options):
    """Return the mask of a sparse pattern, None for other variants."""
    return PATTERNS[variant].mask(**options) if variant in PATTERNS else None


def block_mask_of(variant, n):
    """Return the BlockMask of a pattern that lists its tiles, None for others."""
    if variant not in LISTED:
        return None
    return BlockMask.from_mask(mask_of(variant, OPTIONS[variant]), n, n)


def _layer(variant, E, parameters):
    if variant == "coverage":
        layer = CoverageAttention(E, E, len(parameters[0]))
    elif variant == "multi-head":
        layer = MultiHeadAttention(E, 1, bias=False)
    else:
        layer = LocalAttention(E, E, OPTIONS[variant]["D"], variant[-1], "dot")
    layer.load_state_dict(dict(zip(PARAMETERS.get(variant, ()), parameters)))
    return layer
