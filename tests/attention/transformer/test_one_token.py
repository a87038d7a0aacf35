"""One token on arrays: the same logits and caches as with tensors."""

import json

import numpy as np
import pytest

from attention.transformer import one_token
from attention.variants.table import POSITIONS
from minigrad import nn, no_grad

from .transformer_cases import CHOICES, D, close, draw, model

FIT = [  # choices whose steps are on arrays
    {},
    {"positions": "learned"},
    {"positions": "none", "bias": "qkv", "activation": "gelu_tanh"},
    {"positions": "rope+yarn", "tied": False},
    {"attention": "qk-norm", "key_heads": 1, "head_width": 6},
    {"attention": "window", "window": 3},
    {"norm_kind": "rms", "feed_forward": "gated", "activation": "silu", "bias": False},
]


def steps(m, on_arrays, monkeypatch):
    """Return the logits of four steps, keys and values, and which were on arrays."""
    fits, found = one_token.fits, []

    def chosen(model, state):
        found.append(on_arrays and fits(model, state))
        return found[-1]

    monkeypatch.setattr(one_token, "fits", chosen)
    ids = draw(3, 8)
    with no_grad():
        state = m.start(ids[:, :4])
        logits = [m.step(state, ids[:, t])[0].data for t in range(4, 8)]
    monkeypatch.undo()
    kept = [(c.key.data, c.value.data) for c in state.caches if hasattr(c, "key")]
    return logits, kept, found


@pytest.mark.parametrize("choice", FIT + CHOICES, ids=json.dumps)
def test_a_step_on_arrays_is_a_step(choice, monkeypatch):
    m = model(**choice)
    logits, kept, found = steps(m, True, monkeypatch)
    expected, expected_kept, _ = steps(m, False, monkeypatch)
    np.testing.assert_allclose(logits, expected, **close)
    for arrays in zip(kept, expected_kept):
        for a, b in zip(*arrays):
            np.testing.assert_allclose(a, b, **close)
    assert choice not in FIT or all(found)


def test_steps_that_need_tensors(monkeypatch):
    def found(m, ids, lengths=None):
        state = m.start(ids, lengths)
        return one_token.fits(m, state)

    m, ids = model(), draw(2, 4)
    assert not found(m, ids)  # recording
    with no_grad():
        assert found(m, ids)
        assert not found(m, ids, np.array([4, 2]))  # padding
        assert not found(model(norm="post"), ids)
        assert not found(model().train(), ids)
        m.decoder.blocks[1].feed_forward = nn.Linear(D, D)
        assert not found(m, ids)


def test_every_scheme_says_what_it_changes():
    known = (*one_token.CHANGES, "scores")
    assert {POSITIONS[name].scheme.changes for name in POSITIONS} <= set(known)
