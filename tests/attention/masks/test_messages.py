"""Masks and block masks: what the messages say about wrong arguments."""

import numpy as np
import pytest

from attention.masks import (
    bigbird,
    causal,
    dilated,
    document,
    everything,
    from_array,
    global_tokens,
    mask_mod,
    padding,
    sliding_window,
)
from attention.masks.block_mask import BlockMask

from ...messages import check_message
from .mask_cases import A, C


def dense(mask, B=None, H=None, L=4, S=5):
    return mask.dense(B, H, L, S)


def tiles(mask=causal, L=4, S=5, **options):
    return BlockMask.from_mask(mask, L, S, **options)


small = tiles(padding([1, 2, 3]) & causal, block=2)
ints = mask_mod(lambda b, h, q, kv: q + kv)
two = mask_mod(lambda b, h, q, kv: np.ones(2, bool))
branch = mask_mod(lambda b, h, q, kv: q > kv and kv > 1)
table = np.ones((3, 4))
CALLS = [
    # by distance
    (lambda: sliding_window(-2, 0), "sliding_window: left is -2", "-1 or more"),
    (lambda: sliding_window(1, 2.0), "right is 2.0; expected a whole number"),
    (lambda: sliding_window(1, 1, "left"), "offset is 'left'", "'upper_left'"),
    (lambda: causal(offset=0.5), "causal: offset is 0.5"),
    (lambda: causal("lower_right"), "causal: found 1 arguments", "causal(offset=3)"),
    (lambda: causal(offset="lower_right")(0, 0, 0, 0), "depends on L and S", ".dense"),
    (lambda: causal(0, 0, 1.0, 2), "causal: q_idx is float64", "counted from 0"),
    (lambda: dense(causal, L=4.0), "dense: L is 4.0"),
    (lambda: dilated(-1, 2), "dilated: window is -1"),
    (lambda: dilated(4, 0), "dilation is 0", "1 or more"),
    # by kind of token, and by blocks
    (lambda: dense(padding([2, 6])), "lengths hold 6", "0 to 5", "number of keys"),
    (lambda: dense(padding([[1, 2, 3]])), "shape (1, 3)", "each of 4 queries"),
    (lambda: dense(padding([1, 2]), B=3), "made for 2 examples; found B = 3"),
    (lambda: dense(document([1, 2, 3])), "made for 3 queries and 3 keys; found 4"),
    (lambda: document(["a"]), "document: ids is of type list"),
    (lambda: document([1, 2], [[1]]), "(1, 1) and ids (2,)", "an axis of examples"),
    (lambda: global_tokens([0, 0, 1, 0]), "all of them 0 or 1", "np.flatnonzero"),
    (lambda: global_tokens([3, -1]), "idx holds -1", "counted from 0"),
    (lambda: bigbird(4, 2, 1, 1, 0), "bigbird: window is 2", "odd number of blocks"),
    (lambda: bigbird(4, 3, 1, 1, None), "seed is None"),
    # arrays, functions and combinations
    (lambda: from_array(table), "from_array: array is float64", "array == 1"),
    (lambda: from_array(table[0] > 0), "shape (4,)", "(B, H, L, S)"),
    (lambda: dense(from_array(table > 0)), "found 4 queries and 5 keys"),
    (lambda: dense(from_array(np.ones((2, 3, 1, 1)) > 0), H=2), "made for 3 heads"),
    (lambda: mask_mod(3), "mask_mod: found int", "from_array"),
    (lambda: dense(ints), "the function returns int64; expected bool"),
    (lambda: dense(two), "the result of the function has shape (2,)"),
    (lambda: branch(0, 0, np.arange(3), np.arange(3)), "as a condition", "&, |, ~"),
    (lambda: dense(A), "differs between examples; expected their number"),
    (lambda: dense(C), "differs between heads"),
    (lambda: padding([1]) & padding([1, 2]), "left side has B = 1 examples"),
    (lambda: causal and everything, "neither true nor false", "&, | and ~"),
    (lambda: causal & (table > 0), "&, |: found ndarray", "from_array(array)"),
    (lambda: causal & None, "&, |: found NoneType"),
    # block masks
    (lambda: small.check(3, 2, 8, 5), "made for 4 queries and 5 keys; found 8 and 5"),
    (lambda: small.check(2, 2, 4, 5), "BlockMask: made for 3 examples; found 2"),
    (lambda: tiles(np.ones((4, 5), bool)), "mask_mod: found ndarray", "from_array"),
    (lambda: tiles(block=0), "block is 0"),
    (lambda: tiles(block=(4, 2, 1)), "block is (4, 2, 1)", "(Tq, Tk)"),
    (lambda: tiles(lambda b, h, q, kv: h > 0), "differs between heads"),
]


@pytest.mark.parametrize("call, fragments", [(call, words) for call, *words in CALLS])
def test_message(call, fragments):
    check_message(call, fragments)


def test_an_error_inside_a_function_is_unchanged():
    def broken(b, h, q, kv):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="^mine$"):
        mask_mod(broken).dense(1, 1, 2, 2)
