"""Heads with a state, and latent keys: what only they have."""

import numpy as np
import pytest

import minigrad as mg
from attention.variants.recurrent_heads import RECURRENT, RecurrentHeads, StateCache

from ...minigrad.array_cases import draw as normal
from .transformer_cases import D, H, L, draw, model

every = pytest.mark.parametrize("kind", RECURRENT)


@every
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("tokens", [slice(0, 3), slice(2, 5)])
def test_padding_of_heads_with_a_state_may_be_nan(kind, tokens):
    """On the right or on the left: neither outputs nor gradients see it."""
    layer = RecurrentHeads(8, 2, kind, rng=np.random.default_rng(0))
    (x,) = normal((5, 8))
    mask, outcomes = np.zeros((1, 1, 1, 5), bool), []
    mask[..., tokens] = True
    padded = np.where(mask[0, 0, 0, :, None], x, np.nan)
    for y, m in (padded, mask), (x[tokens], None):
        o = layer(y[None].astype(np.float32), m)
        layer.zero_grad()
        (o[:, tokens] if m is not None else o).sum().backward()
        outcomes.append([o.data[:, tokens] if m is not None else o.data])
        outcomes[-1] += [p.grad for p in layer.parameters()]
    for found, expected in zip(*outcomes, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@every
def test_a_state_has_as_many_numbers_after_9_tokens_as_after_one(kind):
    m, ids = model("none", attention=kind), draw(3, L)
    with mg.no_grad():
        state = m.start(ids[:, :0])
        for t in range(L):
            m.step(state, ids[:, t])
            sizes = {cache.state.shape for cache in state.caches}
            assert sizes == {(3, H, D // H, D // H)}
    assert StateCache().select([0]) is None  # no tokens yet


def test_little_is_forgotten_at_first():
    layer = RecurrentHeads(D, H, "decay")
    assert (layer.W_a.bias.data == 3).all() and 1 / (1 + np.exp(-3)) > 0.95
    assert "'decay', heads=2" in repr(layer)
