"""Arrays for the loops and their twins, and what comes of them."""

import contextlib
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

import minigrad as mg
from attention import delta_rule, kernels, masks
from attention.exact.flash import flash_attention
from attention.kernels.tile_plan import tile_plan
from attention.scores import tanh_scores
from attention.seq2seq.attention_gru import attention_gru
from minigrad.broadcasting import fit_to_input

from ...minigrad.array_cases import draw

FLOATS = [np.float32, np.float64]
BACKENDS = ["numba", "numpy"]
TANH_ERROR = 4e-7  # of additive_product.py, absolute


@contextlib.contextmanager
def running(backend):
    """In that backend, with every warning an error."""
    if backend == "numba":
        pytest.importorskip("numba")
    with kernels.backend(backend), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def close(value, exact, dtype):
    """Equal up to some ten roundings of numbers of the size of the largest one."""
    assert value.dtype == dtype and value.shape == exact.shape
    finite = np.abs(exact[np.isfinite(exact)])
    atol = 20 * np.finfo(dtype).eps * finite.max(initial=1)
    np.testing.assert_allclose(value, exact, rtol=0, atol=atol)


def additive_example(B, L, S, A, dtype, seed=0):
    return draw((B, L, A), (B, S, A), (A,), (B, L, S), dtype=dtype, seed=seed)


def additive_results(q, k, w, g):
    s, backward = tanh_scores.raw(q, k, w)
    return [s, *backward(g)]


def additive_case(*sizes):
    return Case(lambda dtype: additive_example(*sizes, dtype), additive_results)


def frozen(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def op_results(op, n_inputs, **options):
    """Return a function of n inputs and of gradients: the outputs and gradients.

    ``back`` is the context in which it runs the backward.
    """

    def run(*arrays, back=contextlib.nullcontext):
        inputs, g = arrays[:n_inputs], arrays[n_inputs:]
        y, backward = op.raw(*inputs, **options)
        y = y if isinstance(y, tuple) else (y,)
        with back():
            found = backward([x.copy() for x in g] if len(g) > 1 else g[0])
        found = found if isinstance(found, tuple) else (found,)
        pairs = zip(found, inputs)
        return [*y, *(fit_to_input(d, a) for d, a in pairs if d is not None)]

    return run


def shaped(*shapes, scale=0.4):
    def make(dtype):
        return [(scale * x).astype(dtype) for x in draw(*shapes)]

    return make


def gru_shapes(B, T, I, H):  # noqa: E741
    return (B, T, I), (B, H), (3 * H, I), (3 * H, H), (3 * H,), (3 * H,)


def decoder_shapes(kind, *, B, L, S, E, H, M, A):
    """Return the shapes of the arguments in their order, and those of the outputs."""
    keys = B, S, A if kind == "additive" else H
    shapes = [(B, L, E), (B, H), (B, S, M), keys,
              (3 * H, E + M), (3 * H, H), (3 * H,), (3 * H,)]  # fmt: skip
    if kind == "additive":
        shapes += [(A, H), (A,)]
    return shapes, [(B, L, H), (B, L, M), (B, L, S)]


# three items of work, the last one not full; more rows than are summed at a time; wide
MANY = dict(B=37, L=9, S=7, E=2, H=70, M=4, A=13)


def decoder_case(kind, sizes=MANY, **options):
    shapes, outputs = decoder_shapes(kind, **sizes)
    run = op_results(attention_gru, len(shapes), **options)
    return Case(shaped(*shapes, *outputs), run, 3)


def gru_case(**options):
    shapes = *gru_shapes(37, 9, 5, 70), (37, 9, 70), (37, 70)
    return Case(shaped(*shapes), op_results(mg.gru, 6, **options), 2)


def tiled_case(heads=1, n=330, E=8, Ev=5):
    """Causal attention, with a bias of each offset and of each key."""
    plan = tile_plan(masks.causal, 1, 2 * heads, n, n)
    shapes = (
        *((2 * heads, n, E), (heads, n, E), (heads, n, Ev)),
        *((2 * heads, 2 * n - 1), (n,), (2 * heads, n, Ev), (2 * heads, n)),
    )
    run = op_results(flash_attention, 5, plan=plan, scale=0.3)
    return Case(shaped(*shapes, scale=1), run, 2)


def delta_arrays(dtype):
    q, k, v, b, log_a, S, g, D = draw(
        *[(3, 130, 17)] * 3, *[(3, 130)] * 2, (3, 17, 17), (3, 130, 17), (3, 17, 17)
    )
    k = k / np.sqrt((k * k).sum(-1, keepdims=True))
    b, log_a = 1 / (1 + np.exp(-b)), -np.log1p(np.exp(-log_a - 2))
    return [x.astype(dtype) for x in (q, k, v, b, log_a, S, g, D)]


class Case(NamedTuple):
    """make(dtype) returns arrays, and run(*arrays) outputs and gradients."""

    make: Callable
    run: Callable
    outputs: int = 1


numbers = np.arange(MANY["B"])
# sizes that no block divides; more than one work item in every direction
x, W, rows = (5, 83, 259), (519, 259), (5, 83, 519)
CASES = {
    "additive": additive_case(3, 50, 11, 37),
    "additive of one query": additive_case(3, 1, 8, 19),  # as in a decoder
    "additive of one key": additive_case(2, 5, 1, 4),
    "additive of a few": additive_case(2, 3, 5, 7),
    "additive in parts": additive_case(2, 33, 3, 5),  # parted in the backward
    "additive, no examples": additive_case(0, 3, 5, 4),
    "additive, no queries": additive_case(2, 0, 5, 4),
    "additive, no keys": additive_case(2, 3, 0, 4),
    "additive, no units": additive_case(2, 3, 5, 0),
    "gru": gru_case(),
    "gru of padded rows": gru_case(lengths=1 + numbers % 9),
    "gru of padded rows, reversed": gru_case(lengths=1 + numbers % 9, reverse=True),
    "decoder dot": decoder_case("dot", scale=0.3),
    "decoder additive": decoder_case("additive"),
    "decoder dot, lengths": decoder_case("dot", lengths=numbers % 8),
    "decoder additive, lengths": decoder_case("additive", lengths=numbers % 8),
    # from no step to all 9; in any order, or the longest example first
    "decoder dot, steps": decoder_case("dot", n_steps=numbers % 10),
    "decoder additive, steps": decoder_case(
        "additive", n_steps=np.sort(numbers % 10)[::-1]
    ),
    **{
        f"decoder {kind}, {empty} = 0": decoder_case(kind, MANY | {empty: 0})
        for kind in ("dot", "additive")
        for empty in "BS"
    },
    "tiled": tiled_case(heads=3),
    "tiled, one key head": tiled_case(),
    # every way to cut a product into blocks
    "tiled, wide keys": tiled_case(n=66, E=129, Ev=31),
    "tiled, wide values": tiled_case(n=66, E=65, Ev=100),
    "tiled, few tokens": tiled_case(n=5, E=16, Ev=64),
    "tiled, one number": tiled_case(n=1, E=1, Ev=3),
    "delta": Case(delta_arrays, op_results(delta_rule, 6), 2),
    "linear": Case(shaped(x, W, W[:1], rows), op_results(mg.linear, 3)),
    "gelu": Case(shaped(x, x, scale=4), op_results(mg.gelu, 1)),
    "layer_norm": Case(shaped(x, x[-1:], x[-1:], x), op_results(mg.layer_norm, 3)),
}
SCALED = {"additive": (0, 1)}  # the arrays that may have any size
