"""Local attention sees its windows, cut at each example's ends, and no more."""

import tracemalloc

import numpy as np
import pytest

from attention import masks
from attention.attend import attend
from attention.variants.local import LocalAttention
from minigrad import Tensor, no_grad
from minigrad.graph import reachable

from ...minigrad.array_cases import draw
from .local_cases import KINDS, B, Dk, Dq, Ev, L, S, close, example, layer, reversal


@pytest.mark.parametrize("kind", ["m", "m-reversal", "m-between", "m-narrow"])
def test_local_m_is_dense_attention_under_the_mask_of_its_windows(kind):
    """``masks.local`` is the same mask, for every pair; here no other pair is made."""
    module, (queries, keys, values) = layer(**KINDS[kind]), example()
    lengths = np.array([9, 5])
    context = module(queries, keys, values, lengths)
    centre = module.centre or (lambda t, length: t)
    p = np.broadcast_to(centre(np.arange(L), lengths[:, None]), (B, L))
    mask = masks.local(p, module.D) & masks.padding(lengths)
    dense = attend(
        queries, keys, values, module.score.score, mask=mask.dense(B, 1, L, S)[:, 0]
    )
    np.testing.assert_allclose(context.data, dense[0].data, **close)
    np.testing.assert_allclose(module.attention_weights.data, dense[1].data, **close)


def test_a_window_over_everything_is_global_attention():
    module, arrays = layer(D=S), example()
    dense, weights = attend(*arrays, module.score.score, valid_lens=[9, 5])
    np.testing.assert_allclose(module(*arrays, [9, 5]).data, dense.data, **close)
    np.testing.assert_allclose(module.attention_weights.data, weights.data, **close)


@pytest.mark.parametrize("D", [0, 1, 2])
@pytest.mark.parametrize("centre", [None, reversal, lambda t, length: length // 2])
def test_the_oracle_copies_what_is_in_the_window_and_nothing_else(D, centre):
    """Query t asks for the letter length - 1 - t, by a key that names its place. The
    string comes out reversed if and only if that place is in the window."""
    longest, lengths = 7, np.array([7, 4, 1])
    places = np.broadcast_to(np.eye(longest), (3, longest, longest))
    t = np.arange(longest)
    wanted = np.maximum(lengths[:, None] - 1 - t, 0)  # (3, 7)
    module = LocalAttention(longest, longest, D, "m", "dot", centre)
    context = module(50 * np.eye(longest)[wanted], places, places, lengths).data
    for b, t in np.ndindex(wanted.shape):
        length, j = lengths[b], wanted[b, t]
        if t < length:
            p = t if centre is None else centre(t, length)
            copied = context[b, t].argmax() == j and context[b, t, j] > 0.999
            assert copied == (abs(j - p) <= D), (b, t)
    everything = all(abs(n - 1 - t - t) <= D for n in lengths for t in range(n))
    assert not everything  # the diagonal cannot do it with a window as narrow as this


def test_the_length_of_each_example_and_not_of_the_batch_is_the_end():
    """The last letter of a short string is at its own end, and p of S its own S."""
    module, arrays = layer(D=0, centre=reversal), example()
    module(*arrays, [9, 5])
    np.testing.assert_array_equal(
        module.attention_weights.data[:, 0].argmax(-1), [8, 4]
    )
    module = layer(kind="p", D=1)
    module.v_p.data = np.zeros(Dq)  # sigmoid(0) = 1/2
    module(*arrays, [9, 5])
    weights = module.attention_weights.data
    np.testing.assert_array_equal(np.nonzero(weights[0, 0])[0], [4, 5])  # 4.5 -+ 1
    np.testing.assert_array_equal(np.nonzero(weights[1, 0])[0], [2, 3])  # 2.5 -+ 1


def test_at_the_borders_the_rest_of_the_window_counts():
    module, arrays = layer(D=2), draw((B, S, Dq), (B, S, Dk), (B, S, Ev))
    module(*arrays, [9, 4])
    counts = (module.attention_weights.data > 0).sum(-1)
    np.testing.assert_array_equal(counts[0], [3, 4, 5, 5, 5, 5, 5, 4, 3])
    np.testing.assert_array_equal(counts[1], [3, 4, 4, 3, 2, 1, 0, 0, 0])


@pytest.mark.parametrize("kind", ["m", "p"])
def test_memory_does_not_grow_with_the_source(kind):
    """Beyond the inputs: it is that of the windows, (B, L, 2 D + 1)."""

    def peak(S):
        module = layer(kind=kind)
        arrays = draw((B, L, Dq), (B, S, Dk), (B, S, Ev))
        queries, keys, values = (Tensor(a) for a in arrays)
        with no_grad():
            module(queries, keys, values)  # whatever is made once
            tracemalloc.start()
            module(queries, keys, values)
            measured = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return measured

    few, many = peak(100), peak(100_000)
    assert many < 1.1 * few < 100_000  # one column of keys has 800 000 bytes


@pytest.mark.parametrize("kind", ["m", "p"])
def test_no_result_on_the_way_has_the_length_of_the_source(kind):
    S, module = 101, layer(kind=kind)
    leaves = [
        Tensor(a, requires_grad=True) for a in draw((B, L, Dq), (B, S, Dk), (B, S, Ev))
    ]
    nodes = reachable(module(*leaves)._node)
    assert len(nodes) > 5
    for node in nodes:
        assert S not in node.shape, node
        assert max(node.shape) <= max(B, L, 2 * 2 + 1, Dq, Ev), node
