"""The decoder: a sentence from a state, token by token, with or without a look back.

    x_t = E[y_{t-1}],    state_t, o_t = step(x_t, state_{t-1}),    logits_t = W o_t + b

The step is one of four: Bahdanau's and Luong's (``attention/variants/steps.py``), Luong's
without input feeding, and one without attention (``orders.py``). What is returned in
training, when all y are known, is the same in three ways:

    fused      a GRU of one layer in Bahdanau's order is one operation over all steps,
               and over one step as well
    at once    what feeds nothing back runs over all of time, and then looks back once
    in order   all else, step after step
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np

import minigrad as mg
from minigrad import Tensor, nn

from ..checks import between, wholes
from ..layers import (
    AdditiveAttention,
    DotProductAttention,
    GeneralAttention,
    ProjectedKeys,
)
from ..tasks.batch import PAD
from ..variants.gaussian import GaussianAttention
from ..variants.local import LocalAttention
from ..variants.luong import LuongAttention
from ..variants.steps import BahdanauStep, LuongStep
from .attention_gru import attention_gru
from .cells import Cells
from .orders import CoveredAttention, PlainStep, UnfedLuongStep


class Forced(NamedTuple):
    """What a decoder says when it is told at each step what came before."""

    logits: Tensor  # (B, L, V)
    weights: Tensor | None  # (B, L, S), None without attention
    coverages: Tensor | None  # (B, L, S) before each step, None without coverage


class State:
    """All that the next step depends on, for B sentences or beginnings of sentences.

    recurrent   the step's own, tuples of Tensors (B, H)
    keys, memory, lengths   what is looked at: ProjectedKeys, (B, S, M), (B,) or None
    coverage    (B, S), the sum of all weights so far; None without coverage
    t           the number of the next step
    """

    def __init__(self, B, recurrent, keys, memory, lengths, coverage=None, t=0):
        self.B, self.recurrent, self.coverage, self.t = B, recurrent, coverage, t
        self.keys, self.memory, self.lengths = keys, memory, lengths

    def select(self, indices):
        """Row n becomes what row indices[n] was, in place; returns this state."""
        indices = wholes("State", "indices", indices, {1: "(n,), rows to go on with"})
        between("State", "indices", indices, 0, self.B - 1, "numbers of rows")
        self.B = len(indices)
        for name in ("recurrent", "keys", "memory", "lengths", "coverage"):
            setattr(self, name, _rows(getattr(self, name), indices))
        return self


class Decoder(nn.Module):
    """The decoder of a ``Seq2SeqConfig``.

    start(memory, lengths, recurrent)   -> State, before the first step
    step(state, tokens (B,))            -> logits (B, V), State, weights (B, S) or None
    forward(tokens (B, L), state)       -> Forced: all steps, their inputs being known
    """

    def __init__(self, config, rng=None):
        self.config, self.rng = config, rng
        c, E, H = config, config.embedding, config.hidden
        self.embed = nn.Embedding(c.target_vocabulary, E, PAD, rng=rng)
        cell = partial(Cells, kind=c.cell, layers=c.layers, dropout=c.dropout)
        if c.attention == "none":
            self.order = PlainStep(E, H, cell, rng=rng)
        else:
            luong = LuongStep if c.input_feeding else UnfedLuongStep
            kind = BahdanauStep if c.attention == "bahdanau" else luong
            self.order = kind(E, H, c.memory, _attention(c, rng), cell, rng=rng)
        self.output = nn.Linear(self.order.output_size, c.target_vocabulary, rng=rng)

    @property
    def fused(self):
        """Whether all steps are one operation, ``attention_gru``."""
        c = self.config
        alone = c.layers == 1 and c.local is None and not c.coverage
        products = c.score != "gaussian"
        return c.attention == "bahdanau" and c.cell == "gru" and alone and products

    def start(self, memory, lengths, recurrent):
        """Without attention, only ``recurrent`` is known from here on."""
        B, keys, coverage = len(memory), None, None
        if self.order.attention is None:
            memory = lengths = None
        else:
            keys = self.order.attention.precompute(memory)  # once for all steps
        if self.config.coverage:
            coverage = Tensor(np.zeros(memory.shape[:2], memory.dtype))
        return State(B, self.order.start(recurrent), keys, memory, lengths, coverage)

    def step(self, state, tokens):
        x = self._dropped(self.embed(tokens))  # (B, E)
        output, state, weights = self._step(x, state)
        if weights is not None:
            weights = weights.detach()
        return self.output(self._dropped(output)), state, weights

    def forward(self, tokens, state):
        x = self._dropped(self.embed(tokens))  # (B, L, E)
        if self.fused:
            outputs, weights, _ = self._fused(x, state)
            looked = weights, None
        elif hasattr(self.order, "run") and not self.config.coverage:
            outputs, weights = self.order.run(
                x, state.recurrent, *_seen(state), **self._options(state)
            )
            looked = weights, None
        else:
            outputs, *looked = self._in_order(x, state)
        return Forced(self.output(self._dropped(outputs)), *looked)

    def _step(self, x, state):
        """output (B, O), the next State, weights (B, S) or None."""
        if self.fused:
            outputs, looked, recurrent = self._fused(x[:, None], state)
            output, weights = outputs[:, 0], looked[:, 0]
        else:
            recurrent, output, weights = self.order(
                x, state.recurrent, *_seen(state), **self._options(state)
            )
        coverage = state.coverage
        if coverage is not None:
            coverage = coverage + weights  # before the next step, after this one
            self.order.attention.attention_weights = weights[:, None].detach()
        new = State(state.B, recurrent, *_seen(state), coverage, state.t + 1)
        return output, new, weights

    def _options(self, state):
        """What an attention wants to know beside queries, keys and values."""
        if self.config.local is not None:
            return {"start": state.t}
        return {"coverage": state.coverage} if self.config.coverage else {}

    def _in_order(self, x, state):
        """outputs (B, L, O), weights and coverages (B, L, S) or None."""
        steps = []
        for t in range(x.shape[1]):
            before = state.coverage
            output, state, weights = self._step(x[:, t], state)
            steps.append((output, weights, before))
        return [None if a[0] is None else mg.stack(list(a), 1) for a in zip(*steps)]

    def _fused(self, x, state):
        """outputs (B, L, O), weights (B, L, S), the step's own state after the last."""
        cell, attention = self.order.cell.layers[0], self.order.attention
        H, kind, score = self.config.hidden, self.config.score, ()
        if kind == "additive":
            score = attention.W_q, attention.w_v
        if kind == "concat":
            score = attention.W_a[:, :H], attention.v_a  # the half for the queries
        states, contexts, weights = attention_gru(
            x, state.recurrent[0], state.memory, state.keys.projected,
            cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh, *score,
            scale=1 / math.sqrt(H) if kind == "scaled" else 1.0, lengths=state.lengths,
        )  # fmt: skip
        outputs = mg.concat([states, contexts], axis=-1)
        return outputs, weights.detach(), (states[:, -1],)

    def _dropped(self, x):
        p = self.config.dropout
        return mg.dropout(x, p, training=self.training, rng=self.rng) if p else x


def _attention(c, rng):
    """The layer that a config asks for: queries of width H, keys of width M."""
    H, M = c.hidden, c.memory
    if c.coverage:
        return CoveredAttention(H, M, H, rng=rng)
    if c.score == "additive":
        layer = AdditiveAttention(H, M, H, rng=rng)
    elif c.score == "general":
        layer = GeneralAttention(H, M, rng=rng)
    elif c.score == "scaled":
        layer = DotProductAttention(rng=rng)
    elif c.score == "gaussian":  # h^2 = sqrt(H), as the scaled products are divided by
        layer = GaussianAttention(H**0.25, rng=rng)
    else:
        layer = LuongAttention(c.score, H, M, rng=rng)  # "dot" or "concat"
    if c.local is not None:
        layer = LocalAttention(H, M, c.window, c.local, score=layer, rng=rng)
    return layer


def _seen(state):
    return state.keys, state.memory, state.lengths


def _rows(value, indices):
    """Rows of whatever a state is made of."""
    if value is None:
        return None
    if isinstance(value, tuple):
        return tuple(_rows(each, indices) for each in value)
    if isinstance(value, ProjectedKeys):
        return ProjectedKeys(value.layer, value.projected[indices])
    return value[indices]
