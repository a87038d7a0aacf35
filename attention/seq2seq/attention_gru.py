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

``attention_gru`` composes these formulas of operations, or computes them by two
compiled loops with a hand-derived backward (kernels/decoder.py, decoder_backward.py).
For B = 64, L = 9, S = 8, H = 96, a forward and a backward pass then take 8 ms of
processor time instead of 17.
"""

import numpy as np

from minigrad import Tensor, concat, differentiable, gru_cell, linear, matmul, stack
from minigrad.shapes import shapes

from ..kernels import decoder, decoder_backward
from ..kernels.cell import cell_of
from ..kernels.choice import EXP
from ..scores import scaled_dot, tanh_scores
from ..softmax import softmax_over_allowed


# ---- A first reading can stop here ----


@shapes
@differentiable
def attention_gru(
    x, s0, memory, keys, weight_ih, weight_hh, bias_ih, bias_hh, W_q=None, w_v=None,
    *, scale=1.0, lengths=None, n_steps=None, needs=(True,) * 10,
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
    B, L, _ = x.shape
    n_steps = np.full(B, L) if n_steps is None else n_steps
    padding = (np.arange(L) >= n_steps[:, None])[..., None]  # (B, L, 1)
    if padding.any():
        x = np.where(padding, 0, x)  # it may be NaN
    arrays = x, s0, memory, keys, weight_ih, weight_hh, bias_ih, bias_hh, W_q, w_v
    found = _compiled(arrays, scale, lengths, n_steps, needs)
    outputs, backward_of = found or _step_by_step(arrays, scale, lengths, needs)

    def backward(g):
        return backward_of([np.where(padding, 0, g_y) for g_y in g])

    return tuple(np.where(padding, 0, y) for y in outputs), backward


def _step_by_step(arrays, scale, lengths, needs):
    """Compose the steps of operations; return the outputs and their backward."""
    leaves = [a if a is None else Tensor(a, requires_grad=any(needs)) for a in arrays]
    x, s, memory, keys, *cell, W_q, w_v = leaves
    H, (_, S, M), allowed = s.shape[1], memory.shape, None
    if lengths is not None:
        allowed = np.arange(S) < lengths[:, None, None]  # (B, 1, S)
    steps = []
    for t in range(x.shape[1]):
        if w_v is None:
            e = scaled_dot.unchecked(s[:, None], keys, scale)  # (B, 1, S)
        else:
            e = tanh_scores.unchecked(linear.unchecked(s, W_q)[:, None], keys, w_v)
        p = softmax_over_allowed(e, allowed)
        c = matmul(p, memory)[:, 0]  # (B, M)
        s = gru_cell.unchecked(concat([x[:, t], c], -1), s, *cell)
        steps.append(concat([s, c, p[:, 0]], -1))
    if not steps:  # the gradients are 0
        given = [a for a in arrays if a is not None]
        outputs = [np.zeros((len(x), 0, n), x.dtype) for n in (H, M, S)]
        return outputs, lambda g: tuple(map(np.zeros_like, given))
    y = stack(steps, 1)  # (B, L, H + M + S)

    def backward(g):
        given = [leaf for leaf in leaves if leaf is not None]
        for leaf in given:
            leaf.grad = None
        y.backward(np.concatenate(g, -1), retain_graph=True)
        return tuple(leaf.grad for leaf in given)

    return np.split(y._data, [H, H + M], -1), backward


def _compiled(arrays, scale, lengths, n_steps, needs):
    """Return what ``_step_by_step`` returns, by compiled loops; None if it should run.

    The loops read and write the steps first, (L, B, ...).
    """
    x, s0, memory, keys, weight_ih, weight_hh, bias_ih, bias_hh, W_q, w_v = arrays
    (B, L, E), (_, S, M), H = x.shape, memory.shape, s0.shape[1]
    A = 0 if w_v is None else len(w_v)
    work = L * B * (3 * H * (H + E + M) + EXP * (3 * H + S * A))
    loop = decoder.forward_loop.on_threads(x.dtype, work)
    if loop is None:
        return None
    if any(needs):  # without gradients, as under no_grad, it is not compiled
        back = decoder_backward.backward_loop.on_threads(x.dtype, 2 * work)
    W_q_T = None if W_q is None else W_q.T
    source = decoder.attention_of(memory, keys, lengths, W_q_T, w_v, scale)
    cell = cell_of(weight_ih, weight_hh, bias_ih, bias_hh, x.dtype)
    inputs = np.empty((L, B, E + M), x.dtype)  # [x_t; c_t]
    inputs[:, :, :E] = x.swapaxes(0, 1)
    forward = decoder.run(loop, source, cell, n_steps, inputs, s0)
    steps, weights, _ = forward

    def backward(g):
        g = [g_y.swapaxes(0, 1) for g_y in g]
        source = decoder.attention_of(memory, keys, None, W_q, w_v, scale)
        d, sums = decoder_backward.run(
            back, source, weight_ih, weight_hh, n_steps, *forward, g
        )
        dW_q = dw_v = None
        if w_v is not None:
            states = steps.states[:L].reshape(L * B, H)
            dW_q, dw_v = d.queries.reshape(L * B, A).T @ states, d.w_v.sum(0)
        dx = d.inputs[:, :, :E].swapaxes(0, 1)
        return dx, *d[1:4], *sums.gradients(), dW_q, dw_v

    outputs = steps.states[1:], inputs[:, :, E:], weights
    return [y.swapaxes(0, 1) for y in outputs], backward


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
