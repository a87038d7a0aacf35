"""A GRU decoder with attention at every step: all steps in one operation.

One step, in Bahdanau's order (Bahdanau et al. 2015, section 3.1): the previous state is
the query, and its context enters the next state.

    e_tj  = score(s_{t-1}, k_j)                    which source positions matter now
    a_t   = softmax over the allowed j of e_tj
    c_t   = sum_j a_tj h_j                         the context
    s_t   = GRU([x_t; c_t], s_{t-1})               x_t: the last token, embedded

``composed`` is this definition, step by step, from the operations of the engine.
``attention_gru`` computes the same as one operation, and a test holds the two equal.
Only s_{t-1} -> s_t has to wait for the step before; all else is gathered: the products
of all x_t with the weights are one large product before the loop, and the gradients of
the weights, of the memory and of the keys are one large product each after it. The
fusion takes 13 ms of processor time instead of 17, forward and backward, and 8 ms with
compiled loops (B = 64, L = 9, S = 8, H = 96). Those are the loops ``_steps`` and
``_steps_back`` in ``attention/kernels/decoder.py``; another test holds them equal.
"""

from typing import NamedTuple

import numpy as np

from minigrad import concat, differentiable, linear, stack
from minigrad.ops.gates import by_gate, project
from minigrad.ops.recurrent import (
    gru_cell,
    gru_products,
    gru_slopes,
    gru_step,
    gru_step_back,
)
from minigrad.shapes import shapes

from ..attend import attend
from ..kernels import additive, decoder, decoder_backward, softmax
from ..scores import tanh_scores


@shapes
@differentiable
def attention_gru(
    x, s0, memory, keys, weight_ih, weight_hh, bias_ih, bias_hh, W_q=None, w_v=None,
    *, scale=1.0, lengths=None,
):  # fmt: skip
    """Run the decoder over all steps of ``x``.

    x (B, L, E), s0 (B, H), memory (B, S, M), keys (B, S, A), weight_ih (3H, E + M),
    weight_hh (3H, H), bias_ih (3H,), bias_hh (3H,), W_q? (A, H), w_v? (A,),
    lengths? (B,) int  ->  states (B, L, H), contexts (B, L, M), weights (B, L, S)

    x         the inputs of all steps, beside the context
    s0        the state before the first step
    memory    h_j, the values
    keys      k_j, projected once for all steps: W_a h_j, or W_k h_j
    weights   of the cell, gates in the order r, z, n
    W_q, w_v  given: the additive score w_v . tanh(W_q s + k_j)
              None: the dot score ``scale`` * s . k_j, for A = H
    lengths   the numbers of positions that may be attended; None: all

    Backward, from the last step to the first, with ds the gradient of s_t so far:

        da        = ds times the slopes of the gates (``gru_slopes``)
        dc_t     += W_c^T da                       W_c: the columns of weight_ih for c
        de_t      = softmax backward of dc_t . h_j
        ds_{t-1}  = z ds + W_hh^T da + the gradient through the score
    """
    (B, L, E), S, H = x.shape, memory.shape[1], s0.shape[1]
    if (W_q is None) != (w_v is None) or (W_q is None and keys.shape[2] != H):
        raise ValueError(
            f"attention_gru: keys have shape {keys.shape}, W_q is {_shape(W_q)} and "
            f"w_v {_shape(w_v)}; expected both of the additive score, or neither and "
            f"keys of width H = {H}."
        )
    inputs = np.empty((L, B, weight_ih.shape[1]), x.dtype)  # [x_t; c_t]
    inputs[:, :, :E] = x.swapaxes(0, 1)
    gates = np.empty((4, L * B, H), x.dtype)  # r, z, n, m: rows in order of time
    states = np.empty((L + 1, B, H), x.dtype)
    states[0] = s0
    weights = np.empty((L, B, 1, S), x.dtype)
    score = Score(memory, keys, W_q, w_v, scale)
    cell = Cell(weight_ih, weight_hh, bias_ih, bias_hh)
    saved = Saved(inputs, gates, states, weights)
    q = decoder.forward(*score, *cell, lengths, *saved)
    if q is None:  # there is no compiled kernel
        q = _steps(score, cell, lengths, saved)

    def backward(g):
        gradients = decoder_backward.backward(*score, *cell, g, *saved, q)
        if gradients is None:
            gradients = _steps_back(score, cell, g, saved, q)
        dx, *others = gradients
        return dx.swapaxes(0, 1), *others

    outputs = states[1:], inputs[:, :, E:], weights[:, :, 0]
    return tuple(each.swapaxes(0, 1) for each in outputs), backward


def composed(
    x, s0, memory, keys, weight_ih, weight_hh, bias_ih, bias_hh, W_q=None, w_v=None,
    *, scale=1.0, lengths=None,
):  # fmt: skip
    """Compute ``attention_gru`` step by step: its definition, and slower."""

    def score(s, keys):
        if w_v is None:
            return scale * (s @ keys.swapaxes(1, 2))
        return tanh_scores(linear(s, W_q), keys, w_v)

    s, steps = s0, []
    for t in range(x.shape[1]):
        c, a = attend(s[:, None], keys, memory, score, valid_lens=lengths)  # one query
        c, a = c[:, 0], a[:, 0]  # (B, M), (B, S)
        s = gru_cell(
            concat([x[:, t], c], -1), s, weight_ih, weight_hh, bias_ih, bias_hh
        )
        steps.append((s, c, a))
    return tuple(stack(list(each), 1) for each in zip(*steps))


class Score(NamedTuple):
    """What a query is compared with, and how."""

    memory: np.ndarray
    keys: np.ndarray
    W_q: np.ndarray | None
    w_v: np.ndarray | None
    scale: float


class Cell(NamedTuple):
    """The parameters of the GRU cell."""

    weight_ih: np.ndarray
    weight_hh: np.ndarray
    bias_ih: np.ndarray
    bias_hh: np.ndarray


class Saved(NamedTuple):
    """Values of all steps, in order of time, filled on the way for the backward."""

    inputs: np.ndarray  # (L, B, E + M)  [x_t; c_t]
    gates: np.ndarray  # (4, L B, H)    r, z, n, m
    states: np.ndarray  # (L + 1, B, H)  s_0 to s_L
    weights: np.ndarray  # (L, B, 1, S)


def _steps(score, cell, lengths, saved):
    """Run from the first step to the last, and fill ``saved``.

    -> q (L, B, A), the queries W_q s_{t-1} of the additive score
    """
    memory, keys, W_q, w_v, scale = score
    inputs, gates, states, weights = saved
    L, B = weights.shape[:2]
    E = inputs.shape[2] - memory.shape[2]
    contexts = inputs[:, :, E:]
    # the large product over all steps first
    x, W_x = inputs[:, :, :E].reshape(L * B, E), cell.weight_ih[:, :E]
    project(x, W_x, cell.bias_ih, out=gates[:3])
    W_c, W_h = cell.weight_ih[:, E:].T, cell.weight_hh.T  # (M, 3H), (H, 3H)
    q = np.empty((L, B, 0 if w_v is None else len(w_v)), inputs.dtype)
    for t in range(L):
        s, rows = states[t], slice(t * B, (t + 1) * B)
        if w_v is None:
            e = scale * (s[:, None, :] @ keys.swapaxes(1, 2))  # (B, 1, S)
        else:
            q[t] = s @ W_q.T
            e = additive.forward(q[t][:, None], keys, w_v)
        weights[t] = softmax.forward(e, lengths, None, 1.0)
        contexts[t] = (weights[t] @ memory)[:, 0]
        gates[:3, rows] += by_gate(contexts[t] @ W_c, 3)
        gru_step(gates[:, rows], s @ W_h + cell.bias_hh, s, out=states[t + 1])
    return q


def _steps_back(score, cell, g, saved, q):
    """Run from the last step to the first: the gradients of all arguments, in order.

    But dx is (L, B, E), in order of time.
    """
    memory, keys, W_q, w_v, scale = score
    inputs, gates, states, weights = saved
    L, B, _, S = weights.shape
    H, M = states.shape[2], memory.shape[2]
    E = inputs.shape[2] - M
    g_states, g_contexts, g_weights = (each.swapaxes(0, 1) for each in g)
    before = states[:L].reshape(L * B, H)  # s_{t-1} of all steps
    da = gru_slopes(gates, before)  # times ds, below, it is the gradient of the sums
    W = _to_state_and_context(cell.weight_hh, cell.weight_ih[:, E:])  # (4H, H + M)
    dc, de = np.empty((L, B, M), da.dtype), np.empty_like(weights)
    dq, dkeys = np.empty_like(q), np.zeros_like(keys)
    dw_v = None if w_v is None else np.zeros_like(w_v)
    ds = np.zeros((B, H), da.dtype)
    for t in reversed(range(L)):
        rows = slice(t * B, (t + 1) * B)
        ds += g_states[t]
        through_z = gru_step_back(ds, da[rows], gates[1, rows])
        through_gates = da[rows] @ W  # (B, H + M)
        ds = through_z + through_gates[:, :H]
        dc[t] = g_contexts[t] + through_gates[:, H:]
        dweights = dc[t][:, None] @ memory.swapaxes(1, 2) + g_weights[t][:, None]
        de[t] = softmax.backward(weights[t], dweights, 1.0)  # (B, 1, S)
        if w_v is None:
            ds += scale * (de[t] @ keys)[:, 0]
        else:
            dq_t, dkeys_t, dw_t = additive.backward(q[t][:, None], keys, w_v, de[t])
            dq[t] = dq_t[:, 0]
            ds += dq[t] @ W_q
            dkeys += dkeys_t  # summed over t: all steps use the same keys
            dw_v += dw_t
    if w_v is None:  # dk_j = sum_t de_tj q_t with q_t = scale * s_{t-1}
        dkeys = scale * (de[:, :, 0].transpose(1, 2, 0) @ states[:L].swapaxes(0, 1))
    dmemory = weights[:, :, 0].transpose(1, 2, 0) @ dc.swapaxes(0, 1)  # sum over t
    # what is left is one product for all steps
    rows = da, inputs.reshape(L * B, E + M), before
    dinputs, *dcell = gru_products(
        *rows, cell.weight_ih, cell.bias_ih, cell.bias_hh, (True,) * 4
    )
    dx = dinputs.reshape(L, B, E + M)[:, :, :E]
    dW_q = None if w_v is None else dq.reshape(L * B, len(w_v)).T @ before
    return dx, ds, dmemory, dkeys, *dcell, dW_q, dw_v


def _to_state_and_context(weight_hh, W_c):
    """Return the matrix that maps (da_r, da_z, dm, da_n) to the state and the context.

    The state enters n through m, the context directly: each has a row of zeros where
    the other's stands.  (4H, H + M)
    """
    H, M = weight_hh.shape[1], W_c.shape[1]
    W = np.zeros((4 * H, H + M), weight_hh.dtype)
    W[: 3 * H, :H] = weight_hh
    W[: 2 * H, H:] = W_c[: 2 * H]
    W[3 * H :, H:] = W_c[2 * H :]
    return W


def _shape(x):
    return None if x is None else x.shape
