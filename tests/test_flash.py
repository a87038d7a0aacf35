"""Tiled attention beneath the door: plans, tiles, threads, memory; and merging."""

import tracemalloc
import warnings

import numpy as np
import pytest

from attention import kernels, masks
from attention.block_mask import BlockMask
from attention.flash import flash_attention, merge
from attention.kernels import pool, product, tiled_backward, tiled_forward
from attention.planning import plan
from attention.sdpa import dense_attention, tiled_attention
from minigrad import Tensor

from .ops.sdpa import attends

BACKENDS = ["numba", "numpy"]


@pytest.fixture(params=BACKENDS)
def backend(request):
    if request.param == "numba":
        pytest.importorskip("numba")
    with kernels.backend(request.param), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield request.param


def draw(*shapes, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def run(q, k, v, tiles, g=None, **options):
    """o, lse, dq, dk, dv of the raw operation."""
    (o, lse), backward = flash_attention.raw(q, k, v, plan=tiles, scale=0.4, **options)
    g = draw(o.shape, seed=5, dtype=o.dtype)[0] if g is None else g
    return [o, lse, *backward([g, np.ones_like(lse)], (True,) * 3)[:3]]


# Plans

PATTERNS = {
    "everything": None,
    "causal": masks.causal,
    "window": masks.sliding_window(4, 2),
    "lengths": masks.padding([9, 0]),
    "random": masks.from_array(np.random.default_rng(0).random((2, 3, 13, 17)) < 0.2),
    "of a head": masks.mask_mod(lambda b, h, q, kv: (kv % 2 == h % 2) & (q > 5)),
    "Longformer": masks.sliding_window(2, 2) | masks.global_tokens([3]),
    "BigBird": masks.bigbird(2, 3, 1, 1, seed=0),
    "nothing": masks.nothing,
}


def pairs(pattern, B, H, L, S):
    allowed = True if pattern is None else pattern.dense(B, H, L, S)
    return np.broadcast_to(allowed, (B, H, L, S))


@pytest.mark.parametrize("size", [1, 3, 8, 64])
@pytest.mark.parametrize("name", PATTERNS)
def test_a_plan_is_its_mask(name, size):
    sizes = B, H, L, S = 2, 3, 13, 17
    tiles = plan(PATTERNS[name], *sizes, size=size)
    allowed = pairs(PATTERNS[name], *sizes)
    np.testing.assert_array_equal(attends(tiles, (B, H), L, S), allowed)
    # and no tile is listed in which nobody attends, unless the range passes over it
    full = np.zeros((B, H, -(-L // size) * size, -(-S // size) * size), bool)
    full[:, :, :L, :S] = allowed
    some = full.reshape(B, H, full.shape[2] // size, size, -1, size).any((3, 5))
    assert tiles.tiles().sum() == some.sum()


def test_what_is_alike_for_all_is_planned_once():
    for pattern, rows in (None, 1), (masks.causal, 1), (masks.padding([9, 0]), 2):
        assert len(plan(pattern, 2, 3, 13, 17).first) == rows
    assert len(plan(PATTERNS["of a head"], 2, 3, 13, 17).first) == 3
    assert len(plan(PATTERNS["random"], 2, 3, 13, 17).first) == 6


def test_the_plan_of_a_block_mask_is_kept():
    blocks = BlockMask.from_mask(PATTERNS["BigBird"], 13, 17)
    tiles = plan(blocks, 2, 3, 13, 17)
    assert plan(blocks, 2, 3, 13, 17) is tiles
    assert plan(blocks, 1, 3, 13, 17) is not tiles
    with pytest.raises(ValueError, match="BlockMask: made for 13 queries and 17 keys"):
        plan(blocks, 2, 3, 13, 18)


@pytest.mark.parametrize("pattern", [
    masks.sliding_window(100, 100),
    masks.dilated(100, 4),
    masks.sliding_window(100, 100) | masks.global_tokens([0, 1, 2]),
    masks.bigbird(64, 3, 3, 2, seed=0),
], ids=str)  # fmt: skip
def test_work_grows_with_the_sequence_and_not_with_its_square(pattern):
    counts = [plan(pattern, 1, 1, n, n).tiles().sum() for n in (2048, 4096, 8192)]
    assert counts[2] < 0.15 * 128**2
    assert counts[1] - counts[0] <= 32 * 10  # for each block of queries, whatever n
    assert counts[2] - counts[1] == 2 * (counts[1] - counts[0])


def test_work_is_what_the_plan_lists(backend):
    """Keys of a tile that is not listed are never read, let alone masked."""
    n = 300
    q, k, v = draw((1, n, 4), (1, n, 4), (1, n, 3))
    tiles = plan(masks.bigbird(64, 1, 1, 0, seed=0), 1, 1, n, n)
    assert tiles.tiles()[0] == 10
    expected = run(q, k, v, tiles)
    row = tiles.blocks[tiles.first[0, 2] : tiles.last[0, 2]]
    others = ~np.isin(np.arange(n) // 64, row)
    k[:, others] = v[:, others] = np.nan
    found = run(q, k, v, tiles)
    for x, y in zip(found[:3], expected[:3]):
        np.testing.assert_array_equal(x[:, 128:192], y[:, 128:192])


# Tiles


@pytest.mark.parametrize("size", [1, 3, 16, 50, 64])
@pytest.mark.parametrize("name", PATTERNS)
def test_any_size_of_tiles_gives_the_same(name, size):
    q, k, v = draw((2, 3, 13, 4), (2, 3, 17, 4), (2, 3, 17, 2))
    expected = run(q, k, v, plan(PATTERNS[name], 2, 3, 13, 17))
    with kernels.backend("numpy"):
        found = run(q, k, v, plan(PATTERNS[name], 2, 3, 13, 17, size=size))
    for x, y in zip(found, expected):
        np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 3, 16, 31, 64, 65, 100, 129])
def test_products_of_any_width(width, dtype):
    """Every way to cut a product into blocks, through o = p v and s = q k."""
    pytest.importorskip("numba")
    for n in (1, 5, 66):
        arrays = draw((1, n, width), (1, n, 7), (1, n, width), dtype=dtype)
        for q, k, v in (
            (arrays[1], arrays[1], arrays[0]),
            (arrays[0], arrays[2], arrays[1]),
        ):
            tiles = plan(None, 1, 1, n, n)
            with kernels.backend("numba"):
                found = run(q, k, v, tiles)
            with kernels.backend("numpy"):
                expected = run(q, k, v, tiles)
            for x, y in zip(found, expected):
                atol = 40 * np.finfo(dtype).eps * np.abs(y).max(initial=1)
                np.testing.assert_allclose(x, y, rtol=0, atol=atol)


def test_weighted_sum_keeps_out_what_has_no_weight():
    p, v = draw((2, 5, 7), (2, 7, 3))
    p[:, :3, 2] = p[0, :, 4] = p[1, 0] = 0
    expected = p @ v
    v[:, 2], v[0, 4] = np.nan, np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = product.weighted_sum(p, v)
    np.testing.assert_array_equal(found[:, :3], expected[:, :3])
    assert np.isnan(found[:, 3:]).all()
    v[0, 2, 0] = 1.0  # a row with one number that is finite
    assert np.isfinite(product.weighted_sum(p, v)[0, 3:, 0]).all()


# Memory layout, dtypes, threads


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_memory_layout(backend, dtype):
    arrays = draw((2, 70, 4), (2, 90, 4), (2, 90, 3), dtype=dtype)
    tiles = plan(masks.causal, 1, 2, 70, 90)
    expected = run(*arrays, tiles)
    for change in (
        np.asfortranarray,
        lambda x: np.repeat(x, 2, -1)[..., ::2],
        lambda x: x.transpose(1, 0, 2).copy().transpose(1, 0, 2),
        frozen,
    ):
        for x, y in zip(run(*map(change, arrays), tiles), expected):
            np.testing.assert_array_equal(x, y)
    bias, mask = draw((2, 159), (70, 90), dtype=dtype)
    expected = run(*arrays, tiles, offset=bias, added=mask)
    found = run(*arrays, tiles, offset=frozen(bias), added=np.asfortranarray(mask))
    for x, y in zip(found, expected):
        np.testing.assert_array_equal(x, y)


def frozen(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def test_one_version_for_each_dtype():
    pytest.importorskip("numba")
    for kernel in tiled_forward.forward_loop, tiled_backward.backward_loop:
        with kernels.backend("numba"):
            loop = kernel.version(np.dtype(np.float32))
        assert len(loop.signatures) == 1 and not loop._can_compile


@pytest.mark.parametrize("heads", [1, 3, 9])
def test_the_same_bits_with_any_number_of_threads(monkeypatch, heads):
    pytest.importorskip("numba")
    monkeypatch.setattr(pool, "WORTH_A_THREAD", 0)
    n = 330
    q, k, v = draw((2 * heads, n, 8), (heads, n, 8), (heads, n, 5), dtype=np.float32)
    tiles = plan(masks.causal, 1, 2 * heads, n, n)
    bias = draw((2 * heads, 2 * n - 1), dtype=np.float32)[0]
    before = kernels.threads()
    try:
        with kernels.backend("numba"):
            kernels.threads(1)
            expected = gradients(q, k, v, bias, tiles)
            for threads in (1, 2, 3, 5):
                kernels.threads(threads)
                for x, y in zip(gradients(q, k, v, bias, tiles), expected):
                    np.testing.assert_array_equal(x, y)
    finally:
        kernels.threads(before)


def gradients(q, k, v, bias, tiles):
    tensors = [Tensor(x, requires_grad=True) for x in (q, k, v, bias)]
    mask = Tensor(np.zeros(q.shape[1], np.float32), requires_grad=True)
    o, lse = flash_attention(*tensors, mask, plan=tiles, scale=0.3)
    o.backward(np.cos(np.arange(o.size)).reshape(o.shape))
    return [o.data, lse.data, *(t.grad for t in (*tensors, mask))]


# Memory


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
    few = [x.data[:64] for x in tensors]
    tiled_attention(*few, bias=np.zeros((1, 127)))  # compiled
    tracemalloc.start()
    try:
        o, lse = tiled_attention(*tensors, bias=bias, mask_mod=pattern, return_lse=True)
        o.backward(o.data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    results = sum(x.nbytes for x in (o.data, lse.data, *(t.grad for t in tensors)))
    assert peak - results < 0.05 * 4 * n * n


# Merging


def test_merging_disjoint_keys_is_attending_to_all(backend):
    """In value and in every gradient; also where one set, or both, leave nothing."""
    q, k, v, g, gl = draw((2, 9, 4), (2, 30, 4), (2, 30, 3), (2, 9, 3), (2, 9))
    allowed = np.random.default_rng(1).random((9, 30)) < 0.5
    allowed[1, :12], allowed[2, 12:], allowed[3] = False, False, False
    q, k, v = (Tensor(x, requires_grad=True) for x in (q, k, v))

    def part(start, stop):
        return tiled_attention(
            q, k[:, start:stop], v[:, start:stop],
            attn_mask=allowed[:, start:stop], return_lse=True,
        )  # fmt: skip

    found = []
    for o, lse in (
        tiled_attention(q, k, v, attn_mask=allowed, return_lse=True),
        merge(*part(0, 12), *part(12, 30)),
        merge(*merge(*part(20, 30), *part(12, 20)), *part(0, 12)),
    ):
        o.backward(g, retain_graph=True)
        lse.backward(np.where(np.isfinite(lse.data), gl, 0))
        found.append([o.data, lse.data, *(t.grad for t in (q, k, v))])
        for t in q, k, v:
            t.zero_grad()
    assert (found[0][1][:, 3] == -np.inf).all()
    for other in found[1:]:
        for x, y in zip(other, found[0]):
            np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-13)


def test_merging_what_does_not_fit():
    o, lse = np.ones((2, 9, 3)), np.ones((2, 9))
    for arrays in (
        (o, lse, o, lse[:1]),
        (o, lse[..., None], o, lse),
        (o, lse, o[:1], lse),
    ):
        with pytest.raises(ValueError) as error:
            merge(*arrays)
        shapes = [str(x.shape) for x in arrays]
        message = str(error.value)
        assert message.startswith("merge: o1 has shape")
        assert all(shape in message for shape in shapes)
        assert message.endswith(
            "expected (..., L, Ev), (..., L), (..., L, Ev), (..., L)."
        )


def test_merging_far_scores():
    """A set whose scores are 1e4 lower has no weight, and nothing overflows."""
    o1, o2 = draw((5, 3), (5, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        o, lse = merge(o1, np.full(5, 1e4), o2, np.zeros(5))
        np.testing.assert_array_equal(o.data, o1)
        np.testing.assert_array_equal(lse.data, 1e4)


def test_dense_and_tiled_keep_different_things():
    """What the graph keeps for the backward: O(L S), or O(L + S)."""
    from minigrad.graph import kept_arrays, reachable

    n = 512
    q, k, v = (Tensor(x, requires_grad=True) for x in draw(*[(n, 8)] * 3))
    for attention, least, most in (dense_attention, 1, 9), (tiled_attention, 0, 0.2):
        o = attention(q, k, v, is_causal=True)
        kept = {id(a): a for node in reachable(o._node) for a in kept_arrays(node)}
        assert least < sum(a.nbytes for a in kept.values()) / (8 * n * n) < most
