"""A GRU decoder that looks back at every step, all steps in one operation.

One step, in Bahdanau's order (Bahdanau et al. 2015, section 3.1): the previous state
asks, and what it finds goes into the next state.

    e_tj  = score(s_{t-1}, k_j)                    which source positions matter now
    a_t   = softmax over the allowed j of e_tj
    c_t   = sum_j a_tj h_j                         what is found there
    s_t   = GRU([x_t; c_t], s_{t-1})               x_t: what was produced last

Only s_{t-1} -> s_t has to be done in order. Everything else is gathered: the products
of all x_t with the weights are one large product before the loop, and the gradients of
the weights, of the memory and of the keys are one large product each after it. That is
why this is one operation and not a composition of small ones; a test holds it equal to
that composition. What does go in order, ``_steps`` and ``_steps_back``, is compiled as
well (``attention/kernels/decoder.py``); another test holds the two equal.
"""

import numpy as np

from minigrad import differentiable
from minigrad.ops.gates import by_gate, project
from minigrad.ops.recurrent import (
    gru_products,
    gru_slopes,
    gru_step,
    gru_step_back,
)

from ..kernels import additive, decoder, decoder_backward, softmax
from ..kernels.product import weighted_sum


@differentiable
def attention_gru(
    x, s0, memory, keys, weight_ih, weight_hh, bias_ih, bias_hh, W_q=None, w_v=None,
    *, scale=1.0, lengths=None,
):  # fmt: skip
    """Run the decoder over all steps of ``x``.

    x         (B, L, E)      what is fed at each step, beside the context
    s0        (B, H)         the state before the first step
    memory    (B, S, M)      h_j, the values
    keys      (B, S, A)      k_j, projected once for all steps: W_a h_j, or W_k h_j
    weight_ih (3H, E + M)    weight_hh (3H, H)    bias_ih, bias_hh (3H,)   r, z, n
    W_q (A, H), w_v (A,)     given: the additive score w_v . tanh(W_q s + k_j)
                             not given: the dot score ``scale`` * s . k_j, for A = H
    lengths   (B,) ints      positions that may be attended to: so many; None: all

    -> states (B, L, H), contexts (B, L, M), weights (B, L, S)

    Backward, from the last step to the first, with ds what s_t has received so far:

        da        = ds times the slopes of the gates (``gru_slopes``)
        dc_t     += W_c^T da                       W_c: the columns of weight_ih for c
        de_t      = softmax backward of dc_t . h_j
        ds_{t-1}  = z ds + W_hh^T da + the score's share

    Raises ValueError when the shapes do not fit.
    """
    _check_shapes(
        x, s0, memory, keys, weight_ih, weight_hh, bias_ih, bias_hh, W_q, w_v, lengths
    )
    B, L, E = x.shape
    S, H, N = memory.shape[1], s0.shape[1], L * B
    fed = np.empty((L, B, weight_ih.shape[1]), x.dtype)  # [x_t; c_t]
    fed[:, :, :E] = x.swapaxes(0, 1)
    gates = np.empty((4, N, H), x.dtype)  # r, z, n, m: rows in order of time
    states = np.empty((L + 1, B, H), x.dtype)
    states[0] = s0
    weights = np.empty((L, B, 1, S), x.dtype)
    asked = memory, keys, W_q, w_v, scale
    run = weight_ih, weight_hh, bias_ih, bias_hh, lengths, fed, gates, states, weights
    q = decoder.forward(*asked, *run)
    if q is None:
        q = _steps(*asked, *run)

    def backward(g):
        cell = weight_ih, weight_hh, bias_ih, bias_hh
        run = *cell, g, fed, gates, states, weights, q
        found = decoder_backward.backward(*asked, *run)
        dx, *others = _steps_back(*asked, *run) if found is None else found
        return dx.swapaxes(0, 1), *others

    outputs = states[1:], fed[:, :, E:], weights[:, :, 0]
    return tuple(each.swapaxes(0, 1) for each in outputs), backward


def _steps(
    memory, keys, W_q, w_v, scale,
    weight_ih, weight_hh, bias_ih, bias_hh, lengths, fed, gates, states, weights,
):  # fmt: skip
    """From the first step to the last: fill contexts, gates, states and weights.

    -> q (L, B, A), the queries W_q s_{t-1} of the additive score
    """
    L, B = weights.shape[:2]
    E = fed.shape[2] - memory.shape[2]
    contexts = fed[:, :, E:]
    # the large product over all steps first
    project(fed[:, :, :E].reshape(L * B, E), weight_ih[:, :E], bias_ih, out=gates[:3])
    W_c, W_h = weight_ih[:, E:].T, weight_hh.T  # (M, 3H), (H, 3H)
    q = np.empty((L, B, 0 if w_v is None else len(w_v)), fed.dtype)
    for t in range(L):
        s, rows = states[t], slice(t * B, (t + 1) * B)
        if w_v is None:
            e = scale * (s[:, None, :] @ keys.swapaxes(1, 2))  # (B, 1, S)
        else:
            q[t] = s @ W_q.T
            e = additive.forward(q[t][:, None], keys, w_v)
        weights[t] = softmax.forward(e, lengths, None, 1.0)
        contexts[t] = weighted_sum(weights[t], memory)[:, 0]
        gates[:3, rows] += by_gate(contexts[t] @ W_c, 3)
        gru_step(gates[:, rows], s @ W_h + bias_hh, s, out=states[t + 1])
    return q


def _steps_back(
    memory, keys, W_q, w_v, scale,
    weight_ih, weight_hh, bias_ih, bias_hh, g, fed, gates, states, weights, q,
):  # fmt: skip
    """From the last step to the first: the gradients of all arguments, in their order.

    But dx is (L, B, E), in order of time.
    """
    L, B, _, S = weights.shape
    H, M = states.shape[2], memory.shape[2]
    E = weight_ih.shape[1] - M
    g_states, g_contexts, g_weights = (each.swapaxes(0, 1) for each in g)
    da = gru_slopes(gates, states[:L].reshape(L * B, H))  # and da once multiplied by ds
    W = _to_state_and_context(weight_hh, weight_ih[:, -M:])  # (4H, H + M)
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
            ds += scale * weighted_sum(de[t], keys)[:, 0]
        else:
            asked = q[t][:, None], keys, w_v
            dq_t, dkeys_t, dw_t = additive.backward(*asked, de[t])
            dq[t] = dq_t[:, 0]
            ds += dq[t] @ W_q
            dkeys += dkeys_t  # summed over t: the keys serve at every step
            dw_v += dw_t
    if w_v is None:  # dk_j = sum_t de_tj q_t with q_t = scale * s_{t-1}
        dkeys = scale * (de[:, :, 0].transpose(1, 2, 0) @ states[:L].swapaxes(0, 1))
    dmemory = weights[:, :, 0].transpose(1, 2, 0) @ dc.swapaxes(0, 1)  # sum over t
    # what is left is one product for all steps
    before, needs = states[:L].reshape(L * B, H), (True,) * 4  # s_{t-1}
    rows = da, fed.reshape(L * B, E + M), before
    dfed, *dcell = gru_products(*rows, weight_ih, bias_ih, bias_hh, needs)
    dx = dfed.reshape(L, B, E + M)[:, :, :E]
    dW_q = None if w_v is None else dq.reshape(L * B, len(w_v)).T @ before
    return dx, ds, dmemory, dkeys, *dcell, dW_q, dw_v


def _to_state_and_context(weight_hh, W_c):
    """The matrix that takes (da_r, da_z, dm, da_n) to the state and to the context.

    Into n the state goes through m and the context directly, so each has a row of zeros
    where the other's stands:  (4H, H + M)
    """
    H, M = weight_hh.shape[1], W_c.shape[1]
    W = np.zeros((4 * H, H + M), weight_hh.dtype)
    W[: 3 * H, :H] = weight_hh
    W[: 2 * H, H:] = W_c[: 2 * H]
    W[3 * H :, H:] = W_c[2 * H :]
    return W


def _check_shapes(
    x, s0, memory, keys, weight_ih, weight_hh, bias_ih, bias_hh, W_q, w_v, lengths
):
    """Compiled loops look at no shape, so all of them are looked at here."""
    for name, array, letters in (
        ("x", x, "(B, L, E)"),
        ("s0", s0, "(B, H)"),
        ("memory", memory, "(B, S, M)"),
    ):
        if array.ndim != letters.count(",") + 1:
            raise ValueError(
                f"attention_gru: {name} must have shape {letters}; found {array.shape}."
            )
    (B, _, E), H, (_, S, M) = x.shape, s0.shape[1], memory.shape
    A = H if w_v is None else w_v.size
    for name, array, letters, shape in (
        ("s0", s0, "(B, H)", (B, H)),
        ("memory", memory, "(B, S, M)", (B, S, M)),
        ("keys", keys, "(B, S, H)" if w_v is None else "(B, S, A)", (B, S, A)),
        ("weight_ih", weight_ih, "(3H, E + M)", (3 * H, E + M)),
        ("weight_hh", weight_hh, "(3H, H)", (3 * H, H)),
        ("bias_ih", bias_ih, "(3H,)", (3 * H,)),
        ("bias_hh", bias_hh, "(3H,)", (3 * H,)),
        ("W_q", W_q, "(A, H)", (A, H)),
        ("w_v", w_v, "(A,)", (A,)),
        ("lengths", lengths, "(B,)", (B,)),
    ):
        if array is None and name == "lengths":
            continue
        if array is None and W_q is w_v:  # neither: the dot score
            continue
        if array is None or np.shape(array) != shape:
            found = "None" if array is None else np.shape(array)
            raise ValueError(
                f"attention_gru: {name} must have shape {letters} = {shape} to go with "
                f"x {x.shape}, s0 {s0.shape} and memory {memory.shape}; found {found}."
            )
