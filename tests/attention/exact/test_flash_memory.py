"""Tiled attention takes and keeps memory for its rows, and not for all pairs."""

import tracemalloc

import numpy as np
import pytest

from attention import masks
from attention.exact.sdpa import dense_attention, tiled_attention
from minigrad import Tensor

from ...minigrad.array_cases import draw
from ..kernels.kernel_cases import BACKENDS, running


@pytest.fixture(params=BACKENDS)
def backend(request):
    with running(request.param):
        yield request.param


@pytest.mark.parametrize("pattern", [
    None, masks.causal, masks.sliding_window(256, 256),
    masks.sliding_window(256, 256) | masks.global_tokens([0, 1]),
], ids=str)  # fmt: skip
def test_memory_grows_with_the_sequence_and_not_with_its_square(backend, pattern):
    """Beyond inputs and results, forward and backward take < 5 % of the scores."""
    if backend == "numpy" and (pattern is None or pattern is masks.causal):
        pytest.skip("the same code as for a window, for a minute")
    n = 8192
    tensors = [Tensor(x, requires_grad=True) for x in draw(*[(n, 64)] * 3, dtype="f")]
    bias = Tensor(np.zeros((1, 2 * n - 1), np.float32), requires_grad=True)
    few = [Tensor(x.data[:64], requires_grad=True) for x in tensors]
    o = tiled_attention(*few, bias=np.zeros((1, 127), np.float32))
    o.backward(o.data)  # the kernels are compiled now
    tracemalloc.start()
    try:
        o, lse = tiled_attention(*tensors, bias=bias, mask_mod=pattern, return_lse=True)
        o.backward(o.data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    results = sum(x.nbytes for x in (o.data, lse.data, *(t.grad for t in tensors)))
    assert peak - results < 0.05 * 4 * n * n


def test_dense_and_tiled_keep_different_things():
    """What the graph keeps for the backward: O(L S), or O(L + S)."""
    from minigrad.graph import reachable
    from minigrad.overwriting import saved_arrays

    n = 512
    q, k, v = (Tensor(x, requires_grad=True) for x in draw(*[(n, 8)] * 3))
    for attention, least, most in (dense_attention, 1, 9), (tiled_attention, 0, 0.2):
        o = attention(q, k, v, is_causal=True)
        kept = {id(a): a for node in reachable(o._node) for a in saved_arrays(node)}
        assert least < sum(a.nbytes for a in kept.values()) / (8 * n * n) < most
