"""What the compiled decoder and GRU leave out: the steps of padding."""

import numpy as np
import pytest

import minigrad as mg
from attention import kernels
from attention.seq2seq.attention_gru import attention_gru

from .kernel_cases import MANY, decoder_shapes, gru_shapes, op_results, shaped

pytest.importorskip("numba")

B, L, H = (MANY[letter] for letter in "BLH")
KINDS = ["dot", "additive"]
ORDERS = ["longest first", "shortest first", "mixed"]


def example(kind, **sizes):
    """The arguments in their order, and a gradient for each output."""
    shapes, outputs = decoder_shapes(kind, **MANY | sizes)
    arrays = shaped(*shapes, *outputs)(float)
    return arrays[: len(shapes)], arrays[len(shapes) :]


def compare(arrays, g, **options):
    """Return states, contexts, weights and all gradients, which are those of NumPy."""
    found, run = [], op_results(attention_gru, len(arrays), **options)
    for backend in "numpy", "numba":
        with kernels.backend(backend):
            found.append(run(*arrays, *g))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)
    return found[1]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", KINDS)
def test_steps_of_padding(kind, order):
    """Those that no gradient reaches, and those that an example does not have."""
    arrays, g = example(kind)
    n = np.arange(B) % (L + 1)  # from none to all
    n = {"mixed": n, "longest first": np.sort(n)[::-1]}.get(order, np.sort(n))
    padding = np.arange(L) >= n[:, None]
    for array in compare(arrays, g, n_steps=n)[:4]:  # outputs and dL/dx
        assert not array[padding].any() and array[~padding].all()
    for i, gradient in enumerate(g):  # one of the three reaches the last of n steps
        gradient[np.arange(L) >= (n - (np.arange(B) + i) % 3)[:, None]] = 0
    compare(arrays, g)


@pytest.mark.parametrize("empty", ["B", "L", "S"])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_to_do(kind, empty):
    compare(*example(kind, **{empty: 0}))


@pytest.mark.parametrize("reverse", [False, True])
def test_padding_stays_in_padding(reverse):
    """It may be NaN, in inputs and in gradients."""
    *arrays, g, _ = shaped(*gru_shapes(B, L, 5, H), (B, L, H), (B, H))(float)
    lengths = 1 + np.arange(B) % L
    run, found = op_results(mg.gru, 6, lengths=lengths, reverse=reverse), []
    for number in 7.0, np.nan:
        for x in arrays[0], g:
            x[np.arange(L) >= lengths[:, None]] = number
        with kernels.backend("numba"):
            found.append(run(*arrays, g, np.ones((B, H))))
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)
