"""What is measured: the inputs of each row, our sides, and the torch sides beside them.

Every case is made by a function (quick, peer) -> Case. ``peer`` is the module peer.py
where torch is to be compared with, or None. Quick cases are smaller where the peer
takes long; their shape says so.
"""

import numpy as np

import minigrad as mg

from ...costs import ledger, pairs_within
from ...exact.sdpa import scaled_dot_product_attention
from ...scores import additive_core
from . import programs
from .sides import both, draw, of_ours, windowed
from .timing import Case


def additive_case(B, L, S, A):
    def make(quick, peer):
        q, k, w, g = draw((B, L, A), (B, S, A), (A,), (B, L, S))
        sides = both(of_ours(additive_core, (q, k, w), g))
        if peer:
            sides |= peer.additive(q, k, w, g, compiled=not quick)
        return Case(f"B={B} L={L} S={S} A={A}", sides)

    return make


def attention_case(causal, backward, n=2048, heads=8, E=64):
    def make(quick, peer):
        q, k, v, g = draw(*[(1, heads, n, E)] * 4)

        def attention(*x):
            return scaled_dot_product_attention(*x, is_causal=causal)

        g = g if backward else None
        sides = both(of_ours(attention, (q, k, v), g))
        if peer:
            sides |= peer.attention(q, k, v, g, causal=causal)
        pairs = pairs_within(n, n, right=0 if causal else -1)
        flop = flops(heads * pairs, E, backward)
        return Case(f"H={heads} n={n} d={E}", sides, flop)

    return make


def window_case(quick, peer, n=8192, w=256, E=64):
    heads = 1 if quick else 8
    q, k, v, g = draw(*[(1, heads, n, E)] * 4)
    sides = both(of_ours(windowed(w), (q, k, v), g))
    if peer:
        sides |= peer.window(q, k, v, g, w)
    flop = flops(heads * pairs_within(n, n, w - 1, 0), E, backward=True)
    return Case(f"H={heads} n={n} w={w} d={E}", sides, flop)


def memory_case(quick, peer, n=8192, E=64):
    q, k, v = draw(*[(1, 1, n, E)] * 3)
    run = of_ours(scaled_dot_product_attention, (q, k, v), None)
    sides = {"numba": both(run)["numba"]}
    if peer:
        sides |= peer.attention(q, k, v, None, causal=False)
        sides.pop("eager", None)
    matrix = ledger("dense", L=n, E=E).score_bytes
    return Case(f"H=1 n={n} d={E}", sides, facts={"matrix": matrix})


def gru_case(quick, peer, B=64, T=32, I=128, H=128):  # noqa: E741
    shapes = (B, T, I), (B, H), (3 * H, I), (3 * H, H), (3 * H,), (3 * H,), (B, T, H)
    x, h0, *weights, g = draw(*shapes)
    weights = [w / np.float32(np.sqrt(H)) for w in weights]

    sides = {"numpy": of_ours(lambda *a: mg.gru(*a)[0], (x, h0, *weights), g)}
    if peer:
        sides |= peer.gru(x, h0, weights, g)
    flop = 3 * 2 * B * T * 3 * H * (I + H)  # a product forward, and two backward
    return Case(f"B={B} T={T} in={I} H={H}", sides, flop)


def tiny_case(quick, peer, operations=1000):
    x, y, g = draw((8,), (8,), (8,))
    run = programs.tiny(operations)
    sides = {"numpy": of_ours(run, (x, y), g)}
    if peer:
        sides |= peer.tiny(x, y, g, run)
    return Case(f"{operations} ops on 8 numbers", sides, memory=False)


def flops(pairs, E, backward):
    """Floating-point operations of the products: 2 forward, and 5 more backward.

    Those of all pairs that may attend, and none of the exp, as is usual.
    """
    return pairs * E * 2 * (7 if backward else 2)


ROWS = {
    "additive-128": ("additive score, forward + backward",
                     additive_case(8, 128, 128, 128)),
    "additive-50": ("additive score, forward + backward",
                    additive_case(16, 50, 50, 256)),
    "tiled-forward": ("dot products in tiles, forward", attention_case(False, False)),
    "tiled": ("dot products in tiles, forward + backward", attention_case(False, True)),
    "causal-forward": ("the same, causal, forward", attention_case(True, False)),
    "causal": ("the same, causal, forward + backward", attention_case(True, True)),
    "window": ("sliding window, forward + backward", window_case),
    "growth": ("sliding window, time against n", programs.growth_case),
    "memory": ("dot products in tiles, extra memory", memory_case),
    "gru": ("GRU layer, forward + backward", gru_case),
    "tiny": ("tiny operations, forward + backward", tiny_case),
    "import": ("import minigrad, attention", programs.import_case),
    "alternation": ("BLAS and kernel in turn", programs.alternation_case),
}  # fmt: skip
