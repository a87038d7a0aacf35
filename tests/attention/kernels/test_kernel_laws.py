"""What holds for every kernel, of the twin in NumPy and of any number of threads."""

import numpy as np
import pytest

from attention import kernels
from attention.kernels import pool

from .kernel_cases import (
    CASES,
    MANY,
    SCALED,
    TANH_ERROR,
    additive_example,
    additive_results,
    frozen,
    numbers,
)

pytest.importorskip("numba")
every = pytest.mark.parametrize("name", [
    pytest.param(name, marks=[pytest.mark.deep] * (name == "delta"))  # long to compile
    for name in CASES
])  # fmt: skip


def results(name, arrays, backend="numba"):
    with kernels.backend(backend):
        return CASES[name].run(*arrays)


@every
def test_any_number_of_threads_gives_the_same_bits(name, monkeypatch):
    """Those of float32, which are near those of the twin."""
    monkeypatch.setattr(pool, "WORTH_A_THREAD", 0)
    arrays, before = CASES[name].make(np.float32), kernels.threads()
    try:
        kernels.threads(1)
        wanted = results(name, arrays)
        for a, b in zip(wanted, results(name, arrays, "numpy"), strict=True):
            assert a.dtype == b.dtype == np.float32
            atol = 1e-5 * np.abs(b[np.isfinite(b)]).max(initial=1)
            np.testing.assert_allclose(a, b, rtol=0, atol=atol)
        for n in (1, 2, 3):
            kernels.threads(n)
            for a, b in zip(results(name, arrays), wanted, strict=True):
                np.testing.assert_array_equal(a, b)
    finally:
        kernels.threads(before)


@every
def test_a_kernel_equals_its_twin_in_any_memory_layout_and_changes_nothing(name):
    arrays = CASES[name].make(float)
    wanted = results(name, arrays)
    for a, b in zip(wanted, results(name, arrays, "numpy"), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)
    for change in np.asfortranarray, lambda x: np.flip(np.flip(x).copy()), frozen:
        changed = [*map(change, arrays)]
        for a, b in zip(results(name, changed), wanted, strict=True):
            # products by the BLAS, before and after a loop, may round otherwise
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)
        for a, b in zip(changed, arrays):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", [
    name for name in CASES if not name.startswith(("additive", "delta"))
])  # fmt: skip
def test_the_backward_in_numpy_of_a_compiled_forward(name, monkeypatch):
    """What the compiled loop has left out does not reach the gradients."""
    arrays = CASES[name].make(float)
    wanted, empty = results(name, arrays), np.empty

    def filled(*args, **options):
        x = empty(*args, **options)
        x.fill(np.nan if x.dtype.kind == "f" else 0)
        return x

    def back():
        monkeypatch.undo()
        return kernels.backend("numpy")

    monkeypatch.setattr(np, "empty", filled)
    with kernels.backend("numba"):
        found = CASES[name].run(*arrays, back=back)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ["gru of padded rows", "gru of padded rows, reversed"])
def test_padding_of_a_gru_may_be_nan(name):
    """In inputs and in gradients: the loop leaves it out."""
    arrays, found = CASES[name].make(float), []
    x, g = arrays[0], arrays[-2]
    padding = np.arange(MANY["L"]) >= 1 + numbers[:, None] % MANY["L"]
    for number in 7.0, np.nan:
        x[padding], g[padding] = number, number
        found.append(results(name, arrays))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


@pytest.mark.deep
@every
@pytest.mark.parametrize("scale", [0.3, 1, 3])
def test_float32_is_as_exact_as_in_numpy(name, scale):
    """At most 2 times its error in the outputs, 5 times in the gradients.

    The gradients of the additive score have 4.5 times the error on a processor without
    a fused multiply-add; all others, 3 times.
    """
    single = [
        x * np.float32(scale) if i in SCALED.get(name, ()) else x
        for i, x in enumerate(CASES[name].make(np.float32))
    ]
    double = [x.astype(float) if x.dtype == np.float32 else x for x in single]
    exact = results(name, double, "numpy")
    ours, theirs = (results(name, single, backend) for backend in ("numba", "numpy"))
    for i, (a, b, c) in enumerate(zip(ours, theirs, exact, strict=True)):
        assert a.dtype == b.dtype == np.float32
        squares = (((x - c) ** 2).sum() / max(x.size, 1) for x in (a, b))
        error, plain = map(np.sqrt, squares)
        assert error <= (2 if i < CASES[name].outputs else 5) * plain + 1e-9


@pytest.mark.deep
@pytest.mark.parametrize("name", ["additive", "decoder additive"])
def test_a_dtype_without_a_kernel(name):
    exact = CASES[name].make(float)
    wanted = results(name, exact)
    for dtype, tolerance in (np.longdouble, 1e-10), (">f4", 1e-3):
        arrays = [x.astype(dtype) if x.dtype == float else x for x in exact]
        for a, b in zip(results(name, arrays), wanted, strict=True):
            np.testing.assert_allclose(
                a.astype(float), b, rtol=tolerance, atol=tolerance
            )


def test_the_additive_score_of_opposite_rows_has_small_errors():
    """At most TANH_ERROR for each unit, however small the tanhs are."""
    q, k, w, g = additive_example(4, 25, 30, 96, np.float32, seed=1)
    q, k = q * np.float32(0.01), k * np.float32(0.01)
    with kernels.backend("numpy"):
        exact = additive_results(*(x.astype(float) for x in (q, k, w, g)))
    with kernels.backend("numba"):
        found = additive_results(q, k, w, g)
    assert np.abs(found[0] - exact[0]).max() < TANH_ERROR * np.abs(w).sum()
    assert np.abs(found[3] - exact[3]).max() < TANH_ERROR * np.abs(g).sum()
