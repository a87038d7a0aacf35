"""Figures of masks: a query may attend to the keys that are white."""

import textwrap

import numpy as np

from minigrad.arguments import whole

from ..masks import Mask
from ..masks.block_mask import BlockMask
from ..masks.tiling import EMPTY
from .figure import new_figure, save

WHITE, GREY, DARK = 1.0, 0.62, 0.15  # allowed; forbidden but computed; forbidden
COLUMNS = 4  # panels side by side, at most


def show_masks(
    masks,
    L,
    S,
    titles=None,
    path=None,
    *,
    title="Which keys may each query attend to?",
):
    """Draw masks side by side, keys across and queries down, allowed pairs in white.

    masks    [mask, ...], each for L queries and S keys: a mask, a function of (b, h,
             q_idx, kv_idx), or a BlockMask. Grey pairs of a BlockMask are forbidden,
             but a kernel computes them, as they lie in a tile with allowed pairs
    titles   one for each mask; None: the masks as text, and the names of functions
    title    of the figure

    Global, local-m and local-p attention, for 16 queries, 20 keys and centres p (16,):

        show_masks([everything, local(lambda i: i * 20 // 16, 3), local(p, 3)], 16, 20)

    Returns the Figure, and saves it to ``path``. Raises TypeError if masks is not a
    list, ValueError if a mask does not fit L and S or differs between examples.
    """
    if isinstance(masks, BlockMask) or callable(masks):
        raise TypeError(
            "show_masks: masks is one mask; expected a list of masks, such as [mask]."
        )
    masks = list(masks)
    if not masks:
        raise ValueError("show_masks: masks is empty; expected at least one mask.")
    L, S = whole("show_masks", "L", L, least=1), whole("show_masks", "S", S, least=1)
    if titles is None:
        titles = [_title(mask) for mask in masks]
    if len(titles) != len(masks):
        raise ValueError(
            f"show_masks: titles has {len(titles)} entries; expected {len(masks)}, one "
            "for each mask."
        )
    pictures = [_grey_levels(mask, L, S) for mask in masks]

    columns = min(COLUMNS, len(masks))
    rows = -(-len(masks) // columns)
    cell = 2.7 / max(L, S)
    width, height = max(1.2, cell * S) + 0.5, max(0.9, cell * L) + 0.7
    size = max(4.8, columns * width + 0.4), max(2.4, rows * height + 0.9)
    figure = new_figure(size)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for n, panel in enumerate(panels.flat):
        if n >= len(masks):
            panel.set_axis_off()
            continue
        panel.imshow(pictures[n], cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        panel.set_title(textwrap.fill(titles[n], int(width / 0.1)), fontsize="medium")
        _mark_positions(panel, L, S)
        if n + columns >= len(masks):
            panel.set_xlabel("source position j (key)")
            panel.tick_params(labelbottom=True)
        if n % columns == 0:
            panel.set_ylabel("target position i (query)")
    figure.suptitle(textwrap.fill(title, int(size[0] / 0.11)))
    _legend(figure, panels[0, 0], pictures)
    return save(figure, path)


def _title(mask):
    """Return the mask as text, or the name of a plain function."""
    mask = mask.mask if isinstance(mask, BlockMask) else mask
    function = getattr(mask, "function", mask)
    if isinstance(mask, Mask) and function is mask:
        return str(mask)
    name = getattr(function, "__name__", type(function).__name__)
    return "a function" if name == "<lambda>" else name


def _grey_levels(mask, L, S):
    """Return the grey level of each pair, (L, S)."""
    tiled = isinstance(mask, BlockMask)
    block_mask = mask if tiled else BlockMask.from_mask(mask, L, S)
    if block_mask.kinds.shape[:2] != (1, 1):
        raise ValueError(
            f"show_masks: {block_mask.mask} is not the same for all examples and "
            "heads; expected a mask for one, such as padding(valid_lens[:1])."
        )
    block_mask.check(1, 1, L, S)
    allowed = block_mask.to_dense()[0, 0]
    if not tiled:
        return np.where(allowed, WHITE, DARK)
    Tq, Tk = mask.block
    kept = (mask.kinds[0, 0] != EMPTY).repeat(Tq, 0).repeat(Tk, 1)[:L, :S]
    return np.where(allowed, WHITE, np.where(kept, GREY, DARK))


def _mark_positions(panel, L, S):
    """Write a few round numbers along the axes; draw lines between large cells."""
    panel.set_xticks(range(0, S, _round_step(S)))
    panel.set_yticks(range(0, L, _round_step(L)))
    panel.tick_params(length=2)
    if max(L, S) <= 40:
        panel.set_xticks(np.arange(S + 1) - 0.5, minor=True)
        panel.set_yticks(np.arange(L + 1) - 0.5, minor=True)
        panel.grid(which="minor", color="0.5", linewidth=0.4)
        panel.tick_params(which="minor", length=0)


def _round_step(n):
    """Return 1, 2 or 5 times a power of ten, about a fifth of n."""
    power = 10 ** max(0, len(str(n // 5)) - 1)
    return next((k * power for k in (1, 2, 5) if n <= 6 * k * power), 10 * power)


def _legend(figure, panel, pictures):
    """Explain the grey levels that occur."""
    names = {
        WHITE: "may attend",
        DARK: "may not",
        GREY: "may not, but computed",
    }
    handles = [
        panel.plot([], [], "s", color=str(shade), markeredgecolor="0.3", label=name)[0]
        for shade, name in names.items()
        if any((picture == shade).any() for picture in pictures)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
