"""The steps of Bahdanau and Luong are their equations, one example at a time."""

import numpy as np
import pytest

import minigrad as mg
from attention.seq2seq.attention_gru import attention_gru
from attention.variants.steps import BahdanauStep
from minigrad import Tensor, nn

from ...minigrad.array_cases import draw
from .steps_cases import CELLS, STEPS, B, Decoder, E, H, M, S, T, close, initial, made


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
