"""Decoder steps, the scores by Luong's names, and keys that are projected once."""

import math

import numpy as np
import pytest

import minigrad as mg
from attention.coverage import CoverageAttention
from attention.layers import (
    AdditiveAttention,
    DotProductAttention,
    GeneralAttention,
    LuongAttention,
    ProjectedKeys,
)
from attention.local import LocalAttention
from attention.scores import concat, dot, general
from attention.seq2seq.attention_gru import attention_gru
from attention.steps import BahdanauStep, LuongStep
from minigrad import Tensor, nn
from minigrad.graph import reachable

B, T, S, E, H, M, A = 2, 3, 5, 2, 4, 7, 6  # no two alike: a lost transpose shows
close = dict(rtol=1e-11, atol=1e-12)  # sums of order one; errors add up over steps


def draw(*shapes, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def in_float64(module):
    for parameter in module.parameters():
        parameter.data = parameter.data.astype(np.float64)
    return module


def generator():
    return np.random.default_rng(0)


# The scores by Luong's names

SIZES = {"dot": (H, H), "general": (H, M), "concat": (H, M)}


def luong(kind, **options):
    return LuongAttention(kind, *SIZES[kind], rng=generator(), **options)


@pytest.mark.parametrize("kind", SIZES)
def test_luong_attention_is_the_score_of_that_name(kind):
    module = luong(kind, **({"num_hiddens": A} if kind == "concat" else {}))
    Dq, Dk = SIZES[kind]
    q, k = draw((B, T, Dq), (B, S, Dk))
    expected = {
        "dot": lambda: dot(q, k),
        "general": lambda: general(q, k, module.W_a),
        "concat": lambda: concat(q, k, module.W_a, module.v_a),
    }[kind]()
    np.testing.assert_array_equal(
        module.score(Tensor(q), Tensor(k)).data, expected.data
    )
    shapes = {
        "dot": {},
        "general": {"W_a": (H, M)},
        "concat": {"W_a": (A, H + M), "v_a": (A,)},
    }
    assert {n: p.shape for n, p in module.named_parameters()} == shapes[kind]


@pytest.mark.parametrize("kind", SIZES)
def test_gradients_of_luong_attention(kind):
    Dq, Dk = SIZES[kind]
    arrays = draw((B, T, Dq), (B, S, Dk), (B, S, E))
    assert mg.gradcheck_module(luong(kind), *arrays, [2, 5]).ok


def test_general_has_a_layer_of_its_own():
    one, other = luong("general"), GeneralAttention(H, M, rng=generator())
    arrays = draw((B, T, H), (B, S, M), (B, S, E))
    np.testing.assert_array_equal(one(*arrays).data, other(*arrays).data)


def test_concat_draws_within_xaviers_bounds():
    module = LuongAttention("concat", 100, 200, 300, rng=generator())
    for parameter, fans in (module.W_a, 600), (module.v_a, 301):
        a, drawn = math.sqrt(6 / fans), abs(parameter.data)
        assert 0.95 * a < drawn.max() <= a  # 300 draws all miss that: 0.95^300 = 2e-7
    assert len(LuongAttention("concat", 10, 20).v_a) == 10


def test_luong_attention_says_what_it_is():
    assert repr(luong("concat")) == "LuongAttention('concat', 4, 7, 4, dropout=0.0)"
    assert repr(luong("dot", dropout=0.1)) == "LuongAttention('dot', 4, 4, dropout=0.1)"


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ("additive", 4, 4),
            "LuongAttention: kind is 'additive'; expected 'dot', 'general' or "
            "'concat'.",
        ),
        (
            ("dot", 4, 6),
            "LuongAttention: 'dot' needs queries and keys of one width; found "
            "query_size 4 and key_size 6: use 'general' or 'concat'.",
        ),
        (
            ("general", 4, 6, 8),
            "LuongAttention: num_hiddens is 8, which 'general' has no use for; it "
            "belongs to 'concat'.",
        ),
    ],
)
def test_what_luong_attention_is_not_made_of(arguments, message):
    with pytest.raises(ValueError) as error:
        LuongAttention(*arguments)
    assert str(error.value) == message


@pytest.mark.parametrize("step", [BahdanauStep, LuongStep])
def test_a_step_is_given_a_layer(step):
    with pytest.raises(TypeError) as error:
        step(E, H, M, "dot")
    assert str(error.value) == (
        f"{step.__name__}: attention is 'dot'; expected a layer, such as "
        "DotProductAttention()."
    )


# Keys that are projected once

LAYERS = {
    "additive": lambda: AdditiveAttention(H, M, A, rng=generator()),
    "general": lambda: GeneralAttention(H, M, rng=generator()),
    "concat": lambda: luong("concat", num_hiddens=A),
    "luong-general": lambda: luong("general"),
    "dot": lambda: luong("dot"),
    "scaled": lambda: DotProductAttention(),
}
PROJECTING = ["additive", "general", "concat", "luong-general"]


def attended(module, prepare, filling=None, lengths=(2, 5)):
    """T calls, one query each: contexts, weights, all gradients, and the graph."""
    width = M if hasattr(module, "key_size") and module.key_size == M else H
    queries, keys, values = draw((B, T, H), (B, S, width), (B, S, E))
    if filling is not None:
        keys[0, 2:] = values[0, 2:] = filling
    leaves = [Tensor(a, requires_grad=True) for a in (queries, keys, values)]
    prepared, contexts, weights = prepare(leaves[1]), [], []
    for t in range(T):
        contexts.append(module(leaves[0][:, t : t + 1], prepared, leaves[2], lengths))
        weights.append(module.attention_weights.data)
    out = mg.concat(contexts, 1)
    nodes = reachable(out._node)
    out.backward(draw((B, T, E), seed=9)[0])
    grads = [x.grad for x in (*leaves, *module.parameters())]
    return [out.data, *weights, *grads], nodes


@pytest.mark.parametrize("kind", LAYERS)
def test_projected_keys_give_the_same_and_gradients_come_back_from_every_step(kind):
    module = in_float64(LAYERS[kind]())
    plain, _ = attended(module, lambda keys: keys)
    module.zero_grad()
    projected, _ = attended(module, module.precompute)
    for a, b in zip(plain, projected):
        np.testing.assert_allclose(a, b, **close)


@pytest.mark.parametrize("kind", PROJECTING)
def test_the_keys_are_projected_once(kind):
    """One product with all keys, where there was one at each of the T steps."""
    module = in_float64(LAYERS[kind]())
    projected = module.precompute(draw((B, S, M))[0])
    assert isinstance(projected, ProjectedKeys)
    assert projected.shape == (B, S, A if kind in ("additive", "concat") else H)

    def products(prepare):
        _, nodes = attended(module, prepare)
        return sum(n.op == "linear" and n.shape == projected.shape for n in nodes)

    assert products(module.precompute) == 1
    # "general" carries each query over to the keys, where they are not projected
    assert products(lambda keys: keys) == (0 if "general" in kind else T)


@pytest.mark.parametrize("kind", LAYERS)
def test_nan_in_the_padding_of_projected_keys_stays_there(kind):
    module = in_float64(LAYERS[kind]())
    clean, _ = attended(module, module.precompute)
    assert all(np.isfinite(a).all() for a in clean)
    for filling in np.nan, np.inf, 7.0:
        module.zero_grad()
        for a, b in zip(clean, attended(module, module.precompute, filling)[0]):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", PROJECTING)
def test_nan_among_projected_keys_is_not_hidden(kind):
    """What is attended to counts; also in the examples beside it nothing changes."""
    module = in_float64(LAYERS[kind]())
    queries, keys, values = draw((B, T, H), (B, S, M), (B, S, E))
    clean = module(queries, module.precompute(keys), values, [2, 5]).data
    keys[0, 1, 3] = np.nan
    context = module(queries, module.precompute(keys), values, [2, 5]).data
    assert np.isnan(context[0]).all()
    np.testing.assert_array_equal(context[1], clean[1])


def test_projected_keys_belong_to_one_layer():
    one, other = (AdditiveAttention(H, M, A, rng=generator()) for _ in range(2))
    queries, keys, values = draw((B, T, H), (B, S, M), (B, S, E))
    projected = one.precompute(keys)
    assert repr(projected) == (
        "ProjectedKeys(AdditiveAttention(4, 7, 6, dropout=0.0), shape=(2, 5, 6))"
    )
    with pytest.raises(ValueError) as error:
        other(queries, projected, values)
    assert str(error.value) == (
        "AdditiveAttention(4, 7, 6, dropout=0.0): these keys were projected by another "
        "layer, AdditiveAttention(4, 7, 6, dropout=0.0); expected what this layer's "
        "precompute(keys) returned."
    )


@pytest.mark.parametrize(
    "keys, kind, message",
    [
        (
            np.zeros((B, S, 3)),
            ValueError,
            "GeneralAttention(4, 7, dropout=0.0): keys has shape (2, 5, 3); expected a "
            "last axis of 7, the layer's key_size.",
        ),
        (
            np.zeros((B, S, M), int),
            TypeError,
            "GeneralAttention(4, 7, dropout=0.0): keys must be floating point; found "
            "int64.",
        ),
    ],
)
def test_keys_that_cannot_be_projected(keys, kind, message):
    with pytest.raises(kind) as error:
        GeneralAttention(H, M).precompute(keys)
    assert str(error.value) == message


def test_projected_keys_keep_float32():
    module = AdditiveAttention(H, M, A)
    queries, keys, values = draw((B, T, H), (B, S, M), (B, S, E), dtype=np.float32)
    keys[0, 4] = np.nan
    projected = module.precompute(keys)
    assert projected.projected.dtype == np.float32
    assert module(queries, projected, values, [2, 5]).dtype == np.float32


# Decoder steps

CELLS = {"gru": nn.GRUCell, "lstm": nn.LSTMCell}
STEPS = {"bahdanau": BahdanauStep, "luong": LuongStep}


def made(step, cell="gru", attention=None, **options):
    attention = attention or AdditiveAttention(H, M, A, rng=generator())
    module = STEPS[step](E, H, M, attention, CELLS[cell], rng=generator(), **options)
    return in_float64(module)


def initial(cell, seed=3):
    h, c = draw((B, H), (B, H), seed=seed)
    return h if cell == "gru" else (h, c)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def cell_by_hand(cell, x, state):
    """One step for one example, from the equations of GRU and LSTM."""
    W_i, W_h, b_i, b_h = (
        getattr(cell, n).data for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    if isinstance(cell, nn.GRUCell):
        i_r, i_z, i_n = np.split(W_i @ x + b_i, 3)
        h_r, h_z, h_n = np.split(W_h @ state + b_h, 3)
        r, z = sigmoid(i_r + h_r), sigmoid(i_z + h_z)
        n = np.tanh(i_n + r * h_n)
        return (1 - z) * n + z * state
    h, c = state
    i, f, g, o = np.split(W_i @ x + b_i + W_h @ h + b_h, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def attention_by_hand(attention, query, memory, length):
    W_q, W_k, w_v = (getattr(attention, n).data for n in ("W_q", "W_k", "w_v"))
    e = np.array([w_v @ np.tanh(W_q @ query + W_k @ memory[j]) for j in range(length)])
    a = np.exp(e) / np.exp(e).sum()
    context = sum((a[j] * memory[j] for j in range(length)), np.zeros(M))
    return context, np.append(a, np.zeros(S - length))


def decoder_by_hand(step, xs, state, memory, length):
    """One example: outputs (T, ·), weights (T, S) and the last state of the cell."""
    outputs, weights, attentional = [], [], np.zeros(H)
    for x in xs:
        hidden = state[0] if isinstance(state, tuple) else state
        if isinstance(step, BahdanauStep):
            context, a = attention_by_hand(step.attention, hidden, memory, length)
            state = cell_by_hand(step.cell, np.append(x, context), state)
            hidden = state[0] if isinstance(state, tuple) else state
            outputs.append(np.append(hidden, context))
        else:
            state = cell_by_hand(step.cell, np.append(x, attentional), state)
            hidden = state[0] if isinstance(state, tuple) else state
            context, a = attention_by_hand(step.attention, hidden, memory, length)
            b_c = 0 if step.b_c is None else step.b_c.data
            attentional = np.tanh(step.W_c.data @ np.append(context, hidden) + b_c)
            outputs.append(attentional)
        weights.append(a)
    return outputs, weights, state


class Decoder(nn.Module):
    """All steps, with the keys projected once."""

    def __init__(self, step):
        self.step = step

    def forward(self, xs, state, memory, valid_lens=None):
        keys = self.step.attention.precompute(memory)
        state, outputs, self.weights = self.step.start(state), [], []
        for t in range(xs.shape[1]):
            options = {}
            if isinstance(self.step.attention, LocalAttention):
                options["start"] = t
            state, output, weights = self.step(
                xs[:, t], state, keys, memory, valid_lens, **options
            )
            outputs.append(output)
            self.weights.append(weights.data)
        if isinstance(self.step, LuongStep):
            state, attentional = state
            np.testing.assert_array_equal(attentional.data, output.data)
        self.state = state
        return mg.stack(outputs, 1)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize(
    "kind, options", [("bahdanau", {}), ("luong", {}), ("luong", {"bias": True})]
)
def test_a_step_is_its_equations(kind, options, cell):
    step = made(kind, cell, **options)
    if options:
        step.b_c.data = draw((H,), seed=8)[0]
    xs, memory = draw((B, T, E), (B, S, M))
    decoder, lengths = Decoder(step), [5, 2]
    outputs = decoder(xs, initial(cell), memory, lengths)
    assert outputs.shape == (B, T, step.output_size)
    for b in range(B):
        first = initial(cell)
        first = first[b] if cell == "gru" else tuple(s[b] for s in first)
        o, w, last = decoder_by_hand(step, xs[b], first, memory[b], lengths[b])
        np.testing.assert_allclose(outputs.data[b], o, **close)
        np.testing.assert_allclose([each[b] for each in decoder.weights], w, **close)
        if cell == "gru":
            np.testing.assert_allclose(decoder.state.data[b], last, **close)
        else:
            for found, expected in zip(decoder.state, last):
                np.testing.assert_allclose(found.data[b], expected, **close)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("kind", STEPS)
def test_gradients_through_all_steps(kind, cell):
    decoder = Decoder(made(kind, cell))
    xs, memory = draw((B, T, E), (B, S, M))
    result = mg.gradcheck_module(decoder, xs, initial(cell), memory, [5, 2])
    assert result.ok, result


def test_gradients_with_a_bias():
    xs, memory = draw((B, T, E), (B, S, M))
    decoder = Decoder(made("luong", bias=True))
    assert "step.b_c" in dict(decoder.named_parameters())
    assert mg.gradcheck_module(decoder, xs, initial("gru"), memory).ok


def test_input_feeding_is_all_that_the_first_step_lacks():
    """h~_0 = 0; after it, what was said goes into the next step's input."""
    step, (x, memory) = made("luong"), draw((B, E), (B, S, M))
    recurrent, attentional = step.start(initial("gru"))
    assert (attentional.data == 0).all() and attentional.dtype == np.float64
    fed = [
        step(x, (recurrent, Tensor(np.full((B, H), n))), memory, memory)[1].data
        for n in (0.0, 0.5)
    ]
    np.testing.assert_array_equal(
        fed[0], step(x, (recurrent, attentional), memory, memory)[1].data
    )
    assert abs(fed[0] - fed[1]).max() > 1e-3


def test_the_map_of_luong_takes_the_context_first():
    step = made("luong")
    step.W_c.data = np.concatenate([np.zeros((H, M)), np.eye(H)], 1)
    xs, memory = draw((B, T, E), (B, S, M))
    (h, attentional), output, _ = step(
        xs[:, 0], step.start(initial("gru")), memory, memory
    )
    np.testing.assert_array_equal(output.data, np.tanh(h.data))


@pytest.mark.parametrize("lengths", [None, [2, 5]])
def test_bahdanaus_steps_are_the_fused_decoder(lengths):
    step = made("bahdanau")
    xs, memory = draw((B, T, E), (B, S, M))
    outputs = Decoder(step)(xs, initial("gru"), memory, lengths)
    cell, attention = step.cell, step.attention
    states, contexts, weights = attention_gru(
        xs, initial("gru"), memory, attention.precompute(memory).projected,
        cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh,
        attention.W_q, attention.w_v,
        lengths=None if lengths is None else np.array(lengths),
    )  # fmt: skip
    np.testing.assert_allclose(outputs.data[..., :H], states.data, **close)
    np.testing.assert_allclose(outputs.data[..., H:], contexts.data, **close)


def reversal(t, length):
    return length - 1 - t


OTHERS = {
    "general": lambda: LuongAttention("general", H, M, rng=generator()),
    "concat": lambda: LuongAttention("concat", H, M, A, rng=generator()),
    "local-m": lambda: LocalAttention(H, M, 1, rng=generator()),
    "reversal": lambda: LocalAttention(H, M, 1, centre=reversal, rng=generator()),
    "local-p": lambda: LocalAttention(H, M, 2, "p", rng=generator()),
}


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("other", OTHERS)
def test_any_attention_will_do(kind, other):
    attention, lengths = OTHERS[other](), [5, 3]
    decoder = Decoder(made(kind, attention=attention))
    xs, memory = draw((B, T, E), (B, S, M))
    outputs = decoder(xs, initial("gru"), memory, lengths)
    assert outputs.shape == (B, T, decoder.step.output_size)
    for t, b in np.ndindex(T, B):
        looked = decoder.weights[t][b] > 0
        assert looked.any() and not looked[lengths[b] :].any()
        if other in ("local-m", "reversal"):  # the centre moves on from step to step
            centre = t if other == "local-m" else reversal(t, lengths[b])
            window = abs(np.arange(S) - centre) <= 1
            window[lengths[b] :] = False
            np.testing.assert_array_equal(looked, window)


def test_luongs_step_with_local_attention_has_gradients():
    decoder = Decoder(made("luong", attention=OTHERS["local-p"]()))
    xs, memory = draw((B, 2, E), (B, S, M))
    assert mg.gradcheck_module(decoder, xs, initial("gru"), memory, [5, 3]).ok


@pytest.mark.parametrize("kind", STEPS)
def test_padding_has_no_influence_and_may_be_nan(kind):
    def run(filling=None):
        decoder = Decoder(made(kind))
        xs, memory = draw((B, T, E), (B, S, M))
        if filling is not None:
            memory[1, 2:] = filling
        xs, memory = (Tensor(a, requires_grad=True) for a in (xs, memory))
        outputs = decoder(xs, initial("gru"), memory, [5, 2])
        outputs.backward(draw(outputs.shape, seed=9)[0])
        return [outputs.data, *(p.grad for p in (xs, memory, *decoder.parameters()))]

    clean = run()
    assert all(np.isfinite(a).all() for a in clean)
    assert (clean[2][1, 2:] == 0).all()
    for filling in 7.0, np.nan:
        for a, b in zip(clean, run(filling)):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("kind", STEPS)
def test_float32_and_an_empty_batch(kind, cell):
    attention = AdditiveAttention(H, M, A)
    step = STEPS[kind](E, H, M, attention, CELLS[cell])
    for b in B, 0:
        x, h, c, memory = draw((b, E), (b, H), (b, H), (b, S, M), dtype=np.float32)
        x = Tensor(x, requires_grad=True)
        state = step.start(h if cell == "gru" else (h, c))
        state, output, weights = step(x, state, memory, memory)
        assert output.dtype == weights.dtype == np.float32
        assert output.shape == (b, step.output_size) and weights.shape == (b, S)
        output.backward(np.ones(output.shape))
        assert x.grad.dtype == np.float32


def test_parameters_of_the_steps():
    names = [n for n, _ in made("luong", bias=True).named_parameters()]
    cell = [f"cell.{n}" for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    attention = [f"attention.{n}" for n in ("W_q", "W_k", "w_v")]
    assert names == [*attention, *cell, "W_c", "b_c"]
    assert made("luong").W_c.shape == (H, M + H) and made("luong").b_c is None
    assert made("luong").cell.input_size == E + H  # input feeding
    assert made("bahdanau").cell.input_size == E + M
    assert [n for n, _ in made("bahdanau").named_parameters()] == [*attention, *cell]


def test_what_a_step_refuses():
    x, h, memory = draw((B, E), (B, H), (B, S, M))
    bahdanau, luong = made("bahdanau"), made("luong")
    coverage = made("bahdanau", attention=CoverageAttention(H, M, A))
    for step, x_, state, kind, message in [
        (
            bahdanau,
            np.zeros((B, 9)),
            h,
            ValueError,
            "BahdanauStep: x has shape (2, 9); expected (B, input_size) with "
            "input_size = 2.",
        ),
        (
            luong,
            np.zeros((B, T, E)),
            luong.start(h),
            ValueError,
            "LuongStep: x has shape (2, 3, 2); expected (B, input_size) with "
            "input_size = 2.",
        ),
        (
            bahdanau,
            np.zeros((B, E), int),
            h,
            TypeError,
            "BahdanauStep: x is int64; expected floating-point numbers.",
        ),
        (
            bahdanau,
            x,
            None,
            TypeError,
            "BahdanauStep: the state is None; expected h (B, hidden_size), or (h, c) "
            "of an LSTM; zeros, if there is no encoder.",
        ),
        (
            luong,
            x,
            h,
            TypeError,
            "LuongStep: the state is a ndarray; expected the pair that start(h), or "
            "the step before, has returned.",
        ),
        (
            coverage,
            x,
            h,
            TypeError,
            "BahdanauStep: CoverageAttention returned a tuple; expected a context "
            "alone. CoverageAttention has a sum to be carried from step to step: call "
            "its method step in a loop of your own.",
        ),
    ]:
        with pytest.raises(kind) as error:
            step(x_, state, memory, memory)
        assert str(error.value) == message
    for step, state in (bahdanau, h), (luong, luong.start(h)):
        with pytest.raises(ValueError) as error:
            step(x, state, memory, memory[..., :3])
        assert str(error.value) == (
            f"{type(step).__name__}: values of width 3; expected (B, S, value_size) "
            "with value_size = 7."
        )
    with pytest.raises(TypeError) as error:
        luong.start(None)
    assert str(error.value) == (
        "LuongStep: the state is None; expected h (B, hidden_size), or (h, c) of an "
        "LSTM; zeros, if there is no encoder."
    )
