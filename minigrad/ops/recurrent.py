"""GRU and LSTM: one step of a GRU, and whole sequences, each as one operation.

A recurrent unit reads a sequence. At each step it computes its state h' from the input
x and the state h of the step before. A GRU computes a candidate n for the new state and
mixes it with the old one. The update gate z, with entries from 0 to 1, is the share of
the old state in h'. The reset gate r is the share of the old state in n.

In the code each row of an array is the vector of one example, so W x becomes x W^T. The
parameters have PyTorch's shapes and order: the rows of weight_ih (3H, I), of weight_hh
(3H, H) and of a bias (3H,) are first the H rows for r, then those for z, then those for
n. I is the width of x, H that of h.
"""

import numpy as np

from ..differentiable import differentiable
from ..loops import replaceable
from ..shapes import shapes
from .gates import affine, affine_back, by_gate, project, sigmoid
from .packing import Packing


@shapes
@differentiable
def gru_cell(
    x, h, weight_ih, weight_hh, bias_ih=None, bias_hh=None, *, needs=(True,) * 6
):
    """Compute one step of a GRU.

    x (B, I), h (B, H), weight_ih (3H, I), weight_hh (3H, H),
    bias_ih? and bias_hh? (3H,)  ->  h' (B, H)

    W_ir is the part of weight_ih for r, its first H rows, and so on:

        r = sigmoid(W_ir x + b_ir + W_hr h + b_hr)
        z = sigmoid(W_iz x + b_iz + W_hz h + b_hz)
        m = W_hn h + b_hn
        n = tanh(W_in x + b_in + r m)
        h' = (1 - z) n + z h

    As in PyTorch, r multiplies m; in Cho et al. 2014, r multiplies h. Composed of
    operations this would be 21 nodes of the graph, and here it is one.

    These equations are about one example; their vectors are columns, [u; v] is the
    vector u above v, and a product of two vectors is element by element. In the code a
    row is such a vector, so W^T da becomes da W.

    Backward: let da_r be the gradient of the argument of the sigmoid of r; da_z and
    da_n are those of z and n. With g = dL/dh', dh'/dn = 1 - z, dh'/dz = h - n and the
    derivatives s (1 - s) of s = sigmoid(a) and 1 - n^2 of n = tanh(a),

        da_n = g (1 - z) (1 - n^2)              da_z = g (h - n) z (1 - z)
        dm = da_n r                             da_r = da_n m r (1 - r)

        dx = W_ih^T [da_r; da_z; da_n]          dh = g z + W_hh^T [da_r; da_z; dm]

    The gradients of the parameters are sums over the batch:

        dW_ih = sum [da_r; da_z; da_n] x^T      db_ih = sum [da_r; da_z; da_n]
        dW_hh = sum [da_r; da_z; dm] h^T        db_hh = sum [da_r; da_z; dm]
    """
    dtype = np.result_type(x, weight_ih)
    B, H = h.shape
    gates, h_new = np.empty((4, B, H), dtype), np.empty((B, H), dtype)
    gates[[0, 1, 3]] = by_gate(affine(x, weight_ih, bias_ih), 3)  # r, z and n
    gru_step(gates, affine(h, weight_hh, bias_hh), h, out=h_new)

    def backward(g):
        z = gates[1]
        da, dh = gru_step_back(g, gru_slopes(gates, h), z)
        if needs[1]:
            dh += da[:, : 3 * H] @ weight_hh  # summed over r, z and m
        dx, *dweights = gru_products(da, x, h, weight_ih, bias_ih, bias_hh, needs)
        return dx, dh, *dweights

    return h_new, backward


def gru_step(gates, ah, h, out):
    """Write h' to ``out`` (B, H), and r, z, m, n to ``gates`` (4, B, H).

    gates   holds W_ih x + b_ih for r, z and n when the step begins
    ah      W_hh h + b_hh, (B, 3H): the parts of r, z and m
    """
    r, z, m, n = gates
    ah = by_gate(ah, 3)
    gates[:2] += ah[:2]
    sigmoid(gates[:2])
    m[:] = ah[2]
    n += r * m
    np.tanh(n, out=n)
    np.add(n, z * (h - n), out=out)  # (1 - z) n + z h


# ---- A first reading can stop here ----


def gru_slopes(gates, h):
    """Return dh'/da_r, dh'/da_z, dh'/dm and dh'/da_n side by side: (B, 4H)."""
    r, z, m, n = gates
    slopes = np.empty((len(h), 4 * h.shape[1]), gates.dtype)
    slope_r, slope_z, slope_m, slope_n = by_gate(slopes, 4)
    np.multiply(1 - z, 1 - n * n, out=slope_n)
    np.multiply(slope_n, r, out=slope_m)
    np.multiply(slope_m, m * (1 - r), out=slope_r)
    np.multiply(h - n, z * (1 - z), out=slope_z)
    return slopes


def gru_step_back(g, slopes, z):
    """Return da_r, da_z, dm, da_n, (B, 4H), and g z (B, H), the direct part of dh.

    The first result, g * slopes, overwrites ``slopes``.
    """
    da = slopes
    by_gate(da, 4)[:] *= g
    return da, g * z


def gru_products(da, x, h, weight_ih, bias_ih, bias_hh, needs):
    """Return dx, dW_ih, dW_hh, db_ih, db_hh from da (B, 4H), x (B, I) and h (B, H).

    ``da`` is the result of ``gru_step_back``; it is changed. needs begins with four
    booleans: whether the gradients of x, h, weight_ih and weight_hh are needed.
    """
    H = h.shape[1]
    _, dW_hh, db_hh = affine_back(da[:, : 3 * H], h, None, bias_hh, False, needs[3])
    da[:, 2 * H : 3 * H] = da[:, 3 * H :]  # x is not part of m, but of n
    da = da[:, : 3 * H]  # da_r, da_z, da_n
    dx, dW_ih, db_ih = affine_back(da, x, weight_ih, bias_ih, needs[0], needs[2])
    return dx, dW_ih, dW_hh, db_ih, db_hh


# ``gru`` and ``lstm`` repeat the step for every token of a sequence, as one operation
# with a hand-derived backward through time. They take about half the time of steps
# composed of operations (B = 64, T = 32, I = H = 128). Padding is not computed, but a
# padded batch takes up to a third more time than a full batch of as many tokens: its
# rows are copied into another order, and its last steps have few examples.
#
# Of the two matrix products of a step, only W_hh h_{t-1} needs the step before. The
# product of all x_t with W_ih is computed before the loop over time. The backward runs
# from the last step to the first and computes da of each step. After this loop, one
# product of da gives dx, one gives dW_ih, and one gives dW_hh.
#
# Inside, sequences are packed without padding: N rows, one for each token, in order of
# time (``packing.py``). An LSTM has a second state c, an input gate i, a forget gate f
# and an output gate o; its candidate n is g in PyTorch. Its parameters have 4H rows, in
# the order i, f, n, o.


@shapes
@differentiable
@replaceable
def gru(
    x,
    h0,
    weight_ih,
    weight_hh,
    bias_ih=None,
    bias_hh=None,
    lengths=None,
    reverse=False,
    *,
    needs=(True,) * 8,
):
    """Run a gated recurrent unit over time: h_t = gru_cell(x_t, h_{t-1}).

    x (B, T, I), h0 (B, H), weight_ih (3H, I), weight_hh (3H, H),
    bias_ih? and bias_hh? (3H,), lengths? (B,) int  ->  output (B, T, H), h_n (B, H)

    The equations are those of ``gru_cell``, with x = x_t, h = h_{t-1} and h' = h_t.

    lengths   the number of tokens of each example, from 1 to T. In the padding after
              them, the output is 0. Padding has no influence, and its gradient is 0
    reverse   run from the last token of each example to its first
    h_n       PyTorch's name of the state after the last step

    Backward, from the last step to the first: g of a step is dL/dh_t, the sum of the
    gradient of output t and of dh of step t + 1. The ``gru_slopes`` of all steps do not
    depend on it and are computed at once. dW_ih, dW_hh, db_ih and db_hh are sums over t
    and the batch.
    """
    dtype = np.result_type(x, weight_ih)
    (B, T, _), H = x.shape, h0.shape[1]
    packing = Packing("gru", B, T, lengths, reverse)
    gates = np.empty((4, packing.N, H), dtype)
    r, z, _, n = gates
    project(packing.pack(x), weight_ih, bias_ih, out=(r, z, n))
    states = np.empty((B + packing.N, H), dtype)
    states[:B] = h0[packing.order]
    for before, rows, after, ah in _state_products(packing, states, weight_hh, bias_hh):
        gru_step(gates[:, rows], ah, states[before], out=states[after])

    def backward(g):
        g_output, g_h = packing.pack(g[0]), g[1]
        h_before = packing.before(states)
        slopes = gru_slopes(gates, h_before)  # (N, 4 H), of all steps
        dh = np.array(g_h[packing.order], dtype)
        for _, rows, _ in reversed(packing.steps):
            count = rows.stop - rows.start  # the examples with a token at t are first
            dh[:count] += g_output[rows]  # dL/dh_t
            da, direct = gru_step_back(dh[:count], slopes[rows], z[rows])
            dh[:count] = da[:, : 3 * H] @ weight_hh + direct  # dL/dh_{t-1}
        dh0 = np.empty_like(dh)
        dh0[packing.order] = dh
        x_rows = packing.pack(x) if needs[2] else None
        da = slopes  # the loop has replaced every row by its da
        dx, *dweights = gru_products(
            da, x_rows, h_before, weight_ih, bias_ih, bias_hh, needs
        )
        return packing.unpack(dx) if needs[0] else None, dh0, *dweights

    return (packing.unpack(states[B:]), packing.last(states)), backward


@shapes
@differentiable
def lstm(
    x,
    h0,
    c0,
    weight_ih,
    weight_hh,
    bias_ih=None,
    bias_hh=None,
    lengths=None,
    reverse=False,
    *,
    needs=(True,) * 9,
):
    """Run a long short-term memory over time (Hochreiter & Schmidhuber 1997, with the
    forget gate of Gers et al. 2000).

    x (B, T, I), h0 and c0 (B, H), weight_ih (4H, I), weight_hh (4H, H),
    bias_ih? and bias_hh? (4H,), lengths? (B,) int
        ->  output (B, T, H), h_n (B, H), c_n (B, H)

        a = W_ih x_t + b_ih + W_hh h_{t-1} + b_hh       (4H,): a_i, a_f, a_n, a_o
        i, f, o = sigmoid(a_i), sigmoid(a_f), sigmoid(a_o),         n = tanh(a_n)
        c_t = f c_{t-1} + i n,          h_t = o tanh(c_t)

    lengths, reverse   as in ``gru``; c_n is the state c after the last step

    Backward, from the last step to the first. dh = dL/dh_t, and dc' is
    the gradient of c_t from step t + 1. With k = tanh(c_t),

        dc = dc' + dh o (1 - k^2)               da_o = dh k o (1 - o)
        da_i = dc n i (1 - i)                   da_f = dc c_{t-1} f (1 - f)
        da_n = dc i (1 - n^2)
        dL/dc_{t-1} = dc f                      dL/dh_{t-1} = W_hh^T da

    The gradients of the parameters are sums over t and the batch:

        dx_t = W_ih^T da,                       db = sum da
        dW_ih = sum da x_t^T,                   dW_hh = sum da h_{t-1}^T
    """
    dtype = np.result_type(x, weight_ih)
    (B, T, _), H = x.shape, h0.shape[1]
    packing = Packing("lstm", B, T, lengths, reverse)
    gates = np.empty((4, packing.N, H), dtype)  # i, f, n, o
    project(packing.pack(x), weight_ih, None, out=gates)
    bias = _sum(bias_ih, bias_hh)  # both are added to a
    states = np.empty((B + packing.N, H), dtype)
    cells = np.empty_like(states)
    states[:B], cells[:B] = h0[packing.order], c0[packing.order]
    for before, rows, after, ah in _state_products(packing, states, weight_hh, bias):
        _lstm_step(gates[:, rows], ah, cells[before], states[after], cells[after])

    def backward(g):
        g_output, g_h, g_c = packing.pack(g[0]), g[1], g[2]
        da = np.empty((packing.N, 4 * H), dtype)  # da_i, da_f, da_n, da_o
        dh = np.array(g_h[packing.order], dtype)
        dc = np.array(g_c[packing.order], dtype)
        for before, rows, after in reversed(packing.steps):
            count = rows.stop - rows.start  # the examples with a token at t are first
            dh[:count] += g_output[rows]  # dL/dh_t
            step = gates[:, rows], cells[before], cells[after], da[rows]
            dc[:count] = _lstm_step_back(dh[:count], dc[:count], *step)  # dL/dc_{t-1}
            dh[:count] = da[rows] @ weight_hh  # dL/dh_{t-1}
        dh0, dc0 = np.empty_like(dh), np.empty_like(dc)
        dh0[packing.order], dc0[packing.order] = dh, dc
        x_rows = packing.pack(x) if needs[3] else None
        h_rows = packing.before(states) if needs[4] else None
        _, dW_hh, db_hh = affine_back(da, h_rows, None, bias_hh, False, needs[4])
        dx, dW_ih, db_ih = affine_back(
            da, x_rows, weight_ih, bias_ih, needs[0], needs[3]
        )
        dx = packing.unpack(dx) if needs[0] else None
        return dx, dh0, dc0, dW_ih, dW_hh, db_ih, db_hh

    outputs = packing.unpack(states[B:]), packing.last(states), packing.last(cells)
    return outputs, backward


@shapes
@differentiable
def lstm_cell(
    x, h, c, weight_ih, weight_hh, bias_ih=None, bias_hh=None, *, needs=(True,) * 7
):
    """Compute one step of ``lstm``.

    x (B, I), h and c (B, H), weight_ih (4H, I), weight_hh (4H, H),
    bias_ih? and bias_hh? (4H,)  ->  h' (B, H), c' (B, H)
    """
    dtype = np.result_type(x, weight_ih)
    B, H = h.shape
    h_new, c_new = np.empty((B, H), dtype), np.empty((B, H), dtype)
    gates = np.empty((4, B, H), dtype)  # i, f, n, o
    gates[:] = by_gate(affine(x, weight_ih, bias_ih), 4)
    _lstm_step(gates, affine(h, weight_hh, bias_hh), c, h_new, c_new)

    def backward(g):
        da = np.empty((B, 4 * H), dtype)  # da_i, da_f, da_n, da_o
        dc = _lstm_step_back(g[0], g[1], gates, c, c_new, da)
        dx, dW_ih, db_ih = affine_back(da, x, weight_ih, bias_ih, needs[0], needs[3])
        dh, dW_hh, db_hh = affine_back(da, h, weight_hh, bias_hh, needs[1], needs[4])
        return dx, dh, dc, dW_ih, dW_hh, db_ih, db_hh

    return (h_new, c_new), backward


def _lstm_step(gates, ah, c, h_new, c_new):
    """Write h_t and c_t to ``h_new`` and ``c_new``, and i, f, n, o to ``gates``.

    gates   holds the terms of a from x_t when the step begins
    ah      the other terms of a
    """
    i, f, n, o = gates
    gates += by_gate(ah, 4)
    sigmoid(gates[:2])
    np.tanh(n, out=n)
    sigmoid(o)
    np.multiply(f, c, out=c_new)
    c_new += i * n
    np.multiply(o, np.tanh(c_new), out=h_new)


def _lstm_step_back(dh, dc, gates, c, c_new, da):
    """Fill ``da`` (rows, 4 H) with da_i, da_f, da_n, da_o; return dL/dc_{t-1}."""
    i, f, n, o = gates
    da_i, da_f, da_n, da_o = by_gate(da, 4)
    k = np.tanh(c_new)
    dc = dc + dh * o * (1 - k * k)
    np.multiply(dc * n, i * (1 - i), out=da_i)
    np.multiply(dc * c, f * (1 - f), out=da_f)
    np.multiply(dc * i, 1 - n * n, out=da_n)
    np.multiply(dh * k, o * (1 - o), out=da_o)
    return dc * f


def _state_products(packing, states, weight_hh, bias):
    """Yield (before, rows, after, ah) for each step, with ah = W_hh h + b.

    The slices are those of ``Packing.steps``. h = states[before]; the caller writes
    states[after] before the next step.
    """
    W = np.ascontiguousarray(weight_hh.T)
    buffer = np.empty((packing.B, W.shape[1]), states.dtype)  # for ah
    for before, rows, after in packing.steps:
        h = states[before]
        ah = np.matmul(h, W, out=buffer[: len(h)])
        if bias is not None:
            ah += bias
        yield before, rows, after, ah


def _sum(a, b):
    """Return a + b, where None is 0; None if both are None."""
    if a is None or b is None:
        return b if a is None else a
    return a + b
