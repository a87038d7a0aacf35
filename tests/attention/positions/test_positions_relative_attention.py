"""Biases in attention keep gradients, dtypes, steps, and change nothing where 0."""

import numpy as np
import pytest

import minigrad as mg
from attention.attend import attend
from attention.positions import (
    T5RelativeBias,
    alibi_bias,
    alibi_slopes,
    t5_bucket,
    toeplitz,
)
from attention.softmax import masked_softmax
from minigrad import Tensor

from .positions_relative_cases import (
    CLOSE,
    both_alignments,
    draw,
    query_position,
    relative_bias,
)


def test_t5_gradcheck_through_attention():
    """Of queries, keys, values and table; products of the batch share the bias."""
    module = relative_bias()

    def attention(q, k, v, table):
        v_ = toeplitz(
            mg.swapaxes(table[t5_bucket(np.arange(-4, 7), True, 8, 6)], 0, 1), 5, 7
        )
        return attend(q, k, v, "dot", bias=v_)

    arrays = draw(2, 3, 5, 4), draw(2, 3, 7, 4, seed=1), draw(2, 3, 7, 2, seed=2)
    by_hand = attention(*arrays, module.table)[0].data
    np.testing.assert_array_equal(
        by_hand, attend(*arrays, "dot", bias=module(5, 7))[0].data
    )
    result = mg.gradcheck(attention, [*arrays, module.table.data])
    assert result.ok, result


def test_t5_table_of_zeros_is_no_bias():
    q, k, v = draw(2, 5, 4), draw(2, 7, 4, seed=1), draw(2, 7, 2, seed=2)
    module = T5RelativeBias(2)
    assert module.table.shape == (32, 2) and module.table.dtype == np.float32
    module.table.data = module.table.data.astype(float)
    plain, biased = (attend(q, k, v, bias=b)[0].data for b in (None, module(5, 7)))
    np.testing.assert_array_equal(plain, biased)


def test_a_step_of_decoding_is_the_last_row():
    module = relative_bias(bidirectional=False)
    whole, step = module(7, 7).data, module(1, 7, causal_align="lower_right").data
    np.testing.assert_array_equal(step[:, 0], whole[:, -1])
    whole, step = alibi_bias(3, 7, 7), alibi_bias(3, 1, 7, causal_align="lower_right")
    np.testing.assert_array_equal(step[:, 0], whole[:, -1])


@pytest.mark.parametrize("L, S", [(0, 5), (5, 0), (0, 0)])
def test_biases_of_nothing(L, S):
    module = relative_bias()
    bias = module(L, S)
    assert bias.shape == alibi_bias(3, L, S).shape == (3, L, S)
    bias.backward(np.ones((3, L, S)))
    assert not module.table.grad.any()


@both_alignments
def test_under_a_causal_mask_the_position_of_the_key_is_enough(align):
    """There +m j and -m |i - j| differ by a number for each row, which cancels."""
    L, S, H = 5, 7, 6
    s = draw(2, H, L, S)
    i, j = query_position(np.arange(L)[:, None], L, S, align), np.arange(S)
    row_constant = alibi_slopes(H, np.float64)[:, None, None] * j
    bias = alibi_bias(H, L, S, align, np.float64)
    short, full = (
        masked_softmax(s + b, mask=j <= i).data for b in (row_constant, bias)
    )
    np.testing.assert_allclose(short, full, **CLOSE)
    short, full = (masked_softmax(s + b).data for b in (row_constant, bias))
    assert np.abs(short - full).max() > 0.1


def test_alibi_is_symmetric_and_slopes_of_0_change_nothing():
    bias = alibi_bias(5, 7, 7, dtype=float)
    np.testing.assert_array_equal(bias, bias.swapaxes(1, 2))
    q, k, v = draw(5, 7, 4), draw(5, 7, 4, seed=1), draw(5, 7, 2, seed=2)
    plain, biased = (attend(q, k, v, bias=b)[0].data for b in (None, 0.0 * bias))
    np.testing.assert_array_equal(plain, biased)
    near = attend(q, k, v, bias=bias)[1].data
    assert (np.diagonal(near, axis1=1, axis2=2) > np.diagonal(
        attend(q, k, v)[1].data, axis1=1, axis2=2)).all()  # fmt: skip


def test_alibi_keeps_float32_scores():
    q = Tensor(draw(2, 5, 4).astype(np.float32), requires_grad=True)
    context, weights = attend(q, q, q, bias=alibi_bias(2, 5, 5))
    assert context.dtype == weights.dtype == np.float32
