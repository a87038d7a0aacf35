"""The recurrent encoder-decoder: every config against a loop, and against itself."""

import itertools

import numpy as np
import pytest

import minigrad as mg
from attention.coverage import coverage_loss
from attention.seq2seq.cells import Cells
from attention.seq2seq.config import Seq2SeqConfig
from attention.seq2seq.decoder import Decoder
from attention.seq2seq.model import Seq2Seq
from attention.seq2seq.reverser import KINDS, Reverser
from attention.steps import BahdanauStep, LuongStep
from attention.tasks.reversal import random_batch
from minigrad import Tensor, checkpoint
from minigrad.graph import reachable

E, H = 2, 3  # no two sizes alike: a lost transpose shows
SOURCE = np.array([[3, 4, 5, 6, 3], [4, 3, 0, 0, 0], [6, 6, 5, 4, 0]])
LENGTHS = np.array([5, 2, 4])
TARGET = np.array([[1, 5, 4, 3], [1, 3, 2, 0], [1, 4, 4, 5]])
close = dict(rtol=1e-9, atol=1e-11)

SPREAD = {
    "bahdanau": dict(),
    "bahdanau-dot": dict(score="dot"),
    "bahdanau-scaled": dict(score="scaled", decoder_init="zero"),
    "bahdanau-general-two-sides": dict(score="general", bidirectional=True),
    "bahdanau-concat": dict(score="concat", bidirectional=True),
    "bahdanau-lstm": dict(cell="lstm", score="general"),
    "bahdanau-lstm-deep": dict(cell="lstm", layers=2, bidirectional=True),
    "bahdanau-deep": dict(layers=3, score="dot"),
    "bahdanau-coverage": dict(coverage=True, bidirectional=True),
    "bahdanau-local-m": dict(score="concat", local="m", window=1),
    "bahdanau-local-p": dict(cell="lstm", local="p", window=2),
    "luong": dict(attention="luong", score="general"),
    "luong-lstm-two-sides": dict(attention="luong", cell="lstm", bidirectional=True),
    "luong-deep": dict(attention="luong", layers=2, score="scaled"),
    "luong-local-m": dict(attention="luong", score="dot", local="m", window=0),
    "luong-local-p": dict(attention="luong", score="general", local="p", window=1),
    "luong-coverage": dict(attention="luong", coverage=True, cell="lstm"),
    "luong-fed": dict(attention="luong", score="concat", input_feeding=True),
    "luong-fed-lstm-deep": dict(
        attention="luong", score="general", input_feeding=True, cell="lstm", layers=2,
        bidirectional=True,
    ),
    "luong-fed-coverage": dict(attention="luong", coverage=True, input_feeding=True),
    "luong-fed-local-p": dict(
        attention="luong", local="p", window=1, input_feeding=True
    ),
    "none": dict(attention="none"),
    "none-lstm-deep": dict(
        attention="none", cell="lstm", layers=2, bidirectional=True
    ),
    "none-two-sides": dict(attention="none", bidirectional=True),
    "padding-read": dict(mask_padding=False),
}  # fmt: skip


def config(**options):
    return Seq2SeqConfig(7, 6, **(dict(embedding=E, hidden=H) | options))


def model(name=None, dtype=np.float64, seed=0, **options):
    m = Seq2Seq(config(**(SPREAD[name] if name else {}) | options), generator(seed))
    rng = generator(seed + 1)
    for parameter in m.parameters():
        # more than the layers draw, and w_c not 0: what is left out must show
        parameter.data = rng.standard_normal(parameter.shape).astype(dtype)
    return m


def generator(seed=0):
    return np.random.default_rng(seed)


def stepwise(m, source=SOURCE, target=TARGET, lengths=LENGTHS):
    """logits (B, L, V) and weights of all steps, one call each."""
    state, steps = m.start(source, lengths), []
    for tokens in target.T:
        logits, state, weights = m.step(state, tokens)
        steps.append((logits, weights))
    logits, weights = zip(*steps)
    weights = None if weights[0] is None else np.stack([w.data for w in weights], 1)
    return mg.stack(list(logits), 1), weights


# The definition: one example, one step, one source position at a time


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def cell_by_hand(kind, x, state, W, U, b, d):
    h = state[0]
    if kind == "gru":
        ar, az, an = np.split(W @ x + b, 3)
        hr, hz, hn = np.split(U @ h + d, 3)
        z = sigmoid(az + hz)
        return [(1 - z) * np.tanh(an + sigmoid(ar + hr) * hn) + z * h]
    i, f, g, o = np.split(W @ x + b + U @ h + d, 4)
    c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
    return [sigmoid(o) * np.tanh(c), c]


def encode_by_hand(p, c, x):
    """The memory of one sentence, and the last states of each layer."""
    last = []
    for layer in range(c.layers):
        sides, finals = [], []
        for end in ["", "_reverse"][: 2 if c.bidirectional else 1]:
            name = f"encoder.rnn.{{}}_l{layer}{end}"
            w = [p[name.format(n)] for n in
                 ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]  # fmt: skip
            state, out = [np.zeros(c.hidden)] * (2 if c.cell == "lstm" else 1), {}
            order = range(len(x))
            for j in reversed(order) if end else order:
                state = cell_by_hand(c.cell, x[j], state, *w)
                out[j] = state[0]
            sides.append(out)
            finals.append(state)
        x = [np.concatenate([side[j] for side in sides]) for j in range(len(x))]
        last.append([np.concatenate(each) for each in zip(*finals)])
    return x, last


def attend_by_hand(p, c, q, memory, t, covered):
    """context and weights of one query over the h_j."""
    name, S = "decoder.order.attention.", len(memory)
    inner = name + ("score." if c.local else "")
    scores, centre = np.empty(S), t
    for j, h in enumerate(memory):
        if c.score == "additive":
            a = p[inner + "W_q"] @ q + p[inner + "W_k"] @ h
            if c.coverage:
                a = a + covered[j] * p[inner + "w_c"]
            scores[j] = p[inner + "w_v"] @ np.tanh(a)
        elif c.score == "concat":
            a = np.tanh(p[inner + "W_a"] @ np.concatenate([q, h]))
            scores[j] = p[inner + "v_a"] @ a
        elif c.score == "general":
            scores[j] = q @ p[inner + "W_a"] @ h
        else:
            scores[j] = q @ h / (np.sqrt(len(q)) if c.score == "scaled" else 1)
    if c.local == "p":
        centre = S * sigmoid(p[name + "v_p"] @ np.tanh(p[name + "W_p"] @ q))
    j = np.arange(S)
    allowed = np.ones(S, bool) if c.local is None else abs(j - centre) <= c.window
    a = np.where(allowed, np.exp(scores), 0)
    a = a / a.sum() if allowed.any() else a
    if c.local == "p":
        a = a * np.exp(-((j - centre) ** 2) / (2 * (c.window / 2) ** 2))
    return sum(a[j] * memory[j] for j in range(S)), a


def by_hand(m, source, target, lengths):
    """logits (B, L, V), weights (B, L, S), coverages (B, L, S)."""
    p, c = m.state_dict(), m.config
    each = 2 if c.cell == "lstm" else 1
    (B, S), L = source.shape, target.shape[1]
    logits = np.empty((B, L, c.target_vocabulary))
    weights, coverages = np.zeros((B, L, S)), np.zeros((B, L, S))
    for b in range(B):
        n = lengths[b] if c.mask_padding else S
        memory, last = encode_by_hand(p, c, p["encoder.embed.weight"][source[b, :n]])
        states = []
        for layer in range(c.layers):
            own = last[layer]
            if c.decoder_init == "zero":
                own = [np.zeros(c.hidden)] * each
            elif c.bidirectional:
                name = f"bridge.layers.{layer}.{{}}."
                own = [p[name.format(i) + "weight"] @ s + p[name.format(i) + "bias"]
                       for i, s in enumerate(own)]  # fmt: skip
                own[0] = np.tanh(own[0])
            states.append(list(own))
        covered, attentional = np.zeros(n), np.zeros(c.hidden)
        for t in range(L):
            x = p["decoder.embed.weight"][target[b, t]]
            a = np.zeros(n)
            if c.attention == "bahdanau":
                found, a = attend_by_hand(p, c, states[-1][0], memory, t, covered)
                x = np.concatenate([x, found])
            if c.input_feeding:
                x = np.concatenate([x, attentional])
            for layer in range(c.layers):
                name = f"decoder.order.cell.layers.{layer}."
                w = [p[name + n] for n in
                     ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]  # fmt: skip
                states[layer] = cell_by_hand(c.cell, x, states[layer], *w)
                x = states[layer][0]
            out = x
            if c.attention == "bahdanau":
                out = np.concatenate([x, found])
            if c.attention == "luong":
                found, a = attend_by_hand(p, c, x, memory, t, covered)
                both = np.concatenate([found, x])
                out = attentional = np.tanh(p["decoder.order.W_c"] @ both)
            logits[b, t] = p["decoder.output.weight"] @ out + p["decoder.output.bias"]
            weights[b, t, :n], coverages[b, t, :n] = a, covered
            covered = covered + a
    return logits, weights, coverages


@pytest.mark.parametrize("name", SPREAD)
def test_a_model_is_what_its_loops_say(name):
    m = model(name)
    logits, weights, coverages = by_hand(m, SOURCE, TARGET, LENGTHS)
    out = m.forced(SOURCE, TARGET, LENGTHS)
    np.testing.assert_allclose(out.logits.data, logits, **close)
    np.testing.assert_array_equal(m(SOURCE, TARGET, LENGTHS).data, out.logits.data)
    if m.config.attention == "none":
        assert out.weights is None
    else:
        np.testing.assert_allclose(out.weights.data, weights, **close)
    if m.config.coverage:
        np.testing.assert_allclose(out.coverages.data, coverages, **close)
    else:
        assert out.coverages is None


def gradients(m, logits):
    m.zero_grad()
    logits.backward(generator(5).standard_normal(logits.shape))
    return {name: p.grad for name, p in m.named_parameters()}


@pytest.mark.parametrize("name", SPREAD)
def test_fused_and_at_once_equal_small_operations_step_by_step(name, monkeypatch):
    m = model(name)
    out = m.forced(SOURCE, TARGET, LENGTHS)
    with monkeypatch.context() as patch:
        patch.setattr(Decoder, "fused", False)
        logits, weights = stepwise(m)
        ops = {n.op for n in reachable(logits._node)}
        assert "attention_gru" not in ops and ops & {"gru_cell", "lstm_cell"}
    np.testing.assert_allclose(out.logits.data, logits.data, **close)
    if weights is not None:
        np.testing.assert_allclose(out.weights.data, weights, **close)
    one, other = gradients(m, out.logits), gradients(m, logits)
    for key in one:
        np.testing.assert_allclose(one[key], other[key], **close, err_msg=key)


def test_which_configs_are_one_operation():
    fused = {name for name in SPREAD if model(name).decoder.fused}
    assert fused == {
        "bahdanau", "bahdanau-dot", "bahdanau-scaled", "bahdanau-general-two-sides",
        "bahdanau-concat", "padding-read",
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


# the others are held to these by the tests above, whose gradients are compared too
CHECKED = [
    "bahdanau", "bahdanau-general-two-sides", "bahdanau-coverage", "luong-fed",
    "luong-lstm-two-sides", "luong-local-p", "none-two-sides",
]  # fmt: skip


class All(mg.nn.Module):
    """Logits, and with coverage its loss as well."""

    def __init__(self, model):
        self.model = model

    def forward(self, *arguments):
        out = self.model.forced(*arguments)
        if out.coverages is None:
            return out.logits
        return out.logits, coverage_loss(out.weights, out.coverages)


@pytest.mark.parametrize("name", CHECKED)
def test_every_parameter_against_finite_differences(name):
    options = dict(embedding=1, hidden=2) | SPREAD[name]
    m = Seq2Seq(Seq2SeqConfig(4, 4, **options), generator())
    if m.config.coverage:
        m.decoder.order.attention.w_c.data = np.array([0.5, -1.0], np.float32)
    source, target = np.array([[3, 2, 3], [2, 3, 0]]), np.array([[1, 3], [1, 2]])
    check = mg.gradcheck_module(All(m), source, target, [3, 2])
    assert check.ok, check.message


def test_many_configs_at_once():
    """All that may be combined: the two ways agree, and are finite."""
    seen = 0
    for cell, layers, two, attention, score, local, coverage, feeding in (
        itertools.product(
            ("gru", "lstm"), (1, 2), (False, True), ("none", "bahdanau", "luong"),
            ("additive", "dot"), (None, "m", "p"), (False, True), (False, True),
        )
    ):  # fmt: skip
        try:
            m = model(
                cell=cell, layers=layers, bidirectional=two, attention=attention,
                score=score, local=local, window=local and 1, coverage=coverage,
                input_feeding=feeding,
            )  # fmt: skip
        except ValueError:
            continue
        with mg.no_grad():
            out = m(SOURCE, TARGET[:, :2], LENGTHS).data
            other = stepwise(m, target=TARGET[:, :2])[0].data
        np.testing.assert_allclose(out, other, err_msg=repr(m.config), **close)
        seen += 1
    assert seen == 4 * (4 + 11 + 22)  # of each cell and depth: none, bahdanau, luong


# Reverser is one of them


def like(reverser, kind, **options):
    """The Seq2Seq with a Reverser's weights."""
    sizes = dict(embedding=reverser.embed_source.embedding_dim, hidden=reverser.hidden)
    m = Seq2Seq(Seq2SeqConfig(29, 29, **sizes, score=kind, **options))
    state = {}
    for name, value in reverser.state_dict().items():
        H = reverser.hidden
        if name == "W_a":
            state["decoder.order.attention.W_q"] = value[:, :H]
            state["decoder.order.attention.W_k"] = value[:, H:]
            continue
        for old, new in (
            ("embed_source", "encoder.embed"), ("embed_target", "decoder.embed"),
            ("encoder.", "encoder.rnn."), ("decoder.", "decoder.order.cell.layers.0."),
            ("output", "decoder.output"), ("v_a", "decoder.order.attention.w_v"),
            ("W_g", "decoder.order.attention.W_a"),
        ):  # fmt: skip
            if name.startswith(old):
                state[new + name.removeprefix(old)] = value
                break
    m.load_state_dict(state)
    return m


@pytest.mark.parametrize("mask_padding", [True, False])
@pytest.mark.parametrize("init", ["zero", "encoder"])
@pytest.mark.parametrize("kind", KINDS)
def test_reverser_is_a_config(kind, init, mask_padding):
    options = dict(decoder_init=init, mask_padding=mask_padding)
    reverser = Reverser(kind, embedding=4, hidden=8, rng=generator(), **options)
    m = like(reverser, kind, **options)
    batch = random_batch(generator(1), 5, 2, 6)
    arguments = batch.source, batch.target_in, batch.lengths
    np.testing.assert_array_equal(m(*arguments).data, reverser(*arguments).data)


@pytest.mark.parametrize(
    "kind, count",
    [("additive", 63_773), ("dot", 55_517), ("general", 59_613), ("scaled", 55_517)],
)
def test_parameter_counts_are_those_the_chapter_prints(kind, count):
    reverser = Reverser(kind, hidden=64)
    m = like(reverser, kind, decoder_init="zero")
    assert m.num_parameters() == reverser.num_parameters() == count


# The parts


@pytest.mark.parametrize("kind, each", [("gru", 1), ("lstm", 2)])
def test_cells_over_time_equal_cells_step_by_step(kind, each):
    cells = Cells(E, H, kind, layers=3, rng=generator())
    rng = generator(1)
    x = rng.standard_normal((2, 4, E)).astype(np.float32)
    state = tuple(Tensor(rng.standard_normal((2, H)).astype(np.float32))
                  for _ in range(3 * each))  # fmt: skip
    output, last = cells.run(Tensor(x), state)
    for t in range(4):
        state = cells(Tensor(x[:, t]), state)
        np.testing.assert_allclose(output.data[:, t], state[0].data, atol=1e-6)
    for a, b in zip(last, state, strict=True):
        np.testing.assert_allclose(a.data, b.data, atol=1e-6)


def test_dropout_stands_between_the_layers_and_not_below():
    cells = Cells(E, H, layers=2, dropout=1.0, rng=generator())
    x = Tensor(generator(1).standard_normal((2, E)).astype(np.float32))
    zeros = Tensor(np.zeros((2, H), np.float32))
    top, low = cells(x, (zeros, zeros))
    np.testing.assert_array_equal(low.data, cells.layers[0](x, zeros).data)
    np.testing.assert_array_equal(top.data, cells.layers[1](zeros, zeros).data)


def test_the_orders_are_those_of_steps():
    """A plain BahdanauStep and LuongStep with the same weights say the same."""
    for name, kind in (("bahdanau-general-two-sides", BahdanauStep),
                       ("luong-fed", LuongStep)):  # fmt: skip
        m = model(name)
        assert type(m.decoder.order) is kind
        cell = m.decoder.order.cell.layers[0]
        step = kind(E, H, m.config.memory, m.decoder.order.attention)
        step.cell = cell
        if kind is LuongStep:
            step.W_c = m.decoder.order.W_c
        memory, last, lengths = m.encode(SOURCE, LENGTHS)
        state = step.start(m.bridge(last)[0])
        keys = step.attention.precompute(memory)
        expected = m(SOURCE, TARGET, LENGTHS).data
        for t, tokens in enumerate(TARGET.T):
            x = m.decoder.embed(tokens)
            state, output, _ = step(x, state, keys, memory, lengths)
            logits = m.decoder.output(output).data
            np.testing.assert_allclose(logits, expected[:, t], **close)


# What may depend on what


@pytest.mark.parametrize("name", SPREAD)
def test_without_attention_only_the_last_state_is_seen(name):
    m = model(name)
    clean, encoder = m(SOURCE, TARGET, LENGTHS).data, m.encoder
    assert (m.start(SOURCE, LENGTHS).memory is None) == (m.config.attention == "none")

    class Disturbed(mg.nn.Module):
        def forward(self, source, lengths):
            memory, last = encoder(source, lengths)
            noise = generator(7).standard_normal(memory.shape)
            return memory + noise, last

    m.encoder = Disturbed()
    changed = m(SOURCE, TARGET, LENGTHS).data
    if m.config.attention == "none":
        np.testing.assert_array_equal(changed, clean)
    else:  # the test can fail
        assert (abs(changed - clean).max((1, 2)) > 1e-3).all()


@pytest.mark.parametrize("name", SPREAD)
def test_padding_has_no_influence(name):
    m, rng = model(name), generator(3)
    clean = m.forced(SOURCE, TARGET, LENGTHS)
    real = np.arange(5) < LENGTHS[:, None]
    filled = np.where(real, SOURCE, rng.integers(0, 7, SOURCE.shape))
    wide = np.concatenate([filled, rng.integers(0, 7, (3, 2))], axis=1)
    same = m.forced(filled, TARGET, LENGTHS)
    if not m.config.mask_padding:
        assert abs(same.logits.data - clean.logits.data).max() > 1e-3
        return
    np.testing.assert_array_equal(same.logits.data, clean.logits.data)
    wider = m.forced(wide, TARGET, LENGTHS)
    np.testing.assert_allclose(wider.logits.data, clean.logits.data, **close)
    for b in range(3):
        n = LENGTHS[b]
        alone = m.forced(SOURCE[b : b + 1, :n], TARGET[b : b + 1])
        np.testing.assert_allclose(alone.logits.data[0], clean.logits.data[b], **close)
        if clean.weights is not None:
            assert not clean.weights.data[b, :, n:].any()


@pytest.mark.parametrize("name", SPREAD)
def test_what_is_said_depends_on_what_was_said_before_and_on_nothing_later(name):
    m = model(name)
    clean = m(SOURCE, TARGET, LENGTHS).data
    for t in range(TARGET.shape[1]):
        other = TARGET.copy()
        other[:, t] = (other[:, t] + 1) % 6
        changed = abs(m(SOURCE, other, LENGTHS).data - clean).max((0, 2))
        assert not changed[:t].any() and (changed[t:] > 1e-9).all()


# Coverage, dropout, states


@pytest.mark.parametrize("name", [n for n in SPREAD if "coverage" in n])
def test_coverage_loss_reaches_the_parameters(name):
    m = model(name)
    out = m.forced(SOURCE, TARGET, LENGTHS)
    summed = np.cumsum(out.weights.data, 1) - out.weights.data
    np.testing.assert_allclose(out.coverages.data, summed, **close)
    m.zero_grad()
    coverage_loss(out.weights, out.coverages, target_lens=[4, 3, 4]).backward()
    assert abs(m.decoder.order.attention.w_c.grad).max() > 1e-6
    assert abs(m.encoder.embed.weight.grad).max() > 1e-6
    # what is looked at afterwards holds no graph
    assert not m.decoder.order.attention.attention_weights.requires_grad


def test_weights_are_apart_from_the_graph_without_coverage():
    for name in SPREAD:
        out = model(name).forced(SOURCE, TARGET, LENGTHS)
        if out.weights is not None:
            assert out.weights.requires_grad == ("coverage" in name), name


@pytest.mark.parametrize("name", ["bahdanau", "luong-deep", "luong-fed", "none"])
def test_dropout_acts_in_training_alone(name):
    m = model(name, dropout=0.5)
    arguments = SOURCE, TARGET, LENGTHS
    plain = model(name)(*arguments).data
    np.testing.assert_array_equal(m.eval()(*arguments).data, plain)
    first = m.train()(*arguments).data
    assert abs(first - plain).max() > 1e-3
    assert abs(first - m(*arguments).data).max() > 1e-3  # drawn anew
    again = model(name, dropout=0.5)  # the same seed
    np.testing.assert_array_equal(again(*arguments).data, first)
    # with everything dropped, the output layer has its bias alone
    nothing = model(name, dropout=1.0)
    for out in nothing(*arguments).data, stepwise(nothing)[0].data:
        bias = np.broadcast_to(m.decoder.output.bias.data, out.shape)
        np.testing.assert_array_equal(out, bias)


@pytest.mark.parametrize("name", SPREAD)
def test_a_step_is_a_step_of_all(name):
    m = model(name)
    out, (logits, weights) = m.forced(SOURCE, TARGET, LENGTHS), stepwise(m)
    np.testing.assert_allclose(out.logits.data, logits.data, **close)
    if weights is not None:
        np.testing.assert_allclose(out.weights.data, weights, **close)


@pytest.mark.parametrize("name", SPREAD)
def test_selected_rows_go_on_as_if_they_had_been_there(name):
    m, rows = model(name), [2, 0, 2, 1, 1]
    state = m.start(SOURCE, LENGTHS)
    _, state, _ = m.step(state, TARGET[:, 0])
    _, state, _ = m.step(state, TARGET[:, 1])
    assert state.select(rows) is state
    logits, _, weights = m.step(state, TARGET[rows, 2])
    expected, looked = stepwise(m, SOURCE[rows], TARGET[rows], LENGTHS[rows])
    np.testing.assert_allclose(logits.data, expected.data[:, 2], **close)
    if weights is not None:
        np.testing.assert_allclose(weights.data, looked[:, 2], **close)


def test_a_step_leaves_the_state_it_was_given():
    for name in SPREAD:
        m = model(name)
        state = m.start(SOURCE, LENGTHS)
        one = m.step(state, TARGET[:, 0])[0].data
        np.testing.assert_array_equal(m.step(state, TARGET[:, 0])[0].data, one)


def test_float32_stays_float32():
    for name in SPREAD:
        m = Seq2Seq(config(**SPREAD[name]), generator())
        out = m.forced(SOURCE, TARGET, LENGTHS)
        assert {x.dtype for x in out if x is not None} == {np.dtype("float32")}, name


def test_a_generator_or_minigrads_own():
    a, b = Seq2Seq(config(), generator()), Seq2Seq(config(), generator())
    for x, y in zip(a.parameters(), b.parameters()):
        np.testing.assert_array_equal(x.data, y.data)
    mg.manual_seed(0)
    a = Seq2Seq(config())
    mg.manual_seed(0)
    b = Seq2Seq(config())
    for x, y in zip(a.parameters(), b.parameters()):
        np.testing.assert_array_equal(x.data, y.data)


# The config


def test_a_config_goes_through_a_checkpoint(tmp_path):
    for name in SPREAD:
        c = config(**SPREAD[name])
        assert Seq2SeqConfig.from_dict(c.to_dict()) == c
    m = model("luong-fed-lstm-deep")
    path = tmp_path / "model.npz"
    checkpoint.save(path, {"config": m.config.to_dict(), "model": m.state_dict()})
    state = checkpoint.load(path)
    again = Seq2Seq(Seq2SeqConfig.from_dict(state["config"]))
    again.load_state_dict(state["model"])
    np.testing.assert_allclose(
        again(SOURCE, TARGET, LENGTHS).data, m(SOURCE, TARGET, LENGTHS).data, atol=1e-4
    )


def test_numpys_whole_numbers_become_pythons():
    c = Seq2SeqConfig(np.int64(7), np.int32(6), hidden=np.int64(3))
    assert [type(v) for v in (c.source_vocabulary, c.target_vocabulary, c.hidden)] == [
        int
    ] * 3


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(cell="rnn"), "cell is 'rnn'; expected 'gru' or 'lstm'."),
        (
            dict(attention="bahdanu"),
            "attention is 'bahdanu'; expected 'none', 'bahdanau' or 'luong'.",
        ),
        (dict(score=3), "score is 3; expected 'additive', 'dot', 'general', 'scaled' "
                        "or 'concat'."),
        (dict(local="x", window=1), "local is 'x'; expected None, 'm' or 'p'."),
        (dict(hidden=0), "hidden is 0; expected a whole number, 1 or more."),
        (dict(layers=1.0), "layers is 1.0; expected a whole number."),
        (dict(bidirectional=1), "bidirectional is 1; expected True or False."),
        (dict(dropout="0"), "dropout is '0'; expected a number."),
        (dict(dropout=1.5), "dropout must be a probability, from 0 to 1; found 1.5."),
        (dict(attention="none", coverage=True), "attention is 'none', so there is "
         "nothing for local or coverage to change; expected 'bahdanau' or 'luong' with "
         "them."),
        (dict(attention="none", decoder_init="zero"), "nothing of the source would "
         "reach the decoder; expected decoder_init 'encoder'."),
        (dict(input_feeding=True), "input_feeding belongs to attention 'luong', not "
         "'bahdanau'."),
        (dict(window=2), "window is 2, and local is None; expected local 'm' or 'p' "
         "with a window."),
        (dict(local="m"), "local is 'm', and window is None; expected a number, how "
         "far to look on either side."),
        (dict(local="p", window=0), "window is 0; expected a whole number, 1 or more."),
        (dict(local="m", window=1, coverage=True), "coverage and local together; "
         "expected one of them at most."),
        (dict(coverage=True, score="dot"), "coverage is a term of the additive score; "
         "found score 'dot'."),
        (dict(score="dot", bidirectional=True), "score 'dot' needs states of one "
         "width, and a bidirectional encoder has 6 numbers where the decoder has 3; "
         "expected 'general', 'additive' or 'concat'."),
    ],
)  # fmt: skip
def test_a_config_that_cannot_be(options, message):
    with pytest.raises((ValueError, TypeError)) as error:
        config(**options)
    assert str(error.value).startswith("Seq2SeqConfig: ")
    assert str(error.value).endswith(message)


def test_a_dict_that_is_no_config():
    good = config().to_dict()
    with pytest.raises(ValueError, match="there is no 'depth'; expected some of sour"):
        Seq2SeqConfig.from_dict(good | {"depth": 3})
    del good["target_vocabulary"]
    with pytest.raises(ValueError, match="target_vocabulary is missing; it has no"):
        Seq2SeqConfig.from_dict(good)
    with pytest.raises(TypeError, match="found a list; expected a dict"):
        Seq2SeqConfig.from_dict([3])


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda m: m(SOURCE[0], TARGET), ValueError,
         "source has shape (5,); expected (B, S), one row or more, of one id or more."),
        (lambda m: m(SOURCE[:, :0], TARGET), ValueError, "source has shape (3, 0); "),
        (lambda m: m(SOURCE, TARGET[:, :0]), ValueError, "target_in has shape (3, 0)"),
        (lambda m: m(SOURCE * 1.0, TARGET), TypeError, "source holds float64; "),
        (lambda m: m(SOURCE, TARGET[:2]), ValueError,
         "source has 3 rows and target_in 2; expected as many."),
        (lambda m: m(SOURCE, TARGET, [1, 2]), ValueError,
         "lengths have shape (2,); expected (3,), one for each row of source (3, 5)."),
        (lambda m: m(SOURCE, TARGET, [1, 2, 6]), ValueError,
         "lengths holds 6; expected numbers from 1 to 5, the tokens of a row."),
        (lambda m: m(SOURCE, TARGET, [0, 2, 3]), ValueError, "lengths holds 0; "),
        (lambda m: m(SOURCE, TARGET, [1.0, 2, 3]), TypeError, "lengths holds float64"),
        (lambda m: m(SOURCE + 1, TARGET), IndexError, "7"),
        (lambda m: m(SOURCE, TARGET + 1), IndexError, "6"),
        (lambda m: m.step(m.start(SOURCE, LENGTHS), [1]), ValueError,
         "there are 1 tokens for a state of 3 rows; expected as many."),
        (lambda m: m.step(m.start(SOURCE, LENGTHS), 1), ValueError,
         "tokens has shape (); expected (B,), one for each row."),
        (lambda m: m.start(SOURCE, LENGTHS).select([3]), ValueError,
         "indices holds 3; expected numbers from 0 to 2, numbers of rows."),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["bahdanau", "none", "luong-fed-coverage"])
def test_arguments_that_do_not_fit(name, call, kind, message):
    with pytest.raises(kind) as error:
        call(model(name))
    assert message in str(error.value)


def test_a_model_says_what_it_is():
    assert repr(model("luong")).startswith("Seq2Seq(\n  gru, attention='luong', score=")
