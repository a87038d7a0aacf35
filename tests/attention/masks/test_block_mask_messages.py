"""A block mask: what it says of calls and arguments that do not fit."""

import numpy as np
import pytest

from attention.masks import causal, padding
from attention.masks.block_mask import BlockMask


def build(*args, **kwargs):
    return lambda: BlockMask.from_mask(*args, **kwargs)


small = BlockMask.from_mask(padding([1, 2, 3]) & causal, 4, 5, block=2)


@pytest.mark.parametrize(
    "error, what, message",
    [
        (
            ValueError,
            lambda: small.check(3, 2, 8, 5),
            "BlockMask: made for 4 queries and 5 keys; found 8 and 5. Make one with "
            "BlockMask.from_mask(mask, 8, 5).",
        ),
        (
            ValueError,
            lambda: small.check(2, 2, 4, 5),
            "BlockMask: made for 3 examples; found 2.",
        ),
        (
            ValueError,
            lambda: BlockMask.from_dense(np.ones((1, 2, 4, 5), bool)).check(1, 3, 4, 5),
            "BlockMask: made for 2 heads; found 3.",
        ),
        (
            TypeError,
            build(np.ones((4, 5), bool), 4, 5),
            "BlockMask: mask is a ndarray; expected a mask, or a function of (b, h, "
            "q_idx, kv_idx). For a bool array, use BlockMask.from_dense.",
        ),
        (
            TypeError,
            lambda: BlockMask.from_dense(np.ones((4, 5), int)),
            "from_array: array is int64; expected bool, True = may attend. Ones and "
            "zeros could be meant either way: write array == 1 to allow the ones.",
        ),
        (
            TypeError,
            build(causal, 4.0, 5),
            "BlockMask: L is 4.0; expected a whole number.",
        ),
        (
            ValueError,
            build(causal, 4, -5),
            "BlockMask: S is -5; expected a whole number, 0 or more.",
        ),
        (
            ValueError,
            build(causal, 4, 5, block=0),
            "BlockMask: block is 0; expected a whole number, 1 or more.",
        ),
        (
            TypeError,
            build(causal, 4, 5, block=(4, 2.5)),
            "BlockMask: block is 2.5; expected a whole number.",
        ),
        (
            ValueError,
            build(causal, 4, 5, block=(4, 2, 1)),
            "BlockMask: block is (4, 2, 1); expected (Tq, Tk), or one number for both.",
        ),
        (
            ValueError,
            build(padding([9]), 4, 5),
            "padding: valid_lens holds 9; expected numbers from 0 to 5, the number of "
            "keys.",
        ),
        (
            ValueError,
            build(lambda b, h, q, kv: h > 0, 4, 5),
            "mask_mod(<lambda>): is not the same for all; expected the number of "
            "heads, H.",
        ),
        (
            IndexError,
            lambda: small.tile_mask(0, 0, 2, 0),
            "BlockMask: there is no i = 2; expected 0 to 1 in kinds of shape "
            "(3, 1, 2, 3).",
        ),
        (
            IndexError,
            lambda: small.tiles_of(3, 0, 0),
            "BlockMask: there is no b = 3; expected 0 to 2 in kinds of shape "
            "(3, 1, 2, 3).",
        ),
        (
            IndexError,
            lambda: small.tile_mask(0, 0, 0, -1),
            "BlockMask: there is no j = -1; expected 0 to 2 in kinds of shape "
            "(3, 1, 2, 3).",
        ),
        (
            TypeError,
            lambda: BlockMask(causal, 4, 5),
            "BlockMask: write BlockMask.from_mask(mask, L, S).",
        ),
        (
            IndexError,
            lambda: BlockMask.from_mask(causal, 4, 5).tiles_of(0, 0, 1),
            "BlockMask: there is no i = 1; expected 0 to 0 in kinds of shape "
            "(1, 1, 1, 1).",
        ),
    ],
)
def test_the_messages(error, what, message):
    with pytest.raises(error) as raised:
        what()
    assert str(raised.value) == message


def test_a_block_mask_that_fits_passes_its_check():
    small.check(3, 7, 4, 5)
    BlockMask.from_mask(causal, 4, 5).check(0, 1, 4, 5)
