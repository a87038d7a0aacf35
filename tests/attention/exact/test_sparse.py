"""Sparse patterns as BlockMask on the tiled kernel: exact, and only their tiles."""

import warnings

import numpy as np
import pytest

from attention import kernels, masks
from attention.exact import flash
from attention.exact.flash import flash_attention
from attention.exact.sdpa import dense_attention, tiled_attention
from attention.kernels.tile_plan import tile_plan
from attention.masks.block_mask import BlockMask
from minigrad import Tensor

SIZE = 64  # of the kernel's tiles
PATTERNS = {
    "window": lambda n: masks.sliding_window(30, 10),
    "window, causal": lambda n: masks.sliding_window(90, 0),
    "dilated": lambda n: masks.dilated(60, 5),
    "Longformer": lambda n: (
        masks.sliding_window(20, 20) | masks.global_tokens([0, n // 2, n - 1])
    ),
    "Longformer, causal": lambda n: (
        (masks.sliding_window(20, 20) | masks.global_tokens([3])) & masks.causal
    ),
    "dilated and global": lambda n: masks.dilated(48, 3) | masks.global_tokens([1]),
    "BigBird": lambda n: masks.bigbird(16, 3, 2, 2, seed=1),
    "BigBird of whole tiles": lambda n: masks.bigbird(SIZE, 1, 1, 1, seed=2),
    "BigBird, padded": lambda n: (
        masks.bigbird(32, 1, 1, 1, seed=3) & masks.padding([n - 40, 0])
    ),
}


@pytest.fixture(params=["numba", "numpy"])
def backend(request):
    if request.param == "numba":
        pytest.importorskip("numba")
    with kernels.backend(request.param), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield request.param


def draw(*shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape) for shape in shapes]


def results(attention, arrays, learned, **options):
    """o, lse, and the gradients of q, k, v, of a float mask and of a bias by offset."""
    leaves = [Tensor(x, requires_grad=True) for x in (*arrays, *learned)]
    o, lse = attention(
        *leaves[:4], bias=leaves[4], enable_gqa=True, return_lse=True, **options
    )
    g, gl = draw(o.shape, lse.shape, seed=5)
    o.backward(g, retain_graph=True)
    lse.backward(np.where(np.isfinite(lse.data), gl, 0))
    return [o.data, lse.data, *(x.grad for x in leaves)]


@pytest.mark.parametrize("n, block", [(215, 16), (200, (48, 80))])
@pytest.mark.parametrize("name", PATTERNS)
def test_values_and_all_gradients_are_those_of_dense(backend, name, n, block):
    """Tiles of the BlockMask's own size and of others; grouped heads; odd lengths."""
    pattern = PATTERNS[name](n)
    arrays = draw((2, 4, n, 6), (2, 2, n, 6), (2, 2, n, 3))
    learned = draw((n, n), (4, 2 * n - 1), seed=1)
    allowed = pattern.dense(2, None, n, n)
    assert 0 < allowed.mean() < 0.9
    hidden = np.where(allowed, 0.0, -np.inf)  # not by way of any mask function
    expected = results(
        dense_attention, arrays, learned, score_mod=lambda s, *_: s + hidden
    )
    tiles = BlockMask.from_mask(pattern, n, n, block=block)
    found = results(tiled_attention, arrays, learned, block_mask=tiles)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-11)
        assert np.abs(y[np.isfinite(y)]).max() > 1e-2


@pytest.mark.parametrize("name", PATTERNS)
def test_tiles_visited_are_tiles_kept(name, monkeypatch):
    """Forward and backward ask for the scores of each kept tile once, of no other."""
    n, visited = 330, []

    def scores(q, k, terms, h, i, j, S):
        visited.append((h, i.start // SIZE, j.start // SIZE))
        return true_scores(q, k, terms, h, i, j, S)

    true_scores = flash._scores
    monkeypatch.setattr(flash, "_scores", scores)
    tiles = BlockMask.from_mask(PATTERNS[name](n), n, n, block=SIZE)
    listing, rows = tiles.listing(), tiles.row_of(2, 3)
    kept = {
        (h, i, int(j))
        for h in range(6)
        for i in range(len(listing.first[0]))
        for j in listing.blocks[listing.first[rows[h], i] : listing.last[rows[h], i]]
    }
    q, k, v = (Tensor(x, requires_grad=True) for x in draw(*[(2, 3, n, 4)] * 3))
    with kernels.backend("numpy"):
        o = tiled_attention(q, k, v, block_mask=tiles)
        assert sorted(visited) == sorted(kept)
        visited.clear()
        o.sum().backward()
        assert sorted(visited) == sorted(kept)
    assert tile_plan(tiles, 2, 3, n, n).tiles().sum() == len(kept)
    if tiles.kinds.shape[:2] == (1, 1):
        assert tiles.sparsity() == pytest.approx(1 - len(kept) / (6 * 6 * 6))


@pytest.mark.parametrize("name", ["window", "BigBird of whole tiles"])
def test_the_kernel_reads_the_kept_tiles_alone(name):
    """Both ways: of a tile that is not listed nothing is read, not even to drop it."""
    pytest.importorskip("numba")
    n = 330
    tiles = BlockMask.from_mask(PATTERNS[name](n), n, n, block=SIZE)
    kept = tiles.kinds[0, 0] != 0
    listed = tile_plan(tiles, 1, 1, n, n)
    free = listed._replace(  # no pair of a listed tile is masked
        lo=np.zeros_like(listed.lo), hi=np.full_like(listed.hi, n),
        tile=np.full_like(listed.tile, -1),
    )  # fmt: skip
    arrays = draw(*[(1, n, 4)] * 3)
    g = draw((1, n, 4), seed=5)[0]

    def run(q, k, v, g):
        with kernels.backend("numba"):
            (o, lse), back = flash_attention.raw(q, k, v, plan=free, scale=0.5)
            dq, dk, dv, *_ = back([g, np.zeros_like(lse)], (True,) * 3)
        return o, dq, dk, dv

    clean = run(*arrays, g)
    row = 2  # of queries, and then of keys
    others = np.repeat(~kept[row], SIZE)[:n]
    q, k, v = (x.copy() for x in arrays)
    k[:, others], v[:, others] = np.nan, np.nan
    at = slice(row * SIZE, row * SIZE + SIZE)
    for x, y in zip(run(q, k, v, g)[:2], clean[:2]):
        np.testing.assert_array_equal(x[:, at], y[:, at])
    others = np.repeat(~kept[:, row], SIZE)[:n]
    q, k, v = (x.copy() for x in arrays)
    bad = g.copy()
    q[:, others], bad[:, others] = np.nan, np.nan
    for x, y in zip(run(q, k, v, bad)[2:], clean[2:]):
        np.testing.assert_array_equal(x[:, at], y[:, at])
    assert np.isnan(run(q, k, v, bad)[2]).any()


@pytest.mark.parametrize("name", PATTERNS)
def test_work_grows_as_the_sequence(name):
    """For a window, global tokens and random blocks alike; 8192 keys, few a query."""
    if "padded" in name:
        return  # made for two examples
    counts = [
        tile_plan(BlockMask.from_mask(PATTERNS[name](n), n, n, block=SIZE), 1, 1, n, n)
        .tiles()
        .sum()
        for n in (2048, 4096, 8192)
    ]
    first, second = counts[1] - counts[0], counts[2] - counts[1]
    assert 1.9 * first <= second <= 2.1 * first
    assert counts[2] <= 16 * 128  # of 128 * 128
