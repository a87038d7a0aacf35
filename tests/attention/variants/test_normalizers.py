"""Laws of the normalisers: values by hand, limits, what scores and masks change."""

import numpy as np
import pytest

import attention
from attention import (
    MultiHeadAttention,
    Sink,
    definitions,
    entmax,
    masks,
    scaled_dot_product_attention,
    sparsemax,
    stick_breaking,
)
from minigrad import Tensor, nn

from ...minigrad.array_cases import draw
from ..definition_cases import all_keys, close

ROW = np.array([[-2.0, 0.0, 0.5]])


def weights(normalize, s, *more):
    return normalize(s, all_keys(s), *more).data


# the sink


LARGE = {  # options of sdpa, for 70 queries and 90 keys
    "free": {},
    "causal": {"is_causal": True},
    "no keys": {"attn_mask": masks.padding([0, 60])},
    "window": {"attn_mask": masks.sliding_window(5, 0)},
    "bias": {"bias": np.linspace(-1, 1, 70 * 90).reshape(70, 90)},
    "dropout": {"dropout_p": 0.4},
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", LARGE)
def test_sinks_of_heads_in_tiles_and_with_the_matrix(name):
    arrays, outcomes = draw((2, 4, 70, 6), (2, 2, 90, 6), (2, 2, 90, 5)), []
    for path in "dense", "tiled", None:
        sink = Sink(4, nn.Parameter(np.array([-1.0, 0.0, 1.0, 30.0])))
        leaves = [Tensor(x, requires_grad=True) for x in arrays]
        o = scaled_dot_product_attention(
            *leaves, enable_gqa=True, path=path, normalize=sink,
            rng=np.random.default_rng(0), **LARGE[name],
        )  # fmt: skip
        o.backward(np.cos(np.arange(o.size)).reshape(o.shape))
        outcomes.append([o.data, *(x.grad for x in leaves), sink.b.grad])
    for found in outcomes[1:]:
        for x, y in zip(found, outcomes[0]):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)
    assert abs(outcomes[0][0][:, 3]).max() < 1e-8  # nearly all goes to this sink


def test_a_layer_with_a_sink_computes_tiles(monkeypatch):
    layer = MultiHeadAttention(8, 2, rng=np.random.default_rng(0))
    (x,), sink = draw((1, 70, 8), dtype=np.float32), Sink(2)
    sink.b.data = np.float32([0.5, -0.5])
    dense = layer(x, normalize=lambda s, allowed: sink(s, allowed), is_causal=True)
    monkeypatch.setattr("attention.exact.sdpa.weigh_and_average", None)  # not called
    tiled = layer(x, normalize=sink, is_causal=True)
    np.testing.assert_allclose(tiled.data, dense.data, rtol=1e-5, atol=1e-6)


def test_parts_are_merged_before_the_sink_is_added():
    q, k, v = draw((1, 5, 4), (1, 9, 4), (1, 9, 3))
    parts = []
    for keys in slice(0, 4), slice(4, 9):
        parts += scaled_dot_product_attention(
            q, k[:, keys], v[:, keys], return_lse=True
        )
    sink = Sink(b=nn.Parameter(np.array(0.4)))
    whole = scaled_dot_product_attention(q, k, v, normalize=sink)
    close(sink.rescale(*attention.merge(*parts)).data, whole.data)


# sparsemax and entmax


def test_values_of_entmax():
    close(weights(sparsemax, ROW), [[0, 0.25, 0.75]])
    found = weights(entmax, ROW)
    np.testing.assert_allclose(found, [[0, 0.326007, 0.673993]], atol=5e-7)
    np.testing.assert_allclose(
        weights(entmax, ROW, 1.001), definitions.softmax(ROW), atol=1e-3
    )


@pytest.mark.parametrize("alpha", [1.05, 1.33, 1.5, 1.8, 2])
def test_laws_of_entmax(alpha):
    (s,) = draw((5, 40))
    p = weights(entmax, s, alpha)
    close(p.sum(-1), 1)
    close(weights(entmax, s + 100, alpha), p, atol=1e-11)
    order = np.argsort(s, -1)
    assert (np.diff(np.take_along_axis(p, order, -1)) >= 0).all()
    close(p, definitions.entmax(s, alpha=alpha))
    lead = 1 / (alpha - 1)  # what gives one key all the weight, for every n
    for n in 2, 5000:
        one = np.zeros((1, n))
        one[0, 1] = lead * 1.001
        assert not weights(entmax, one, alpha)[0, 0]
        one[0, 1] = lead * 0.98
        assert weights(entmax, one, alpha)[0, 0] > 0


@pytest.mark.parametrize(
    "alpha", [1 + 1e-7, 1 + 1e-5, 1.001, 1.05, 1.4999, 1.5, 1.9999, 2]
)
def test_entmax_in_float32(alpha):
    """Near 1 the power 1 / (alpha - 1) must not multiply rounding errors."""
    s, g = draw((5, 400), (5, 400))
    for scale in 1e-3, 1.0, 10.0:
        results = []
        for dtype in np.float32, np.float64:
            x = (scale * s).astype(np.float32)
            leaf = Tensor(x.astype(dtype), requires_grad=True)
            p = entmax(leaf, all_keys(s), alpha)
            p.backward(g.astype(dtype))
            results.append([p.data, leaf.grad])
        for x, y in zip(*results):
            np.testing.assert_allclose(x, y, rtol=0, atol=3e-6 * abs(y).max())
        np.testing.assert_allclose(results[0][0].sum(-1), 1, rtol=1e-6)


def test_entmax_near_1_is_the_softmax():
    (s,) = draw((5, 40))
    for alpha in 1 + 1e-12, np.nextafter(1, 2):
        close(weights(entmax, s, alpha), definitions.softmax(s), atol=1e-11)


def test_messages_of_entmax():
    for alpha, error in (1, ValueError), (2.1, ValueError), ("2", TypeError):
        with pytest.raises(error, match="entmax: alpha is"):
            entmax(ROW, all_keys(ROW), alpha)


# stick-breaking


@pytest.mark.parametrize("s", [4.0, 12.0, 30.0])
def test_the_gradient_of_keys_that_take_nearly_all_in_float32(s):
    """The own term is p g (1 - b), with 1 - b = sigmoid(-s) near 0."""
    (g,) = draw((1, 9), dtype=np.float32)
    leaf = Tensor(np.full((1, 9), s, np.float32), requires_grad=True)
    stick_breaking(leaf, all_keys(g)).backward(g)
    b, rest = (definitions.sigmoid(np.array([x])) for x in (s, -s))
    pg = b * rest ** np.arange(8, -1, -1) * g[0]
    expected = pg * rest - b * (np.tri(9, k=-1) @ pg)
    np.testing.assert_allclose(leaf.grad[0], expected, rtol=2e-5, atol=1e-35)


def test_a_key_that_takes_all_does_not_round_what_later_keys_left():
    """Its ln(1 - b) is -1e4: a difference of sums would round the others to 1e-3."""
    s = np.float32([[0.3, 1e4, -0.4]])
    found, expected = (weights(stick_breaking, x) for x in (s, s.astype(float)))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
