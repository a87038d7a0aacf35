"""The loops and their NumPy twins against the definition, and what is around them."""

import math
import os
import subprocess
import sys
import threading
import time
import tracemalloc
import warnings

import numpy as np
import pytest

from attention import kernels
from attention.kernels import (
    additive,
    additive_product,
    cache,
    compiling,
    pool,
    softmax,
)

FLOATS = [np.float32, np.float64]
BACKENDS = ["numba", "numpy"]


@pytest.fixture(params=BACKENDS)
def backend(request):
    if request.param == "numba":
        pytest.importorskip("numba")
    with kernels.backend(request.param), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield request.param


def draw(*shapes, dtype=float, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def close(value, exact, dtype):
    """Equal up to some ten roundings of numbers of the size of the largest one."""
    assert value.dtype == dtype and value.shape == exact.shape
    finite = np.abs(exact[np.isfinite(exact)])
    atol = 20 * np.finfo(dtype).eps * finite.max(initial=1)
    np.testing.assert_allclose(value, exact, rtol=0, atol=atol)


# The additive score


def additive_definition(q, k, w, g):
    """e, dq, dk, dw, one pair and one hidden unit at a time."""
    (B, L, A), S = q.shape, k.shape[1]
    q, k, w, g = (x.astype(float) for x in (q, k, w, g))
    e, dq, dk, dw = (np.zeros(s) for s in ((B, L, S), q.shape, k.shape, w.shape))
    for b, i, j, a in np.ndindex(B, L, S, A):
        t = math.tanh(q[b, i, a] + k[b, j, a])
        e[b, i, j] += w[a] * t
        if g[b, i, j] != 0:
            dw[a] += g[b, i, j] * t
            dq[b, i, a] += g[b, i, j] * w[a] * (1 - t * t)
            dk[b, j, a] += g[b, i, j] * w[a] * (1 - t * t)
    return e, dq, dk, dw


def additive_example(B, L, S, A, dtype, seed=0):
    return draw((B, L, A), (B, S, A), (A,), (B, L, S), dtype=dtype, seed=seed)


def additive_results(q, k, w, g):
    rows = additive.prepared(q, k, w)
    return [additive.forward(q, k, w, rows), *additive.backward(q, k, w, g, rows)]


SIZES = [
    (2, 3, 5, 7),
    (1, 1, 1, 1),
    (3, 1, 8, 19),  # one query, as in a decoder
    (2, 5, 1, 4),  # one key
    (2, 33, 3, 5),  # queries enough to be parted in the backward
    (2, 6, 6, 3),  # pairs enough for one exponential a row, in float32
    (2, 33, 7, 21),  # both, and keys left over
    (0, 3, 5, 4),
    (2, 0, 5, 4),
    (2, 3, 0, 4),
    (2, 3, 5, 0),
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_additive_is_its_definition(backend, size, dtype):
    arrays = additive_example(*size, dtype)
    for got, exact in zip(additive_results(*arrays), additive_definition(*arrays)):
        close(got, exact, dtype)


def test_additive_by_one_exponential_a_row():
    """In float32, of numbers within LIMIT, where there are pairs enough."""
    pytest.importorskip("numba")
    limit = float(additive_product.LIMIT)
    with kernels.backend("numba"):
        for size, dtype, largest, applies in [
            ((2, 8, 8, 5), np.float32, limit, True),
            ((2, 8, 8, 5), np.float32, -limit, True),
            ((2, 8, 8, 5), np.float32, limit + 1e-3, False),
            ((2, 8, 8, 5), np.float32, -limit - 1e-3, False),
            ((2, 8, 8, 5), np.float32, np.inf, False),
            ((2, 8, 8, 5), np.float32, np.nan, False),
            ((2, 8, 8, 5), np.float64, limit, False),
            ((2, 1, 60, 5), np.float32, limit, False),
        ]:
            for which in (0, 1):
                arrays = additive_example(*size, dtype)
                arrays[which][1, -1, 3] = largest
                assert (additive.prepared(*arrays[:3]) is not None) == applies
                exact = additive_definition(*arrays)
                for got, wanted in zip(additive_results(*arrays), exact):
                    close(got, wanted, dtype)


def test_additive_products_of_large_and_small_weights():
    """Both ends of every exponential, and weights of any size beside them."""
    pytest.importorskip("numba")
    q, k, w, g = additive_example(2, 12, 9, 6, np.float32)
    q, k = 9 * np.sign(q), 9 * np.sign(k)
    for size in (1e-30, 1e30):
        arrays = q, k, w * np.float32(size), g
        with kernels.backend("numba"):
            assert additive.prepared(*arrays[:3]) is not None
            got = additive_results(*arrays)
        for value, wanted in zip(got, additive_definition(*arrays)):
            largest = np.abs(wanted).max()
            np.testing.assert_allclose(value, wanted, rtol=0, atol=3e-6 * largest)


def test_additive_in_tiles(monkeypatch):
    """The twin gives the same whatever it cuts the work into."""
    arrays = additive_example(3, 5, 7, 4, float)
    exact = additive_definition(*arrays)
    for tile in (1, 4, 50, 28, 150, 10_000):
        monkeypatch.setattr(additive, "TILE", tile)
        with kernels.backend("numpy"):
            for got, wanted in zip(additive_results(*arrays), exact):
                close(got, wanted, float)


def test_additive_of_more_than_one_tile(backend):
    arrays = additive_example(2, 40, 30, 64, float)
    q, k, w, g = arrays
    t = np.tanh(q[:, :, None] + k[:, None])
    d = g[..., None] * w * (1 - t * t)
    exact = t @ w, d.sum(2), d.sum(1), (g[..., None] * t).sum((0, 1, 2))
    for got, wanted in zip(additive_results(*arrays), exact):
        close(got, wanted, float)


@pytest.mark.parametrize("dtype", FLOATS)
def test_additive_of_what_is_not_finite(backend, dtype):
    q, k, w, g = additive_example(2, 3, 5, 19, dtype)
    q[0, 0, 3], q[1, 2, :2] = np.inf, np.nan
    k[0, 4, 3], k[0, 1, 3], k[1, 0] = -np.inf, np.inf, 1e30
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = additive_definition(q, k, w, g)
        got = additive_results(q, k, w, g)
    assert np.isnan(got[0][0, 0, 4]), "inf - inf"
    assert np.isfinite(got[0][0, 0, 1]), "tanh(inf) is 1"
    for value, wanted in zip(got, exact):
        np.testing.assert_array_equal(np.isnan(value), np.isnan(wanted))
        close(value, wanted, dtype)


@pytest.mark.parametrize("S", [1, 2, 5, 6])
def test_additive_leaves_out_pairs_without_a_gradient(backend, S):
    """What is masked has the gradient 0, and then may be anything."""
    hidden_keys = np.arange(S) % 2 == 1, np.arange(S) % 2 == 0, np.arange(S) > 2
    for hidden in hidden_keys:
        q, k, w, g = additive_example(2, 3, S, 20, float)
        g[:, :, hidden], g[1, 1] = 0, 0
        exact = additive_definition(q, k, w, g)[1:]
        for poison in (np.nan, np.inf, -np.inf):
            k[:, hidden], q[1, 1] = poison, poison
            for got, wanted in zip(additive.backward(q, k, w, g), exact):
                close(got, wanted, float)
            dq, dk, _ = additive.backward(q, k, w, g)
            assert not dk[:, hidden].any() and not dq[1, 1].any()


# The softmax


def softmax_definition(x, g, lengths=None, mask=None, temperature=1.0):
    """p and dx, one row at a time; the rows have their lengths in groups."""
    shape, S = (math.prod(x.shape[:-1]), x.shape[-1]), x.shape[-1]
    rows, cotangents = x.reshape(shape).astype(float), g.reshape(shape).astype(float)
    masks = np.broadcast_to(True if mask is None else mask, x.shape).reshape(shape)
    p, dx = np.zeros(shape), np.zeros(shape)
    for r, row in enumerate(rows):
        n = S if lengths is None else lengths[r * len(lengths) // len(rows)]
        allowed = [j for j in range(n) if masks[r, j]]
        largest = max((row[j] for j in allowed), default=0)
        total = 0.0
        for j in allowed:
            p[r, j] = math.exp((row[j] - largest) / temperature)
            total += p[r, j]
        for j in allowed:
            p[r, j] /= total
        for j in allowed:
            mean = sum(p[r, n] * cotangents[r, n] for n in allowed)
            dx[r, j] = p[r, j] * (cotangents[r, j] - mean) / temperature
    return p.reshape(x.shape), dx.reshape(x.shape)


def softmax_results(x, g, lengths=None, mask=None, temperature=1.0):
    p = softmax.forward(x, lengths, mask, temperature)
    return p, softmax.backward(p, g, temperature)


_allowed = np.random.default_rng(3).random((2, 3, 4, 5)) < 0.6
_allowed[1, 0, 2] = False

MASKS = {
    "free": ((2, 3, 4, 5), {}),
    "long": ((3, 1100), {}),
    "odd": ((2, 67), {"temperature": 0.3}),
    "one-key": ((3, 1), {}),
    "one-row": ((7,), {}),
    "no-rows": ((0, 5), {"mask": np.ones(5, bool)}),
    "no-examples": ((0, 3, 5), {"lengths": np.zeros(0, int)}),
    "no-keys": ((3, 0), {"lengths": np.zeros(3, int)}),
    "lengths": ((2, 3, 4, 5), {"lengths": np.array([5, 2])}),
    "empty-rows": ((3, 4), {"lengths": np.array([0, 4, 1])}),
    "narrow-ints": ((3, 4), {"lengths": np.array([0, 4, 1], np.uint8)}),
    "mask": ((2, 3, 4, 5), {"mask": _allowed}),
    "mask-of-keys": ((2, 3, 4, 5), {"mask": _allowed[:, :1, :1]}),
    "mask-of-pairs": ((2, 3, 4, 5), {"mask": _allowed[0, 1]}),
    "mask-of-queries": ((2, 3, 4, 5), {"mask": _allowed[:, :, :, :1]}),
    "mask-of-heads": ((2, 3, 4, 5), {"mask": _allowed[:1, :, :1, :1]}),
    "mask-of-all": ((2, 3, 4, 5), {"mask": np.array(False)}),
    "both": (
        (2, 3, 4, 5),
        {"mask": _allowed, "lengths": np.array([3, 4]), "temperature": 2.5},
    ),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", MASKS)
def test_softmax_is_its_definition(backend, name, dtype):
    shape, options = MASKS[name]
    x, g = draw(shape, shape, dtype=dtype)
    p, dx = softmax_results(x, g, **options)
    exact, slope = softmax_definition(x, g, **options)
    close(p, exact, dtype)
    close(dx, slope, dtype)
    assert not p[exact == 0].any() and not dx[exact == 0].any(), "masked: exactly 0"


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("width", [3, 40])
def test_softmax_of_what_is_not_finite(backend, width, dtype):
    inf, nan = np.inf, np.nan
    x = np.zeros((8, width), dtype)
    x[:, :3] = [
        [nan, 1, 2],
        [inf, 1, 2],
        [-inf, 1, 2],
        [1e4, -1e4, 0],
        [-1e4, -1e4, -1e4],
        [inf, nan, 1e4],
        [nan, nan, nan],
        [-inf, -inf, -inf],
    ]
    x[[4, 6, 7], 3:] = x[[4, 6, 7], :1]
    p = softmax.forward(x, None, None, 1.0)
    assert np.isnan(p[[0, 5, 6]]).all(), "NaN belongs to the sum"
    assert np.isnan(p[1, 0]) and not p[1, 1:].any(), "exp(2) / inf is 0"
    close(p[2], softmax_definition(x[2], 0 * p[3])[0], dtype)
    np.testing.assert_array_equal(p[3], np.eye(width)[0])
    np.testing.assert_allclose(p[4], 1 / width, rtol=1e-6)
    assert not p[7].any(), "nothing but exp(-inf)"


def test_softmax_of_nan_leaves_masked_keys_at_zero(backend):
    x, allowed = (
        np.array([[np.nan, 1.0, 2.0, 3.0]]),
        np.array([[True, True, False, True]]),
    )
    p = softmax.forward(x, None, allowed, 1.0)
    np.testing.assert_array_equal(p, [[np.nan, np.nan, 0, np.nan]])
    p = softmax.forward(x, np.array([3]), None, 1.0)
    np.testing.assert_array_equal(p, [[np.nan, np.nan, np.nan, 0]])


@pytest.mark.parametrize("width", [3, 40])
def test_softmax_lets_nothing_through_a_mask(backend, width):
    x, g = draw((4, width), (4, width))
    mask = np.arange(width) % 2 == 0
    for options in ({"mask": mask}, {"lengths": np.array([2, 1, 0, 2])}):
        p, dx = softmax_results(x, g, **options)
        for poison in (np.nan, np.inf, -np.inf):
            hidden = softmax_definition(x, g, **options)[0] == 0
            foul, worse = np.where(hidden, poison, x), np.where(hidden, poison, g)
            np.testing.assert_array_equal(softmax.forward(foul, **forward(options)), p)
            np.testing.assert_array_equal(softmax.backward(p, worse, 1.0), dx)


def forward(options):
    return {"lengths": None, "mask": None, "temperature": 1.0, **options}


def test_softmax_backward_of_nan(backend):
    p, g = softmax.forward(np.zeros((2, 3)), None, None, 1.0), np.ones((2, 3))
    g[0, 1] = np.nan
    dx = softmax.backward(p, g, 1.0)
    assert np.isnan(dx[0]).all() and not dx[1].any()


# Precision


def errors(got, exact):
    return [np.abs(a - b).max() for a, b in zip(got, exact)]


@pytest.mark.parametrize("scale", [0.01, 0.3, 1, 2, 10])
def test_additive_is_as_exact_as_numpy_in_float32(backend, scale):
    """At most 2 times the error of plain NumPy, 3 times in the gradients."""
    q, k, w, g = additive_example(4, 25, 30, 96, np.float32, seed=1)
    q, k = q * np.float32(scale), k * np.float32(scale)

    def plain(q, k, w, g):
        t = np.tanh(q[:, :, None] + k[:, None])
        d = g[..., None] * w * (1 - t * t)
        return t @ w, d.sum(2), d.sum(1), (g[..., None] * t).sum((0, 1, 2))

    exact = plain(*(x.astype(float) for x in (q, k, w, g)))
    ours = errors(additive_results(q, k, w, g), exact)
    theirs = errors(plain(q, k, w, g), exact)
    for error, bound, times in zip(ours, theirs, (2, 3, 3, 3)):
        assert error <= times * bound


@pytest.mark.parametrize("scale", [0.1, 1, 10])
def test_softmax_is_as_exact_as_numpy_in_float32(backend, scale):
    # many rows, so that both meet their worst case
    x, g = draw((3000, 50), (3000, 50), dtype=np.float32, seed=1)
    x *= np.float32(scale)

    def plain(x, g):
        e = np.exp(x - x.max(-1, keepdims=True))
        p = e / e.sum(-1, keepdims=True)
        return p, p * (g - (p * g).sum(-1, keepdims=True))

    exact = plain(x.astype(float), g.astype(float))
    ours, theirs = errors(softmax_results(x, g), exact), errors(plain(x, g), exact)
    assert ours[0] <= 2 * theirs[0] and ours[1] <= 3 * theirs[1]


# Relative errors of the polynomials: a little more than 2 units in the last place in
# tanh, 1 in exp. Those of NumPy are not ours to hold.


@pytest.mark.parametrize("dtype, bound", [(np.float32, 3e-7), (np.float64, 5e-16)])
def test_tanh_over_all_magnitudes(dtype, bound):
    pytest.importorskip("numba")
    x = np.concatenate([np.linspace(0, 25, 40_001), 10.0 ** np.linspace(-30, 0, 999)])
    x = np.concatenate([x, -x]).astype(dtype)
    one, zero = np.ones(1, dtype), np.zeros((1, 1, 1), dtype)
    with kernels.backend("numba"):
        t = additive.forward(x.reshape(1, -1, 1), zero, one).reshape(-1)
    exact = np.tanh(x.astype(np.longdouble))
    np.testing.assert_array_less(np.abs(t - exact), bound * np.abs(exact) + 1e-300)
    assert np.abs(t).max() == 1


@pytest.mark.parametrize("dtype, bound", [(np.float32, 2e-7), (np.float64, 3e-16)])
def test_exp_over_all_magnitudes(dtype, bound):
    """p_1 / p_0 = exp(x), where x is the lesser score."""
    pytest.importorskip("numba")
    x = -np.concatenate([np.linspace(0, 86, 20_001), 10.0 ** np.linspace(-9, 0, 999)])
    with kernels.backend("numba"):
        for width in (2, 40):  # without and with vector instructions
            scores = np.full((len(x), width), -np.inf, dtype)
            scores[:, 0], scores[:, 1] = 0, x
            p = softmax.forward(scores, None, None, 1.0).astype(np.longdouble)
            exact = np.exp(scores[:, 1].astype(np.longdouble))
            assert np.abs(p[:, 1] / p[:, 0] / exact - 1).max() < bound
        scores = np.array([[0, -120, -800, -np.inf]], dtype)
        assert softmax.forward(scores, None, None, 1.0)[0, 2:].tolist() == [0, 0]


# Memory, arrays, threads


def test_no_array_of_all_pairs_and_hidden_units(backend):
    B, L, S, A = 4, 64, 64, 128
    q, k, w, g = additive_example(B, L, S, A, np.float32)
    additive_results(q, k, w, g)  # compiled
    tracemalloc.start()
    try:
        additive_results(q, k, w, g)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.2 * 4 * B * L * S * A


def test_a_mask_is_not_written_out_for_every_score(backend):
    x = np.zeros((64, 100, 100), np.float32)
    with kernels.backend("numba"):
        softmax.forward(x, None, np.ones((1, 100), bool), 1.0)
        tracemalloc.start()
        try:
            softmax.forward(x, np.full(64, 50), np.ones((1, 100), bool), 1.0)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 1.1 * x.nbytes  # the result; a mask would be another quarter


@pytest.mark.parametrize("dtype", FLOATS)
def test_any_memory_layout(backend, dtype):
    arrays = additive_example(2, 3, 5, 6, dtype)
    wanted = additive_results(*arrays)
    rows = draw((4, 6), (4, 6), dtype=dtype)
    lengths, mask = np.array([6, 3]), np.arange(24).reshape(4, 6) % 3 > 0
    p, dx = softmax_results(*rows, lengths, mask)
    for change in (
        lambda x: np.asfortranarray(x),
        lambda x: np.repeat(x, 2, -1)[..., ::2],
        lambda x: np.flip(np.flip(x).copy()),
        frozen,
    ):
        for got, value in zip(additive_results(*map(change, arrays)), wanted):
            close(got, value, dtype)
        changed = map(change, (*rows, lengths, mask))
        for got, value in zip(softmax_results(*changed), (p, dx)):
            close(got, value, dtype)


def frozen(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def test_one_version_for_each_dtype():
    """Read-only arrays and others have one signature: nothing compiles twice."""
    pytest.importorskip("numba")
    arrays = additive_example(2, 3, 5, 6, np.float32)
    with kernels.backend("numba"):
        for change in (np.copy, frozen):
            additive_results(*map(change, arrays))
        loop = additive.backward_loop.version(np.dtype(np.float32))
    assert len(loop.signatures) == 1 and not loop._can_compile


def test_dtypes_without_a_kernel(backend):
    exact = additive_example(2, 3, 5, 6, np.float64)
    for dtype, tolerance in ((np.float16, 2e-2), (np.longdouble, 1e-14), (">f4", 1e-5)):
        arrays = [x.astype(dtype) for x in exact]
        for got, wanted in zip(additive_results(*arrays), additive_results(*exact)):
            np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)
        p = softmax.forward(arrays[0], None, None, 1.0)
        assert p.dtype.kind == "f" and p.itemsize == np.dtype(dtype).itemsize


@pytest.fixture
def any_work_is_shared(monkeypatch):
    monkeypatch.setattr(pool, "WORTH_A_THREAD", 0)
    before = kernels.threads()
    yield
    kernels.threads(before)


def test_the_same_bits_with_any_number_of_threads(any_work_is_shared):
    pytest.importorskip("numba")
    arrays = additive_example(3, 50, 11, 37, np.float32)
    x, g = draw((90, 33), (90, 33), dtype=np.float32)
    with kernels.backend("numba"):
        kernels.threads(1)
        wanted = [*additive_results(*arrays), *softmax_results(x, g)]
        for n in (1, 2, 3, 8):
            kernels.threads(n)
            for _ in range(3):
                got = [*additive_results(*arrays), *softmax_results(x, g)]
                for a, b in zip(got, wanted):
                    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("items", [1, 2, 7, 100])
def test_every_item_is_done_once(any_work_is_shared, items):
    kernels.threads(3)
    seen = []
    pool.spread(lambda start, stop, n: seen.extend(range(start, stop)), items, 1, None)
    assert sorted(seen) == list(range(items))


def test_an_error_in_a_thread_is_raised_where_the_work_was_given(any_work_is_shared):
    def loop(start, stop):
        raise ZeroDivisionError(f"items {start} to {stop}")

    kernels.threads(2)
    with pytest.raises(ZeroDivisionError, match="items"):
        pool.spread(loop, 10, 1)
    test_every_item_is_done_once(None, 10)


def test_from_several_threads_at_once(any_work_is_shared):
    pytest.importorskip("numba")
    kernels.threads(2)
    with kernels.backend("numba"):
        arrays = [additive_example(2, 9, 7, 20, float, seed=n) for n in range(4)]
        wanted = [additive_results(*each) for each in arrays]
        wrong = []

        def repeat(each, exact):
            for _ in range(20):
                for a, b in zip(additive_results(*each), exact):
                    if not np.array_equal(a, b):
                        wrong.append(a)

        workers = [threading.Thread(target=repeat, args=z) for z in zip(arrays, wanted)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_forked_process_makes_its_own_threads(any_work_is_shared):
    test_every_item_is_done_once(None, 10)
    kernels.threads(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads
        child = os.fork()
    if child == 0:
        seen = set()

        def loop(start, stop):
            seen.add(threading.get_ident())
            time.sleep(0.02)  # long enough for another thread to take a part

        pool.spread(loop, 10, 1)
        os._exit(len(seen))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2


@pytest.mark.parametrize("n", [0, -1, 2.0, True, "two"])
def test_threads_refuses(n):
    with pytest.raises(ValueError, match="threads: expected a whole number of 1 or"):
        kernels.threads(n)


# The choice


def test_backend_switches_for_good_or_for_a_block():
    before = kernels.backend()
    try:
        kernels.backend("numpy")
        assert kernels.backend() == "numpy"
        with kernels.backend("numba"):
            assert kernels.backend() == "numba"
            with kernels.backend("numpy"):
                assert kernels.backend() == "numpy"
            assert kernels.backend() == "numba"
        assert kernels.backend() == "numpy"
        with pytest.raises(ZeroDivisionError), kernels.backend("numba"):
            1 / 0
        assert kernels.backend() == "numpy"
    finally:
        kernels.backend(before)


def test_an_unknown_backend():
    with pytest.raises(ValueError) as error:
        kernels.backend("cuda")
    assert str(error.value) == (
        "backend: there is no backend 'cuda'; expected 'numba' or 'numpy'."
    )


def python(code, **environment):
    """What a fresh Python writes: (stdout, stderr)."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ATT", "NUMBA"))}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, "PYTHONPATH": os.getcwd(), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.stdout.strip(), done.stderr.strip()


def test_numba_is_imported_by_the_first_loop_and_not_before():
    out, err = python(
        "import sys, numpy as np\n"
        "import attention, attention.scores, attention.softmax\n"
        "from attention import kernels\n"
        "kernels.backend(), kernels.backend('numpy')\n"
        "from attention.scores import additive_core\n"
        "additive_core(np.ones((2, 3)), np.ones((4, 3)), np.ones(3))\n"
        "print([m for m in ('numba', 'matplotlib') if m in sys.modules])"
    )
    assert (out, err) == ("[]", "")


CHOSEN = "from attention import kernels; print(kernels.backend())"


def test_what_the_environment_chooses():
    assert python(CHOSEN, ATTENTION_BACKEND="numpy")[0] == "numpy"
    assert python(CHOSEN, NUMBA_DISABLE_JIT="1")[0] == "numpy"
    assert (
        "ATTENTION_BACKEND: there is no backend 'gpu'; expected 'numba' or"
        in (python(CHOSEN, ATTENTION_BACKEND="gpu")[1])
    )


WITHOUT = "import sys; sys.modules['numba'] = None; from attention import kernels; "


def test_without_numba():
    out, err = python(WITHOUT + "print(kernels.backend()); kernels.backend('numba')")
    assert out == "numpy"
    assert err.endswith(
        "ImportError: backend: numba is not installed; pip install numba, or use "
        "'numpy'."
    )


RUN = (
    "import numpy as np; from attention.kernels import additive, backend; "
    "e = additive.forward(np.ones((1, 1, 2)), np.ones((1, 1, 2)), np.ones(2)); "
    "print(backend(), *e.ravel().round(6))"
)


def test_a_numba_that_does_not_load(tmp_path):
    (tmp_path / "numba.py").write_text("raise SystemError('too new a NumPy')")
    path = os.pathsep.join([str(tmp_path), os.getcwd()])
    assert python(RUN, PYTHONPATH=path) == ("numpy 1.928055", "")
    err = python(RUN, PYTHONPATH=path, ATTENTION_BACKEND="numba")[1]
    assert err.endswith(
        'ImportError: The backend "numba" was asked for and numba does not load: too '
        "new a NumPy"
    )


def test_loops_that_are_not_compiled():
    """With the JIT switched off, the loops are Python, and can be debugged as such."""
    pytest.importorskip("numba")
    out, err = python(RUN, NUMBA_DISABLE_JIT="1", ATTENTION_BACKEND="numba")
    assert (out, err) == ("numba 1.928055", "")


# The cache


def test_compiled_once_kept_and_survived(tmp_path):
    """The first process compiles and says so; the next does not; damage is undone."""
    pytest.importorskip("numba")
    place = {"XDG_CACHE_HOME": str(tmp_path)}
    said = f"compiling kernels (first time, about {compiling.SECONDS} s)…"
    assert python(RUN, **place) == ("numba 1.928055", said)
    assert python(RUN, **place) == ("numba 1.928055", "")
    files = [f for f in tmp_path.rglob("*") if f.suffix in (".nbi", ".nbc")]
    assert files
    for file in files:
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 255  # in the middle of the machine code
        file.write_bytes(content)
    assert python(RUN, **place) == ("numba 1.928055", said)
    assert python(RUN, **place) == ("numba 1.928055", "")


@pytest.fixture
def places(monkeypatch, tmp_path):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    return tmp_path


def test_where_the_cache_is(places, monkeypatch):
    pytest.importorskip("numba")
    first = cache.cache_directory()
    assert first.parent == places / "cache" / cache.PROJECT
    assert first == cache.cache_directory() and first.is_dir()
    monkeypatch.setattr(cache.np, "__version__", "99.0")
    assert cache.cache_directory() != first, "another NumPy, another directory"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(places / "mine"))
    assert places / "mine" in cache.cache_directory().parents


def test_a_cache_that_cannot_be_written(places, monkeypatch):
    pytest.importorskip("numba")
    (places / "cache").write_text("a file where a directory should be")
    assert places / "tmp" in cache.cache_directory().parents
    if hasattr(os, "getuid"):
        (place,) = (places / "tmp").iterdir()
        place.chmod(0o777)  # where others may write, they may leave code to execute
        assert cache.cache_directory() is None
    monkeypatch.setattr(cache.tempfile, "tempdir", str(places / "cache" / "no"))
    assert cache.cache_directory() is None


def test_old_directories_are_removed(places):
    pytest.importorskip("numba")
    path = cache.cache_directory()
    for age in range(1, 8):
        other = path.parent / f"version{age}"
        other.mkdir()
        os.utime(other, (1e9 - age, 1e9 - age))
    assert cache.cache_directory() == path
    left = sorted(p.name for p in path.parent.iterdir() if p != path)
    assert left == ["version1", "version2", "version3"]
