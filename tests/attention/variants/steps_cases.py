"""Steps of a decoder, their attention and their sizes, for the tests."""

import numpy as np

import minigrad as mg
from attention.layers import AdditiveAttention
from attention.variants.local import LocalAttention
from attention.variants.luong import LuongAttention
from attention.variants.steps import BahdanauStep, LuongStep
from minigrad import nn

from ...minigrad.array_cases import draw

B, T, S, E, H, M, A = 2, 3, 5, 2, 4, 7, 6  # no two alike: a lost transpose shows
close = dict(rtol=1e-11, atol=1e-12)  # sums of order one; errors add up over steps


def in_float64(module):
    for parameter in module.parameters():
        parameter.data = parameter.data.astype(np.float64)
    return module


def generator():
    return np.random.default_rng(0)


SIZES = {"dot": (H, H), "general": (H, M), "concat": (H, M)}


def luong(kind, **options):
    return LuongAttention(kind, *SIZES[kind], rng=generator(), **options)


CELLS = {"gru": nn.GRUCell, "lstm": nn.LSTMCell}
STEPS = {"bahdanau": BahdanauStep, "luong": LuongStep}


def made(step, cell="gru", attention=None, **options):
    attention = attention or AdditiveAttention(H, M, A, rng=generator())
    module = STEPS[step](E, H, M, attention, CELLS[cell], rng=generator(), **options)
    return in_float64(module)


def initial(cell, seed=3):
    h, c = draw((B, H), (B, H), seed=seed)
    return h if cell == "gru" else (h, c)


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
