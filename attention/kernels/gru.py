"""The compiled loops of ``minigrad.gru``, a GRU over time, forward and backward.

The twin is ``minigrad/ops/recurrent.py``: it has the formulas, and is the one to read.
Here a thread takes some examples through all the steps, and the state is s (h in the
twin). Arrays are in order of time: t first, then the examples, the longest first, so
that the examples which are still running at a step are the first few. The decoder
(decoder.py) uses the same helpers.
"""

from typing import NamedTuple

import numpy as np

from minigrad.ops import recurrent
from minigrad.ops.packing import check_lengths

from .choice import EXP
from .compiling import Helper, as_field, kernel, reads, writes
from .elementary import tanh
from .pool import spread
from .product import aligned, multiply

EXAMPLES = 16  # of a work item: enough rows for a product, and enough items for threads
GROUPS = 8  # at most: each group of examples sums its gradients separately
DEPTH = 96  # rows that are summed at a time: 96 rows of a block stay in the first cache


class Cell(NamedTuple):
    """The parameters of a GRU cell as the forward reads them."""

    W_x: reads(2)  # (I, 3H): weight_ih^T
    W_h: reads(2)  # (H, 3H): weight_hh^T
    bias: reads(2)  # (4, H): what is added to r, z, n and m


class Steps(NamedTuple):
    """What the forward has computed, and the backward reads."""

    x: reads(3)  # (T, B, I): the inputs
    gates: reads(4)  # (4, T, B, H): r, z, m, n
    states: reads(3)  # (T + 1, B, H): s_0, then s_t


class Sums(NamedTuple):
    """The gradients of the parameters, one sum for each group of examples.

    The number of groups does not depend on the number of threads, and the groups are
    added in their order at the end: every number of threads gives the same bits.
    """

    dW_ih: writes(3)  # (groups, 3H, I)
    dW_hh: writes(3)  # (groups, 3H, H)
    da: writes(2)  # (groups, 4H): da_r, da_z, dm, da_n; the first 3H belong to W_hh

    @classmethod
    def of(cls, B, weight_ih, weight_hh, dtype):
        """Return sums for the groups of B examples, not yet begun."""
        groups, H = min(-(-B // EXAMPLES), GROUPS), weight_hh.shape[1]
        shapes = weight_ih.shape, weight_hh.shape, (4 * H,)
        return cls(*(np.empty((groups, *shape), dtype) for shape in shapes))

    def gradients(self):
        """Return dW_ih (3H, I), dW_hh (3H, H), db_ih and db_hh (3H,)."""
        dW_ih, dW_hh, da = (a.sum(0) for a in self)
        H = dW_hh.shape[1]
        db_ih = np.concatenate([da[: 2 * H], da[3 * H :]])
        return dW_ih, dW_hh, db_ih, da[: 3 * H]


class Rows(NamedTuple):
    """Rows of several steps, one for each example, collected for one product."""

    da: writes(2)  # (DEPTH + EXAMPLES, 4H), in the order of ``Sums``
    x: writes(2)  # (DEPTH + EXAMPLES, I)
    before: writes(2)  # (DEPTH + EXAMPLES, H): the state before the step


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
    """Compute ``minigrad.gru``; return NotImplemented if its taught form should run.

    Each thread takes some examples through all the steps.
    """
    (B, T, I), H = x.shape, h0.shape[1]  # noqa: E741
    n_tokens = check_lengths("gru", B, T, lengths)
    work = T * B * H * 3 * (I + H + EXP)
    loop = forward_loop.version(x.dtype, work)
    if loop is None or not isinstance(reverse, bool):
        return NotImplemented
    order = np.argsort(-n_tokens, kind="stable")  # the longest example first
    n_tokens, steps = n_tokens[order].astype(np.int64), np.arange(T)[:, None]
    # at step t, the b-th longest example reads the token at tokens[t, b], and after its
    # last token the padding; % T turns -1, -2, ... into the positions of the padding
    tokens = (n_tokens - 1 - steps) % T if reverse else steps  # (T, B) or (T, 1)

    def by_time(a):
        """Reorder (B, T, F) to (T, B, F)."""
        if lengths is None and not reverse:
            return np.ascontiguousarray(a.swapaxes(0, 1))  # the same, in less time
        return a[order, tokens]

    def by_example(a):
        """Reorder (T, B, F) to (B, T, F)."""
        if lengths is None and not reverse:
            return np.ascontiguousarray(a.swapaxes(0, 1))
        out = np.empty((B, T, a.shape[2]), a.dtype)
        out[order, tokens] = a
        return out

    inputs = by_time(x)
    gates, states = np.empty((4, T, B, H), x.dtype), np.zeros((T + 1, B, H), x.dtype)
    states[0] = h0[order]
    cell = cell_of(weight_ih, weight_hh, bias_ih, bias_hh, x.dtype)
    spread(loop, -(-B // EXAMPLES), work, inputs, n_tokens, cell, gates, states)

    def backward(g):
        loop = backward_loop.version(x.dtype)
        if loop is None:  # the backend has changed since the forward
            weights = weight_ih, weight_hh, bias_ih, bias_hh
            taught = recurrent.gru.raw.taught
            return taught(x, h0, *weights, lengths, reverse, needs=needs)[1](g)
        dx, ds = np.zeros(inputs.shape, x.dtype), np.array(g[1][order], x.dtype)
        sums = Sums.of(B, weight_ih, weight_hh, x.dtype)
        spread(
            loop,
            len(sums.da),
            2 * work,
            by_time(g[0]),
            n_tokens,
            aligned(weight_ih, x.dtype),
            aligned(weight_hh, x.dtype),
            steps_of(inputs, gates, states),
            dx,
            ds,
            sums,
        )
        dh0 = np.empty_like(ds)
        dh0[order] = ds
        dx = by_example(dx) if needs[0] else None
        return dx, dh0, *sums.gradients()

    h_n = np.empty((B, H), x.dtype)
    h_n[order] = states[n_tokens, np.arange(B)]
    return (by_example(states[1:]), h_n), backward


def cell_of(weight_ih, weight_hh, bias_ih, bias_hh, dtype):
    """Return the Cell of the four parameters; the biases may be None."""
    H = weight_hh.shape[1]
    bias = np.zeros((4, H), dtype)
    if bias_ih is not None:
        bias[:3] += bias_ih.reshape(3, H)
    if bias_hh is not None:
        bias[:2] += bias_hh[: 2 * H].reshape(2, H)
        bias[3] = bias_hh[2 * H :]
    return Cell(aligned(weight_ih.T, dtype), aligned(weight_hh.T, dtype), bias)


def steps_of(x, gates, states):
    """Return the ``Steps`` of a forward pass."""
    return Steps(*(as_field(a, states.dtype) for a in (x, gates, states)))


@kernel
def forward_loop(
    start: int,
    stop: int,
    x: reads(3),
    lengths: reads(1, int),
    cell: Cell,
    gates: writes(4),
    states: writes(3),
):
    """Take the EXAMPLES examples of each work item through all the steps."""
    T, B = gates.shape[1], gates.shape[2]
    for item in range(start, stop):
        b0 = item * EXAMPLES
        b1 = min(b0 + EXAMPLES, B)
        for t in range(T):
            while b1 > b0 and lengths[b1 - 1] <= t:
                b1 -= 1
            if b1 > b0:
                step(x[t, b0:b1], cell, gates, states, t, b0, b1)


@kernel
def backward_loop(
    start: int,
    stop: int,
    g: reads(3),
    lengths: reads(1, int),
    weight_ih: reads(2),
    weight_hh: reads(2),
    steps: Steps,
    dx: writes(3),
    ds: writes(2),
    sums: Sums,
):
    """Take the groups of examples, the work items, back through all the steps."""
    T, B, H = g.shape
    groups, I = sums.da.shape[0], dx.shape[2]  # noqa: E741
    rows = Rows(
        np.empty((DEPTH + EXAMPLES, 4 * H), g.dtype),
        np.empty((DEPTH + EXAMPLES, I), g.dtype),
        np.empty((DEPTH + EXAMPLES, H), g.dtype),
    )
    for group in range(start, stop):
        n, begun = 0, False
        for b0 in range(group * EXAMPLES, B, groups * EXAMPLES):
            for t in range(T - 1, -1, -1):
                b1 = min(b0 + EXAMPLES, B)
                while b1 > b0 and lengths[b1 - 1] <= t:
                    b1 -= 1
                if b1 == b0:
                    continue
                step_back(g, steps, weight_ih, weight_hh, t, b0, b1, n, rows, ds, dx)
                n += b1 - b0
                if n >= DEPTH:
                    add_rows(sums, group, rows, n, begun)
                    n, begun = 0, True
        add_rows(sums, group, rows, n, begun)


@Helper
def step(
    x: reads(2),
    cell: Cell,
    gates: writes(4),
    states: writes(3),
    t: int,
    b0: int,
    b1: int,
):
    """Compute the gates and the state of step t of the examples b0 to b1."""
    r, z = gates[0, t, b0:b1], gates[1, t, b0:b1]  # (b1 - b0, H)
    m, n = gates[2, t, b0:b1], gates[3, t, b0:b1]
    s, out = states[t, b0:b1], states[t + 1, b0:b1]
    W_x, W_h, H = cell.W_x, cell.W_h, s.shape[1]
    multiply(r, x, W_x[:, :H], False)
    multiply(r, s, W_h[:, :H], True)
    multiply(z, x, W_x[:, H : 2 * H], False)
    multiply(z, s, W_h[:, H : 2 * H], True)
    multiply(n, x, W_x[:, 2 * H :], False)
    multiply(m, s, W_h[:, 2 * H :], False)
    sigmoid(r, cell.bias[0])
    sigmoid(z, cell.bias[1])
    b_n, b_m = cell.bias[2], cell.bias[3]
    for i in range(b1 - b0):
        # few arrays in a loop: a vectorised loop first checks that none overlap
        out_i, s_i, z_i, n_i, r_i, m_i = out[i], s[i], z[i], n[i], r[i], m[i]
        for h in range(H):
            m_i[h] += b_m[h]
        for h in range(H):
            n_i[h] = tanh(n_i[h] + b_n[h] + r_i[h] * m_i[h])
        for h in range(H):
            out_i[h] = n_i[h] + z_i[h] * (s_i[h] - n_i[h])


@Helper
def sigmoid(a: writes(2), bias: reads(1)):
    """a = sigmoid(a + bias) = (1 + tanh((a + bias) / 2)) / 2"""
    half = a.dtype.type(0.5)
    for i in range(a.shape[0]):
        a_i = a[i]
        for h in range(bias.size):
            a_i[h] = half + half * tanh(half * (a_i[h] + bias[h]))


@Helper
def step_back(
    g: reads(3),
    steps: Steps,
    weight_ih: reads(2),
    weight_hh: reads(2),
    t: int,
    b0: int,
    b1: int,
    first: int,
    rows: Rows,
    ds: writes(2),
    dx: writes(3),
):
    """Take ds of the examples b0 to b1 back through step t, and set dx of the step.

    g      (T, B, H), the gradient of the states; it is added to ds first
    rows   receives da, x and the state before, from row ``first``
    """
    H, ds_b, dx_t = ds.shape[1], ds[b0:b1], dx[t, b0:b1]
    da = rows.da[first : first + b1 - b0]
    for b in range(b0, b1):
        through_gates(g[t, b], steps.gates, steps.states[t, b], t, b, ds[b], da[b - b0])
        copy(rows.x[first + b - b0], steps.x[t, b])
        copy(rows.before[first + b - b0], steps.states[t, b])
    multiply(ds_b, da[:, : 3 * H], weight_hh, True)
    multiply(dx_t, da[:, : 2 * H], weight_ih[: 2 * H], False)
    multiply(dx_t, da[:, 3 * H :], weight_ih[2 * H :], True)  # x is not part of m


@Helper
def through_gates(
    g: reads(1),
    gates: reads(4),
    s: reads(1),
    t: int,
    b: int,
    ds: writes(1),
    da: writes(1),
):
    """ds += g;  da = da_r, da_z, dm, da_n, as in ``minigrad.gru``;  ds = ds z."""
    r, z, m, n = gates[0, t, b], gates[1, t, b], gates[2, t, b], gates[3, t, b]
    one, H = s.dtype.type(1), s.size
    da_r, da_z, dm, da_n = da[:H], da[H : 2 * H], da[2 * H : 3 * H], da[3 * H :]
    for h in range(H):
        ds[h] += g[h]
    for h in range(H):
        da_n[h] = ds[h] * (one - z[h]) * (one - n[h] * n[h])
    for h in range(H):
        dm[h] = da_n[h] * r[h]
    for h in range(H):
        da_r[h] = dm[h] * m[h] * (one - r[h])
    for h in range(H):
        da_z[h] = ds[h] * z[h] * (one - z[h]) * (s[h] - n[h])
    for h in range(H):
        ds[h] *= z[h]


@Helper
def copy(out: writes(1), x: reads(1)):
    """out = x"""
    for h in range(x.size):
        out[h] = x[h]


@Helper
def add_rows(sums: Sums, group: int, rows: Rows, n: int, begun: bool):
    """Add the products of the first n rows to the sums of a group, or begin them."""
    H, da, total = sums.dW_hh.shape[2], rows.da[:n], sums.da[group]
    dW_ih, x = sums.dW_ih[group], rows.x[:n]
    multiply(sums.dW_hh[group], da[:, : 3 * H].T, rows.before[:n], begun)
    multiply(dW_ih[: 2 * H], da[:, : 2 * H].T, x, begun)
    multiply(dW_ih[2 * H :], da[:, 3 * H :].T, x, begun)  # x is not part of m
    if not begun:
        total[:] = 0
    for i in range(n):
        for h in range(4 * H):
            total[h] += da[i, h]
