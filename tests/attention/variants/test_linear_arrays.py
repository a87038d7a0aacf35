"""Linear attention is exact in float32, lean in memory, and free of layout."""

import tracemalloc

import numpy as np
import pytest

from attention import kernels
from attention.kernels import linear, linear_backward, pool
from attention.variants.linear import linear_attention
from attention.variants.linear_scan import linear_scan
from minigrad import Tensor
from minigrad.graph import kept_arrays, reachable

from ...minigrad.array_cases import draw
from ..kernels.kernel_cases import BACKENDS, running
from .linear_cases import both, by_pairs, close, example, run


@pytest.fixture(params=BACKENDS)
def backend(request):
    with running(request.param):
        yield request.param


@both
@pytest.mark.parametrize("scale", [0.1, 1, 3])
def test_as_exact_in_float32_as_the_matrix_of_pairs(backend, is_causal, scale):
    """At most 2 times the error of plain float32, 3 times in the gradients."""
    arrays = draw((2, 300, 32), (2, 300, 32), (2, 300, 16), (2, 300, 16), dtype="f")
    arrays = [x * np.float32(scale) for x in arrays[:2]] + arrays[2:]
    exact = run(*(x.astype(float) for x in arrays), is_causal, by_pairs)
    ours, theirs = (
        [np.abs(x - y).max() for x, y in zip(run(*arrays, is_causal, f), exact)]
        for f in (linear_attention, by_pairs)
    )
    for error, bound, times in zip(ours, theirs, (2, 3, 3, 3)):
        assert error <= times * bound


@both
def test_memory_grows_with_the_sequence_alone(backend, is_causal):
    """Nothing (L, S), and nothing (L, E, Ev), forward and backward."""
    width, used = 16, []
    for n in (1024, 4096):
        arrays = draw(*[(n, width)] * 4, dtype="f")
        run(*(x[:64] for x in arrays), is_causal)  # compiled
        tracemalloc.start()
        try:
            run(*arrays, is_causal)
            used.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert used[1] < 4.2 * used[0]
    states, pairs = 4 * n * width * width, 4 * n * n
    assert used[1] < states and used[1] < 0.05 * pairs


def test_no_state_is_kept_for_the_backward(backend):
    n = 1000
    leaves = [Tensor(x, requires_grad=True) for x in draw(*[(n, 16)] * 3)]
    o = linear_attention(*leaves, True)
    nodes = reachable(o._node)
    kept = {a.ctypes.data: a.nbytes for node in nodes for a in kept_arrays(node)}
    assert sum(kept.values()) <= 8 * n * (4 * 16 + 1)  # q, k, v, o; the denominators


@both
def test_any_memory_layout(backend, is_causal):
    *arrays, g = example(is_causal, 70, (2,))
    keep = np.arange(140).reshape(2, 70) % 3 > 0
    expected = run(*arrays, g, is_causal, key_mask=keep)
    for change in (
        np.asfortranarray,
        lambda x: np.repeat(x, 2, -1)[..., ::2],
        lambda x: np.flip(np.flip(x).copy()),
    ):
        q, k, v, gc = map(change, (*arrays, g))
        o, backward = linear_scan.raw(
            q, k, v, change(keep), is_causal=is_causal, eps=1e-6
        )
        found = [o, *backward(gc, (True,) * 3)[:3]]
        for x, y in zip(found, expected):
            np.testing.assert_array_equal(x, y)


def test_dtypes_without_a_kernel(backend):
    exact = example(True)
    expected = run(*exact, True)
    for dtype, tolerance in ((np.float16, 2e-2), (np.longdouble, 1e-13)):
        for x, y in zip(run(*(a.astype(dtype) for a in exact), True), expected):
            assert x.dtype == dtype
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def test_one_version_and_the_same_bits_with_any_number_of_threads(monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(pool, "WORTH_A_THREAD", 0)
    before, results = kernels.threads(), []
    try:
        with kernels.backend("numba"):
            for is_causal in (False, True):
                arrays = example(is_causal, 130, (7,), np.float32)
                for n in (1, 2, 3, 8):
                    kernels.threads(n)
                    results.append(run(*arrays, is_causal))
                for other in results[-3:]:
                    for x, y in zip(other, results[-4]):
                        np.testing.assert_array_equal(x, y)
            for kernel in (
                linear.forward_loop,
                linear_backward.query_loop,
                linear_backward.key_loop,
            ):
                loop = kernel.version(np.dtype(np.float32))
                assert len(loop.signatures) == 1 and not loop._can_compile
    finally:
        kernels.threads(before)


def test_only_what_is_wanted_is_computed(backend):
    arrays = example(True, 70)
    o, backward = linear_scan.raw(*arrays[:3], is_causal=True, eps=1e-6)
    dq, dk, dv, _ = backward(arrays[3], (True, False, False))
    assert dk is None and dv is None
    again, dk, dv, _ = backward(arrays[3], (False, False, True))
    assert again is None
    close([o, dq, dk, dv], run(*arrays, True), roundings=0)
