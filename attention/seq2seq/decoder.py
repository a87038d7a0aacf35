"""The decoder writes a sentence token by token, with or without attention.

    x_t = embed(y_{t-1})
    state_t, o_t = step(x_t, state_{t-1})
    logits_t = W o_t + b

The step is one of four: Bahdanau's and Luong's (``attention/variants/steps.py``),
Luong's without input feeding, and one without attention (``decoder_steps.py``). In
training all y are known, and the config decides in which of three ways the steps are
computed. Up to the end of y, the results are those of "step by step":

    fused          Bahdanau's step with one GRU layer and a layer of attention with a
                   ``fused_score``: one operation for all steps, which leaves out the
                   padding behind y
    at once        steps that do not feed the context back, without coverage: the cells
                   over all steps, then the attention of all queries
    step by step   all other steps
"""

from functools import partial
from typing import NamedTuple

import numpy as np

import minigrad as mg
from minigrad import Tensor, nn
from minigrad.arguments import between

from ..layers import Attention, ProjectedKeys
from ..tasks.batch import PAD
from ..variants.coverage import CoverageAttention
from ..variants.local import LocalAttention
from ..variants.steps import BahdanauStep, LuongStep
from ..variants.table import SCORES
from .attention_gru import attention_gru
from .cells import StackedCells
from .decoder_steps import PlainStep, UnfedLuongStep


class TeacherForcedOutput(NamedTuple):
    """The outputs of all steps of a decoder that reads the correct tokens."""

    logits: Tensor  # (B, L, V)
    weights: Tensor | None  # (B, L, S), None without attention
    coverages: Tensor | None  # (B, L, S) before each step, None without coverage


class State:
    """Everything that the next step depends on, for B sentences.

    recurrent   the state of the cells, (nested) tuples of Tensors (B, H)
    keys        ProjectedKeys of the source
    memory      (B, S, M), the values of attention
    lengths     (B,), or None if all sources have S tokens
    coverage    (B, S), the sum of all weights so far; None without coverage
    t           the number of the next step
    """

    def __init__(self, B, recurrent, keys, memory, lengths, coverage=None, t=0):
        self.B, self.recurrent, self.coverage, self.t = B, recurrent, coverage, t
        self.keys, self.memory, self.lengths = keys, memory, lengths

    def select(self, indices):
        """Replace row n by row indices[n], in place, and return this state."""
        indices = np.asarray(indices, np.intp)
        between("State", "indices", indices, 0, self.B - 1, "the rows of the state")
        self.B = len(indices)
        for name in ("recurrent", "keys", "memory", "lengths", "coverage"):
            setattr(self, name, _select_rows(getattr(self, name), indices))
        return self


class Decoder(nn.Module):
    """The decoder of a ``Seq2SeqConfig``.

    order   the layer that computes one step. Its name is part of saved models; it means
            the order in which a step computes its context and its state

    start(memory, lengths, recurrent)   -> State, before the first step
    step(state, tokens (B,))            -> logits (B, V), State, weights (B, S) or None
    forward(tokens (B, L), state)       -> TeacherForcedOutput
    """

    def __init__(self, config, rng=None):
        self.config, self.dropout = config, nn.Dropout(config.dropout, rng)
        c, E, H = config, config.embedding, config.hidden
        self.embed = nn.Embedding(c.target_vocabulary, E, PAD, rng=rng)
        cell = partial(StackedCells, kind=c.cell, layers=c.layers, dropout=c.dropout)
        if c.attention == "none":
            self.order = PlainStep(E, H, cell, rng=rng)
        else:
            luong = LuongStep if c.input_feeding else UnfedLuongStep
            step = BahdanauStep if c.attention == "bahdanau" else luong
            self.order = step(E, H, c.memory, _attention(c, rng), cell, rng=rng)
        self.output = nn.Linear(self.order.output_size, c.target_vocabulary, rng=rng)
        layer = self.order.attention
        self.is_fused = (
            (c.attention, c.cell, c.layers) == ("bahdanau", "gru", 1)
            and isinstance(layer, Attention)
            and not layer.dropout
            and layer.fused_score(H) is not None
        )

    def start(self, memory, lengths, recurrent):
        """Return the first State from memory (B, S, M) and lengths (B,) or None.

        ``recurrent`` is the first state of the cells; without attention it is all.
        """
        B, keys, coverage = len(memory), None, None
        if self.order.attention is None:
            memory = lengths = None
        else:
            keys = self.order.attention.precompute(memory)  # once for all steps
        if self.config.coverage:
            coverage = Tensor(np.zeros(memory.shape[:2], memory.dtype))
        return State(B, self.order.start(recurrent), keys, memory, lengths, coverage)

    def step(self, state, tokens):
        """Return logits (B, V), the next State, and weights (B, S) or None.

        tokens (B,) are those before the ones that the logits predict.
        """
        x = self.dropout(self.embed(tokens))  # (B, E)
        output, state, weights = self._step(x, state)
        if weights is not None:
            weights = weights.detach()
        return self.output(self.dropout(output)), state, weights

    def forward(self, tokens, state):
        """Compute all steps for the correct tokens (B, L), the inputs of the steps."""
        x = self.dropout(self.embed(tokens))  # (B, L, E)
        coverages = None
        if self.is_fused:
            outputs, weights = self._fused(x, state, _n_steps(tokens))
        elif hasattr(self.order, "run") and not self.config.coverage:
            outputs, weights = self.order.run(
                x, state.recurrent, *_source(state), **self._options(state)
            )
        else:
            outputs, weights, coverages = self._step_by_step(x, state)
        logits = self.output(self.dropout(outputs))
        return TeacherForcedOutput(logits, weights, coverages)

    def _fused(self, x, state, n_steps):
        """Return [s_t; c_t] (B, L, H + M) and the weights (B, L, S) of all steps."""
        cell = self.order.cell.layers[0]
        score = self.order.attention.fused_score(self.config.hidden)
        states, contexts, weights = attention_gru(
            x, state.recurrent[0], state.memory, state.keys.projected,
            cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh,
            **score._asdict(), lengths=state.lengths, n_steps=n_steps,
        )  # fmt: skip
        return mg.concat([states, contexts], axis=-1), weights.detach()

    def _step_by_step(self, x, state):
        """Return outputs o_t (B, L, O), weights and coverages (B, L, S) or None."""
        steps = []
        for t in range(x.shape[1]):
            before = state.coverage
            output, state, weights = self._step(x[:, t], state)
            steps.append((output, weights, before))
        return [None if a[0] is None else mg.stack(list(a), 1) for a in zip(*steps)]

    def _step(self, x, state):
        """Return the output o_t (B, O), the next State, and weights (B, S) or None."""
        recurrent, output, weights = self.order(
            x, state.recurrent, *_source(state), **self._options(state)
        )
        coverage = state.coverage
        if coverage is not None:
            coverage = coverage + weights  # the next step reads these weights as well
        new = State(state.B, recurrent, *_source(state), coverage, state.t + 1)
        return output, new, weights

    def _options(self, state):
        """Return the additional arguments of local attention or coverage."""
        if self.config.local is not None:
            return {"start": state.t}
        return {"coverage": state.coverage} if self.config.coverage else {}


def _attention(c, rng):
    """Return the attention layer of a config: queries of width H, keys of width M."""
    H, M = c.hidden, c.memory
    if c.coverage:
        return CoverageAttention(H, M, H, rng=rng)
    layer = SCORES[c.score].layer(H, M, rng)
    if c.local is not None:
        layer = LocalAttention(H, M, c.window, c.local, score=layer, rng=rng)
    return layer


def _n_steps(tokens):
    """Return the number of tokens of each row (B, L) without the padding at its end."""
    L = tokens.shape[1]
    return np.where(tokens != PAD, np.arange(1, L + 1), 0).max(1, initial=0)


def _source(state):
    return state.keys, state.memory, state.lengths


def _select_rows(value, indices):
    """Return the chosen rows of one part of a state."""
    if value is None:
        return None
    if isinstance(value, tuple):
        return tuple(_select_rows(part, indices) for part in value)
    if isinstance(value, ProjectedKeys):
        return ProjectedKeys(value.layer, value.projected[indices])
    return value[indices]
