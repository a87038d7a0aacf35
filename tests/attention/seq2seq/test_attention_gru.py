"""The fused decoder equals its composition of small steps, gradients included."""

import numpy as np
import pytest

import minigrad as mg
from attention.attend import attend
from attention.scores import additive_core
from attention.seq2seq.attention_gru import attention_gru

B, L, S, E, H, M, A = (
    3,
    5,
    7,
    2,
    11,
    4,
    13,
)  # no two equal: a lost transpose cannot pass


def inputs(kind, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    width = A if kind == "additive" else H
    shapes = {
        "x": (B, L, E), "s0": (B, H), "memory": (B, S, M), "keys": (B, S, width),
        "weight_ih": (3 * H, E + M), "weight_hh": (3 * H, H),
        "bias_ih": (3 * H,), "bias_hh": (3 * H,),
    }  # fmt: skip
    if kind == "additive":
        shapes |= {"W_q": (A, H), "w_v": (A,)}
    return {
        name: mg.Tensor((0.5 * rng.standard_normal(shape)).astype(dtype), True)
        for name, shape in shapes.items()
    }


def composed(t, lengths, scale):
    """One step after the other, each from small operations."""
    s, states, contexts, weights = t["s0"], [], [], []
    for i in range(L):
        if "w_v" in t:
            q = mg.linear(s, t["W_q"]).reshape(B, 1, A)

            def score(q, k):
                return additive_core(q, k, t["w_v"])

        else:
            q = s.reshape(B, 1, H)

            def score(q, k):
                return (q @ k.swapaxes(1, 2)) * scale

        c, a = attend(q, t["keys"], t["memory"], score=score, valid_lens=lengths)
        x = mg.concat([t["x"][:, i], c[:, 0]], axis=-1)
        ax = mg.linear(x, t["weight_ih"], t["bias_ih"])
        ah = mg.linear(s, t["weight_hh"], t["bias_hh"])
        r = mg.sigmoid(ax[:, :H] + ah[:, :H])
        z = mg.sigmoid(ax[:, H : 2 * H] + ah[:, H : 2 * H])
        n = mg.tanh(ax[:, 2 * H :] + r * ah[:, 2 * H :])
        s = (1 - z) * n + z * s
        states.append(s)
        contexts.append(c[:, 0])
        weights.append(a[:, 0])
    return tuple(mg.stack(each, axis=1) for each in (states, contexts, weights))


LENGTHS = np.array([S, 3, 1])


@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize("kind, scale", [("dot", 1.0), ("dot", 0.3), ("additive", 1.0)])
def test_it_equals_the_composition(kind, scale, lengths):
    rng = np.random.default_rng(1)
    fused, small = inputs(kind), inputs(kind)
    out = attention_gru(*fused.values(), scale=scale, lengths=lengths)
    want = composed(small, lengths, scale)
    loss, want_loss = 0, 0
    for y, w in zip(out, want):
        np.testing.assert_allclose(y.data, w.data, rtol=1e-12, atol=1e-14)
        cotangent = rng.standard_normal(y.shape)  # never ones: weights sum to one
        loss, want_loss = (
            loss + (y * cotangent).sum(),
            want_loss + (w * cotangent).sum(),
        )
    loss.backward()
    want_loss.backward()
    for name in fused:
        np.testing.assert_allclose(
            fused[name].grad, small[name].grad, rtol=1e-10, atol=1e-12, err_msg=name
        )
        assert np.abs(fused[name].grad).max() > 1e-3, f"{name} got next to nothing"


@pytest.mark.parametrize("kind", ["dot", "additive"])
def test_gradients_against_finite_differences(kind):
    tensors = inputs(kind, seed=3)
    check = mg.gradcheck(
        lambda *t: attention_gru(*t, scale=0.7, lengths=LENGTHS),
        [t.data for t in tensors.values()],
    )
    assert check.ok, check.message


def test_what_is_masked_has_no_influence():
    t = inputs("additive")
    noise = np.where((np.arange(S) < LENGTHS[:, None])[:, :, None], 0, 1e3)
    moved = {**t, "memory": mg.Tensor(t["memory"].data + noise),
             "keys": mg.Tensor(t["keys"].data + noise)}  # fmt: skip
    for y, w in zip(attention_gru(*t.values(), lengths=LENGTHS),
                    attention_gru(*moved.values(), lengths=LENGTHS)):  # fmt: skip
        assert (y.data == w.data).all()


def test_only_some_outputs_used():
    t = inputs("dot")
    states, _, _ = attention_gru(*t.values())
    (states[:, -1] * np.arange(1.0, H + 1)).sum().backward()
    want = inputs("dot")
    (composed(want, None, 1.0)[0][:, -1] * np.arange(1.0, H + 1)).sum().backward()
    for name in t:
        np.testing.assert_allclose(
            t[name].grad, want[name].grad, rtol=1e-10, atol=1e-13
        )


@pytest.mark.parametrize("kind", ["dot", "additive"])
def test_float32_stays_float32(kind):
    t = inputs(kind, dtype=np.float32)
    exact = attention_gru(*inputs(kind).values())
    for y, w in zip(attention_gru(*t.values()), exact):
        assert y.dtype == np.float32
        # a few hundred roundings of 6e-8 each, on values of order one
        np.testing.assert_allclose(y.data, w.data, rtol=1e-4, atol=1e-5)
