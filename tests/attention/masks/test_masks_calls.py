"""What a mask is to its caller: its axes, sizes and copies, and how it prints."""

import numpy as np
import pytest

from attention import masks
from attention.masks import (
    bigbird,
    causal,
    dilated,
    document,
    everything,
    from_array,
    global_tokens,
    local,
    mask_mod,
    nothing,
    padding,
    prefix_lm,
    sliding_window,
)

from .mask_cases import B, H


def test_a_function_is_called_once_on_arrays_that_broadcast():
    calls = []

    def rule(b, h, q, kv):
        calls.append([x.shape for x in (b, h, q, kv)])
        return (q >= kv) & (b + h > 0)

    mask_mod(rule).dense(B, H, 5, 7)
    probe, call = calls  # the probe asks whether examples and heads differ
    assert np.broadcast_shapes(*call) == (B, H, 5, 7)
    assert sum(np.prod(shape) for shape in call) == B + H + 5 + 7
    assert np.broadcast_shapes(*probe) == (2, 2, 1, 1)


def test_the_axes_that_a_mask_does_not_look_at_are_1():
    examples = mask_mod(lambda b, h, q, kv: b == 0)
    heads = mask_mod(lambda b, h, q, kv: h < 1)
    table = np.ones((B, H, 5, 7), bool)
    for mask, shape in (
        (causal, (1, 1)),
        (padding([1, 2, 3]), (B, 1)),
        (examples, (B, 1)),
        (heads, (1, H)),
        (examples & heads, (B, H)),
        (~heads | causal, (1, H)),
        (from_array(table), (B, H)),
        (from_array(table[:, :1]), (B, 1)),
        (from_array(table[:1, :, :1]), (1, H)),
        (bigbird(2, 1, 1, 0, 0), (1, 1)),
        (mask_mod(lambda b, h, q, kv: True), (1, 1)),
    ):
        assert mask.dense(B, H, 5, 7).shape == (*shape, 5, 7), mask
        assert mask.sized(5, 7).extent(B, H, 5, 7) == shape


def test_sizes_that_a_mask_knows_need_not_be_given():
    assert padding([1, 2, 3]).dense(None, None, 5, 7).shape == (3, 1, 5, 7)
    both = causal & padding([1, 2, 3])
    assert both.dense(None, None, 5, 7).shape == (3, 1, 5, 7)
    assert causal.dense(None, None, 5, 7).shape == (1, 1, 5, 7)


def test_a_mask_keeps_its_own_copy():
    lens, table, p = np.array([1, 2, 3]), np.ones((4, 5), bool), np.ones(4)
    kept = padding(lens), from_array(table), local(p, 1)
    before = [mask.dense(B, H, 4, 5) for mask in kept]
    lens[:], table[:], p[:] = 0, False, 9
    for mask, want in zip(kept, before):
        np.testing.assert_array_equal(mask.dense(B, H, 4, 5), want)


def test_tensors_are_taken_for_arrays():
    from minigrad import Tensor

    p = Tensor(np.array([0.5, 2.0]), requires_grad=True)
    assert local(p * 1.0, 1).dense(1, 1, 2, 5).sum() == 2 + 3


def test_causal_is_a_mask_and_gives_others():
    assert causal() is causal
    assert causal(b=0, h=0, q_idx=1, kv_idx=1) and not causal(0, 0, 1, kv_idx=2)
    assert causal(0, 0, 1, 2, offset=1) and not causal(0, 0, 1, 3, offset=1)
    assert causal(offset=1)(0, 0, 1, 2) and not causal(offset=1)(0, 0, 1, 3)


class Checkerboard(masks.Mask):
    """A mask of one's own needs its definition and nothing else."""

    def allowed(self, b, h, q, kv):
        return (q + kv) % 2 == 0

    def __repr__(self):
        return "checkerboard"


def test_a_subclass_with_a_definition_is_a_mask():
    mask = Checkerboard() & causal
    assert mask.dense(1, 1, 2, 3).tolist() == [[[[1, 0, 0], [0, 1, 0]]]]
    assert repr(mask) == "checkerboard & causal"


def rule(b, h, q, kv):
    return q == kv


@pytest.mark.parametrize(
    "mask, text",
    [
        (causal & sliding_window(128, 0), "causal & sliding_window(128, 0)"),
        (causal(), "causal"),
        (causal(offset=3), "causal(offset=3)"),
        (causal(offset="upper_left"), "causal"),
        (causal(offset="lower_right"), "causal(offset='lower_right')"),
        (causal(offset="lower_right").sized(4, 9), "causal(offset=5)"),
        (sliding_window(-1, 2, 1), "sliding_window(-1, 2, offset=1)"),
        (dilated(8, 2), "dilated(8, 2)"),
        (padding([3, 5]), "padding([3, 5])"),
        (padding(np.zeros(64, int)), "padding(array (64,))"),
        (padding([[1, 2]]), "padding(array (1, 2))"),
        (prefix_lm(4), "prefix_lm(4)"),
        (prefix_lm([4, 5]), "prefix_lm([4, 5])"),
        (document([0, 0, 1]), "document([0, 0, 1])"),
        (document([0, 1], [1]), "document([0, 1], [1])"),
        (global_tokens([0]), "global_tokens([0])"),
        (bigbird(64, 3, 3, 2, 0), "bigbird(64, 3, 3, 2, 0)"),
        (local(rule, 3), "local(rule, 3)"),
        (local(np.ones(4), 3), "local(array (4,), 3)"),
        (mask_mod(rule), "mask_mod(rule)"),
        (causal & rule, "causal & mask_mod(rule)"),
        (from_array(np.ones((2, 3), bool)), "from_array((1, 1, 2, 3))"),
        (everything, "everything"),
        (nothing, "nothing"),
        (~causal, "~causal"),
        (~~causal, "causal"),
        (~(causal | everything), "~(causal | everything)"),
        (causal & everything & nothing, "causal & everything & nothing"),
        (causal & (everything & nothing), "causal & everything & nothing"),
        (causal & (everything | nothing), "causal & (everything | nothing)"),
        (causal & everything | nothing, "(causal & everything) | nothing"),
        (~causal & ~(nothing & causal), "~causal & ~(nothing & causal)"),
    ],
)
def test_a_mask_prints_as_it_was_written(mask, text):
    assert repr(mask) == text
