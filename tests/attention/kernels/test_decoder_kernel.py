"""The compiled decoder equals its NumPy form, on any number of threads."""

import numpy as np
import pytest

import minigrad as mg
from attention import kernels
from attention.seq2seq.attention_gru import attention_gru

from .kernel_cases import MANY, decoder_shapes

pytest.importorskip("numba")

KINDS = ["dot", "additive"]
# no two sizes of one example equal, and none a multiple of a vector
SIZES = dict(B=3, L=5, S=7, E=2, H=11, M=4, A=13)
GRADIENTS = ("x", "s0", "memory", "keys", "weight_ih", "weight_hh", "bias_ih",
             "bias_hh", "W_q", "w_v")  # fmt: skip


def example(kind, dtype=np.float64, seed=0, *, B, L, S, E, H, M, A):
    """The arguments in their order, and a gradient for each output."""
    shapes, outputs = decoder_shapes(kind, B=B, L=L, S=S, E=E, H=H, M=M, A=A)
    rng = np.random.default_rng(seed)
    arrays = [(0.4 * rng.standard_normal(s)).astype(dtype) for s in [*shapes, *outputs]]
    return arrays[: len(shapes)], arrays[len(shapes) :]


def results(arrays, g, **options):
    """States, contexts, weights, and then all gradients."""
    out, backward = attention_gru.raw(*arrays, **options)
    return [*out, *(d for d in backward(g) if d is not None)]


def compare(arrays, g, rtol, atol, **options):
    with kernels.backend("numba"):
        got = results(arrays, g, **options)
    with kernels.backend("numpy"):
        want = results(arrays, g, **options)
    assert len(got) == len(want) == 3 + len(arrays)
    for name, a, b in zip(("states", "contexts", "weights", *GRADIENTS), got, want):
        assert a.dtype == b.dtype == arrays[0].dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=name)
    return got


@pytest.mark.parametrize("sizes", [SIZES, MANY, dict(SIZES, B=1, L=1)])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_it_equals_numpys_loop(kind, masked, sizes):
    arrays, g = example(kind, **sizes)
    lengths = np.arange(sizes["B"]) % 8 if masked else None  # 0 to 7, all of them
    for array in compare(arrays, g, 1e-10, 1e-10, scale=0.3, lengths=lengths):
        assert np.abs(array).max() > 1e-4 or masked and sizes["B"] == 1


def numbers_of_steps(order):
    """For each example of MANY how many steps count: from none to all."""
    n = np.arange(MANY["B"]) % (MANY["L"] + 1)
    return {"mixed": n, "longest first": np.sort(n)[::-1]}.get(order, np.sort(n))


ORDERS = ["longest first", "shortest first", "mixed"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", KINDS)
def test_steps_that_no_gradient_reaches(kind, order):
    """The kernel leaves them out: those of padding, at the end of an example."""
    arrays, g = example(kind, **MANY)
    b, steps, n = np.arange(MANY["B"]), np.arange(MANY["L"]), numbers_of_steps(order)
    for i, gradient in enumerate(g):  # one of the three reaches the last of n steps
        gradient[steps >= (n - (b + i) % 3)[:, None]] = 0
    compare(arrays, g, 1e-10, 1e-10)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", KINDS)
def test_steps_that_an_example_does_not_have(kind, order):
    """Neither loop computes them all; their results, and gradients of x, are 0."""
    arrays, g = example(kind, **MANY)
    n = numbers_of_steps(order)
    got = compare(arrays, g, 1e-10, 1e-10, n_steps=n)
    padding = np.arange(MANY["L"]) >= n[:, None]
    for array in got[:4]:
        assert not array[padding].any() and array[~padding].all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_backward_in_numpy_of_a_compiled_forward(kind, monkeypatch):
    """What the compiled loop has left out does not reach the gradients."""
    arrays, g = example(kind, **MANY)
    n = numbers_of_steps("longest first")
    monkeypatch.setattr(np, "empty", lambda *args: np.full(*args[:1], np.nan))
    with kernels.backend("numba"):
        _, backward = attention_gru.raw(*arrays, n_steps=n)
    monkeypatch.undo()
    with kernels.backend("numba"):
        want = results(arrays, g, n_steps=n)[3:]
    with kernels.backend("numpy"):
        got = [d for d in backward(g) if d is not None]
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.deep  # of the loop that the kernel equals, tests/ops checks the gradients
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_against_finite_differences(kind):
    arrays, _ = example(kind, seed=3, **SIZES)
    with kernels.backend("numba"):
        check = mg.gradcheck(
            lambda *t: attention_gru(*t, scale=0.7, lengths=np.array([7, 3, 1])), arrays
        )
    assert check.ok, check.message


@pytest.mark.parametrize("kind", KINDS)
def test_an_example_does_not_depend_on_the_others(kind):
    """Not even through NaN: what examples share is read only."""
    arrays, g = example(kind, **MANY)
    with kernels.backend("numba"):
        want = results(arrays, g)
        arrays[2][5], arrays[3][6] = np.nan, np.inf  # memory, keys
        got = results(arrays, g)
    others = np.delete(np.arange(37), [5, 6])
    for a, b in zip(got[:7], want[:7]):  # outputs, dx, ds_0, dmemory, dkeys
        np.testing.assert_allclose(a[others], b[others], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("empty", ["B", "L", "S"])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_to_do(kind, empty):
    arrays, g = example(kind, **dict(SIZES, **{empty: 0}))
    compare(arrays, g, 1e-10, 1e-12)
