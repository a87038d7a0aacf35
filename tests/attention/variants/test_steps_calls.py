"""Decoder steps take any attention, padding and dtype, and no examples."""

import numpy as np
import pytest

import minigrad as mg
from attention.layers import AdditiveAttention
from attention.variants.local import LocalAttention
from attention.variants.luong import LuongAttention
from minigrad import Tensor

from ...minigrad.array_cases import draw
from .local_cases import reversal
from .steps_cases import (
    CELLS,
    STEPS,
    A,
    B,
    Decoder,
    E,
    H,
    M,
    S,
    T,
    generator,
    initial,
    made,
)

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
def test_padding_has_no_influence(kind):
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
    for a, b in zip(clean, run(7.0)):
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
