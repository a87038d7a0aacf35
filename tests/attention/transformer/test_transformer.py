"""The Transformer against its definition, finite differences, torch and its laws."""

import pathlib

import numpy as np
import pytest

import minigrad as mg
from attention.exact.torch_state import torch_state
from attention.seq2seq.decoding import greedy
from attention.transformer import (
    SCHEMES,
    Block,
    DecoderOnly,
    EncoderDecoder,
    EncoderDecoderConfig,
    TransformerConfig,
)
from attention.transformer.schemes import Scheme

from .transformer_definition import Definition

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "transformer.npz"
V, D, H, N, L = 7, 8, 2, 4, 9  # N: trained on so many tokens; L: and run on so many
close = dict(rtol=1e-10, atol=1e-10)  # of logits of order ten
NORMS = ("pre", "post")
BOTH = [(scheme, norm) for scheme in SCHEMES for norm in NORMS]
SMALL = dict(num_buckets=4, max_distance=5, base=50.0)


def model(positions="rope", norm="pre", kind=DecoderOnly, seed=0, **options):
    """A model in evaluation mode, of which no parameter is 0; ready for L tokens."""
    length = L if positions == "learned" else N
    options = dict(width=D, heads=H, hidden=12, max_length=length) | SMALL | options
    cls = TransformerConfig if kind is DecoderOnly else EncoderDecoderConfig
    rng = np.random.default_rng(seed)
    made = kind(cls(V, positions=positions, norm=norm, **options), rng)
    for parameter in made.parameters():
        parameter.data = rng.standard_normal(parameter.shape) / 2
    made.extend(L)
    return made.eval()


def draw(*shape, seed=1, high=V):
    return np.random.default_rng(seed).integers(0, high, shape)


# the definition


@pytest.mark.parametrize("positions, norm", BOTH)
def test_a_decoder_is_its_definition(positions, norm):
    m = model(positions, norm, key_heads=1, activation="silu")
    ids = draw(2, L)
    found = m(ids).data
    expected = Definition(m.config, m.state_dict(), L)
    for b in range(2):
        np.testing.assert_allclose(found[b], expected.decoder_only(ids[b]), **close)


@pytest.mark.parametrize("positions, norm", BOTH)
def test_an_encoder_and_a_decoder_are_their_definition(positions, norm):
    m = model(positions, norm, EncoderDecoder, decoder_layers=1, target_vocabulary=5)
    source, target, lengths = draw(2, L), draw(2, 6, high=5), [L, 4]
    found, weights = m(source, target, lengths, need_weights=True)
    assert [w.shape for w in weights] == [(2, H, 6, L)]
    expected = Definition(m.config, m.state_dict(), L)
    for b, n in enumerate(lengths):
        logits, seen = expected.encoder_decoder(source[b, :n], target[b])
        np.testing.assert_allclose(found[b].data, logits, **close)
        np.testing.assert_allclose(weights[0][b, ..., :n].data, seen[0], **close)
    assert not weights[0][1, ..., 4:].data.any()  # exactly 0
    np.testing.assert_array_equal(m(source, target, lengths).data, found.data)


@pytest.mark.parametrize(
    "options",
    [
        {"activation": "relu", "tied": False},
        {"activation": "gelu", "scale_embedding": False},
        {"activation": "swish", "bias": False, "layers": 1},
    ],
)
def test_the_choices_are_as_defined(options):
    m, ids = model("alibi", **options), draw(1, L)
    expected = Definition(m.config, m.state_dict()).decoder_only(ids[0])
    np.testing.assert_allclose(m(ids).data[0], expected, **close)


# gradients


@pytest.mark.parametrize("positions, norm", BOTH)
def test_gradients_of_a_decoder_are_slopes(positions, norm):
    m = model(positions, norm, width=4, heads=1, hidden=2, layers=1, bias=False)
    ids = np.array([[0, 1, 2, 3, 1]])
    assert mg.gradcheck_module(m, ids, np.array([4])).ok


def test_gradients_of_an_encoder_and_a_decoder_are_slopes():
    options = dict(width=4, heads=1, hidden=1, layers=1, bias=False)
    m = model("t5", "post", EncoderDecoder, **options)
    source, target = np.array([[0, 1, 2, 6], [3, 3, 5, 1]]), np.array([[4, 1], [2, 0]])
    assert mg.gradcheck_module(m, source, target, np.array([4, 2])).ok


@pytest.mark.parametrize("positions, norm", BOTH)
def test_and_along_directions_of_all_parameters_together(positions, norm):
    m, rng = model(positions, norm, EncoderDecoder), np.random.default_rng(8)
    source, target, lengths = draw(2, L), draw(2, 6, seed=2), [L, 4]
    g = rng.standard_normal((2, 6, V))
    m(source, target, lengths).backward(g)
    values = [p.data.copy() for p in m.parameters()]
    for _ in range(4):
        v = [rng.standard_normal(value.shape) for value in values]
        found = sum((p.grad * along).sum() for p, along in zip(m.parameters(), v))
        ends = []
        for h in (1e-6, -1e-6):
            for p, value, along in zip(m.parameters(), values, v):
                p.data = value + h * along
            with mg.no_grad():
                ends.append((m(source, target, lengths).data * g).sum())
        # of slopes of order 100: h^2 and eps / h leave 1e-9 of them each
        assert found == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6, abs=1e-5)
        assert abs(found) > 1e-2


def test_gradients_of_biases_are_slopes():
    m = model("alibi", layers=1, width=4, heads=1, hidden=2)
    unseen = ["decoder.blocks.0.self_attn.W_k.bias"]  # alike for all keys of a query
    assert mg.gradcheck_module(m, draw(1, 4), no_gradient=unseen).ok


# one token at a time


@pytest.mark.parametrize("positions, norm", BOTH)
def test_step_by_step_is_the_full_pass(positions, norm):
    m, ids = model(positions, norm, key_heads=1), draw(3, L)
    with mg.no_grad():
        full = m(ids).data
        state = m.start(ids[:, :0])
        assert state.logits is None
        for t in range(L):
            logits, state, weights = m.step(state, ids[:, t])
            np.testing.assert_allclose(logits.data, full[:, t], **close)
    assert weights is None and state.length == L


@pytest.mark.parametrize("positions", SCHEMES)
def test_prompts_of_several_lengths_go_on_as_if_alone(positions):
    m, ids, lengths = model(positions), draw(3, L), np.array([4, 1, 6])
    with mg.no_grad():
        full = m(ids).data
        prompts = np.where(np.arange(6) < lengths[:, None], ids[:, :6], V - 1)
        state = m.start(prompts, lengths)
        np.testing.assert_allclose(
            state.logits.data, full[np.arange(3), lengths - 1], **close
        )
        for t in range(3):
            at = lengths + t
            logits, state, _ = m.step(state, ids[np.arange(3), at])
            np.testing.assert_allclose(logits.data, full[np.arange(3), at], **close)


@pytest.mark.parametrize("positions", SCHEMES)
def test_an_encoder_is_read_once_and_then_stepped(positions):
    m = model(positions, "pre", EncoderDecoder)
    source, target, lengths = draw(3, L), draw(3, 6, seed=2), [L, 2, 5]
    with mg.no_grad():
        full, seen = m(source, target, lengths, need_weights=True)
        state = m.start(source, lengths)
        for t in range(6):
            logits, state, weights = m.step(state, target[:, t])
            np.testing.assert_allclose(logits.data, full[:, t].data, **close)
            mean = seen[-1].data.mean(1)[:, t]
            np.testing.assert_allclose(weights.data, mean, **close)


def test_a_prompt_may_be_empty_beside_others():
    m, ids = model("rope"), draw(2, 4)
    with mg.no_grad():
        state = m.start(ids, [0, 4])
        found = m.step(state, ids[:, 0])[0].data[0]
        np.testing.assert_allclose(found, m(ids[:1, :1]).data[0, 0], **close)
        assert np.isfinite(state.logits.data).all()


@pytest.mark.parametrize("kind", [DecoderOnly, EncoderDecoder])
def test_rows_that_are_selected_go_on(kind):
    m, source, target = model("t5", kind=kind), draw(3, 4), draw(3, 5, seed=2)
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


def test_gradients_pass_through_the_steps():
    m, ids = model("alibi"), draw(2, 3)
    g = np.random.default_rng(5).standard_normal((2, 3, V))
    m(ids).backward(g)
    expected = [p.grad for p in m.parameters()]
    m.zero_grad()
    state = m.start(ids[:, :0])
    mg.stack([m.step(state, ids[:, t])[0] for t in range(3)], 1).backward(g)
    for p, wanted in zip(m.parameters(), expected):
        np.testing.assert_allclose(p.grad, wanted, rtol=1e-8, atol=1e-8)


def test_both_models_can_be_decoded():
    source = draw(3, 4)
    for kind in (DecoderOnly, EncoderDecoder):
        m = model("sinusoidal", kind=kind)
        found = greedy(m, source, [4, 2, 3], 4)
        fed = np.concatenate([np.full((3, 1), 1), found.ids[:, :-1]], 1)
        with mg.no_grad():
            for b, n in enumerate([4, 2, 3]):
                if kind is DecoderOnly:
                    whole = np.concatenate([source[b, :n], fed[b]])
                    logits = m(whole[None]).data[0, n:]
                else:
                    logits = m(source[b : b + 1, :n], fed[b : b + 1]).data[0]
                logits[:, :2] = -np.inf  # PAD and SOS are never said
                said = found.lengths[b]
                assert (logits.argmax(-1) == found.ids[b])[:said].all()


# nothing leaks


@pytest.mark.parametrize("positions", SCHEMES)
def test_no_token_sees_a_later_one(positions):
    m, ids = model(positions), draw(1, L)
    for t in range(L):
        other = ids.copy()
        other[0, t] = (ids[0, t] + 1) % V
        same = (m(other).data == m(ids).data).all(-1)[0]
        assert same[:t].all() and not same[t:].all()


@pytest.mark.parametrize("positions", SCHEMES)
def test_no_token_sees_padding(positions):
    pad, lengths = 0, np.array([L, 3])
    ids = draw(2, L, high=V - 1) + 1
    real = np.arange(L) < lengths[:, None]
    ids = np.where(real, ids, pad)
    targets = draw(2, 4, seed=3, high=V - 1) + 1
    both = model(positions, kind=EncoderDecoder, target_vocabulary=V)
    alone = model(positions, tied=False)  # tied, the row of PAD makes a logit
    before = both(ids, targets, lengths).data, alone(ids, lengths).data
    for m, table in ((both, both.encoder), (alone, alone.decoder)):
        values = table.embedding.data.copy()
        values[pad] = 1e3
        table.embedding.data = values
    after = both(ids, targets, lengths).data, alone(ids, lengths).data
    np.testing.assert_array_equal(after[0], before[0])
    np.testing.assert_array_equal(after[1][real], before[1][real])
    assert (after[1][~real] != before[1][~real]).any()  # it was of consequence
    blind = alone(ids).data  # without lengths, padding sees padding, and no one else
    np.testing.assert_allclose(blind[real], after[1][real], **close)
    assert (abs(blind - after[1])[~real] > 1e-6).any(-1).all()


def test_a_source_of_no_token_is_no_nan():
    m = model("alibi", kind=EncoderDecoder)
    logits, weights = m(draw(2, 3), draw(2, 2), [0, 3], need_weights=True)
    assert np.isfinite(logits.data).all() and not weights[0][0].data.any()


# sizes, files, dropout


@pytest.mark.parametrize("positions, norm", BOTH)
def test_the_number_of_parameters_is_the_formula(positions, norm):
    F, layers, kv = 12, 2, 1 / 2
    of = {
        "learned": L * D,
        "t5": 4 * H,
        "shaw": (2 * 5 + 1) * D // H,
        "transformer-xl": D * D + 2 * D,
        "disentangled": 2 * 5 * D,
    }.get(positions, 0)
    last = 2 * D if norm == "pre" else 0
    block = (2 + 2 * kv) * (D * D + D) + 2 * D * F + F + D + 4 * D
    m = model(positions, norm, key_heads=1, tied=False)
    assert m.num_parameters() == 2 * V * D + layers * block + last + of
    m = model(positions, norm, EncoderDecoder, key_heads=1)
    cross = (2 + 2 * kv) * (D * D + D) + 2 * D
    expected = V * D + layers * (2 * block + cross) + 2 * (last + of)
    assert m.num_parameters() == expected


@pytest.mark.parametrize("kind", [DecoderOnly, EncoderDecoder])
@pytest.mark.parametrize("positions", ["t5", "learned", "rope"])
def test_a_file_brings_back_the_same_model(kind, positions, tmp_path):
    m = model(positions, kind=kind)
    path = tmp_path / "model.safetensors"
    state = {"config": m.config.to_dict(), "model": m.state_dict()}
    mg.checkpoint.save(path, state)
    state = mg.checkpoint.load(path)
    config = type(m.config).from_dict(state["config"])
    assert config == m.config
    other = kind(config, np.random.default_rng(9)).eval()
    for parameter in other.parameters():
        parameter.data = parameter.data.astype(float)
    other.load_state_dict(state["model"])
    inputs = (draw(2, 4),) if kind is DecoderOnly else (draw(2, 4), draw(2, 3))
    np.testing.assert_array_equal(other(*inputs).data, m(*inputs).data)


def test_a_generator_decides_all_that_is_drawn():
    config = TransformerConfig(V, width=D, heads=H, dropout=0.4)
    one, two, other = (
        DecoderOnly(config, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    ids = draw(2, L)
    a, b, c = (m(ids).data for m in (one, two, other))
    np.testing.assert_array_equal(a, b)
    assert (a != c).any() and a.dtype == np.float32
    assert (one(ids).data != a).any()  # drawn anew
    one.eval(), two.eval()
    np.testing.assert_array_equal(one(ids).data, two(ids).data)
    np.testing.assert_array_equal(one(ids).data, one(ids).data)


def test_dropout_acts_in_every_place():
    """Drop all: embeddings, what is added; then only the norms' biases are left."""
    m = DecoderOnly(TransformerConfig(V, width=D, heads=H, dropout=1.0))
    assert not m(draw(2, 3)).data.any()  # LN(0) is its bias, 0 at first
    places = [p for p in m.modules() if isinstance(p, mg.nn.Dropout)]
    assert len(places) == 1 + 2 * 2  # the input; of a block, its sums and its ffn
    assert all(b.self_attn.dropout == 1.0 for b in m.decoder.blocks)


def test_logits_begin_as_large_as_a_guess():
    for positions in ("t5", "rope"):
        c = TransformerConfig(50, width=64, positions=positions, tied=False)
        m = DecoderOnly(c, np.random.default_rng(0))
        assert 0.3 < m(draw(4, 20, high=50)).data.std() < 1.5
    W = [b.self_attn.W_q.weight.data.std() for b in m.decoder.blocks]
    t5 = DecoderOnly(TransformerConfig(50, width=64, positions="t5"))
    E = 64 // 4
    found = t5.decoder.blocks[0].self_attn.W_q.weight.data.std()
    assert found * E**0.5 == pytest.approx(W[0], rel=0.1)


# torch


TORCH = {
    f"{kind} {norm} {activation}": (kind, norm, activation)
    for kind in ("encoder", "decoder")
    for norm in NORMS
    for activation in ("relu", "gelu")
}
RECORDED = ["encoder pre gelu", "decoder post relu"]


def block(kind, norm, activation):
    rng = np.random.default_rng(4)
    c = TransformerConfig(
        V, width=D, heads=H, hidden=12, norm=norm, activation=activation
    )
    cross = kind == "decoder"
    made = Block(c, Scheme(), cross=cross, causal=cross, rng=rng)
    for p in made.parameters():
        p.data = rng.standard_normal(p.shape) / 2
    x, memory, g = (rng.standard_normal((2, n, D)) for n in (5, 4, 5))
    return made.eval(), x, memory, g


def ours(kind, made, x, memory, g):
    x, memory = (mg.Tensor(a, requires_grad=True) for a in (x, memory))
    given = (memory,) if kind == "decoder" else ()
    y, _ = made(x, *given, scheme=Scheme())
    y.backward(g)
    for p in made.parameters():  # gradients under torch's names
        p.data = p.grad
    found = torch_state(made)
    found |= {"y": y.data, "x": x.grad}
    return found | ({"memory": memory.grad} if given else {})


def peer(torch, kind, norm, activation, made, x, memory, g):
    cls = {
        "encoder": torch.nn.TransformerEncoderLayer,
        "decoder": torch.nn.TransformerDecoderLayer,
    }[kind]
    module = cls(
        D, H, 12, 0.0, activation, batch_first=True, norm_first=norm == "pre"
    ).double()
    state = torch_state(made)
    module.load_state_dict({n: torch.from_numpy(a) for n, a in state.items()})
    x, memory = (torch.tensor(a, requires_grad=True) for a in (x, memory))
    later = torch.ones(5, 5, dtype=torch.bool).triu(1)
    y = module(x) if kind == "encoder" else module(x, memory, tgt_mask=later)
    y.backward(torch.from_numpy(g))
    found = {n: p.grad.numpy() for n, p in module.named_parameters()}
    found |= {"y": y.detach().numpy(), "x": x.grad.numpy()}
    return found | ({"memory": memory.grad.numpy()} if kind == "decoder" else {})


def compare(found, expected):
    assert found.keys() == expected.keys()
    for name, wanted in expected.items():
        np.testing.assert_allclose(found[name], wanted, **close, err_msg=name)


@pytest.mark.parametrize("name", TORCH)
def test_a_block_is_equal_to_torch(name):
    torch = pytest.importorskip("torch")
    made, *arrays = block(*TORCH[name])
    expected = peer(torch, *TORCH[name], made, *arrays)
    compare(ours(TORCH[name][0], made, *arrays), expected)


@pytest.mark.parametrize("name", RECORDED)
def test_a_block_is_equal_to_what_torch_gave(name):
    made, *arrays = block(*TORCH[name])
    with np.load(GOLDEN) as file:
        state, inputs, expected = (
            {k.split("|")[2]: file[k] for k in file if k.startswith(f"{name}|{part}|")}
            for part in ("state", "in", "out")
        )
    made.load_state_dict(state)
    compare(ours(TORCH[name][0], made, **inputs), expected)


def record():
    """Write the golden file, from torch."""
    import torch

    kept = {"torch": np.array(torch.__version__)}
    for name in RECORDED:
        made, *arrays = block(*TORCH[name])
        kept |= {f"{name}|state|{n}": a for n, a in made.state_dict().items()}
        kept |= {f"{name}|in|{n}": a for n, a in zip(("x", "memory", "g"), arrays)}
        out = peer(torch, *TORCH[name], made, *arrays)
        kept |= {f"{name}|out|{n}": a for n, a in out.items()}
    np.savez_compressed(GOLDEN, **kept)
