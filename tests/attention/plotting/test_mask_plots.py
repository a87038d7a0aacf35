"""Plots of masks: shades, titles, ticks and legends of the returned Figure."""

import numpy as np
import pytest

from attention.masks import (
    causal,
    everything,
    global_tokens,
    local,
    sliding_window,
)
from attention.masks.block_mask import BlockMask
from attention.plotting.masks import DARK, GREY, WHITE, show_masks

from .plot_cases import PNG, is_whole, overlap


def shades(panel):
    (image,) = panel.images
    assert image.get_clim() == (0, 1) and image.cmap.name == "gray"  # 1 is white
    return image.get_array()


def test_global_local_m_and_local_p_side_by_side(tmp_path):
    L, S, D = 16, 20, 3
    p = np.clip(np.arange(L) * S / L + np.random.default_rng(2).normal(0, 2, L), 0, 19)
    path = tmp_path / "masks.png"
    titles = ["global", "local-m, D = 3", "local-p, D = 3"]
    figure = show_masks(
        [everything, local(lambda i: i * S // L, D), local(p, D)], L, S, titles, path
    )
    assert path.read_bytes().startswith(PNG)
    one, m, at_p = figure.axes
    assert (shades(one) == WHITE).all() and shades(one).shape == (L, S)
    j = np.arange(S)
    near = abs(j - (np.arange(L) * S // L)[:, None]) <= D
    np.testing.assert_array_equal(shades(m), np.where(near, WHITE, DARK))
    near = abs(j - p[:, None]) <= D
    np.testing.assert_array_equal(shades(at_p), np.where(near, WHITE, DARK))
    assert [panel.get_title() for panel in figure.axes] == titles
    ylabels = [x.get_ylabel() for x in figure.axes]
    assert ylabels == ["target position i (query)", "", ""]
    assert list(one.get_xticks()) == list(one.get_yticks()) == [0, 5, 10, 15]
    assert is_whole(figure)


def test_masked_pairs_that_a_block_mask_computes_are_grey():
    n, size = 12, 4
    mask = causal & (sliding_window(2, 0) | global_tokens([0]))
    tiles = BlockMask.from_mask(mask, n, n, block=size)
    figure = show_masks([mask, tiles], n, n)
    allowed = mask.dense(1, 1, n, n)[0, 0]
    plain, tiled = map(shades, figure.axes)
    np.testing.assert_array_equal(plain, np.where(allowed, WHITE, DARK))
    np.testing.assert_array_equal(tiled == WHITE, allowed)
    kept = np.kron(tiles.kinds[0, 0] > 0, np.ones((size, size))) > 0
    np.testing.assert_array_equal(tiled == GREY, kept & ~allowed)
    written = "causal & (sliding_window(2, 0) | global_tokens([0]))"
    for panel in figure.axes:
        assert panel.get_title().replace("\n", " ") == written
    (legend,) = figure.legends
    assert [x.get_text() for x in legend.get_texts()] == [
        "may attend", "may not", "may not, but computed",
    ]  # fmt: skip
    assert is_whole(figure)


@pytest.mark.deep
def test_many_masks_are_in_rows_of_four():
    many = [sliding_window(k, k) for k in range(6)]
    figure = show_masks(many, 130, 110, title="How wide is each window?")
    panels = [panel for panel in figure.axes if panel.images]
    assert len(panels) == 6
    assert [bool(x.get_xlabel()) for x in panels] == [False] * 2 + [True] * 4
    assert [bool(x.get_ylabel()) for x in panels] == [n % 4 == 0 for n in range(6)]
    assert figure.get_suptitle() == "How wide is each window?"
    assert is_whole(figure)
    assert not overlap(figure, [panel.title for panel in panels])


@pytest.mark.parametrize("L, S", [(1, 1), (1, 300), (33, 40)])
def test_any_size_has_few_round_ticks(L, S):
    figure = show_masks([causal], L, S)
    (panel,) = figure.axes
    for ticks, n in ((panel.get_xticks(), S), (panel.get_yticks(), L)):
        step = np.diff(ticks)
        assert ticks[0] == 0 and ticks[-1] < n and len(ticks) <= 7
        assert len(set(step)) <= 1
        assert not len(step) or str(int(step[0])).strip("0") in {"1", "2", "5"}
    assert is_whole(figure)


def test_the_title_of_a_function_is_its_name():
    def first_keys(b, h, i, j):
        return j < 3

    given = [first_keys, lambda b, h, i, j: i >= j, causal]
    given.append(BlockMask.from_mask(first_keys, 5, 5))
    titles = [panel.get_title() for panel in show_masks(given, 5, 5).axes]
    assert titles == ["first_keys", "a function", "causal", "first_keys"]
