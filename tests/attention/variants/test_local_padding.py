"""Local attention: padding has no influence, and an empty window gives 0."""

import numpy as np
import pytest

from attention.variants.windows import gather_windows
from minigrad import Tensor

from ...minigrad.array_cases import draw
from .local_cases import KINDS, B, Dk, Dq, Ev, L, S, close, example, layer


@pytest.mark.parametrize("kind", KINDS)
def test_padding_has_no_influence_and_may_be_nan(kind):
    (g,) = draw((B, L, Ev), seed=9)

    def run(filling=None):
        module, (queries, keys, values) = layer(**KINDS[kind]), example()
        if filling is not None:
            keys[1, 5:] = values[1, 5:] = filling
        leaves = [Tensor(a, requires_grad=True) for a in (queries, keys, values)]
        context = module(*leaves, [9, 5])
        context.backward(g)
        return [context.data, *(x.grad for x in (*leaves, *module.parameters()))]

    clean = run()
    assert all(np.isfinite(a).all() for a in clean)
    assert (clean[2][1, 5:] == 0).all() and (clean[3][1, 5:] == 0).all()
    for filling in (7.0, np.nan, np.inf):
        for a, b in zip(clean, run(filling)):
            np.testing.assert_array_equal(a, b)


def test_beyond_the_end_of_a_window_there_is_0_and_not_0_times_nan():
    x = np.array([[np.nan], [1.0], [2.0]])
    y = gather_windows(x, np.array([1, 2, 3]), np.array([3, 3, 3]), 2).data
    np.testing.assert_array_equal(y[..., 0], [[1, 2], [2, 0], [0, 0]])


@pytest.mark.parametrize("kind", ["m", "p"])
def test_nan_reaches_only_the_queries_whose_windows_hold_it(kind):
    module, (queries, keys, values) = layer(kind=kind, D=1), example()
    module(queries, keys, values)
    seen = module.attention_weights.data[0, :, 2] > 0
    keys[0, 2] = np.nan
    context = module(queries, keys, values).data
    np.testing.assert_array_equal(np.isnan(context[0]).all(-1), seen)
    assert np.isfinite(context[1]).all()


@pytest.mark.parametrize("kind", ["m", "p"])
@pytest.mark.parametrize("b, n_queries, n_keys", [(0, L, S), (B, 0, S), (B, L, 0)])
def test_nothing_at_all(kind, b, n_queries, n_keys):
    module = layer(kind=kind)
    arrays = draw((b, n_queries, Dq), (b, n_keys, Dk), (b, n_keys, Ev))
    leaves = [Tensor(a, requires_grad=True) for a in arrays]
    context = module(*leaves, np.zeros(b, int))
    assert module.attention_weights.shape == (b, n_queries, n_keys)
    assert context.shape == (b, n_queries, Ev) and (context.data == 0).all()
    context.backward(np.ones(context.shape))
    assert all((leaf.grad == 0).all() for leaf in leaves)


@pytest.mark.parametrize("kind", ["m", "p"])
def test_one_key(kind):
    module, (queries, keys, values) = layer(kind=kind, D=20), example()
    context = module(queries, keys[:, :1], values[:, :1]).data
    weights = module.attention_weights.data
    if kind == "m":
        np.testing.assert_array_equal(weights, 1)
    np.testing.assert_allclose(context, weights * values[:, :1], **close)
