"""The decoder as one operation equals its definition, gradients included.

The compiled decoder is compared with this one in ``kernels/test_decoder_kernel.py``.
"""

import numpy as np
import pytest

import minigrad as mg
from attention import kernels, scaled_dot
from attention.scores import tanh_scores
from attention.seq2seq.attention_gru import attention_gru
from attention.template import attend

# no two sizes equal: a lost transpose cannot pass
B, L, S, E, H, M, A = 3, 5, 7, 2, 11, 4, 13
LENGTHS = np.array([S, 3, 1])


@pytest.fixture(autouse=True)
def in_numpy():
    with kernels.backend("numpy"):
        yield


def inputs(kind):
    rng = np.random.default_rng(0)
    width = A if kind == "additive" else H
    shapes = {
        "x": (B, L, E), "s0": (B, H), "memory": (B, S, M), "keys": (B, S, width),
        "weight_ih": (3 * H, E + M), "weight_hh": (3 * H, H),
        "bias_ih": (3 * H,), "bias_hh": (3 * H,),
    }  # fmt: skip
    if kind == "additive":
        shapes |= {"W_q": (A, H), "w_v": (A,)}
    return {
        name: mg.Tensor(0.5 * rng.standard_normal(shape), requires_grad=True)
        for name, shape in shapes.items()
    }


def by_definition(
    x, s0, memory, keys, W_ih, W_hh, b_ih, b_hh, W_q=None, w_v=None,
    *, scale, lengths, n_steps,
):  # fmt: skip
    """The formulas step by step, with the arguments of ``attention_gru``."""

    def score(s, keys):
        if w_v is None:
            return scaled_dot(s, keys, scale)
        return tanh_scores(mg.linear(s, W_q), keys, w_v)

    s, states, contexts, weights = s0, [], [], []
    for t in range(x.shape[1]):
        c, p = attend(s[:, None], keys, memory, score, lengths=lengths)  # one query
        s = mg.gru_cell(mg.concat([x[:, t], c[:, 0]], -1), s, W_ih, W_hh, b_ih, b_hh)
        states.append(s)
        contexts.append(c)
        weights.append(p)
    outputs = mg.stack(states, 1), mg.concat(contexts, 1), mg.concat(weights, 1)
    if n_steps is None:
        return outputs
    padding = np.arange(L) >= n_steps[:, None]  # (B, L)
    return [mg.where(padding[..., None], 0.0, y) for y in outputs]


@pytest.mark.parametrize("used", ["all outputs", "the last state alone"])
@pytest.mark.parametrize("lengths, n_steps", [(None, None), (LENGTHS, [2, L, 0])])
@pytest.mark.parametrize("kind, scale", [("dot", 1.0), ("dot", 0.3), ("additive", 1.0)])
def test_it_equals_its_definition(kind, scale, lengths, n_steps, used):
    n_steps = n_steps and np.array(n_steps)
    results = []
    for function in attention_gru, by_definition:
        rng, tensors = np.random.default_rng(1), inputs(kind)
        outputs = function(
            *tensors.values(), scale=scale, lengths=lengths, n_steps=n_steps
        )
        # random cotangents: the weights sum to one, so ones would test nothing
        loss = (outputs[0][:, -1] * rng.standard_normal(H)).sum()
        if used == "all outputs":
            for y in outputs:
                loss = loss + (y * rng.standard_normal(y.shape)).sum()
        loss.backward()
        results.append((outputs, tensors))
    (outputs, tensors), (expected, small) = results
    for y, w in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(y.data, w.data, rtol=1e-12, atol=1e-14)
    for name, x in tensors.items():
        np.testing.assert_allclose(
            x.grad, small[name].grad, rtol=1e-10, atol=1e-12, err_msg=name
        )
        assert np.abs(x.grad).max() > 1e-3, f"{name} got next to nothing"


def test_masked_positions_have_no_influence():
    t = inputs("additive")
    noise = np.where((np.arange(S) < LENGTHS[:, None])[:, :, None], 0, 1e3)
    moved = {**t, "memory": mg.Tensor(t["memory"].data + noise),
             "keys": mg.Tensor(t["keys"].data + noise)}  # fmt: skip
    for y, w in zip(attention_gru(*t.values(), lengths=LENGTHS),
                    attention_gru(*moved.values(), lengths=LENGTHS)):  # fmt: skip
        np.testing.assert_allclose(y.data, w.data, rtol=1e-12, atol=1e-14)
