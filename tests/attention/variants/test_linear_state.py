"""A decoder's state gives, step by step, what linear attention gives at once."""

import warnings

import numpy as np
import pytest

import minigrad as mg
from attention.variants.linear import LinearAttentionState, linear_attention
from minigrad import Tensor

from ..kernels.kernel_cases import BACKENDS, running
from .linear_cases import B, E, Ev, H, close, example, run


@pytest.fixture(params=BACKENDS)
def backend(request):
    with running(request.param):
        yield request.param


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("prompt", [0, 1, 9])
def test_step_by_step_is_all_at_once(backend, prompt, dtype):
    q, k, v, _ = example(True, 70, dtype=dtype)
    whole = linear_attention(q, k, v, True).data
    state = LinearAttentionState()
    if prompt:
        state.extend(k[..., :prompt, :], v[..., :prompt, :])
    for t in range(prompt, 70):
        o = state.step(*(x[..., t, :] for x in (q, k, v)))
        assert o.dtype == dtype and o.shape == (B, H, Ev)
        close([o.data], [whole[..., t, :]], roundings=100)
    assert state.S.shape == (B, H, E, Ev) and state.z.shape == (B, H, E)
    assert state.length == 70
    assert repr(state) == "LinearAttentionState(S=(2, 3, 4, 6), length=70)"


def test_a_prompt_with_padding_and_other_features():
    q, k, v, _ = example(True, 9)
    keep = np.arange(9) < np.array([5, 9]).reshape(2, 1, 1)  # (B, 1, 9)
    options = {"feature_map": mg.softplus, "eps": 0.1}
    whole = linear_attention(q, k, v, True, key_mask=keep, **options).data
    k, v = (np.where(keep[..., None], x, np.nan) for x in (k, v))
    state = LinearAttentionState(**options)
    state.extend(k[..., :8, :], v[..., :8, :], keep[..., :8])
    k[0, :, 8] = v[0, :, 8] = -900.0  # far below 0: softplus gives nothing
    o = state.step(*(x[..., 8, :] for x in (q, k, v)))
    close([o.data], [whole[..., 8, :]])


def test_a_state_without_anything_in_it_answers_0():
    state = LinearAttentionState(feature_map=mg.relu, eps=0)
    assert repr(state) == "LinearAttentionState(empty, length=0)"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (state.step(np.ones(3), -np.ones(3), np.ones(2)).data == 0).all()


def test_gradients_through_the_state():
    *arrays, g = example(True, 9, ())
    expected = run(*arrays, g, True)
    leaves = [Tensor(x, requires_grad=True) for x in arrays]
    state = LinearAttentionState()
    o = mg.stack([state.step(*(x[t] for x in leaves)) for t in range(9)])
    o.backward(g)
    close([o.data, *(x.grad for x in leaves)], expected)
