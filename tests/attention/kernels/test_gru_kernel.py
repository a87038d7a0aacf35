"""The compiled GRU equals the taught form of ``minigrad.gru``, on any threads."""

import numpy as np
import pytest

from attention import kernels
from attention.kernels.loops import LOOPS
from minigrad.ops import recurrent

pytest.importorskip("numba")


@pytest.fixture(autouse=True)
def compiled():
    with kernels.backend("numba"):
        yield


gru = recurrent.gru.raw.taught
compiled_gru = LOOPS["gru"]
NAMES = "output h_n x h0 weight_ih weight_hh bias_ih bias_hh".split()
# more examples than one group has, more rows than are summed at a time, no multiples
SIZES = [(3, 5, 7, 11), (37, 9, 5, 70), (150, 4, 3, 8)]


def example(B, T, I, H, dtype=np.float64, seed=0):  # noqa: E741
    rng = np.random.default_rng(seed)
    shapes = (B, T, I), (B, H), (3 * H, I), (3 * H, H), (3 * H,), (3 * H,)
    arrays = [0.4 * rng.standard_normal(s) for s in (*shapes, (B, T, H), (B, H))]
    arrays = [a.astype(dtype) for a in arrays]
    return arrays[:6], arrays[6:], rng.integers(1, T + 1, B)


def results(op, arrays, g, lengths, reverse):
    out, backward = op(*arrays, lengths, reverse)
    return [*out, *backward([each.copy() for each in g])]


@pytest.mark.parametrize("padded, reverse", [(0, 0), (1, 0), (1, 1)])
@pytest.mark.parametrize("sizes", SIZES)
def test_it_equals_minigrads(sizes, padded, reverse):
    arrays, g, lengths = example(*sizes)
    lengths, reverse = lengths if padded else None, bool(reverse)
    got = results(compiled_gru, arrays, g, lengths, reverse)
    want = results(gru, arrays, g, lengths, reverse)
    for name, a, b in zip(NAMES, got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("reverse", [False, True])
def test_padding_stays_in_padding(reverse):
    arrays, g, lengths = example(*SIZES[1])
    want = results(compiled_gru, arrays, g, lengths, reverse)
    padding = np.arange(SIZES[1][1]) >= lengths[:, None]
    arrays[0][padding] = np.nan
    g[0][padding] = np.nan
    for a, b in zip(results(compiled_gru, arrays, g, lengths, reverse), want):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def test_the_backward_runs_without_the_compiled_loop():
    """The backend may change between forward and backward."""
    arrays, g, lengths = example(*SIZES[0])
    _, backward = compiled_gru(*arrays, lengths, True)
    want = backward(g)
    with kernels.backend("numpy"):
        got = backward(g)
    for name, a, b in zip(NAMES[2:], got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-11, err_msg=name)
