"""A GRU decoder with attention at every step, as one operation.

At step t the query is the previous state s_{t-1}. The context c_t is an input of the
next state s_t (Bahdanau et al. 2015, section 3.1). Because s is the state, e is the
score. [x_t; c_t] is the concatenation of x_t and c_t.

    e_tj  = score_projected(s_{t-1}, k_j)          how much position j matters now
    p_tj  = softmax of e_tj over the allowed j     the attention weights
    c_t   = sum_j p_tj h_j                         the context
    s_t   = GRU([x_t; c_t], s_{t-1})

    x_t   the embedding of the previous token of the target, of width E
    h_j   output j of the encoder, of width M; all h_j together are the memory
    k_j   project(h_j): W h_j, where W is a parameter of the score, or h_j itself

``project`` and ``score_projected`` are those of a layer of ``attention/layers.py``.

``attention_gru`` computes these formulas as one operation, with a hand-derived
backward. For B = 64, L = 9, S = 8, H = 96, a forward and a backward pass take 17 ms of
processor time step by step, composed of operations (a ``BahdanauStep``), 13 ms as one
operation, and 8 ms if its loops are compiled.
"""

from typing import NamedTuple

import numpy as np

from minigrad import differentiable
from minigrad.ops.gates import by_gate, project
from minigrad.ops.recurrent import (
    gru_products,
    gru_slopes,
    gru_step,
    gru_step_back,
)
from minigrad.shapes import shapes

from .. import scores
from ..kernels import decoder, decoder_backward
from ..softmax import gradient_of_scores, weights_of


# ---- A first reading can stop here ----

# ``attention_gru`` has two loops over the steps, ``_steps`` and ``_steps_back``. The
# product of all x_t with their columns of weight_ih stands before the first loop. After
# the second, one product for all steps gives the gradient of each matrix of parameters.
# kernels/decoder.py and kernels/decoder_backward.py have compiled versions of both.


@shapes
@differentiable
def attention_gru(
    x, s0, memory, keys, weight_ih, weight_hh, bias_ih, bias_hh, W_q=None, w_v=None,
    *, scale=1.0, lengths=None, n_steps=None,
):  # fmt: skip
    """Run the decoder over all steps of ``x``, as one operation.

    x (B, L, E), s0 (B, H), memory (B, S, M), keys (B, S, A), weight_ih (3H, E + M),
    weight_hh (3H, H), bias_ih (3H,), bias_hh (3H,), W_q? (A, H), w_v? (A,),
    lengths? (B,) int, n_steps? (B,) int
        ->  states (B, L, H), contexts (B, L, M), weights (B, L, S)

    x                  the embeddings x_t of all steps
    s0                 the state before the first step
    memory             h_j, the values of attention
    keys               k_j, projected once for all steps: h_j for the dot score, W_a h_j
                       for the general score, W_k h_j for the additive score
    weight_*, bias_*   the parameters of the GRU cell, gates in the order r, z, n
    W_q, w_v           if given, the score is w_v . tanh(W_q s + k_j), without scale; if
                       None, it is scale s . k_j, and A must equal H
    lengths            for each example, how many positions may be attended to; None: S
    n_steps            for each example, how many steps it has. The others are padding:
                       their outputs and gradients are 0; None: L

    Backward, from the last step to the first, with ds_t = dL/ds_t and so on. r, z, m, n
    of step t and the gradients da and dm are those of ``gru_cell``. W_c are the columns
    of weight_ih that multiply c_t:

        dc_t     = W_c^T [da_r; da_z; da_n]
        dp_tj    = dc_t . h_j
        de_tj    = p_tj (dp_tj - sum_i p_ti dp_ti)
        ds_{t-1} = z ds_t + W_hh^T [da_r; da_z; dm] + u_t
        dh_j     = sum_t p_tj dc_t

    u_t is the gradient of s_{t-1} through the scores, where it is the query. With the
    dot score, e_tj = scale s_{t-1} . k_j, and

        u_t = scale sum_j de_tj k_j             dk_j = scale sum_t de_tj s_{t-1}

    With the additive score, e_tj = w_v . tanh(q_t + k_j) and q_t = W_q s_{t-1}. The
    gradients dq_t, dk_j and dw_v are those of ``tanh_scores``, and

        u_t = W_q^T dq_t                        dW_q = sum_t dq_t s_{t-1}^T

    The gradients of the three outputs are added to ds_t, dc_t and dp_tj. dx and the
    gradients of the cell's parameters are those of ``gru_cell`` for the input
    [x_t; c_t]; the gradients of the parameters are summed over t.
    """
    _check_score(keys, W_q, w_v, s0.shape[1])
    attention = memory, keys, W_q, w_v, scale, lengths
    cell = weight_ih, weight_hh, bias_ih, bias_hh
    history = _start_history(x, s0, memory, w_v)
    (B, L, _), H = x.shape, s0.shape[1]
    n_steps = np.full(B, L) if n_steps is None else n_steps
    is_filled = decoder.forward(attention, cell, history, n_steps)
    if not is_filled:  # there is no compiled loop
        _steps(attention, cell, history)
    padding = np.nonzero(np.arange(L)[:, None] >= n_steps)  # the indices t and b
    outputs = history.states[1:], history.contexts, history.weights[:, :, 0]
    for y in outputs:  # (L, B, ...)
        y[padding] = 0

    def backward(g):
        g = [np.array(g_y.swapaxes(0, 1), order="C") for g_y in g]  # (L, B, ...)
        for g_y in g:
            g_y[padding] = 0
        gradients = decoder_backward.backward(attention, cell, history, n_steps, g)
        if gradients is None:  # there is no compiled loop
            for values in (*history.gates.reshape(4, L, B, H), history.queries):
                values[padding] = 0  # if the compiled forward loop left them out
            gradients = _steps_back(attention, cell, history, g)
        dx, *others = gradients
        return dx.swapaxes(0, 1), *others  # (L, B, E) -> (B, L, E)

    outputs = (np.ascontiguousarray(y.swapaxes(0, 1)) for y in outputs)  # (B, L, ...)
    return tuple(outputs), backward


class History(NamedTuple):
    """Arrays of all steps. The forward loop fills them; the backward reads them.

    The first axis is the step, except in ``gates``: there, the row of step t and
    example b is t B + b, because ``gru_slopes`` takes the rows of all steps at once.
    In the code t begins with 0: states[t] is the state before step t, which the
    formulas call s_{t-1}, and states[t + 1] is the state after it.
    """

    inputs: np.ndarray  # (L, B, E + M)  [x_t; c_t]
    contexts: np.ndarray  # (L, B, M)    c_t, a view of the last M columns of inputs
    gates: np.ndarray  # (4, L B, H)     r, z, m = W_hn s_{t-1} + b_hn, n
    states: np.ndarray  # (L + 1, B, H)  s_0 to s_L
    weights: np.ndarray  # (L, B, 1, S)  p_t; the axis of length 1 is the one query
    queries: np.ndarray  # (L, B, A)     W_q s_{t-1}; (L, B, 0) for the dot score


def _start_history(x, s0, memory, w_v):
    """Return a ``History`` with x_t and s_0; the loop computes the other entries."""
    (B, L, E), (_, S, M), H = x.shape, memory.shape, s0.shape[1]
    query_width = 0 if w_v is None else len(w_v)
    inputs = np.empty((L, B, E + M), x.dtype)
    inputs[:, :, :E] = x.swapaxes(0, 1)
    states = np.empty((L + 1, B, H), x.dtype)
    states[0] = s0
    return History(
        inputs=inputs,
        contexts=inputs[:, :, E:],
        gates=np.empty((4, L * B, H), x.dtype),
        states=states,
        weights=np.empty((L, B, 1, S), x.dtype),
        queries=np.empty((L, B, query_width), x.dtype),
    )


def _steps(attention, cell, history):
    """Run from the first step to the last, and fill ``history``."""
    memory, keys, W_q, w_v, scale, lengths = attention
    weight_ih, W_hh, bias_ih, bias_hh = cell
    inputs, contexts, gates, states, weights, queries = history
    L, B, M = contexts.shape
    E = inputs.shape[2] - M
    # the product of all x_t with W_x needs no state, so it stands before the loop
    x, W_x = inputs[:, :, :E].reshape(L * B, E), weight_ih[:, :E]
    r, z, _, n = gates
    project(x, W_x, bias_ih, out=(r, z, n))
    W_c = weight_ih[:, E:]  # (3H, M)
    allowed = None
    if lengths is not None:
        allowed = np.arange(keys.shape[1]) < lengths[:, None, None]  # (B, 1, S)
    for t in range(L):
        s, rows = states[t], slice(t * B, (t + 1) * B)  # s is s_{t-1}
        if w_v is None:
            e = scale * (s[:, None, :] @ keys.swapaxes(1, 2))  # (B, 1, S)
        else:
            queries[t] = s @ W_q.T
            e = scores.forward_twin(queries[t][:, None], keys, w_v)  # (B, 1, S)
        weights[t] = weights_of(e, allowed)
        contexts[t] = (weights[t] @ memory)[:, 0]
        for gate, from_c in zip((r, z, n), by_gate(contexts[t] @ W_c.T, 3)):
            gate[rows] += from_c
        gru_step(gates[:, rows], s @ W_hh.T + bias_hh, s, out=states[t + 1])


def _steps_back(attention, cell, history, g):
    """Run from the last step to the first.

    Return the gradients of all arguments in the order of the arguments. The gradient of
    x has the shape (L, B, E).
    """
    memory, keys, W_q, w_v, scale, _ = attention
    weight_ih, W_hh, bias_ih, bias_hh = cell
    inputs, contexts, gates, states, weights, queries = history
    L, B, M = contexts.shape
    H, E = states.shape[2], inputs.shape[2] - M
    g_states, g_contexts, g_weights = g  # (L, B, ...)
    previous_states = states[:L].reshape(L * B, H)  # s_{t-1} of all steps
    slopes = gru_slopes(gates, previous_states)  # (L B, 4H), of all steps
    W_c, z = weight_ih[:, E:], gates[1]
    dc, de = np.empty((L, B, M), slopes.dtype), np.empty_like(weights)
    dqueries, dkeys = np.empty_like(queries), np.zeros_like(keys)
    dw_v = None if w_v is None else np.zeros_like(w_v)
    ds = np.zeros((B, H), slopes.dtype)
    for t in reversed(range(L)):
        rows = slice(t * B, (t + 1) * B)
        # through the cell: s_t depends on s_{t-1} and c_t
        ds += g_states[t]
        da, direct = gru_step_back(ds, slopes[rows], z[rows])  # da_r, da_z, dm, da_n
        ds = direct + da[:, : 3 * H] @ W_hh  # r, z and m depend on s_{t-1}
        dc[t] = g_contexts[t] + da[:, : 2 * H] @ W_c[: 2 * H]  # r and z depend on c_t,
        dc[t] += da[:, 3 * H :] @ W_c[2 * H :]  # and so does n
        # through the average c_t = sum_j p_tj h_j and the softmax
        dp = dc[t][:, None] @ memory.swapaxes(1, 2) + g_weights[t][:, None]
        de[t] = gradient_of_scores(weights[t], dp)  # (B, 1, S)
        # through the score: e_t depends on s_{t-1} and the keys
        if w_v is None:
            ds += scale * (de[t] @ keys)[:, 0]
        else:
            query = queries[t][:, None]  # (B, 1, A)
            dquery, dkeys_t, dw_t = scores.backward_twin(query, keys, w_v, de[t])
            dqueries[t] = dquery[:, 0]
            ds += dqueries[t] @ W_q
            dkeys += dkeys_t  # summed over t: all steps use the same keys
            dw_v += dw_t
    # one product for all steps sums over t: (B, S, L) @ (B, L, M)
    dmemory = weights[:, :, 0].transpose(1, 2, 0) @ dc.swapaxes(0, 1)
    if w_v is None:
        dW_q = None
        dkeys = scale * (de[:, :, 0].transpose(1, 2, 0) @ states[:L].swapaxes(0, 1))
    else:
        dW_q = dqueries.reshape(L * B, len(w_v)).T @ previous_states
    dinputs, *dcell = gru_products(
        slopes,  # the loop has replaced every row by its da
        inputs.reshape(L * B, E + M),
        previous_states,
        weight_ih,
        bias_ih,
        bias_hh,
        needs=(True, True, True, True),  # inputs, states, weight_ih, weight_hh
    )
    dx = dinputs.reshape(L, B, E + M)[:, :, :E]
    return dx, ds, dmemory, dkeys, *dcell, dW_q, dw_v


def _check_score(keys, W_q, w_v, H):
    """Raise ValueError unless the arguments describe an additive or a dot score."""
    if (W_q is None) == (w_v is None) and (W_q is not None or keys.shape[2] == H):
        return
    W_q_shape, w_v_shape = (None if x is None else x.shape for x in (W_q, w_v))
    raise ValueError(
        f"attention_gru: keys have shape {keys.shape}, W_q is {W_q_shape} and w_v "
        f"{w_v_shape}; expected W_q and w_v for the additive score, or neither, with "
        f"keys of width H = {H}."
    )
