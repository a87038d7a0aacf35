"""Masks: which keys a query may attend to, as functions that & | and ~ combine.

    mask(b, h, q_idx, kv_idx)  ->  bool, True = may attend

b counts examples, h heads, q_idx queries and kv_idx keys, all from 0; each is a whole
number or an array of them, and the four broadcast against one another. So

    mask = causal & (sliding_window(255, 0) | global_tokens([0]))
    mask.dense(B, H, L, S)                 the bool array
    BlockMask.from_mask(mask, L, S)        its tiles: full, partial or empty

algebra.py   what a mask is; &, | and ~; everything, nothing; functions of your own
arrays.py    bool arrays as masks
windows.py   by distance: causal, sliding_window, dilated
tokens.py    by kind of token: padding, prefix_lm, document, global_tokens
bigbird.py   by blocks, some of them random
grid.py      of images, by rows and columns
block_mask.py, tiling.py   the tiles of a mask: full, partial or empty
given.py     what a call is given as masks: which pairs may attend, and a bias
"""

from .algebra import Mask, everything, mask_mod, nothing
from .arrays import from_array
from .bigbird import bigbird
from .grid import axial, neighbourhood
from .tokens import document, global_tokens, padding, prefix_lm
from .windows import causal, dilated, sliding_window

__all__ = [
    "Mask", "everything", "nothing", "mask_mod", "from_array", "causal",
    "sliding_window", "dilated", "padding", "prefix_lm", "document",
    "global_tokens", "bigbird", "axial", "neighbourhood",
]  # fmt: skip
