"""Any number of masks joined, under the names that flex_attention has.

    and_masks(a, b, c)(b, h, i, j) = a and b and c        or_masks(...) = a or b or c

They are & and | for a list of masks. Pairs are joined, and pairs of pairs: an
expression of n masks is ln n deep, so there may be as many as one likes.

Dong et al. 2024, section 3.
"""

import operator

from .algebra import as_mask, everything, nothing


def and_masks(*masks):
    """The pairs that all of the masks allow; of none, ``everything``.

    masks   masks of this package, or functions (b, h, q_idx, kv_idx) -> bool

    Raises TypeError for what is neither.
    """
    return _joined(operator.and_, masks, everything)


def or_masks(*masks):
    """The pairs that some of the masks allow; of none, ``nothing``. As ``and_masks``"""
    return _joined(operator.or_, masks, nothing)


def _joined(join, masks, of_none):
    masks = [as_mask(mask) for mask in masks] or [of_none]
    while len(masks) > 1:
        pairs = [join(*masks[i : i + 2]) for i in range(0, len(masks) - 1, 2)]
        masks = pairs + masks[2 * len(pairs) :]
    return masks[0]
