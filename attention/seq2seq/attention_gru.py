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
that composition.
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

from ..scores import additive_core
from ..softmax import masked_softmax_core


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
    """
    B, L, E = x.shape
    S, H, N = memory.shape[1], s0.shape[1], L * B
    W_c, W_h = weight_ih[:, E:].T.copy(), weight_hh.T.copy()  # (M, 3H), (H, 3H)
    fed = np.empty((L, B, weight_ih.shape[1]), x.dtype)  # [x_t; c_t]
    fed[:, :, :E] = x.swapaxes(0, 1)
    contexts = fed[:, :, E:]
    gates = np.empty((4, N, H), x.dtype)  # r, z, n, m: rows in order of time
    project(fed[:, :, :E].reshape(N, E), weight_ih[:, :E], bias_ih, out=gates[:3])
    states = np.empty((L + 1, B, H), x.dtype)
    states[0] = s0
    weights = np.empty((L, B, 1, S), x.dtype)
    kept = []
    for t in range(L):
        s, rows = states[t], slice(t * B, (t + 1) * B)
        if w_v is None:
            e, score_backward = scale * (s[:, None, :] @ keys.swapaxes(1, 2)), None
        else:
            e, score_backward = additive_core.raw((s @ W_q.T)[:, None, :], keys, w_v)
        weights[t], softmax_backward = masked_softmax_core.raw(e, lengths)  # (B, 1, S)
        contexts[t] = (weights[t] @ memory)[:, 0]
        gates[:3, rows] += by_gate(contexts[t] @ W_c, 3)
        gru_step(gates[:, rows], s @ W_h + bias_hh, s, out=states[t + 1])
        kept.append((score_backward, softmax_backward))

    def backward(g, needs):
        g_states, g_contexts, g_weights = (each.swapaxes(0, 1) for each in g)
        before = states[:L].reshape(N, H)  # s_{t-1}
        da = gru_slopes(gates, before)  # (N, 4H), and da once multiplied by ds
        W = _to_state_and_context(weight_hh, weight_ih[:, E:])  # (4H, H + M)
        dc, de = np.empty((L, B, memory.shape[2]), x.dtype), np.empty_like(weights)
        dq = None if w_v is None else np.empty((L, B, len(w_v)), x.dtype)
        dkeys, dw_v = np.zeros_like(keys), 0
        ds = np.zeros((B, H), x.dtype)
        for t in reversed(range(L)):
            score_backward, softmax_backward = kept[t]
            rows = slice(t * B, (t + 1) * B)
            ds += g_states[t]
            through_z = gru_step_back(ds, da[rows], gates[1, rows])
            through_gates = da[rows] @ W  # (B, H + M)
            ds = through_z + through_gates[:, :H]
            dc[t] = g_contexts[t] + through_gates[:, H:]
            dweights = dc[t][:, None] @ memory.swapaxes(1, 2) + g_weights[t][:, None]
            de[t] = softmax_backward(dweights)[0]  # (B, 1, S)
            if w_v is None:
                ds += scale * (de[t] @ keys)[:, 0]
            else:
                dq_t, dkeys_t, dw_t = score_backward(de[t])
                dq[t] = dq_t[:, 0]
                ds += dq[t] @ W_q
                dkeys += dkeys_t  # summed over t: the keys serve at every step
                dw_v += dw_t
        # what is left is one product for all steps
        if w_v is None:  # dk_j = sum_t de_tj q_t with q_t = scale * s_{t-1}
            dkeys = scale * (de[:, :, 0].transpose(1, 2, 0) @ states[:L].swapaxes(0, 1))
            dscore = None, None
        else:
            dscore = dq.reshape(N, len(w_v)).T @ before, dw_v
        dmemory = weights[:, :, 0].transpose(1, 2, 0) @ dc.swapaxes(0, 1)  # sum over t
        _, *dgru = gru_products(
            da,
            fed.reshape(N, fed.shape[2]),
            before,
            weight_ih,
            bias_ih,
            bias_hh,
            (False, *needs[3:]),
        )
        dx = (da[:, : 3 * H] @ weight_ih[:, :E]).reshape(L, B, E).swapaxes(0, 1)
        return dx, ds, dmemory, dkeys, *dgru, *dscore

    outputs = states[1:], contexts, weights[:, :, 0]
    return tuple(each.swapaxes(0, 1) for each in outputs), backward


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
