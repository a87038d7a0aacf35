"""Fused and at once equal step by step in small operations, gradients included."""

import numpy as np
import pytest

import minigrad as mg
from attention import kernels
from attention.layers import (
    AdditiveAttention,
    Attention,
    FusedScore,
)
from attention.scores import dot
from attention.seq2seq.attention_gru import attention_gru
from attention.seq2seq.model import Seq2Seq
from attention.tasks.batch import PAD
from attention.variants.coverage import CoverageAttention
from attention.variants.luong import LuongAttention
from attention.variants.table import SCORES, Score
from minigrad import Tensor, nn
from minigrad.graph import reachable

from ..test_layers import thrice
from .seq2seq_cases import (
    LENGTHS,
    READ,
    SOURCE,
    SPREAD,
    TARGET,
    close,
    config,
    generator,
    model,
    stepwise,
)


def gradients(m, logits):
    m.zero_grad()
    logits.backward(generator(5).standard_normal(logits.shape) * READ[..., None])
    return {name: p.grad for name, p in m.named_parameters()}


@pytest.mark.parametrize("name", SPREAD)
def test_fused_and_at_once_equal_small_operations_step_by_step(name):
    m = model(name)
    out = m.forced(SOURCE, TARGET, LENGTHS)
    logits, weights = stepwise(m)
    ops = {n.op for n in reachable(logits._node)}
    assert "attention_gru" not in ops and ops & {"gru_cell", "lstm_cell"}
    np.testing.assert_allclose(out.logits.data[READ], logits.data[READ], **close)
    if weights is not None:
        np.testing.assert_allclose(out.weights.data[READ], weights[READ], **close)
    assert not (m.decoder.is_fused and out.weights.data[~READ].any())  # left out
    one, other = gradients(m, out.logits), gradients(m, logits)
    for key in one:
        assert other[key].any(), key
        np.testing.assert_allclose(one[key], other[key], **close, err_msg=key)


def test_padding_between_two_tokens_is_a_step_like_any_other():
    m, target = model("bahdanau"), TARGET.copy()
    target[0, 2] = PAD
    logits = m.forced(SOURCE, target, LENGTHS).logits
    expected, _ = stepwise(m, SOURCE, target)
    np.testing.assert_allclose(logits.data[0], expected.data[0], **close)


def test_no_steps_have_no_outputs_and_gradients_of_zero():
    m = model("bahdanau")
    out = m.forced(SOURCE, TARGET[:, :0], LENGTHS)
    assert out.logits.shape[1] == out.weights.shape[1] == 0
    out.logits.sum().backward()
    assert not m.encoder.embed.weight.grad.any()


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_steps_of_padding_have_no_influence_and_a_second_backward_adds_the_same(backend):
    pytest.importorskip("numba")
    rng, (B, L, E, H, S, M, A) = generator(7), (2, 3, 2, 4, 5, 3, 6)
    shapes = [(B, L, E), (B, H), (B, S, M), (B, S, A), (3 * H, E + M), (3 * H, H),
              (3 * H,), (3 * H,), (A, H), (A,)]  # fmt: skip
    arrays = [rng.standard_normal(shape) for shape in shapes]
    with kernels.backend(backend):
        found = []
        for padding in 0.0, np.nan:
            arrays[0][1, 2] = padding
            inputs = [Tensor(a, requires_grad=True) for a in arrays]
            y = mg.concat(attention_gru(*inputs, n_steps=np.array([3, 2])), -1).sum()
            y.backward(retain_graph=True)
            found.append([x.grad.copy() for x in inputs])
        y.backward()
    for x, one, other in zip(inputs, *found):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(x.grad, 2 * one, rtol=1e-12)


class Rescaled(Attention):
    """s_ij = q_i . (w * k_j), a score that attention_gru does not compute."""

    def __init__(self, size, rng=None):
        super().__init__(rng=rng)
        self.w = nn.Parameter(np.full(size, 0.5, np.float32))

    def score(self, queries, keys):
        return dot(queries * self.w, keys)


class Sharp(AdditiveAttention):
    def score_projected(self, queries, projected):
        return super().score_projected(queries, projected) * 3.0


class OtherForward(LuongAttention):
    def forward(self, queries, keys, values, lengths=None):
        return super().forward(queries * 3.0, keys, values, lengths)


def with_another(method):
    """Return what makes an additive layer with three times the results of a method."""
    kind = type("Mine", (thrice(method), AdditiveAttention), {})
    return lambda H, M, rng: kind(H, M, H, rng=rng)


NEW_SCORES = {
    "a new score": lambda H, M, rng: Rescaled(H, rng),
    "another score": with_another("score"),
    "another score of projected keys": with_another("score_projected"),
    "other keys": with_another("project"),
    "a subclass of a subclass": lambda H, M, rng: type("Again", (Sharp,), {})(
        H, M, H, rng=rng
    ),
    "another forward": lambda H, M, rng: OtherForward("concat", H, M, rng=rng),
    "dropout": lambda H, M, rng: AdditiveAttention(H, M, H, dropout=0.5, rng=rng),
}


@pytest.mark.parametrize("name", NEW_SCORES)
def test_a_score_that_is_not_fused_trains_with_its_own_formula(name, monkeypatch):
    row = Score(name, None, NEW_SCORES[name], "E, Dk")
    monkeypatch.setitem(SCORES, name, row)
    m = model(score=name)
    out, state = m.forced(SOURCE, TARGET, LENGTHS), m.start(SOURCE, LENGTHS)
    grads = gradients(m, out.logits)
    assert all(grad is not None and grad.any() for grad in grads.values())
    layer, query = m.decoder.order.attention, state.recurrent[0][:, None]
    layer(query, state.memory, state.memory, LENGTHS)
    np.testing.assert_allclose(
        out.weights.data[:, 0], layer.attention_weights.data[:, 0], **close
    )
    assert not m.decoder.is_fused


def test_a_subclass_with_the_same_score_is_fused():
    class Renamed(AdditiveAttention):
        def extra_repr(self):
            return "mine"

    class Scaled(Sharp):
        def fused_score(self, query_size):
            return FusedScore(self.W_q, self.w_v * 3.0)

    assert Renamed(3, 3, 3).fused_score(3) is not None
    assert Scaled(3, 3, 3).fused_score(3) is not None
    assert CoverageAttention(3, 3, 3).fused_score(3) is None


class OwnCell(nn.GRUCell):
    def forward(self, x, h):
        return super().forward(x, h) * 0.5


@pytest.mark.parametrize("name", ["luong", "luong-deep", "none"])
def test_an_own_cell_runs_with_its_own_formula(name):
    m = model(name)
    m.decoder.order.cell.layers[0].__class__ = OwnCell
    logits = m(SOURCE, TARGET, LENGTHS)
    expected, _ = stepwise(m)
    np.testing.assert_allclose(logits.data[READ], expected.data[READ], **close)
    one, other = gradients(m, logits), gradients(m, expected)
    for key in one:
        np.testing.assert_allclose(one[key], other[key], **close, err_msg=key)


def test_which_configs_are_one_operation():
    fused = {name for name in SPREAD if model(name).decoder.is_fused}
    assert fused == {
        "bahdanau-additive", "bahdanau-dot", "bahdanau-scaled", "bahdanau-general",
        "bahdanau", "bahdanau-concat", "bahdanau-general-two-sides",
        "bahdanau-concat-two-sides", "bahdanau-zero", "padding-read",
    }  # fmt: skip
    for name in SPREAD:
        m = model(name)
        ops = [n.op for n in reachable(m(SOURCE, TARGET, LENGTHS)._node)]
        assert ("attention_gru" in ops) == (name in fused), name
        decoder_steps = ops.count("gru_cell") + ops.count("lstm_cell")
        fed = m.config.attention == "bahdanau" or m.config.input_feeding
        in_order = (fed or m.config.coverage) and name not in fused
        L = TARGET.shape[1]
        assert decoder_steps == (m.config.layers * L if in_order else 0), name


def test_a_step_does_not_change_its_state():
    for name in SPREAD:
        m = model(name)
        state = m.start(SOURCE, LENGTHS)
        one = m.step(state, TARGET[:, 0])[0].data
        np.testing.assert_allclose(m.step(state, TARGET[:, 0])[0].data, one, **close)


def test_float32_stays_float32():
    for name in SPREAD:
        m = Seq2Seq(config(**SPREAD[name]), generator())
        out = m.forced(SOURCE, TARGET, LENGTHS)
        assert {x.dtype for x in out if x is not None} == {np.dtype("float32")}, name
