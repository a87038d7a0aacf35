"""The Transformer equals its definition; its gradients are right."""

import numpy as np
import pytest

import minigrad as mg
from attention.transformer import DecoderOnly, EncoderDecoder, TransformerConfig
from attention.variants.table import POSITIONS, evaluations_of

from .transformer_cases import (
    CHOICES, GRID, KINDS, NORMS, D, H, L, V, close, draw, model,
)  # fmt: skip
from .transformer_definition import Definition

# the definition: it reads no later token and no padding


@pytest.mark.parametrize("options", [
    *({"positions": name, "norm": norm, "key_heads": 1} for name, norm in GRID),
    {"activation": "relu", "tied": False},
    {"activation": "gelu", "bias": False, "layers": 1},
    {"norm": "post", "final_norm": True},
    {"norm": "pre", "final_norm": False},
    {"norm": "post", "norm_kind": "rms", "feed_forward": "gated", "eps": 0.1},
    {"eps": 0.1, "bias": "qkv"},
    *({"positions": name, "head_width": 6} for name in POSITIONS),
    *KINDS,
], ids=str)  # fmt: skip
def test_a_decoder_is_its_definition(options):
    m, ids, lengths = model(**{"positions": "alibi"} | options), draw(2, L), [L, 4]
    found = m(ids, lengths).data
    expected = Definition(m.config, m.state_dict(), L)
    for b, n in enumerate(lengths):
        logits = expected.decoder_only(ids[b, :n])
        np.testing.assert_allclose(found[b, :n], logits, **close)
    np.testing.assert_allclose(m(ids).data[0], found[0], **close)
    has_norm = any("final_norm" in name for name in m.state_dict())
    assert has_norm == m.config.ends_with_norm


@pytest.mark.parametrize("positions, norm", GRID)
def test_an_encoder_and_a_decoder_are_their_definition(positions, norm):
    m = model(positions, norm, EncoderDecoder, decoder_layers=1, target_vocabulary=5)
    source, target, lengths = draw(2, L), draw(2, 6, high=5), [L, 4]
    found, weights = m(source, target, lengths, need_weights=True)
    assert [w.shape for w in weights] == [(2, H, 6, L)]
    expected = Definition(m.config, m.state_dict(), L)
    for b, n in enumerate(lengths):
        logits, p = expected.encoder_decoder(source[b, :n], target[b])
        np.testing.assert_allclose(found[b].data, logits, **close)
        np.testing.assert_allclose(weights[0][b, ..., :n].data, p[0], **close)
    assert not weights[0][1, ..., 4:].data.any()  # exactly 0
    np.testing.assert_allclose(m(source, target, lengths).data, found.data, **close)


# gradients


@pytest.mark.parametrize("positions, norm, kind, options", [
    *((*each, EncoderDecoder, {}) for each in GRID),
    *(("none", "pre", DecoderOnly, options) for options in KINDS[:-1]),
    ("rope", "pre", DecoderOnly, KINDS[-1]),
], ids=str)  # fmt: skip
def test_gradients_along_directions_of_all_parameters(positions, norm, kind, options):
    options = {"positions": positions, "norm": norm, "kind": kind} | options
    m, rng = model(**options), np.random.default_rng(8)
    inputs = [draw(2, L), *[draw(2, 6, seed=2)] * (kind is EncoderDecoder), [L, 4]]
    y = m(*inputs)
    g = rng.standard_normal(y.shape)
    y.backward(g)
    values = [p.data.copy() for p in m.parameters()]
    for _ in range(2):
        v = [rng.standard_normal(value.shape) for value in values]
        found = sum((p.grad * along).sum() for p, along in zip(m.parameters(), v))
        ends = []
        for h in (1e-6, -1e-6):
            for p, value, along in zip(m.parameters(), values, v):
                p.data = value + h * along
            with mg.no_grad():
                ends.append((m(*inputs).data * g).sum())
        # slopes have size 100: h^2 and eps / h leave 1e-9 of them each
        assert found == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6, abs=1e-5)
        assert abs(found) > 1e-2


# one token at a time


@pytest.mark.parametrize("options", CHOICES, ids=str)
def test_step_by_step_is_the_full_pass(options):
    """In values and gradients."""
    m, ids, outcomes = model(**options), draw(2, L), []
    g = np.random.default_rng(5).standard_normal((2, L, V))
    state = m.start(ids[:, :0])
    assert state.logits is None
    steps = [m.step(state, ids[:, t]) for t in range(L)]
    assert steps[-1][2] is None and state.length == L
    for logits in m(ids), mg.stack([logits for logits, *_ in steps], 1):
        m.zero_grad()
        logits.backward(g)
        outcomes.append([logits.data, *(p.grad for p in m.parameters())])
    for found, expected in zip(*outcomes, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("options", CHOICES, ids=str)
def test_prompts_of_several_lengths_continue_as_if_alone(options):
    """A prompt may be empty, beside others."""
    m, ids, lengths = model(**options), draw(3, L), np.array([4, 0, 6])
    with mg.no_grad():
        full = m(ids).data
        prompts = np.where(np.arange(6) < lengths[:, None], ids[:, :6], V - 1)
        state = m.start(prompts, lengths)
        found, expected = state.logits.data, full[np.arange(3), lengths - 1]
        np.testing.assert_allclose(found[[0, 2]], expected[[0, 2]], **close)
        assert np.isfinite(found).all()
        for t in range(3):
            last = lengths + t
            logits, state, _ = m.step(state, ids[np.arange(3), last])
            np.testing.assert_allclose(logits.data, full[np.arange(3), last], **close)


@pytest.mark.parametrize("positions", POSITIONS)
def test_a_source_is_encoded_once_and_the_target_stepped(positions):
    m = model(positions, "pre", EncoderDecoder)
    source, target, lengths = draw(3, L), draw(3, 6, seed=2), [L, 2, 5]
    with mg.no_grad():
        full, p = m(source, target, lengths, need_weights=True)
        state = m.start(source, lengths)
        for t in range(6):
            logits, state, weights = m.step(state, target[:, t])
            np.testing.assert_allclose(logits.data, full[:, t].data, **close)
            np.testing.assert_allclose(weights.data, p[-1].data.mean(1)[:, t], **close)


@pytest.mark.parametrize("options", [
    {"positions": "t5"}, {"positions": "t5", "kind": EncoderDecoder}, *KINDS
], ids=str)  # fmt: skip
def test_selected_rows_continue(options):
    m, source, target = model(**options), draw(3, 4), draw(3, 5, seed=2)
    rows, lengths = np.array([2, 0, 0, 2]), np.array([4, 3, 2])
    with mg.no_grad():
        state = m.start(source, lengths)
        alone = m.start(source[rows], lengths[rows])
        m.step(state, target[:, 0]), m.step(alone, target[rows, 0])
        assert state.select(rows) is state and len(state) == 4
        for t in (1, 2):
            found = m.step(state, target[rows, t])[0]
            expected = m.step(alone, target[rows, t])[0]
            np.testing.assert_allclose(found.data, expected.data, **close)


# empty sources and batches


def test_an_empty_source_has_no_nan():
    m = model("alibi", kind=EncoderDecoder)
    logits, weights = m(draw(2, 3), draw(2, 2), [0, 3], need_weights=True)
    assert np.isfinite(logits.data).all() and not weights[0][0].data.any()


# sizes, files, dropout


@pytest.mark.parametrize("positions", POSITIONS)
def test_a_scheme_changes_what_its_row_of_the_table_says(positions):
    decoder, x = model(positions).decoder, np.zeros((1, L, D))
    found = ["input"] if decoder.scheme.embed(x, np.arange(L)) is not x else []
    for option in decoder.scheme.options(decoder.blocks[0].self_attn):
        found.append("queries and keys" if option == "rotate" else "scores")
    assert found == [c for c in [POSITIONS[positions].scheme.changes] if c != "nothing"]


@pytest.mark.parametrize("kind", [DecoderOnly, EncoderDecoder])
@pytest.mark.parametrize("positions", ["t5", "learned", "rope"])
def test_a_file_restores_the_model(kind, positions, tmp_path):
    m = model(positions, kind=kind, bias=False, tied=False)
    path = tmp_path / "model.safetensors"
    mg.checkpoint.save(path, {"config": m.config.to_dict(), "model": m.state_dict()})
    state = mg.checkpoint.load(path)
    config = type(m.config).from_dict(state["config"])
    assert config == m.config
    other = kind(config, np.random.default_rng(9)).eval()
    for parameter in other.parameters():
        parameter.data = parameter.data.astype(float)
    other.load_state_dict(state["model"])
    inputs = (draw(2, 4),) if kind is DecoderOnly else (draw(2, 4), draw(2, 3))
    np.testing.assert_array_equal(other(*inputs).data, m(*inputs).data)


def test_the_generator_decides_parameters_and_dropout():
    config = TransformerConfig(V, width=D, heads=H, dropout=0.4)
    one, two, other = (
        DecoderOnly(config, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    ids = draw(2, L)
    a, b, c = (m(ids).data for m in (one, two, other))
    np.testing.assert_array_equal(a, b)
    assert (a != c).any() and a.dtype == np.float32
    assert (one(ids).data != a).any()  # a new draw
    one.eval(), two.eval()
    np.testing.assert_array_equal(one(ids).data, two(ids).data)


def test_dropout_acts_in_every_place():
    m = DecoderOnly(TransformerConfig(V, width=D, heads=H, dropout=1.0))
    assert not m(draw(2, 3)).data.any()  # LN(0) is its bias, which starts at 0
    layers = [p for p in m.modules() if isinstance(p, mg.nn.Dropout)]
    assert len(layers) == 1 + 2 * 2  # the input; in each block, the sums and the ffn
    assert all(b.self_attn.dropout == 1.0 for b in m.decoder.blocks)


def test_logits_start_with_size_one():
    W = {}
    for positions in ("t5", "rope"):
        c = TransformerConfig(50, width=64, positions=positions, tied=False)
        m = DecoderOnly(c, np.random.default_rng(0))
        assert 0.3 < m(draw(4, 20, high=50)).data.std() < 1.5
        W[positions] = m.decoder.blocks[0].self_attn.W_q.weight.data.std()
    E = 64 // 4
    assert W["t5"] * E**0.5 == pytest.approx(W["rope"], rel=0.1)


@pytest.mark.parametrize("positions", evaluations_of("rope")[1:])
def test_scaled_rotations_change_long_sequences_only(positions):
    m, plain = model(positions), model("rope")
    long, short = draw(1, L), draw(1, 3)
    assert abs(m(long).data - plain(long).data).max() > 1e-6
    m.extend(2)  # shorter than in training: no scaling
    np.testing.assert_allclose(m(short).data, plain(short).data, **close)


@pytest.mark.parametrize("norm", NORMS)
def test_a_model_prints_its_choices(norm):
    assert f"{norm}-norm, causal" in repr(model(norm=norm))
    assert "'gelu'" in repr(model())
